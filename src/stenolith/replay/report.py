"""What a replay did: every change is a line, and every text that left the payload stands in one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stenolith.model.message import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change between the stored transcript and what a provider sees.

    *rule* names the pass (``pairing``), *index* the message of the input it concerns (an invented
    message carries its neighbour's; what could not be read as a message has -1), *action* what was
    done (``dropped``, ``moved``, ``added``, ``replaced``), *detail* the whole text that left the
    payload, or a short fact when none did.
    """

    rule: str
    index: int
    action: str
    detail: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of the report line."""
        return {"rule": self.rule, "index": self.index, "action": self.action, "detail": self.detail}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """What the caller must do so that the provider accepts the payload.

    *disable_thinking*: send this request with thinking off. *tool_config_required*: the history
    holds tool calls, so tools must be declared. *retry* names the repair to apply if the provider
    still refuses (``replay.md`` section 3.14).
    """

    disable_thinking: bool = False
    tool_config_required: bool = False
    retry: str | None = None

    def join(self, other: Hints) -> Hints:
        """Return hints that ask for whatever either side asks for."""
        return Hints(
            disable_thinking=self.disable_thinking or other.disable_thinking,
            tool_config_required=self.tool_config_required or other.tool_config_required,
            retry=self.retry or other.retry,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; unset hints are left out."""
        named = {"disable_thinking": self.disable_thinking, "tool_config_required": self.tool_config_required}
        return {**{key: True for key, value in named.items() if value}, **({"retry": self.retry} if self.retry else {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One thing that a provider's wire would reject (``replay.md`` section 4)."""

    code: str
    path: str
    message: str

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"code": self.code, "path": self.path, "message": self.message}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """One provider request body and what converting to it changed."""

    payload: Mapping[str, Any]
    changes: tuple[Change, ...] = ()
    hints: Hints = Hints()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sanitised:
    """Canonical messages that are fit for one target; sanitising them again changes nothing."""

    messages: tuple[Message, ...]
    changes: tuple[Change, ...] = ()
    hints: Hints = Hints()


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A provider payload, the report of how it came to be, and what the linter says about it."""

    payload: Mapping[str, Any]
    report: tuple[Change, ...] = ()
    hints: Hints = Hints()
    violations: tuple[Violation, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form that the command line prints."""
        return {
            "payload": dict(self.payload),
            "report": [change.to_dict() for change in self.report],
            "hints": self.hints.to_dict(),
            "violations": [violation.to_dict() for violation in self.violations],
        }


@dataclass(slots=True, eq=False)
class Line:
    """A message on its way through the passes; *at* is where in the input it stood.

    Nobody changes one; it is not frozen because making a frozen value takes twice the time, and a
    replay makes one for every message. Each pass reads them all, and a slot is what reads fastest.
    """

    at: int
    message: Message


Passed = tuple[Sequence[Line], Sequence[Change]]
