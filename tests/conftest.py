"""What every test shares: the Hypothesis profiles and one line about the machine."""

from __future__ import annotations

import os

import apsw
from hypothesis import HealthCheck, settings

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("default", max_examples=50, deadline=None, suppress_health_check=_QUIET)
settings.register_profile("long", max_examples=2000, deadline=None, suppress_health_check=_QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_report_header() -> str:
    """Name the SQLite that the tests run on."""
    return f"SQLite {apsw.sqlite_lib_version()}, apsw {apsw.apsw_version()}"
