"""Read content blocks of any dialect: every alias of a field becomes the canonical one (``spec/replay.md`` §1.3).

What a block says beside the canonical fields is its *rest*: it is kept in the message's ``extra`` under
``part_fields`` and written again.  Keys of a rest that begin with ``~`` are ours: how a thing was written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from stenolith.model.message import Image, Opaque, Part, Text, Thinking, ToolCall, ToolResult, part_to_dict

RESULT_IDS: Final = ("toolCallId", "tool_use_id", "tool_call_id", "toolUseId", "call_id", "callId")
CALL_IDS: Final = ("id", "toolCallId", "tool_call_id", "call_id", "callId", "toolUseId", "tool_use_id")
REASONING_FIELDS: Final = ("reasoning_content", "reasoning", "reasoning_text")
_SIGNATURES: Final = ("signature", "thought_signature", "thoughtSignature")
SYNTHETIC: Final = "openclawSyntheticMissingToolResult"
"""The key with which OpenClaw marks, in its details, a result that it made up (``spec/replay.md`` §3.9.1)."""
_DATA_URL: Final = re.compile(r"data:([^;,]*);base64,(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One part and what its block said beside it."""

    part: Part
    rest: Mapping[str, Any] = field(default_factory=dict)


def take(left: dict[str, Any], names: Iterable[str], kind: type) -> Any:
    """Remove and return the first of *names* in *left* that holds a *kind*; the others stay. None when none does."""
    for name in names:
        if isinstance(left.get(name), kind):
            return left.pop(name)
    return None


def read_block(value: Any) -> Piece:
    """Read one block. A string is text; whatever has no known form survives as `Opaque`."""
    if isinstance(value, str):
        return Piece(part=Text(text=value))
    if not isinstance(value, Mapping):
        return Piece(part=Opaque(kind=type(value).__name__, value=value))
    kind = value.get("type")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    found = reader(dict(value)) if reader else None
    return found or Piece(part=Opaque(kind=kind if isinstance(kind, str) else "unknown", value=dict(value)))


def _take_signature(left: dict[str, Any], own: str) -> str | None:
    """Take the signature out of *left*. An object (a reasoning item, a text phase) becomes its JSON text."""
    for name in (own, *_SIGNATURES):
        value = left.get(name)
        if isinstance(value, str | Mapping):
            del left[name]
            if name not in {own, "signature"}:
                left["~signature"] = name
            if isinstance(value, str):
                return value
            left["~signature_object"] = True
            return json.dumps(value, ensure_ascii=False)
    return None


def _read_text(left: dict[str, Any]) -> Piece | None:
    kind = left.pop("type")
    words = left.pop("text", None)
    if not isinstance(words, str):
        return None
    signature = _take_signature(left, "textSignature")
    return Piece(part=Text(text=words, signature=signature), rest=_with_type(left, kind, "text"))


def _read_refusal(left: dict[str, Any]) -> Piece | None:
    words = left.pop("refusal", None)
    if not isinstance(words, str):
        return None
    return Piece(part=Text(text=words), rest=_with_type(left, left.pop("type"), "text"))


def _with_type(left: dict[str, Any], kind: str, usual: str) -> dict[str, Any]:
    return left if kind == usual else {**left, "~type": kind}


def _read_image(left: dict[str, Any]) -> Piece | None:
    del left["type"]
    source = left.get("source")
    if isinstance(source, Mapping):
        if source.get("type") != "base64" or not isinstance(source.get("data"), str):
            return None
        more = {key: item for key, item in source.items() if key not in {"type", "media_type", "data"}}
        del left["source"]
        rest = {**left, "~source": more} if more else left
        return Piece(part=Image(data=source["data"], mime=_word(source.get("media_type"))), rest=rest)
    if not {"data", "mimeType", "mime", "media_type"} & left.keys():
        return None
    mime = take(left, ("mimeType", "mime", "media_type"), str)
    data = take(left, ("data",), str)
    return Piece(part=Image(data=data or "", mime=mime or ""), rest=left)


def _read_image_url(left: dict[str, Any]) -> Piece | None:
    kind, holder = left.pop("type"), left.pop("image_url", None)
    more = dict(holder) if isinstance(holder, Mapping) else {}
    url = more.pop("url", None) if isinstance(holder, Mapping) else holder
    match = _DATA_URL.fullmatch(url) if isinstance(url, str) else None
    if not match:
        return None  # a link: its bytes are elsewhere
    rest = {**left, "~url": more} if more else left
    return Piece(part=Image(data=match[2], mime=match[1]), rest=_with_type(rest, kind, "image_url"))


