"""The databases that every contract runs on; a new backend adds one entry."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from stenolith.store.database import Database
from stenolith.store.migrations import migrate
from stenolith.store.sqlite import open_sqlite


@asynccontextmanager
async def _sqlite(folder: Path) -> AsyncIterator[Database]:
    database = await open_sqlite(folder / "memory.db")
    try:
        await migrate(database)
        yield database
    finally:
        await database.close()


@asynccontextmanager
async def _postgres(folder: Path) -> AsyncIterator[Database]:
    pytest.importorskip("psycopg", reason="the extra stenolith[postgres] is not installed here")
    from stenolith.testing.postgres import open_database

    async with open_database(folder) as database:
        yield database


BACKENDS: dict[str, Callable[[Path], AbstractAsyncContextManager[Database]]] = {
    "sqlite": _sqlite,
    "postgres": _postgres,
}
"""By name: opens a migrated database that belongs to *folder* alone, empty when the folder is."""
