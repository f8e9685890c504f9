"""A memory in a home of its own, without an embedder, with a clock that the test moves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stenolith import Memory
from stenolith.settings import Settings, load


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load(home=tmp_path / "home", timezone="Asia/Shanghai", embedder={"kind": "none"})


@pytest.fixture
async def memory(settings: Settings) -> AsyncIterator[Memory]:
    async with Memory.open(settings=settings) as opened:
        yield opened
