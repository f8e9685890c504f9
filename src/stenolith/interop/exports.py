"""One conversation of the data that people download from ChatGPT and from Claude."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any

from stenolith.interop.chat import read_chat, read_role
from stenolith.interop.reading import Dialect
from stenolith.interop.timestamps import read_time
from stenolith.model.message import Message, Opaque, Origin, Part, Role, Text, Thinking, ToolCall, ToolResult


def read_chatgpt(value: Mapping[str, Any]) -> tuple[list[Message], list[str]]:
    """Read an element of ChatGPT's ``conversations.json``: the branch that ends at its current node."""
    mapping = value.get("mapping")
    nodes = mapping if isinstance(mapping, Mapping) else {}
    messages: list[Message] = []
    complaints: list[str] = []
    call = ""
    for said in _branch(nodes, value.get("current_node")):
        message = _read_node(said, call)
        if message is None:
            complaints.append(f"message {said.get('id')!r} has no role")
            continue
        call = next((part.id for part in message.parts if isinstance(part, ToolCall)), call)
        messages.append(message)
    return messages, complaints


def _branch(nodes: Mapping[str, Any], leaf: Any) -> list[Mapping[str, Any]]:
    """Return the messages from the root to *leaf*; without a known leaf all of them, as they stand."""
    if not isinstance(leaf, str) or leaf not in nodes:
        return [node["message"] for node in nodes.values() if isinstance(_inside(node, "message"), Mapping)]
    found: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    while isinstance(leaf, str) and leaf in nodes and leaf not in seen:
        seen.add(leaf)
        said = _inside(nodes[leaf], "message")
        if isinstance(said, Mapping):
            found.append(said)
        leaf = _inside(nodes[leaf], "parent")
    return found[::-1]


def _inside(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None


def _read_node(said: Mapping[str, Any], call: str) -> Message | None:
    author, metadata = said.get("author"), said.get("metadata")
    role, _ = read_role(_inside(author, "role"))
    if role is None:
        return None
    parts = _content_parts(said.get("content"))
    name, recipient = _inside(author, "name"), said.get("recipient")
    known = str(said.get("id") or "")
    if role is Role.TOOL:
        parts = [_as_result(parts, call, name if isinstance(name, str) else "")]
    elif role is Role.ASSISTANT and isinstance(recipient, str) and recipient != "all":
        words = "\n".join(part.text for part in parts if isinstance(part, Text))
        parts = [
            *(part for part in parts if not isinstance(part, Text)),
            ToolCall(id=known, name=recipient, arguments=words),
        ]
    model = _inside(metadata, "model_slug")
    return Message(
        role=role,
        parts=tuple(parts),
        id=known,
        timestamp=read_time(said.get("create_time"), guess_seconds=True).ms,
        origin=Origin(provider="openai", model=model) if role is Role.ASSISTANT and isinstance(model, str) else None,
        display=_inside(metadata, "is_visually_hidden_from_conversation") is not True,
    )


def _as_result(parts: Sequence[Part], call: str, name: str) -> ToolResult:
    texts = tuple(part for part in parts if isinstance(part, Text))
    others = [part.value for part in parts if isinstance(part, Opaque)]
    return ToolResult(id=call, name=name, content=texts, details={"unknown_parts": others} if others else None)


def _content_parts(content: Any) -> list[Part]:
    """Return the parts of a message's ``content``: texts, thoughts, and opaque ones for all else."""
    if not isinstance(content, Mapping):
        return []
    kind = str(content.get("content_type") or "unknown")
    pieces, thoughts = content.get("parts"), content.get("thoughts")
    if isinstance(pieces, list):
        return [Text(text=piece) if isinstance(piece, str) else Opaque(kind=kind, value=piece) for piece in pieces]
    if isinstance(thoughts, list):
        return [Thinking(text=str(_inside(thought, "content") or "")) for thought in thoughts]
    words = next((content[key] for key in ("text", "result", "content") if isinstance(content.get(key), str)), None)
    if words is None:
        return [Opaque(kind=kind, value=dict(content))]
    return [Thinking(text=words)] if kind == "reasoning_recap" else [Text(text=words)]


def read_claude(value: Mapping[str, Any]) -> tuple[list[Message], list[str]]:
    """Read an element of Claude's ``conversations.json``."""
    said = value.get("chat_messages")
    messages: list[Message] = []
    complaints: list[str] = []
    for item in said if isinstance(said, list) else []:
        if not isinstance(item, Mapping):
            complaints.append("a message must be an object")
            continue
        found, complaint = read_chat(_as_anthropic(item), Dialect.ANTHROPIC, UTC)
        messages += found
        complaints += [complaint] if complaint else []
    return messages, complaints


def _as_anthropic(item: Mapping[str, Any]) -> dict[str, Any]:
    left = {
        key: value
        for key, value in item.items()
        if key not in {"uuid", "sender", "text"} and value not in ([], "", None)
    }
    content = left.pop("content", None) or item.get("text") or []
    return {"id": item.get("uuid"), "role": item.get("sender"), "content": content, **left}
