"""The clock that is handed to whatever needs the time, so that a test can hold it still."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], int]
"""Gives the present moment in epoch milliseconds."""


def wall_ms() -> int:
    """Return the present moment of this machine in epoch milliseconds."""
    return time.time_ns() // 1_000_000
