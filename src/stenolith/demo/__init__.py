"""The example conversations that ship with stenolith: a month of a developer with three agents.

``conversations.json`` holds ``{"sessions": [...]}``.  A session has ``session_key``, ``session_id``, ``host``,
``resends`` and ``turns``; a turn has ``messages`` in the OpenAI chat form with ISO 8601 timestamps, and
``failed`` when the provider gave no answer.  Turns list only what is new.  Where ``resends`` is true the host
hands over the whole conversation so far on every turn: `handed_over` does that.  People, companies and
passwords are invented.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOver:
    """What a host gives at the end of a turn; *began* is the index of the turn's first message."""

    messages: list[dict[str, Any]]
    began: int
    failed: bool


def sessions() -> list[dict[str, Any]]:
    """Return the sessions of the demo, oldest first."""
    text = files(__package__).joinpath("conversations.json").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = json.loads(text)["sessions"]
    return found


def handed_over(session: Mapping[str, Any]) -> Iterator[HandOver]:
    """Yield what the session's host hands over after each turn."""
    so_far: list[dict[str, Any]] = []
    for turn in session["turns"]:
        began = len(so_far) if session["resends"] else 0
        so_far = [*so_far, *turn["messages"]] if session["resends"] else list(turn["messages"])
        yield HandOver(messages=list(so_far), began=began, failed=bool(turn.get("failed")))
