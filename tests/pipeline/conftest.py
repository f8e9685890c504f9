"""The `database` fixture: the worker runs on every backend."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stenolith.store.database import Database
from stenolith.testing.backends import BACKENDS


@pytest.fixture(params=sorted(BACKENDS))
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with BACKENDS[request.param](tmp_path) as opened:
        yield opened
