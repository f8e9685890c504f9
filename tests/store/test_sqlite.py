"""What SQLite must do beyond the common contract: files, locks, migrations."""

from __future__ import annotations

import asyncio
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from stenolith.errors import HomeTooNew, StoreUnavailable
from stenolith.store.migrations import migrate
from stenolith.store.sqlite import open_sqlite

SOURCE = str(Path(__file__).parents[2] / "src")


async def test_home_and_database_are_for_their_owner_alone(tmp_path: Path) -> None:
    database = await open_sqlite(tmp_path / "home" / "memory.db")
    try:
        await migrate(database)
        assert stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o700
        for file in (tmp_path / "home").iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    finally:
        await database.close()


async def test_a_reader_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    database = await open_sqlite(tmp_path / "memory.db")
    try:
        await database.script("CREATE TABLE t (a INTEGER)")
        await database.fetch("INSERT INTO t VALUES (1)")
        async with database.transaction():
            await database.fetch("INSERT INTO t VALUES (2)")
            inside = await database.fetch("SELECT COUNT(*) AS n FROM t")
            outside = await asyncio.create_task(_count_elsewhere(database), context=_fresh())
            assert (inside, outside) == ([{"n": 2}], [{"n": 1}])
    finally:
        await database.close()


def _fresh():
    import contextvars

    return contextvars.Context()


async def _count_elsewhere(database):
    return await database.fetch("SELECT COUNT(*) AS n FROM t")


async def test_a_transaction_that_raises_leaves_nothing(tmp_path: Path) -> None:
    database = await open_sqlite(tmp_path / "memory.db")
    try:
        await database.script("CREATE TABLE t (a INTEGER)")
        with pytest.raises(ZeroDivisionError):
            async with database.transaction():
                await database.fetch("INSERT INTO t VALUES (1)")
                async with database.transaction():
                    await database.execute_many("INSERT INTO t VALUES (:a)", [{"a": 2}, {"a": 3}])
                raise ZeroDivisionError
        assert await database.fetch("SELECT * FROM t") == []
    finally:
        await database.close()


async def test_a_cancelled_writer_rolls_back_and_lets_the_next_one_in(tmp_path: Path) -> None:
    database = await open_sqlite(tmp_path / "memory.db")
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) INSERT INTO t SELECT COUNT(*) FROM c"
    try:
        await database.script("CREATE TABLE t (a INTEGER)")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1), database.transaction():
                await database.fetch("INSERT INTO t VALUES (1)")
                await database.fetch(endless)
        await database.fetch("INSERT INTO t VALUES (9)")
        assert await database.fetch("SELECT a FROM t") == [{"a": 9}]
    finally:
        await database.close()


async def test_work_done_atomically_leaves_nothing_when_it_raises_or_waits_for_something_else(tmp_path: Path) -> None:
    database = await open_sqlite(tmp_path / "memory.db")

    async def fails() -> None:
        await database.fetch("INSERT INTO t VALUES (1)")
        await database.execute_many("INSERT INTO t VALUES (:a)", [{"a": 2}, {"a": 3}])
        assert len(await database.fetch("SELECT * FROM t")) == 3
        raise ZeroDivisionError

    async def waits() -> None:
        await database.fetch("INSERT INTO t VALUES (1)")
        await asyncio.sleep(0)

    try:
        await database.script("CREATE TABLE t (a INTEGER)")
        with pytest.raises(ZeroDivisionError):
            await database.atomically(fails)
        with pytest.raises(RuntimeError, match="waits for nothing but its database"):
            await database.atomically(waits)
        assert await database.fetch("SELECT * FROM t") == []
    finally:
        await database.close()


async def test_a_task_cancelled_in_atomic_work_ends_when_the_work_has(tmp_path: Path) -> None:
    database = await open_sqlite(tmp_path / "memory.db")
    long = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 200000) INSERT INTO t SELECT x FROM c"

    async def write() -> None:
        await database.fetch(long)

    try:
        await database.script("CREATE TABLE t (a INTEGER)")
        task = asyncio.ensure_future(database.atomically(write))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await database.fetch("SELECT COUNT(*) AS n FROM t") == [{"n": 200_000}]
    finally:
        await database.close()


async def test_a_statement_that_returns_rows_runs_for_every_row_given(tmp_path: Path) -> None:
    database = await open_sqlite(tmp_path / "memory.db")
    try:
        await database.script("CREATE TABLE t (a INTEGER)")
        await database.execute_many("INSERT INTO t VALUES (:a) RETURNING a", [{"a": 1}, {"a": 2}, {"a": 3}])
        assert await database.fetch("SELECT a FROM t") == [{"a": 1}, {"a": 2}, {"a": 3}]
    finally:
        await database.close()


async def test_a_script_runs_to_its_end_and_every_connection_keeps_foreign_keys(tmp_path: Path) -> None:
    database = await open_sqlite(tmp_path / "memory.db")
    try:
        await database.script("CREATE TABLE t (a INTEGER); SELECT 1; CREATE TABLE u (a INTEGER)")
        assert await database.fetch("SELECT COUNT(*) AS n FROM sqlite_schema") == [{"n": 2}]
        async with database.transaction():
            assert await database.fetch("PRAGMA foreign_keys") == [{"foreign_keys": 1}]
            assert await database.fetch("PRAGMA secure_delete") == [{"secure_delete": 1}]
        assert await database.fetch("PRAGMA foreign_keys") == [{"foreign_keys": 1}]
    finally:
        await database.close()


async def test_migrations_run_once_and_a_newer_home_is_refused(tmp_path: Path) -> None:
    database = await open_sqlite(tmp_path / "memory.db")
    try:
        first, second = await migrate(database), await migrate(database)
        assert first[0] == 1
        assert second == []
        await database.fetch("INSERT INTO schema_migrations (number, name, checksum) VALUES (9999, 'future', 'x')")
        with pytest.raises(HomeTooNew, match="9999"):
            await migrate(database)
    finally:
        await database.close()


async def test_two_processes_may_migrate_the_same_new_home(tmp_path: Path) -> None:
    code = textwrap.dedent("""
        import asyncio, pathlib, sys
        from stenolith.store.migrations import migrate
        from stenolith.store.sqlite import open_sqlite
        async def main():
            database = await open_sqlite(pathlib.Path(sys.argv[1]))
            try:
                await migrate(database)
            finally:
                await database.close()
        asyncio.run(main())
    """)
    command = [sys.executable, "-c", code, str(tmp_path / "memory.db")]
    running = [subprocess.Popen(command, env={"PYTHONPATH": SOURCE}, stderr=subprocess.PIPE) for _ in range(3)]
    outcomes = [process.communicate(timeout=60)[1].decode() for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], outcomes


async def test_a_file_that_is_no_database_is_named_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(b"this is not a database, it is a letter to my aunt" * 100)
    before = path.read_bytes()
    with pytest.raises(StoreUnavailable, match=r"memory\.db"):
        await open_sqlite(path)
    assert path.read_bytes() == before
