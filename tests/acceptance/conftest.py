"""Homes for the cases: a memory on either database, under a clock that the test holds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from shell import Shell
from stage import Stage

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
async def stage(settings: Settings) -> AsyncIterator[Stage]:
    """A memory without an embedder, on either database."""
    async with Stage(settings) as opened:
        yield opened


@pytest.fixture
def plain(tmp_path: Path) -> Settings:
    """Settings of a home on SQLite, for cases that say nothing about databases."""
    return load(home=tmp_path / "home", **QUIET)


@pytest.fixture
def shell(tmp_path: Path, capsysbinary, monkeypatch) -> Shell:
    """The command line in this process, on a home of its own."""
    monkeypatch.setenv("STENOLITH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("STENOLITH_TIMEZONE", "Asia/Shanghai")
    monkeypatch.setenv("STENOLITH_EMBEDDER__KIND", "none")
    return Shell(tmp_path / "home", capsysbinary, monkeypatch)
