"""Homes for the cases: a memory on either database, under a clock that the test holds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from stage import Stage

from stenolith.settings import Settings, load


@pytest.fixture
async def stage(settings: Settings) -> AsyncIterator[Stage]:
    """A memory without an embedder, on either database."""
    async with Stage(settings) as opened:
        yield opened


@pytest.fixture
def plain(tmp_path: Path) -> Settings:
    """Settings of a home on SQLite, for cases that say nothing about databases."""
    return load(home=tmp_path / "home", timezone="Asia/Shanghai", embedder={"kind": "none"})
