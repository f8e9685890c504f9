"""What every test shares: the Hypothesis profiles, homes and databases of their own, and the command line."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest
from hypothesis import HealthCheck
from hypothesis import settings as profiles

from shell import Shell
from stenolith.settings import Settings, load
from stenolith.store.database import Database
from stenolith.testing.backends import BACKENDS

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
profiles.register_profile("default", max_examples=50, deadline=None, suppress_health_check=_QUIET)
profiles.register_profile("long", max_examples=2000, deadline=None, suppress_health_check=_QUIET)
profiles.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_report_header() -> str:
    """Name the SQLite that the tests run on."""
    return f"SQLite {apsw.sqlite_lib_version()}, apsw {apsw.apsw_version()}"


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no arm of a recall be late because the machine is busy; tests of lateness name their deadline."""
    for name in ("DEADLINE_MS", "SEARCH_DEADLINE_MS"):
        monkeypatch.setenv(f"STENOLITH_RECALL__{name}", "10000")


@pytest.fixture(params=sorted(BACKENDS))
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """An empty, migrated database of each kind."""
    async with BACKENDS[request.param](tmp_path) as opened:
        yield opened


@pytest.fixture(params=sorted(BACKENDS))
async def settings(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Settings]:
    """Settings of a home without an embedder, on each kind of database."""
    quiet = {"home": tmp_path / "home", "timezone": "Asia/Shanghai", "embedder": {"kind": "none"}}
    if request.param == "sqlite":
        yield load(**quiet)
        return
    async with BACKENDS["postgres"](tmp_path):
        yield load(database=(tmp_path / "postgres.url").read_text(encoding="utf-8"), **quiet)


@pytest.fixture
def shell(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """The command line in this process, on a home of its own."""
    monkeypatch.setenv("STENOLITH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("STENOLITH_TIMEZONE", "Asia/Shanghai")
    monkeypatch.setenv("STENOLITH_EMBEDDER__KIND", "none")
    return Shell(tmp_path / "home", capsysbinary, monkeypatch)