def _read_thinking(left: dict[str, Any]) -> Piece | None:
    del left["type"]
    words = take(left, ("thinking", "text"), str)
    redacted = left.pop("redacted", None) is True
    signature = _take_signature(left, "thinkingSignature")
    if redacted and signature is None:
        signature = take(left, ("data",), str)
    if words is None and signature is None and not redacted:
        return None
    return Piece(part=Thinking(text=words or "", signature=signature, redacted=redacted), rest=left)


def _read_redacted(left: dict[str, Any]) -> Piece | None:
    del left["type"]
    opaque = take(left, ("data",), str)
    if opaque is None:
        opaque = _take_signature(left, "thinkingSignature")
    words = take(left, ("thinking",), str)
    return Piece(part=Thinking(text=words or "", signature=opaque, redacted=True), rest=left)


def _read_opaque(left: dict[str, Any]) -> Piece | None:
    wrapped = isinstance(left.get("value"), str) and isinstance(left.get("kind"), str)
    return Piece(part=Opaque(kind=left["kind"], value=left["value"])) if wrapped else None


def _read_call(left: dict[str, Any]) -> Piece | None:
    del left["type"]
    ids = {"id": take(left, CALL_IDS, str) or "", "name": left.pop("name") if _is_text(left, "name") else ""}
    arguments = next((left[key] for key in ("arguments", "input", "args") if left.get(key) is not None), None)
    for key in ("arguments", "input", "args"):
        if left.get(key, arguments) is arguments or left[key] is None:
            left.pop(key, None)
    signature = _take_signature(left, "thoughtSignature")
    partial = take(left, ("partialJson", "partial_json"), str)
    return Piece(part=ToolCall(**ids, arguments=arguments, signature=signature, partial=partial), rest=left)


def _read_result(left: dict[str, Any]) -> Piece | None:
    del left["type"]
    return read_result(left)


def read_result(left: dict[str, Any]) -> Piece:
    """Read the fields of a tool's result, as a block or as a message of its own, out of *left*."""
    call, name = take(left, (*RESULT_IDS, "id"), str) or "", take(left, ("toolName", "name"), str) or ""
    said_null = "content" in left and left["content"] is None
    content = left.pop("content", None)
    failed = take(left, ("isError", "is_error"), bool)
    if failed is False:
        left["~said_no_error"] = True
    details = left.pop("details", None)
    marked = left.get("synthetic") is True and left.pop("synthetic")
    synthetic = marked or is_marked_synthetic(details)
    pieces = [read_block(item) for item in _as_list(content)]
    shape = "null" if said_null else _shape_of(content, pieces)
    unknown = [i for i, piece in enumerate(pieces) if not isinstance(piece.part, Text | Image)]
    if unknown:
        details = {"unknown_parts": [part_to_dict(pieces[i].part) for i in unknown], "details": details}
        left["~unknown_at"] = unknown
    kept = [piece for piece in pieces if isinstance(piece.part, Text | Image)]
    rests = {str(i): dict(piece.rest) for i, piece in enumerate(kept) if piece.rest}
    rest = {**left, **({"~parts": rests} if rests else {}), **({"~shape": shape} if shape else {})}
    inner = tuple(piece.part for piece in kept if isinstance(piece.part, Text | Image))
    result = ToolResult(
        id=call, name=name, content=inner, is_error=failed is True, synthetic=synthetic, details=details
    )
    return Piece(part=result, rest=rest)


def is_marked_synthetic(details: Any) -> bool:
    """Say whether a result's details carry OpenClaw's mark of a result that it made up."""
    return isinstance(details, Mapping) and details.get(SYNTHETIC) is True


def _shape_of(content: Any, pieces: list[Piece]) -> str:
    """Name how a result's content was written, where it is not the usual way: one plain text as a string."""
    if content is None:
        return "absent"
    if isinstance(content, Mapping):
        return "object"
    one = len(pieces) == 1 and isinstance(pieces[0].part, Text) and not pieces[0].part.signature and not pieces[0].rest
    return "blocks" if one and isinstance(content, list) else ""


def _as_list(content: Any) -> list[Any]:
    if isinstance(content, list):
        return content
    return [] if content is None else [content]


def _is_text(value: Mapping[str, Any], key: str) -> bool:
    return isinstance(value.get(key), str)


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""


_CALLS: Final = ("toolCall", "toolUse", "functionCall", "tool_use", "tool_call", "function_call")
_READERS: Final[Mapping[str, Callable[[dict[str, Any]], Piece | None]]] = {
    **dict.fromkeys(("text", "input_text", "output_text"), _read_text),
    **dict.fromkeys(("image_url", "input_image"), _read_image_url),
    **dict.fromkeys(("tool_result", "toolResult"), _read_result),
    **dict.fromkeys(_CALLS, _read_call),
    "opaque": _read_opaque,
    "refusal": _read_refusal,
    "image": _read_image,
    "thinking": _read_thinking,
    "redacted_thinking": _read_redacted,
}
