"""The stores of one empty home, and recall over them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stenolith.store.database import Database
from stenolith.store.migrations import migrate
from stenolith.store.sqlite import open_sqlite


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await open_sqlite(tmp_path / "memory.db")
    try:
        await migrate(opened)
        yield opened
    finally:
        await opened.close()
