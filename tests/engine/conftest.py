"""A memory in a home of its own, on either database, without an embedder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stenolith import Memory
from stenolith.settings import Settings, load
from stenolith.testing.backends import BACKENDS

QUIET = {"timezone": "Asia/Shanghai", "embedder": {"kind": "none"}}


@pytest.fixture(params=sorted(BACKENDS))
async def settings(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Settings]:
    home = tmp_path / "home"
    if request.param == "sqlite":
        yield load(home=home, **QUIET)
        return
    async with BACKENDS["postgres"](tmp_path):
        url = (tmp_path / "postgres.url").read_text(encoding="utf-8")
        yield load(home=home, database=url, **QUIET)


@pytest.fixture
async def memory(settings: Settings) -> AsyncIterator[Memory]:
    async with Memory.open(settings=settings) as opened:
        yield opened
