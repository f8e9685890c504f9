"""Atoms (L1): one fact each, with its kind, its evidence and the time in which it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """What sort of knowledge an atom is."""

    FACT = "fact"
    PREFERENCE = "preference"
    CONSTRAINT = "constraint"
    DECISION = "decision"
    EVENT = "event"
    LESSON = "lesson"
    INSTRUCTION = "instruction"


class AtomStatus(StrEnum):
    """Whether an atom may be used.

    Only ``active`` atoms are recalled.  ``superseded`` ones keep a link to their successor,
    ``expired`` ones outlived *expires_at*, ``withdrawn`` ones lost their evidence.
    """

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The evidence of an atom: one record and the words in it that carry the fact."""

    record_id: str
    quote: str = ""
    timestamp: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AtomDraft:
    """What a distiller proposes; nothing is stored until admission and reconciliation agree.

    *subject* says whom or what the fact is about (``user`` for the speaker, else a project or
    name), *attribute* which property of it: the pair decides what a correction replaces, and an
    empty attribute never replaces anything.  *priority* runs from 0 to 100 (health and absolute
    rules 90 and more, ordinary 50 to 70).  Times are epoch milliseconds: *occurred_start* and
    *occurred_end* tell when an event happened, *expires_at* when a task-bound atom ends.
    *corrects* means that the speaker said something changed.
    """

    kind: Kind
    text: str
    sources: tuple[Source, ...]
    priority: int = 60
    subject: str = "user"
    attribute: str = ""
    speaker: str = ""
    role: str = "user"
    occurred_start: int | None = None
    occurred_end: int | None = None
    expires_at: int | None = None
    corrects: bool = False
    task_only: bool = False
    provenance: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Atom:
    """A stored atom: a draft that was admitted, with identity, version and validity.

    *valid_from* and *valid_until* bound the time in which it held (epoch ms, until None = still);
    *recorded_at* is when we learned it.  *root_id* is shared by all versions of one fact.
    *needs_review* names an atom that says otherwise and that a person should compare with.
    """

    id: str
    kind: Kind
    text: str
    priority: int
    subject: str
    attribute: str
    speaker: str
    role: str
    session_key: str
    session_id: str
    status: AtomStatus
    version: int
    root_id: str
    supersedes: str | None
    superseded_by: str | None
    reason: str
    recorded_at: int
    valid_from: int
    valid_until: int | None
    occurred_start: int | None
    occurred_end: int | None
    expires_at: int | None
    origin: str
    provenance: Mapping[str, Any]
    sources: tuple[Source, ...] = ()
    needs_review: str = ""
    scene_id: str | None = None
    task_only: bool = False
