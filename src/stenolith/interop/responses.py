"""Read and write the items of OpenAI's Responses API.

Items are smaller than messages: a reasoning item, its function calls and its message belong to one assistant turn, and
the API wants a reasoning item right before what it led to.  Reading joins such neighbours; writing takes them apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo
from typing import Any, Final

from stenolith.interop.blocks import Piece, take
from stenolith.interop.chat import read_function, read_role
from stenolith.interop.drafts import Draft
from stenolith.interop.reading import Dialect, Problem
from stenolith.interop.scan import Element
from stenolith.model.message import Message, Opaque, Role, Text, Thinking

_CALLS: Final = ("function_call", "custom_tool_call")
_OUTPUTS: Final = tuple(f"{call}_output" for call in _CALLS)
_AS_ITEM: Final = {"part_fields": {"0": {"~item": True}}, "dialect": Dialect.OPENAI_RESPONSES.value}
USUAL_BLOCK: Final[Mapping[Role, str]] = {Role.ASSISTANT: "output_text"}


def read_responses(elements: Iterable[Element], zone: tzinfo) -> tuple[list[Message], list[Problem]]:
    """Return the messages that the items make, and what was wrong with some of them."""
    reader = _Reader(zone)
    for element in elements:
        complaint = reader.add(element.value)
        if complaint:
            told = json.dumps(element.value, ensure_ascii=False)
            reader.problems.append(Problem(line=element.line, message=complaint, text=told))
    reader.close()
    return reader.messages, reader.problems


class _Reader:
    """Gathers the items of one assistant turn until something else comes."""

    def __init__(self, zone: tzinfo) -> None:
        self.messages: list[Message] = []
        self.problems: list[Problem] = []
        self._zone = zone
        self._turn: Draft | None = None
        self._ended_with_message = False
        self._full_ids: dict[str, str] = {}

    def add(self, value: Any) -> str:
        """Read one item. Returns a complaint or an empty string."""
        if not isinstance(value, Mapping):
            return f"an item must be an object, not {type(value).__name__}"
        kind = value.get("type", "message" if "role" in value else None)
        if kind == "message":
            return self._add_message(value)
        if not isinstance(kind, str):
            return "an item needs a type"
        if kind in _OUTPUTS:
            self._add_output(value, kind)
        elif kind.endswith("_output"):
            self.close()
            part = Opaque(kind=kind, value=dict(value))
            self.messages.append(Message(role=Role.TOOL, parts=(part,), extra=_AS_ITEM))
        else:
            self._add_to_turn(self._read_item(value, kind))
        return ""

    def close(self) -> None:
        """End the assistant turn that is being gathered."""
        if self._turn:
            self.messages.append(self._turn.finish(Role.ASSISTANT))
        self._turn, self._ended_with_message = None, False

    def _add_to_turn(self, pieces: Sequence[Piece]) -> None:
        self._turn = self._turn or Draft({}, Dialect.OPENAI_RESPONSES)
        self._turn.pieces += pieces
        self._ended_with_message = False

    def _read_item(self, value: Mapping[str, Any], kind: str) -> list[Piece]:
        left = dict(value)
        if kind in _CALLS:
            return [self._read_call(left, kind)]
        if kind == "reasoning" or kind.startswith("reasoning."):
            signature = json.dumps(value, ensure_ascii=False)
            return [Piece(part=Thinking(text=_summary_of(value), signature=signature))]
        return [Piece(part=Opaque(kind=kind, value=left), rest={"~item": True})]

    def _read_call(self, left: dict[str, Any], kind: str) -> Piece:
        del left["type"]
        call, item = take(left, ("call_id",), str) or "", take(left, ("id",), str)
        named: dict[str, Any] = {key: left.pop(key) for key in ("name", "arguments", "input") if key in left}
        full = call if item is None else f"{call}|{item}"
        self._full_ids[call] = full
        piece = read_function(full, named)
        custom = {"~custom": True} if kind != "function_call" else {}
        whole = {"~call_id": call} if "|" in call else {}
        return Piece(part=piece.part, rest={**left, **piece.rest, **custom, **whole})

    def _add_output(self, value: Mapping[str, Any], kind: str) -> None:
        self.close()
        draft = Draft(value, Dialect.OPENAI_RESPONSES)
        draft.left.pop("type")
        draft.word("id", "id")
        draft.time(("timestamp",), self._zone, guess_seconds=True)
        call = str(draft.left.get("call_id") or "")
        if "output" in draft.left:
            draft.left["content"] = draft.left.pop("output")
        draft.left["call_id"] = self._full_ids.get(call, call)
        draft.result()
        rest = dict(draft.pieces[0].rest)
        inner = {at: spelled for at, more in rest.pop("~parts", {}).items() if (spelled := _usual(more, "input_text"))}
        listed = isinstance(value.get("output"), list) and len(value["output"]) == 1
        more = {**({"~parts": inner} if inner else {}), **({"~shape": "blocks"} if listed else {})}
        custom = {"~custom": True} if kind != _OUTPUTS[0] else {}
        whole = {"~call_id": call} if "|" in call else {}
        draft.pieces = [Piece(part=draft.pieces[0].part, rest={**rest, **more, **custom, **whole})]
        self.messages.append(draft.finish(Role.TOOL))

    def _add_message(self, value: Mapping[str, Any]) -> str:
        role, complaint = read_role(value.get("role"))
        if role is None:
            return complaint
        draft = Draft(value, Dialect.OPENAI_RESPONSES)
        typed = draft.left.pop("type", None) is not None
        if draft.left.pop("role") != role.value:
            draft.extra["role"] = value["role"]
        if role is Role.ASSISTANT and (isinstance(value.get("content"), str) or value.get("content")):
            self._add_words(draft, typed)
            return complaint
        self.close()
        draft.word("id", "id")
        draft.word("speaker", "name")
        draft.time(("timestamp",), self._zone, guess_seconds=True)
        draft.content()
        draft.pieces = _respelled(draft, role)
        if typed:
            draft.extra["typed"] = True
        self.messages.append(draft.finish(role))
        return complaint

    def _add_words(self, draft: Draft, typed: bool) -> None:
        """Put an assistant's message item into its turn; two of them side by side are two messages."""
        if self._ended_with_message:
            self.close()
        draft.time(("timestamp",), self._zone, guess_seconds=True)
        signature = _signature_of(draft.left)
        draft.content()
        pieces = [_signed(piece, signature) for piece in _respelled(draft, Role.ASSISTANT)]
        draft.pieces = pieces
        shape = draft.odd_shape(Role.ASSISTANT)
        ours = {
            **({} if typed == (signature is not None) else {"~typed": typed}),
            **({"~shape": shape} if shape else {}),
        }
        if draft.left or ours:
            pieces[0] = Piece(part=pieces[0].part, rest={**pieces[0].rest, "~message": {**draft.left, **ours}})
        self._add_to_turn(pieces)
        if self._turn:
            self._turn.known |= {key: draft.known[key] for key in ("timestamp",) if key in draft.known}
            self._turn.extra |= {key: draft.extra[key] for key in ("role", "timestamp_assumed") if key in draft.extra}
        self._ended_with_message = True


