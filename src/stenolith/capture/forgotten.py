"""What was forgotten does not come back because a host sends its history again.

A session that is forgotten leaves keyed hashes of each two messages in sequence.  A payload that begins
with such a sequence is that history; one message alone is not: who says it again, says it anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from stenolith.store.audit import Tombstones

LAYER: Final = "messages"
"""The layer under which forgotten sequences stand among tombstones."""


def sequences(session_key: str, digests: Sequence[str]) -> list[str]:
    """Return what names each two neighbouring messages of a session."""
    return [f"{session_key}\n{one}\n{two}" for one, two in pairwise(digests)]


async def forgotten_head(tombstones: Tombstones, owner_id: int, session_key: str, digests: Sequence[str]) -> int:
    """Return how many of the first messages belong to a session that was forgotten."""
    for at, name in enumerate(sequences(session_key, digests)):
        if not await tombstones.holds(owner_id, LAYER, name):
            return at + 1 if at else 0
    return len(digests) if len(digests) > 1 else 0
