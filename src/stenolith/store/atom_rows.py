"""What goes into the table of atoms and what comes out of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stenolith.errors import InvalidInput
from stenolith.model.atom import Atom, AtomDraft, AtomStatus, Kind, Source
from stenolith.store.database import Row

_PLAIN = (
    "text",
    "priority",
    "subject",
    "attribute",
    "speaker",
    "role",
    "session_key",
    "session_id",
    "version",
    "root_id",
    "supersedes",
    "superseded_by",
    "reason",
    "recorded_at",
    "valid_from",
    "valid_until",
    "occurred_start",
    "occurred_end",
    "expires_at",
    "origin",
    "needs_review",
    "scene_id",
)
_FOREVER = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Filing:
    """How an admitted draft is filed.

    *normal_form* is what exact repeats are compared by, *origin* who made it (``rules``, ``model``,
    ``person``, …), *provenance* what is worth knowing about the making (prompt version, cost) and is
    laid over the draft's own.  *valid_from* (epoch ms) defaults to the latest of the sources' times,
    else to now.  *caller_key* is a handle of the caller's choice: at most one active atom has it.
    """

    normal_form: str
    origin: str = "rules"
    provenance: Mapping[str, Any] = field(default_factory=dict)
    session_key: str = ""
    session_id: str = ""
    valid_from: int | None = None
    caller_key: str | None = None
    scene_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AtomNotes:
    """What the store keeps beside an atom, under the names of `Filing`."""

    normal_form: str
    caller_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AtomChange:
    """What one mutation did, so that the caller brings the projections along in the same transaction.

    *added* are active now and were not before; *confirmed* gained a source; *retired* stay as
    history; *removed* are gone for good, and *scenes* held them; *orphans* had been replaced by one
    that was removed: revive them, or judge them anew.
    """

    added: tuple[Atom, ...] = ()
    confirmed: tuple[Atom, ...] = ()
    retired: tuple[Atom, ...] = ()
    removed: tuple[str, ...] = ()
    scenes: tuple[str, ...] = ()
    orphans: tuple[Atom, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AtomQuery:
    """Which atoms a listing shows, newest first; *cursor* is the `AtomPage.next` of the page before."""

    statuses: tuple[AtomStatus, ...] = (AtomStatus.ACTIVE,)
    kind: Kind | None = None
    cursor: str = ""
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class AtomPage:
    """One page; *next* is empty on the last."""

    items: tuple[Atom, ...]
    next: str = ""


def held_at(atom: Atom, at: int) -> bool:
    """Say whether *atom* held at *at* (epoch ms), as far as is known today."""
    begun = atom.valid_from <= at and atom.status is not AtomStatus.WITHDRAWN
    return begun and all(end is None or end > at for end in (atom.valid_until, atom.expires_at))


def lay_out(draft: AtomDraft, filing: Filing, *, atom_id: str, now: int) -> Atom:
    """Return the first version of an atom."""
    said = [source.timestamp for source in draft.sources if source.timestamp is not None]
    since = filing.valid_from if filing.valid_from is not None else max(said, default=now)
    return Atom(
        id=atom_id,
        kind=draft.kind,
        text=draft.text,
        priority=draft.priority,
        subject=draft.subject,
        attribute=draft.attribute,
        speaker=draft.speaker,
        role=draft.role,
        session_key=filing.session_key,
        session_id=filing.session_id,
        status=AtomStatus.ACTIVE,
        version=1,
        root_id=atom_id,
        supersedes=None,
        superseded_by=None,
        reason="",
        recorded_at=now,
        valid_from=since,
        valid_until=None,
        occurred_start=draft.occurred_start,
        occurred_end=draft.occurred_end,
        expires_at=draft.expires_at,
        origin=filing.origin,
        provenance={**(draft.provenance or {}), **filing.provenance},
        sources=draft.sources,
        scene_id=filing.scene_id,
        task_only=draft.task_only,
    )


def atom_to_row(owner_id: int, atom: Atom, notes: AtomNotes, now: int) -> Row:
    """Return the parameters of the insert statement."""
    return {
        **{name: getattr(atom, name) for name in _PLAIN},
        "atom_id": atom.id,
        "owner_id": owner_id,
        "kind": atom.kind.value,
        "status": atom.status.value,
        "provenance": json.dumps(dict(atom.provenance), ensure_ascii=False),
        "normal_form": notes.normal_form,
        "task_only": int(atom.task_only),
        "caller_key": notes.caller_key,
        "updated_at": now,
    }


def atom_from_row(row: Row, sources: Sequence[Source]) -> Atom:
    """Read a database row; sources come in the order of their times."""
    return Atom(
        **{name: row[name] for name in _PLAIN},
        id=row["atom_id"],
        kind=Kind(row["kind"]),
        status=AtomStatus(row["status"]),
        task_only=bool(row["task_only"]),
        provenance=json.loads(row["provenance"]),
        sources=tuple(sorted(sources, key=lambda source: (source.timestamp or 0, source.record_id))),
    )


def notes_from_row(row: Row) -> AtomNotes:
    """Read what stands beside the atom in its row."""
    return AtomNotes(normal_form=row["normal_form"], caller_key=row["caller_key"])


def source_rows(atom_id: str, sources: Sequence[Source]) -> list[Row]:
    """Return the parameters of the insert statement of sources."""
    return [
        {"atom_id": atom_id, "record_id": source.record_id, "quote": source.quote, "timestamp": source.timestamp}
        for source in sources
    ]


def read_cursor(cursor: str) -> tuple[int, str]:
    """Return the time and id that a page ends before. Raises `InvalidInput` for what we did not give."""
    if not cursor:
        return _FOREVER, ""
    at, _, atom_id = cursor.partition(".")
    if not at.isdecimal() or not atom_id:
        raise InvalidInput("this cursor is not one that a listing gave")
    return int(at), atom_id


def write_cursor(atom: Atom) -> str:
    """Return the cursor of the page after *atom*."""
    return f"{atom.recorded_at}.{atom.id}"
