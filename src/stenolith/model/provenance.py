"""Where a message came from: a structured fact, never a sentence inside its text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class ProvenanceKind(StrEnum):
    """Who put a message into a session."""

    EXTERNAL_USER = "external_user"
    INTER_SESSION = "inter_session"
    INTERNAL_SYSTEM = "internal_system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The sender of a message when it is not simply the person at the keyboard."""

    kind: ProvenanceKind
    session: str = ""
    channel: str = ""
    tool: str = ""
    extra: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the canonical JSON form; empty fields are left out."""
        named = {"kind": self.kind.value, "session": self.session, "channel": self.channel, "tool": self.tool}
        found = {key: value for key, value in named.items() if value}
        return {**found, "extra": dict(self.extra)} if self.extra else found

    @classmethod
    def from_dict(cls, value: Any) -> Provenance | None:
        """Read the canonical form; an unknown kind means that nothing is known."""
        kind = value.get("kind") if isinstance(value, Mapping) else None
        if not isinstance(kind, str) or kind not in set(ProvenanceKind):
            return None
        text = {key: str(value.get(key) or "").strip() for key in ("session", "channel", "tool")}
        extra = value.get("extra")
        return cls(kind=ProvenanceKind(kind), **text, extra=extra if isinstance(extra, Mapping) else None)
