"""How SQLite is opened where nothing may be written: somebody else's home, a backup on a read-only disk.

A store in write-ahead mode keeps two files beside it while it is in use.  Whoever may not make them reads
them when they are there, and does without when they are not.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import apsw

_WRITES: Final = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
_READS: Final = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
_LOOK: Final = "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8000; SELECT COUNT(*) FROM sqlite_master;"


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How a connection is opened, and the statements that it begins with."""

    name: str
    set_up: str
    flags: int = _WRITES


def can_write(path: Path) -> bool:
    """Say whether this user may change the store in *path*, or make it."""
    folder = next(one for one in path.parents if one.exists())
    effective = os.access in os.supports_effective_ids

    def may_write(place: Path) -> bool:
        return os.access(place, os.W_OK, effective_ids=effective)

    # Without a store there is nothing to read either: whoever makes it says what is wrong.
    return not path.exists() or (may_write(path) and may_write(folder))


def ways_to_read(path: Path) -> Sequence[Way]:
    """Return the ways to read a store that may not be changed, the one to try first before the others."""
    address = path.resolve().as_uri()
    log = path.with_name(f"{path.name}-wal")
    beside_others = Way(name=f"{address}?mode=ro", set_up=_LOOK, flags=_READS)
    if log.exists() and log.stat().st_size:
        # Its last writes stand in the log alone, and nobody is there to say where: the connection finds out by itself.
        alone = Way(
            name=f"{address}?mode=ro&vfs=unix-none", set_up=f"PRAGMA locking_mode = EXCLUSIVE; {_LOOK}", flags=_READS
        )
        return (beside_others, alone)
    # Nobody may write it, and nobody has it open: then it does not change.
    return (beside_others, Way(name=f"{address}?immutable=1", set_up=_LOOK, flags=_READS))
