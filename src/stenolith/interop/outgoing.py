"""What the writers share: blocks with their other keys, results with their unknown pieces."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from stenolith.interop.blocks import Piece, is_marked_synthetic
from stenolith.model.message import Image, Message, Opaque, Role, Text, ToolResult, part_to_dict

BlockWriter = Callable[[Piece], Any]


def plain_rest(piece: Piece) -> dict[str, Any]:
    """Return the keys that the foreign block had beside ours."""
    return {key: value for key, value in piece.rest.items() if not key.startswith("~")}


def signed(piece: Piece, usual: str, signature: str | None) -> dict[str, Any]:
    """Return the signature under the name it came with, or under the *usual* one; nothing when there is none."""
    if signature is None:
        return {}
    name = piece.rest.get("~signature", usual)
    return {name: _as_object(signature) if piece.rest.get("~signature_object") else signature}


def _as_object(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def result_content(piece: Piece, result: ToolResult, write: BlockWriter) -> dict[str, Any]:
    """Return ``{"content": …}`` of a tool's result, in the shape it came in; absent stays absent."""
    rests, shape = piece.rest.get("~parts"), piece.rest.get("~shape", "")
    found = rests if isinstance(rests, Mapping) else {}
    pieces = [Piece(part=part, rest=found.get(str(i), {})) for i, part in enumerate(result.content)]
    blocks = [write(inner) for inner in pieces]
    for at, block in zip(piece.rest.get("~unknown_at", ()), _unknown(result), strict=False):
        blocks.insert(at, block)
    if shape in {"absent", "null"} and not blocks:
        return {} if shape == "absent" else {"content": None}
    if shape == "object" and len(blocks) == 1:
        return {"content": blocks[0]}
    only = result.content[0] if len(blocks) == 1 and result.content else None
    bare = isinstance(only, Text) and only.signature is None and not pieces[0].rest
    if bare and isinstance(only, Text) and shape != "blocks":
        return {"content": only.text}
    return {"content": blocks}


def _unknown(result: ToolResult) -> list[Any]:
    parts = result.details.get("unknown_parts") if isinstance(result.details, Mapping) else None
    return [part.get("value") for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []


def own_details(piece: Piece, result: ToolResult) -> dict[str, Any]:
    """Return ``{"details": …}`` as the tool gave them, or nothing."""
    wrapped = "~unknown_at" in piece.rest and isinstance(result.details, Mapping)
    details = result.details.get("details") if wrapped else result.details
    return {} if details is None else {"details": details}


def own_mark(result: ToolResult) -> dict[str, Any]:
    """Return ``{"synthetic": true}`` for a result that nobody's tool gave, unless its details say so already."""
    return {"synthetic": True} if result.synthetic and not is_marked_synthetic(result.details) else {}


def opaque(part: Opaque) -> Any:
    """Return an unknown part as it was; a text among blocks would be taken for words, so it is wrapped."""
    return part_to_dict(part) if isinstance(part.value, str) else part.value


def data_url(image: Image) -> str:
    """Return the picture as a ``data:`` URL."""
    return f"data:{image.mime};base64,{image.data}"


def split_results(pieces: Iterable[Piece]) -> tuple[list[Piece], list[Piece]]:
    """Return the pieces that are tool results, and the others."""
    found: tuple[list[Piece], list[Piece]] = ([], [])
    for piece in pieces:
        found[not isinstance(piece.part, ToolResult)].append(piece)
    return found


def is_silent(message: Message) -> bool:
    """Say whether nothing would be left of *message* once its tool results are written."""
    return message.role is Role.TOOL or (bool(message.parts) and all(isinstance(p, ToolResult) for p in message.parts))
