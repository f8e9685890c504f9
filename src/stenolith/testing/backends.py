"""The databases that every contract runs on; a new backend adds one entry."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

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


BACKENDS: dict[str, Callable[[Path], AbstractAsyncContextManager[Database]]] = {"sqlite": _sqlite}
"""By name: opens a migrated database that belongs to *folder* alone, empty when the folder is."""
