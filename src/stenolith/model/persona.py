"""Persona (L3): what is stable about a person; every line cites atoms of several days and scenes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class PersonaStatus(StrEnum):
    """Whether the evidence suffices."""

    STANDING = "standing"
    CANDIDATE = "candidate"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonaLine:
    """One trait or standing instruction with its evidence; *missing* says what a candidate lacks."""

    id: str
    section: str
    text: str
    atoms: tuple[str, ...]
    status: PersonaStatus
    missing: str = ""
    version: int = 1
    updated_at: int = 0
