"""Time-sortable identifiers and the scope that every row and every query carries."""

from __future__ import annotations

import os
import re
import threading
import time
from dataclasses import dataclass, replace
from typing import Final

CROCKFORD: Final = "0123456789abcdefghjkmnpqrstvwxyz"
DEFAULT: Final = "default"
_ID = re.compile(rf"[a-z]{{3}}_[{CROCKFORD}]{{26}}")


class _Clock:
    """Keep identifiers of one process strictly increasing, also inside one millisecond."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def next(self, now_ms: int) -> int:
        """Return a 128-bit number: 48 bits of milliseconds, 80 bits that never go back."""
        with self._lock:
            fresh = (now_ms << 80) | (int.from_bytes(os.urandom(10)) >> 1)
            self._last = fresh if fresh > self._last else self._last + 1
            return self._last


_clock = _Clock()


def new_id(prefix: str, now_ms: int | None = None) -> str:
    """Return an identifier such as ``rec_01jk…``: three letters and 26 Crockford base32 digits.

    Identifiers made in one process sort in the order they were made.  Layout after UUIDv7
    (RFC 9562, section 5.7): 48 bits of Unix milliseconds, then random bits.
    """
    number = _clock.next(int(time.time() * 1000) if now_ms is None else now_ms)
    digits = []
    for _ in range(26):
        digits.append(CROCKFORD[number & 31])
        number >>= 5
    return f"{prefix}_{''.join(reversed(digits))}"


def is_id(text: str, prefix: str) -> bool:
    """Say whether *text* has the form that `new_id` gives for *prefix*."""
    return text.startswith(f"{prefix}_") and _ID.fullmatch(text) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Who may use a thing.

    *team*, *user* and *agent* own it and are compared for equality in every query; the literal
    ``default`` stands where a host has none.  *session_key* names a conversation channel,
    *session_id* one instance of it (after ``/reset``, for example) and *task* a piece of work;
    these three narrow, and an empty string means "not narrowed".
    """

    team: str = DEFAULT
    user: str = DEFAULT
    agent: str = DEFAULT
    session_key: str = ""
    session_id: str = ""
    task: str = ""

    def owner(self) -> Scope:
        """Return the same owner without session and task."""
        return Scope(team=self.team, user=self.user, agent=self.agent)

    def narrowed(self, session_key: str, session_id: str = "") -> Scope:
        """Return this owner's scope inside one session."""
        return replace(self, session_key=session_key, session_id=session_id or session_key)
