"""What was forgotten does not come back because a host sends its history again.

A message is named by a keyed hash of what it is recognised by.  A forgotten message keeps that name in the
place of its digest, so its session is still aligned with what a host sends.  A forgotten session leaves the
names of each two messages in sequence, and of each message with the time its host gave it.  A payload that
begins with such messages is that history; the words of one message alone are not: who says them again, at
another time, says them anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from stenolith.store.audit import Tombstones

LAYER: Final = "messages"
"""The layer under which forgotten messages stand among tombstones."""
_NAMED: Final = "gone:"


async def name_of(tombstones: Tombstones, digest: str) -> str:
    """Return the name of a message by its digest; a message that was forgotten has no other."""
    return digest if digest.startswith(_NAMED) else _NAMED + await tombstones.fingerprint(digest)


async def traces(
    tombstones: Tombstones, session_key: str, digests: Sequence[str], times: Sequence[int | None]
) -> list[str]:
    """Return what a session leaves behind whose messages have these digests and times (epoch ms)."""
    names = [await name_of(tombstones, digest) for digest in digests]
    found = [_sequence(session_key, one, two) for one, two in pairwise(names)]
    stamped = [_stamped(session_key, name, at) for name, at in zip(names, times, strict=True)]
    return found + [trace for trace in stamped if trace]


async def forgotten_head(
    tombstones: Tombstones, owner_id: int, session_key: str, said: Sequence[tuple[str, int | None]]
) -> int:
    """Return how many of the first messages (digest, time) belong to a session that was forgotten."""
    names: list[str] = []
    before = False
    for place, (_, at) in enumerate(said):
        names += [await name_of(tombstones, one) for one, _ in said[len(names) : place + 2]]
        stamped = _stamped(session_key, names[place], at)
        after = len(names) > place + 1 and await tombstones.holds(
            owner_id, LAYER, _sequence(session_key, *names[place : place + 2])
        )
        if not (before or after or (stamped and await tombstones.holds(owner_id, LAYER, stamped))):
            return place
        before = after
    return len(said)


async def recognised(tombstones: Tombstones, held: Sequence[str], sent: Sequence[str]) -> list[str]:
    """Return the digests *held* of a session, with those of forgotten messages that are *sent* again as they were."""
    if not any(digest.startswith(_NAMED) for digest in held):
        return list(held)
    names = {await name_of(tombstones, digest): digest for digest in sent}
    return [names.get(digest, digest) for digest in held]


def _sequence(session_key: str, one: str, two: str) -> str:
    return f"{session_key}\n{one}\n{two}"


def _stamped(session_key: str, name: str, at: int | None) -> str:
    return "" if at is None else f"{session_key}\n{name}\nat {at}"
