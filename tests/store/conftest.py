"""The `database` fixture: every contract suite runs once for each backend named here."""

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
        yield database
    finally:
        await database.close()


BACKENDS: dict[str, Callable[[Path], AbstractAsyncContextManager[Database]]] = {"sqlite": _sqlite}


@pytest.fixture(params=sorted(BACKENDS))
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with BACKENDS[request.param](tmp_path) as opened:
        await migrate(opened)
        yield opened
