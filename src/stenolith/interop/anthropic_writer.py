"""Write messages in the form of Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, assert_never

from stenolith.interop.blocks import Piece
from stenolith.interop.drafts import TIME_KEYS, fields_of, pieces_of, said_role, shaped, stop_word
from stenolith.interop.outgoing import opaque, own_details, own_mark, plain_rest, result_content, signed
from stenolith.interop.reading import Dialect
from stenolith.model.message import Image, Message, Opaque, Part, Role, Text, Thinking, ToolCall, ToolResult


def write_anthropic(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the messages as Anthropic objects.

    Tool results become a user message, and the user message behind them joins it: the API wants a call's results and
    the words that follow in one message.
    """
    written: list[dict[str, Any]] = []
    before: Message | None = None
    for message in messages:
        if before is not None and joins(before, message):
            written[-1]["content"] = _blocks_of(written[-1]["content"]) + _blocks(message)
        else:
            written.append(_write(message))
        before = message
    return written


def joins(results: Message, words: Message) -> bool:
    """Say whether *words* were, or may be, one Anthropic message with the *results* before them."""
    if results.role is not Role.TOOL or words.role is not Role.USER or words.extra.get("separate"):
        return False
    return (results.id, results.timestamp) == (words.id, words.timestamp) and not fields_of(words, Dialect.ANTHROPIC)


def _blocks_of(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def _blocks(message: Message) -> list[Any]:
    return [write_block(piece) for piece in pieces_of(message, Dialect.ANTHROPIC)]


def _write(message: Message) -> dict[str, Any]:
    usual = Role.USER if message.role is Role.TOOL else message.role
    known: dict[str, Any] = {"id": message.id} if message.id else {}
    known["role"] = said_role(message, usual.value, Dialect.ANTHROPIC)
    fields, pieces = fields_of(message, Dialect.ANTHROPIC), pieces_of(message, Dialect.ANTHROPIC)
    known |= shaped(Dialect.ANTHROPIC, message, pieces, _blocks(message))
    if message.timestamp is not None and fields.keys().isdisjoint(TIME_KEYS):
        known["timestamp"] = message.timestamp
    if message.role is Role.ASSISTANT:
        if message.origin and message.origin.model:
            known["model"] = message.origin.model
        if message.stop_reason and "stop_reason" not in fields:
            known["stop_reason"] = stop_word(message.stop_reason, Dialect.ANTHROPIC)
        if message.usage is not None:
            known["usage"] = dict(message.usage)
    elif message.speaker:
        known["name"] = message.speaker
    return {**known, **fields}


def write_block(piece: Piece) -> Any:
    """Return one content block."""
    part: Part = piece.part
    match part:
        case Text():
            kind = piece.rest.get("~type", "text")
            words = {"refusal" if kind == "refusal" else "text": part.text}
            return {"type": kind, **words, **signed(piece, "signature", part.signature), **plain_rest(piece)}
        case Image():
            source = {"type": "base64", "media_type": part.mime, "data": part.data}
            return {"type": "image", "source": {**source, **piece.rest.get("~source", {})}, **plain_rest(piece)}
        case Thinking():
            return _write_thinking(piece, part)
        case ToolCall():
            call = {"type": "tool_use", "id": part.id, "name": part.name, "input": part.arguments}
            more = {} if part.partial is None else {"partial_json": part.partial}
            return {**call, **more, **signed(piece, "signature", part.signature), **plain_rest(piece)}
        case ToolResult():
            return _write_result(piece, part)
        case Opaque():
            return opaque(part)
        case _ as never:
            assert_never(never)


def _write_thinking(piece: Piece, part: Thinking) -> dict[str, Any]:
    if part.redacted:
        data = {} if part.signature is None else {"data": part.signature}
        words = {"thinking": part.text} if part.text else {}
        return {"type": "redacted_thinking", **data, **words, **plain_rest(piece)}
    signature = signed(piece, "signature", part.signature)
    return {"type": "thinking", "thinking": part.text, **signature, **plain_rest(piece)}


def _write_result(piece: Piece, result: ToolResult) -> dict[str, Any]:
    known: dict[str, Any] = {"type": "tool_result", "tool_use_id": result.id}
    known |= {"name": result.name} if result.name else {}
    known |= result_content(piece, result, write_block)
    flags = {"is_error": result.is_error} if result.is_error or piece.rest.get("~said_no_error") else {}
    ordered = chain(known.items(), flags.items(), own_mark(result).items(), own_details(piece, result).items())
    return {**dict(ordered), **plain_rest(piece)}
