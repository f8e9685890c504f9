"""OpenAI Responses: a list of items (``spec/replay.md`` sections 3.11 and 4.2)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from stenolith.model.message import Image, Part, Text, Thinking, ToolCall, ToolResult
from stenolith.replay.report import Hints
from stenolith.replay.roles import ASSISTANT, TOOL, USER
from stenolith.replay.wire.steps import (
    Conversion,
    Step,
    arguments_text,
    data_url,
    images,
    result_words,
    shows,
    system_text,
    texts,
)

_ID: Final = re.compile(r"(?:rs|fc|msg)[A-Za-z0-9_-]{0,61}")
_ENCRYPTED: Final = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_HALF: Final = re.compile(r"[\ud800-\udfff]")
_PHASES: Final = frozenset({"commentary", "final_answer"})


def convert(steps: Sequence[Step], conversion: Conversion) -> tuple[dict[str, Any], Hints]:
    """Return the request body: ``input``, and ``store: false`` where the server keeps nothing."""
    writer = _Writer(conversion=conversion)
    for step in steps:
        if step.role is ASSISTANT:
            writer.assistant(step)
        elif step.role is TOOL:
            writer.items += [_output(part, conversion) for part in step.parts if type(part) is ToolResult]
        elif step.role is USER:
            writer.items.append(_message("user", _shown(step.parts) or [_text(".")]))
        else:
            words = system_text([step])
            writer.items += [_message("system", [_text(words)])] if words else []
    return {"input": writer.items, **({} if conversion.policy.store_items else {"store": False})}, Hints()


@dataclass(slots=True, kw_only=True)
class _Writer:
    """The items so far. *waiting* is a reasoning item that is sent only when its own item follows."""

    conversion: Conversion
    items: list[dict[str, Any]] = field(default_factory=list)
    waiting: dict[str, Any] | None = None
    backed: bool = False
    used: set[str] = field(default_factory=set)

    def assistant(self, step: Step) -> None:
        """Write one assistant's items in their order."""
        before = len(self.items)
        for part in step.parts:
            if type(part) is ToolCall:
                self._call(step.at, part)
            elif type(part) is Thinking:
                self._reason(step.at, part)
            elif shows(part):
                self._say(part)
        self._forget(step.at)
        self.backed = False
        if len(self.items) == before:
            self.conversion.note(step.at, "dropped", "an assistant message with nothing that this wire can carry")

    def _reason(self, index: int, part: Thinking) -> None:
        self._forget(index)
        item = None if part.redacted else _reasoning_item(part.signature)
        if item is None or item["id"] in self.used or not (self.conversion.policy.store_items or _is_sealed(item)):
            self.conversion.note(index, "dropped", part.text)
        else:
            self.waiting = item

    def _forget(self, index: int) -> None:
        if self.waiting is not None:
            self.conversion.note(index, "dropped", json.dumps(self.waiting, ensure_ascii=False))
        self.waiting = None

    def _settle(self) -> bool:
        """Write the reasoning that waits, and say whether one stands directly before the next item."""
        if self.waiting is None:
            return False
        self.items.append(self.waiting)
        self.used.add(self.waiting["id"])
        self.waiting = None
        return True

    def _own(self, name: str, prefix: str, *, backed: bool) -> str:
        """Return *name* when it may be sent as an item's id, else nothing."""
        if not backed or not self.conversion.policy.store_items or not name.startswith(prefix):
            return ""
        if _ID.fullmatch(name) is None or name in self.used:
            return ""
        self.used.add(name)
        return name

    def _say(self, text: Text) -> None:
        backed = self._settle()
        name, phase = _tag(text.signature)
        own = self._own(name, "msg", backed=backed)
        self.backed = False
        item: dict[str, Any] = {"type": "message", "role": "assistant"}
        if own:
            item |= {"id": own, "status": "completed"}
        item["content"] = [{"type": "output_text", "text": text.text, "annotations": []}] if own else text.text
        if phase:
            item["phase"] = phase
        self.items.append(item)

    def _call(self, index: int, call: ToolCall) -> None:
        self.backed = self._settle() or self.backed
        own = self._own(call.id.partition("|")[2], "fc", backed=self.backed)
        self.backed = self.backed and bool(own)
        name = self.conversion.name(index, call)
        item: dict[str, Any] = {"type": "function_call"}
        if own:
            item["id"] = own
        item["call_id"] = self.conversion.ids[call.id]
        item["name"] = name
        item["arguments"] = arguments_text(call)
        self.items.append(item)


def _reasoning_item(signature: str | None) -> dict[str, Any] | None:
    """Return the reasoning item that a signature holds, cut to the fields that may be sent."""
    if signature is None or not signature.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(signature)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, Mapping) or not str(value.get("type", "")).startswith("reasoning"):
        return None
    name = value.get("id")
    if not isinstance(name, str) or not name.startswith("rs") or _ID.fullmatch(name) is None:
        return None
    summary, content = _pieces(value.get("summary"), "summary_text"), _pieces(value.get("content"), "reasoning_text")
    sealed = value.get("encrypted_content")
    item: dict[str, Any] = {"type": "reasoning", "id": name, "summary": summary}
    item |= {"content": content} if content else {}
    return item | ({"encrypted_content": sealed} if _opens(sealed) else {})


def _pieces(value: Any, kind: str) -> list[dict[str, Any]]:
    found = value if isinstance(value, list) else []
    return [{"type": kind, "text": piece["text"]} for piece in found if _is_piece(piece)]


def _is_piece(piece: Any) -> bool:
    """Say whether *piece* has text that can be encoded: JSON may escape half a surrogate pair."""
    text = piece.get("text") if isinstance(piece, Mapping) else None
    return isinstance(text, str) and _HALF.search(text) is None


def _opens(sealed: Any) -> bool:
    return isinstance(sealed, str) and _ENCRYPTED.fullmatch(sealed) is not None


def _is_sealed(item: Mapping[str, Any]) -> bool:
    return "encrypted_content" in item


def _tag(signature: str | None) -> tuple[str, str]:
    """Return message id and phase of a text signature: a bare id or a JSON text."""
    word = signature or ""
    if not word.startswith("{"):
        return word, ""
    try:
        value = json.loads(word)
    except (ValueError, RecursionError):
        return "", ""
    name, phase = value.get("id"), value.get("phase")
    return name if isinstance(name, str) else "", phase if phase in _PHASES else ""


def _message(role: str, content: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": content}


def _text(words: str) -> dict[str, Any]:
    return {"type": "input_text", "text": words}


def _shown(parts: Sequence[Part]) -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = []
    for part in parts:
        if shows(part):
            shown.append(_text(part.text))
        elif isinstance(part, Image):
            shown.append({"type": "input_image", "detail": "auto", "image_url": data_url(part)})
    return shown


def _output(result: ToolResult, conversion: Conversion) -> dict[str, Any]:
    output: Any = result_words(result)
    if images(result.content):
        output = [*([] if texts(result.content) else [_text(output)]), *_shown(result.content)]
    return {"type": "function_call_output", "call_id": conversion.ids.answer(result.id), "output": output}
