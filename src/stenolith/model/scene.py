"""Scenes (L2): a dossier of one project or topic; every line cites atoms."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Section(StrEnum):
    """The parts of a dossier, in the order they are written."""

    BACKGROUND = "background"
    CONSTRAINTS = "constraints"
    DECISIONS = "decisions"
    EVENTS = "events"
    LESSONS = "lessons"
    OPEN = "open points"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One statement and the atoms it stands on."""

    text: str
    atoms: tuple[str, ...]
    section: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A stored dossier. *name* is a stable, readable handle; times are epoch milliseconds."""

    id: str
    name: str
    title: str
    summary: str
    terms: tuple[str, ...]
    lines: tuple[Line, ...]
    version: int
    created_at: int
    updated_at: int
    archived: bool = False
