"""What recall is asked and what it answers: request, items, report, context."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from stenolith.model.atom import Source


class ArmStatus(StrEnum):
    """How an arm ended. Only ``late`` and ``failed`` ones, and those left out for it, degrade an answer."""

    OK = "ok"
    LATE = "late"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A recall. Times in milliseconds; *budget_chars* bounds the dynamic part, a third of it the stable one.

    *session_key* is where the question is asked: what holds for one task only is recalled there
    alone.  *as_of_ms* asks what held then.
    """

    query: str
    limit: int = 8
    budget_chars: int = 6000
    deadline_ms: int = 400
    session_key: str = ""
    as_of_ms: int | None = None
    include_history: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One memory: an atom, a record or a scene, with the evidence it rests on.

    *occurred* is when it happened or was said (epoch ms).  *flags* name what is odd about it
    (``instruction``: it reads like an order).  *superseded_by* is the id of what holds now,
    *needs_review* of what may refute a ``doubted`` one.
    """

    id: str
    layer: str
    kind: str
    text: str
    score: float
    sources: tuple[Source, ...]
    occurred: int | None
    status: str
    speaker: str = ""
    superseded_by: str | None = None
    flags: tuple[str, ...] = ()
    session_key: str = ""
    needs_review: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of one item of ``stenolith recall --json``."""
        shape: dict[str, Any] = {
            "id": self.id,
            "layer": self.layer,
            "kind": self.kind,
            "text": self.text,
            "score": round(self.score, 4),
            "sources": [
                {"id": source.record_id, "quote": source.quote, "timestamp": source.timestamp}
                for source in self.sources
            ],
            "occurred": self.occurred,
            "status": self.status,
        }
        more = {
            "speaker": self.speaker or None,
            "superseded_by": self.superseded_by,
            "flags": list(self.flags) or None,
            "session_key": self.session_key or None,
            "needs_review": self.needs_review or None,
        }
        return {**shape, **{key: value for key, value in more.items() if value is not None}}


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmReport:
    """How one arm did: *ms* it took, *hits* it found, and the *reason* when it did not simply answer."""

    name: str
    status: ArmStatus
    ms: float
    hits: int = 0
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of one arm."""
        return {
            "name": self.name,
            "status": self.status.value,
            "ms": round(self.ms, 1),
            "hits": self.hits,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Who answered.  Nothing found and *degraded* empty: there is nothing.  Else: we could not look everywhere."""

    arms: tuple[ArmReport, ...] = ()
    degraded: tuple[str, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of the report."""
        return {
            "arms": [arm.to_dict() for arm in self.arms],
            "degraded": list(self.degraded),
            "dropped": dict(self.dropped),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a host gives its model: *stable* at the end of the system part, *dynamic* beside the question."""

    stable: str
    dynamic: str
    items: tuple[Item, ...]
    report: Report

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of ``stenolith recall --json``."""
        return {
            "stable": self.stable,
            "dynamic": self.dynamic,
            "items": [item.to_dict() for item in self.items],
            "report": self.report.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """What a search found.

    *total* counts what matched among the rows that were scored: those with the rarest words and the nearest ones,
    some hundreds at most, so beyond a hundred it is a lower bound.  *degraded* says what could not look.
    """

    items: tuple[Item, ...]
    total: int
    degraded: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of ``stenolith search --json``."""
        return {
            "items": [item.to_dict() for item in self.items],
            "total": self.total,
            "degraded": list(self.degraded),
        }
