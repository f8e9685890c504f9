"""Tell the dialects apart by marks that only one of them has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from stenolith.interop.reading import Dialect

ENTRY_TYPES: Final = frozenset({
    "session", "compaction", "branch_summary", "custom", "custom_message",
    "model_change", "thinking_level_change", "label", "session_info",
})  # fmt: skip
_OPENCLAW_ROLES: Final = frozenset({
    "toolResult", "custom", "hookMessage", "bashExecution", "compactionSummary", "branchSummary",
})  # fmt: skip
_OPENCLAW_KEYS: Final = frozenset({"stopReason", "toolCallId", "errorMessage", "responseModel"})
_CHAT_KEYS: Final = frozenset({"tool_calls", "function_call", "reasoning_content", "refusal", "finish_reason"})
_RESPONSE_TYPES: Final = frozenset({"function_call", "function_call_output", "reasoning", "item_reference"})
_BLOCKS: Final[Mapping[str, Dialect]] = {
    "toolCall": Dialect.OPENCLAW, "toolUse": Dialect.OPENCLAW, "functionCall": Dialect.OPENCLAW,
    "input_text": Dialect.OPENAI_RESPONSES, "output_text": Dialect.OPENAI_RESPONSES,
    "input_image": Dialect.OPENAI_RESPONSES, "input_file": Dialect.OPENAI_RESPONSES,
    "tool_use": Dialect.ANTHROPIC, "tool_result": Dialect.ANTHROPIC, "redacted_thinking": Dialect.ANTHROPIC,
    "document": Dialect.ANTHROPIC, "server_tool_use": Dialect.ANTHROPIC,
    "image_url": Dialect.OPENAI_CHAT, "input_audio": Dialect.OPENAI_CHAT,
}  # fmt: skip


def detect(values: Iterable[Any]) -> Dialect:
    """Return the dialect of the first value that bears a mark; without any mark it is ``openai-chat``.

    Plain ``{"role", "content"}`` pairs bear no mark: the chat dialects say them alike and read them alike.
    """
    found = (mark_of(value) for value in values)
    return next((mark for mark in found if mark), Dialect.OPENAI_CHAT)


def mark_of(value: Any) -> Dialect | None:
    """Return the only dialect that *value* can be in, or None when several could say it so."""
    if not isinstance(value, Mapping):
        return None
    if isinstance(value.get("parts"), list) and "content" not in value:
        return Dialect.CANONICAL
    kind, role = value.get("type"), value.get("role")
    if kind in ENTRY_TYPES or isinstance(value.get("message"), Mapping):
        return Dialect.OPENCLAW
    if isinstance(kind, str) and role is None and (kind in _RESPONSE_TYPES or kind.endswith(("_call", "_call_output"))):
        return Dialect.OPENAI_RESPONSES
    return _mark_of_message(value, kind, role)


def _mark_of_message(value: Mapping[str, Any], kind: Any, role: Any) -> Dialect | None:
    if role in _OPENCLAW_ROLES or not _OPENCLAW_KEYS.isdisjoint(value) or "provenance" in value:
        return Dialect.OPENCLAW
    if role in {"tool", "function"} or not _CHAT_KEYS.isdisjoint(value):
        return Dialect.OPENAI_CHAT
    content = value.get("content")
    marks = (_mark_of_block(block) for block in content) if isinstance(content, list) else iter(())
    found = next((mark for mark in marks if mark), None)
    if found:
        return found
    if kind == "message":
        return Dialect.ANTHROPIC if "stop_reason" in value else Dialect.OPENAI_RESPONSES
    return Dialect.ANTHROPIC if "stop_reason" in value else None


def _mark_of_block(block: Any) -> Dialect | None:
    if not isinstance(block, Mapping):
        return None
    kind = block.get("type")
    if kind == "image":
        return Dialect.ANTHROPIC if "source" in block else Dialect.OPENCLAW
    if kind == "thinking":
        return Dialect.ANTHROPIC if "signature" in block else Dialect.OPENCLAW
    if "textSignature" in block or "cache_control" in block:
        return Dialect.OPENCLAW if "textSignature" in block else Dialect.ANTHROPIC
    return _BLOCKS.get(kind) if isinstance(kind, str) else None
