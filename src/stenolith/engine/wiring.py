"""The composition root: the one place where settings become stores, clocks and models."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stenolith.curate.secrets import redact_value
from stenolith.errors import InvalidInput
from stenolith.llm.embed import choose
from stenolith.llm.port import Embedder
from stenolith.model.clock import Clock, wall_ms
from stenolith.settings import Settings
from stenolith.store.atoms import Atoms
from stenolith.store.audit import Audit, Tombstones
from stenolith.store.cursors import Cursors
from stenolith.store.database import Database
from stenolith.store.files import make_private
from stenolith.store.indexing import SearchWriter
from stenolith.store.jobs import Jobs
from stenolith.store.journal import Journal
from stenolith.store.migrations import migrate
from stenolith.store.owners import Owners
from stenolith.store.persona import Personas
from stenolith.store.records import Records
from stenolith.store.scenes import Scenes
from stenolith.store.search import SearchIndex
from stenolith.store.sqlite import open_sqlite
from stenolith.store.transcripts import Transcripts
from stenolith.store.vectors import Vectors

_log = logging.getLogger(__name__)
DATABASE = "memory.db"
"""Name of the SQLite file inside a home."""
JOURNAL = "conversations"
"""Folder of the daily JSONL files inside a home."""


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """Every store and port of one open home, made once and handed to whoever needs it."""

    settings: Settings
    database: Database
    now: Clock
    embedder: Embedder | None
    owners: Owners
    transcripts: Transcripts
    records: Records
    atoms: Atoms
    scenes: Scenes
    personas: Personas
    jobs: Jobs
    cursors: Cursors
    journal: Journal
    audit: Audit
    tombstones: Tombstones
    search: SearchIndex
    index: SearchWriter
    vectors: Vectors

    @property
    def home(self) -> Path:
        """The folder of the memory."""
        return self.settings.home

    def redact(self, value: Any) -> Any:
        """Return *value* without secrets, or untouched when the settings say so."""
        return redact_value(value).value if self.settings.capture.redact_secrets else value


@asynccontextmanager
async def open_house(
    settings: Settings, *, embedder: Embedder | None = None, now: Clock = wall_ms
) -> AsyncIterator[House]:
    """Open a home, bring its schema up to date, and close everything at the end.

    A home that this user may not write is opened for reading, and a warning says so.  Raises
    `StoreUnavailable` or `HomeTooNew` with the reason.
    """
    database = await open_database(settings.database, settings.home)
    try:
        if database.read_only:
            _log.warning(
                "%s is read-only for this user: it can be read and searched, nothing is recorded", settings.home
            )
        await migrate(database)
        yield _furnish(settings, database, embedder or choose(settings.embedder), now)
    finally:
        await database.close()


async def open_database(url: str, home: Path) -> Database:
    """Open the server at *url*, or SQLite in *home* when there is none.

    Raises `InvalidInput` when the drivers of PostgreSQL are not installed.
    """
    if not url:
        return await open_sqlite(home / DATABASE)
    if not url.startswith(("postgresql://", "postgres://")):
        raise InvalidInput("database: write postgresql://user@host/name, or nothing for SQLite in the home")
    try:
        from stenolith.store.postgres import open_postgres
    except ImportError as error:
        raise InvalidInput("PostgreSQL needs its drivers: pip install 'stenolith[postgres]'") from error
    make_private(home)
    return await open_postgres(url)


def _furnish(settings: Settings, database: Database, embedder: Embedder | None, now: Clock) -> House:
    return House(
        settings=settings,
        database=database,
        now=now,
        embedder=embedder,
        owners=Owners(database),
        transcripts=Transcripts(database),
        records=Records(database),
        atoms=Atoms(database, now),
        scenes=Scenes(database, now),
        personas=Personas(database, now),
        jobs=Jobs(database, now),
        cursors=Cursors(database, now),
        journal=Journal(database, settings.home / JOURNAL),
        audit=Audit(database, now),
        tombstones=Tombstones(database, now),
        search=SearchIndex(database),
        index=SearchWriter(database),
        vectors=Vectors(database),
    )
