"""Write messages as items of OpenAI's Responses API."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from stenolith.interop.blocks import Piece
from stenolith.interop.chat import write_arguments
from stenolith.interop.drafts import TIME_KEYS, fields_of, pieces_of, residue_of, said_role
from stenolith.interop.outgoing import data_url, opaque, own_details, own_mark, plain_rest, result_content
from stenolith.interop.reading import Dialect
from stenolith.interop.responses import USUAL_BLOCK
from stenolith.model.message import Image, Message, Opaque, Part, Role, Text, Thinking, ToolCall, ToolResult

_ITEMS: Final = Dialect.OPENAI_RESPONSES


def write_responses(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Return the items that the messages make: reasoning, calls, outputs and words each by itself.

    Reasoning that is not a Responses item becomes one with a summary and no id.
    """
    return [item for message in messages for item in _items(message)]


def _items(message: Message) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    words: list[Piece] = []
    for piece in pieces_of(message, _ITEMS):
        if _is_word(piece.part, piece.rest):
            words.append(piece)
            continue
        items += _flush(message, words)
        item = _write_item(message, piece)
        items += [item] if item is not None else []
    items += _flush(message, words)
    if not items and message.role is not Role.TOOL:
        items.append(_write_words(message, []))
    return items


def _is_word(part: Part, rest: Mapping[str, Any]) -> bool:
    return isinstance(part, Text | Image) or (isinstance(part, Opaque) and not rest.get("~item"))


def _flush(message: Message, words: list[Piece]) -> list[dict[str, Any]]:
    if not words or message.role is Role.TOOL:
        return [
            part.value for piece in words if isinstance(part := piece.part, Opaque) and isinstance(part.value, dict)
        ]
    found = [_write_words(message, list(words))]
    words.clear()
    return found


def _write_item(message: Message, piece: Piece) -> dict[str, Any] | None:
    match piece.part:
        case Thinking():
            return _write_reasoning(piece.part)
        case ToolCall():
            return _write_call(piece, piece.part)
        case ToolResult():
            return _write_output(message, piece, piece.part)
        case Opaque():
            return piece.part.value if isinstance(piece.part.value, dict) else None
        case _:
            return None


def _write_reasoning(part: Thinking) -> dict[str, Any]:
    item = _json_object(part.signature)
    if str(item.get("type", "")).split(".")[0] == "reasoning":
        return item
    return {"type": "reasoning", "summary": [{"type": "summary_text", "text": part.text}] if part.text else []}


def _write_call(piece: Piece, call: ToolCall) -> dict[str, Any]:
    custom = piece.rest.get("~custom")
    cut = piece.rest.get("~call_id", call.id.partition("|")[0])
    item = call.id[len(cut) + 1 :]
    said = piece.rest.get("~arguments")
    arguments = said if isinstance(said, str) else write_arguments(call.arguments)
    known: dict[str, Any] = {"type": "custom_tool_call" if custom else "function_call"}
    known |= {"id": item} if item else {}
    known |= {"call_id": cut, "name": call.name, "input" if custom else "arguments": arguments}
    return {**known, **piece.rest.get("~function", {}), **plain_rest(piece)}


def _write_output(message: Message, piece: Piece, result: ToolResult) -> dict[str, Any]:
    kind = "custom_tool_call_output" if piece.rest.get("~custom") else "function_call_output"
    known: dict[str, Any] = {"type": kind, "call_id": piece.rest.get("~call_id", result.id.partition("|")[0])}
    content = result_content(piece, result, lambda inner: _write_block(inner, "input_text"))
    known |= {"output": content["content"]} if content else {}
    known |= {"name": result.name} if result.name else {}
    known |= {"is_error": result.is_error} if result.is_error or piece.rest.get("~said_no_error") else {}
    known |= own_mark(result)
    return {**known, **own_details(piece, result), **_envelope(message)}


def _write_words(message: Message, pieces: list[Piece]) -> dict[str, Any]:
    assistant = message.role is Role.ASSISTANT and bool(pieces)
    item = dict(pieces[0].rest.get("~message", {})) if assistant else {}
    state = _state(pieces) if assistant else {}
    typed = item.pop("~typed", bool(state)) if assistant else residue_of(message, _ITEMS).get("typed", False)
    shape = item.pop("~shape", None) if assistant else residue_of(message, _ITEMS).get("shape")
    known: dict[str, Any] = {"type": "message"} if typed else {}
    known |= {"role": said_role(message, message.role.value, _ITEMS), **_content(message.role, pieces, shape)}
    known |= {"name": message.speaker} if message.speaker and not assistant else {}
    dated = {"timestamp": message.timestamp} if _dated(message) else {}
    return {**known, **state, **item, **dated} if assistant else {**known, **_envelope(message)}


def _dated(message: Message) -> bool:
    return message.timestamp is not None and fields_of(message, _ITEMS).keys().isdisjoint(TIME_KEYS)


def _envelope(message: Message) -> dict[str, Any]:
    known: dict[str, Any] = {"id": message.id} if message.id else {}
    return {**known, **({"timestamp": message.timestamp} if _dated(message) else {}), **fields_of(message, _ITEMS)}


def _content(role: Role, pieces: list[Piece], shape: Any) -> dict[str, Any]:
    usual = USUAL_BLOCK.get(role, "input_text")
    if not pieces and shape in {"absent", "null"}:
        return {} if shape == "absent" else {"content": None}
    only = pieces[0].part if len(pieces) == 1 else None
    plain = isinstance(only, Text) and set(pieces[0].rest) <= {"~message"}
    usually = "string" if plain and isinstance(only, Text) and only.signature is None else "blocks"
    if isinstance(only, Text) and plain and (shape or usually) == "string":
        return {"content": only.text}
    blocks = [_write_block(piece, usual) for piece in pieces]
    return {"content": blocks[0] if shape == "object" and len(blocks) == 1 else blocks}


def _state(pieces: list[Piece]) -> dict[str, Any]:
    """Return the id and phase of a message item from its words' signature."""
    found = next((p.part.signature for p in pieces if isinstance(p.part, Text) and p.part.signature), None)
    if found is None:
        return {}
    known = _json_object(found)
    return {key: known[key] for key in ("id", "phase") if key in known} if known else {"id": found}


def _json_object(text: str | None) -> dict[str, Any]:
    try:
        value = json.loads(text or "")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _write_block(piece: Piece, usual: str) -> Any:
    part = piece.part
    if isinstance(part, Text):
        kind = piece.rest.get("~type", usual)
        words = {"refusal" if kind == "refusal" else "text": part.text}
        return {"type": kind, **words, **plain_rest(piece)}
    if isinstance(part, Image):
        kind = piece.rest.get("~type", "input_image")
        url = piece.rest.get("~url")
        link = {"url": data_url(part), **url} if isinstance(url, Mapping) else data_url(part)
        return {"type": kind, "image_url": link, **plain_rest(piece)}
    return opaque(part) if isinstance(part, Opaque) else None