def _summary_of(item: Mapping[str, Any]) -> str:
    found = [*(_list(item.get("summary"))), *(_list(item.get("content")))]
    return "\n\n".join(block["text"] for block in found if isinstance(block, Mapping) and _is_text(block.get("text")))


def _signature_of(left: dict[str, Any]) -> str | None:
    """Take a message item's id and phase: the id alone, or both as OpenClaw keeps them."""
    item: str | None = take(left, ("id",), str)
    phase: str | None = take(left, ("phase",), str)
    if phase is None:
        return item
    known = {"v": 1, **({} if item is None else {"id": item}), "phase": phase}
    return json.dumps(known, separators=(",", ":"))


def _signed(piece: Piece, signature: str | None) -> Piece:
    if signature is None or not isinstance(piece.part, Text):
        return piece
    return Piece(part=Text(text=piece.part.text, signature=signature), rest=piece.rest)


def _respelled(draft: Draft, role: Role) -> list[Piece]:
    """Return the pieces with the type of their block beside them only where it is not the usual one."""
    if draft.shape == "string":
        return draft.pieces
    usual = USUAL_BLOCK.get(role, "input_text")
    return [Piece(part=piece.part, rest=_usual(_typed(piece), usual)) for piece in draft.pieces]


def _typed(piece: Piece) -> Mapping[str, Any]:
    return {"~type": "text", **piece.rest} if isinstance(piece.part, Text) else piece.rest


def _usual(rest: Mapping[str, Any], usual: str) -> dict[str, Any]:
    usual = "input_image" if rest.get("~type") == "input_image" else usual
    return {key: value for key, value in rest.items() if (key, value) != ("~type", usual)}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_text(value: Any) -> bool:
    return isinstance(value, str)
