"""Which tool calls of a session file need a result written, and the entries that say ``aborted``.

Only two kinds do: calls of OpenAI's code mode, and calls of the ``message`` tool that a mirror already answered.  All
others are settled when a transcript is replayed.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from stenolith.interop.blocks import RESULT_IDS, SYNTHETIC
from stenolith.interop.openclaw import MIRRORS
from stenolith.interop.session_lines import Entry
from stenolith.interop.spans import find, put

_CODE_MODE: Final = frozenset({"openai-chatgpt-responses", "openai-codex-responses"})
_UNFINISHED: Final = frozenset({"error", "aborted"})
_CALLS: Final = frozenset({"toolCall", "toolUse", "functionCall"})
ABORTED: Final = "aborted"


@dataclass(slots=True)
class Pairs:
    """What the entries, in order, tell about calls and results. Holds ids only, never content."""

    _open: dict[str, int] = field(default_factory=dict)  # a call that waits for its result, by id
    _lost: list[tuple[int, str]] = field(default_factory=list)
    _mirrored: set[int] = field(default_factory=set)
    _code_mode: set[int] = field(default_factory=set)
    _calls: dict[int, dict[str, str]] = field(default_factory=dict)
    _last: int = -1
    _before: int = -1

    def note(self, index: int, value: Mapping[str, Any]) -> None:
        """Take note of the entry with number *index*."""
        message = value.get("message")
        if value.get("type") != "message" or not isinstance(message, Mapping):
            return
        if message.get("role") == "assistant":
            self._note_assistant(index, value, message)
        elif message.get("role") == "toolResult":
            answered = next((message[key] for key in RESULT_IDS if isinstance(message.get(key), str)), "")
            self._open.pop(answered.strip(), None)
        self._last = index

    def _note_assistant(self, index: int, value: Mapping[str, Any], message: Mapping[str, Any]) -> None:
        if message.get("provider") == "openclaw" and message.get("model") in MIRRORS:
            if self._before == self._last:
                self._mirrored.add(self._before)
            return
        calls = _calls_of(message)
        if not calls or message.get("stopReason") in _UNFINISHED or not isinstance(value.get("id"), str):
            return
        self._lost += [(self._open[call], call) for call in calls if call in self._open]
        self._open |= dict.fromkeys(calls, index)
        self._calls[index] = calls
        self._before = index
        if message.get("api") in _CODE_MODE:
            self._code_mode.add(index)

    def missing(self) -> dict[int, dict[str, str]]:
        """Return the calls to answer: for an entry's number, call ids with the names of their tools.

        A call of the last message is left: its tool may be running.
        """
        found: dict[int, dict[str, str]] = {}
        for index, call in [*self._lost, *((index, call) for call, index in self._open.items())]:
            name = self._calls[index][call]
            wanted = index in self._code_mode or (index in self._mirrored and name == "message")
            if wanted and index != self._last:
                found.setdefault(index, {})[call] = name
        return found


def _calls_of(message: Mapping[str, Any]) -> dict[str, str]:
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    calls = [block for block in blocks if isinstance(block, Mapping) and block.get("type") in _CALLS]
    return {call["id"].strip(): str(call.get("name") or "") for call in calls if isinstance(call.get("id"), str)}


def aborted_entries(value: Mapping[str, Any], calls: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the result entries that follow the entry *value*, each the child of the one before it.

    Ids are made from the entry and the call, so that the same file is repaired the same way.
    """
    entries: list[dict[str, Any]] = []
    parent, stamp = value["id"], value["message"].get("timestamp")
    for call, name in calls.items():
        message = {"role": "toolResult", "toolCallId": call, "toolName": name, "isError": True}
        message |= {"content": [{"type": "text", "text": ABORTED}], "details": {SYNTHETIC: True}}
        message |= {} if stamp is None else {"timestamp": stamp}
        made = uuid.uuid5(uuid.NAMESPACE_OID, f"{value['id']} {call}")
        entry = {"type": "message", "id": f"repair-{made}", "parentId": parent, "timestamp": value.get("timestamp")}
        entries.append({**entry, "message": message})
        parent = entry["id"]
    return entries


def encoded(entries: list[dict[str, Any]]) -> bytes:
    """Return *entries* as lines."""
    return b"".join(json.dumps(entry, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n" for entry in entries)


def reparented(entry: Entry, moved: Mapping[str, str]) -> str | None:
    """Return the entry's text with its parent replaced where *moved* says so, or None."""
    parent = entry.value.get("parentId") if isinstance(entry.value, Mapping) else None
    span = find(entry.text, "parentId") if isinstance(parent, str) and parent in moved else None
    return put(entry.text, span, json.dumps(moved[parent], ensure_ascii=False)) if span and parent else None
