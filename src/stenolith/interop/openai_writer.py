"""Write messages in the form of OpenAI's chat completions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, assert_never

from stenolith.interop.blocks import REASONING_FIELDS, Piece
from stenolith.interop.chat import write_arguments
from stenolith.interop.drafts import TIME_KEYS, fields_of, pieces_of, residue_of, said_role, shaped, stop_word
from stenolith.interop.outgoing import (
    data_url,
    is_silent,
    opaque,
    own_details,
    own_mark,
    plain_rest,
    result_content,
    split_results,
)
from stenolith.interop.reading import Dialect
from stenolith.model.message import Image, Message, Opaque, Role, Text, Thinking, ToolCall, ToolResult

_CHAT: Final = Dialect.OPENAI_CHAT


def write_openai(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Return the messages as chat-completions objects; each tool result becomes a message of its own.

    Keys that OpenAI does not have (``timestamp``, ``is_error``, ``details``) are written where they say something:
    `read_messages` reads them back.
    """
    return [written for message in messages for written in _write(message)]


def _write(message: Message) -> list[dict[str, Any]]:
    results, others = split_results(pieces_of(message, _CHAT))
    found = [_write_result(message, piece, piece.part) for piece in results if isinstance(piece.part, ToolResult)]
    if found and is_silent(message):
        return found
    return [*found, _write_words(message, others)]


def _write_result(message: Message, piece: Piece, result: ToolResult) -> dict[str, Any]:
    role = said_role(message, "tool", _CHAT) if message.role is Role.TOOL else "tool"
    known: dict[str, Any] = {"role": role}
    if result.id or role != "function":
        known["tool_call_id"] = result.id
    if result.name:
        known["name"] = result.name
    known |= result_content(piece, result, write_block)
    if result.is_error or piece.rest.get("~said_no_error"):
        known["is_error"] = result.is_error
    return {**known, **own_mark(result), **own_details(piece, result), **_envelope(message)}


def _write_words(message: Message, pieces: list[Piece]) -> dict[str, Any]:
    known: dict[str, Any] = {"role": said_role(message, message.role.value, _CHAT)}
    content = [piece for piece in pieces if _is_content(piece)]
    known |= shaped(_CHAT, message, content, [write_block(piece) for piece in content])
    if message.speaker:
        known["name"] = message.speaker
    thoughts = [piece.part for piece in pieces if isinstance(piece.part, Thinking) and not piece.part.redacted]
    if thoughts:
        name = thoughts[0].signature if thoughts[0].signature in REASONING_FIELDS else None
        known[name or REASONING_FIELDS[0]] = "\n".join(thought.text for thought in thoughts)
    for piece in pieces:
        if isinstance(piece.part, Text) and piece.rest.get("~refusal"):
            known["refusal"] = piece.part.text
    return {**known, **_calls(message, pieces), **_envelope(message)}


def _is_content(piece: Piece) -> bool:
    if isinstance(piece.part, Text | Image):
        return not piece.rest.get("~refusal") and not piece.rest.get("~audio")
    return isinstance(piece.part, Opaque) and not piece.rest.get("~call")


def _calls(message: Message, pieces: list[Piece]) -> dict[str, Any]:
    known: dict[str, Any] = {}
    calls = []
    for piece in pieces:
        if isinstance(piece.part, ToolCall) and piece.rest.get("~legacy"):
            known["function_call"] = _function(piece, piece.part)
        elif isinstance(piece.part, ToolCall):
            calls.append(_write_call(piece, piece.part))
        elif isinstance(piece.part, Opaque) and piece.rest.get("~call"):
            calls.append(piece.part.value)
    if calls or residue_of(message, _CHAT).get("no_calls"):
        known["tool_calls"] = calls
    return known


def _write_call(piece: Piece, call: ToolCall) -> dict[str, Any]:
    holder = "custom" if piece.rest.get("~custom") else "function"
    kind = {} if piece.rest.get("~no_type") else {"type": holder}
    signed = {} if call.signature is None else {"extra_content": {"google": {"thought_signature": call.signature}}}
    return {"id": call.id, **kind, holder: _function(piece, call), **signed, **plain_rest(piece)}


def _function(piece: Piece, call: ToolCall) -> dict[str, Any]:
    key = "input" if piece.rest.get("~custom") else "arguments"
    said = piece.rest.get("~arguments")
    arguments = said if isinstance(said, str) else write_arguments(call.arguments)
    return {"name": call.name, key: arguments, **piece.rest.get("~function", {})}


def write_block(piece: Piece) -> Any:
    """Return one content block."""
    part = piece.part
    match part:
        case Text():
            kind = piece.rest.get("~type", "text")
            words = {"refusal" if kind == "refusal" else "text": part.text}
            more = {"signature": part.signature} if part.signature is not None else {}
            return {"type": kind, **words, **more, **plain_rest(piece)}
        case Image():
            url = {"url": data_url(part), **piece.rest.get("~url", {})}
            return {"type": "image_url", "image_url": url, **plain_rest(piece)}
        case Opaque():
            return opaque(part)
        case Thinking() | ToolCall() | ToolResult():
            raise ValueError("these parts are fields of a chat message, not blocks")
        case _ as never:
            assert_never(never)


def _envelope(message: Message) -> dict[str, Any]:
    fields = fields_of(message, _CHAT)
    known: dict[str, Any] = {"id": message.id} if message.id else {}
    if message.timestamp is not None and fields.keys().isdisjoint(TIME_KEYS):
        known["timestamp"] = message.timestamp
    if message.role is Role.ASSISTANT:
        if message.stop_reason and "finish_reason" not in fields:
            known["finish_reason"] = stop_word(message.stop_reason, _CHAT)
        if message.usage is not None:
            known["usage"] = dict(message.usage)
        if message.origin and message.origin.model:
            known["model"] = message.origin.model
    return {**known, **fields}
