"""A clock that a test holds in its hand."""

from __future__ import annotations

START_MS = 1_785_657_600_000
"""The moment of the seed's first message: 2026-08-02T08:00:00Z."""


class FrozenClock:
    """Stands still until it is moved; fits wherever a `stenolith.model.clock.Clock` is taken."""

    def __init__(self, now_ms: int = START_MS) -> None:
        self._now = now_ms

    def __call__(self) -> int:
        """Return the time in epoch milliseconds."""
        return self._now

    def advance(self, ms: int) -> int:
        """Move on by *ms* milliseconds and return the new time."""
        self._now += ms
        return self._now
