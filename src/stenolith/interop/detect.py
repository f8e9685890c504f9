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
_OPENCLAW_KEYS: Final = frozenset({
    "stopReason", "toolCallId", "toolName", "isError", "errorMessage", "responseModel", "provider", "api", "provenance",
})  # fmt: skip
_CHAT_KEYS: Final = frozenset({"tool_calls", "function_call", "reasoning_content", "refusal", "finish_reason"})
_RESPONSE_TYPES: Final = frozenset({
    "function_call", "function_call_output", "reasoning", "item_reference",
    "mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "tool_search_output",
})  # fmt: skip
_BLOCKS: Final[Mapping[str, Dialect]] = {
    "toolCall": Dialect.OPENCLAW, "toolUse": Dialect.OPENCLAW, "functionCall": Dialect.OPENCLAW,
    "input_text": Dialect.OPENAI_RESPONSES, "output_text": Dialect.OPENAI_RESPONSES,
    "input_image": Dialect.OPENAI_RESPONSES, "input_file": Dialect.OPENAI_RESPONSES,
    "tool_use": Dialect.ANTHROPIC, "tool_result": Dialect.ANTHROPIC, "redacted_thinking": Dialect.ANTHROPIC,
    "document": Dialect.ANTHROPIC, "server_tool_use": Dialect.ANTHROPIC, "mcp_tool_use": Dialect.ANTHROPIC,
    "container_upload": Dialect.ANTHROPIC, "search_result": Dialect.ANTHROPIC, "compaction": Dialect.ANTHROPIC,
    "image_url": Dialect.OPENAI_CHAT, "input_audio": Dialect.OPENAI_CHAT,
}  # fmt: skip
_BLOCK_KEYS: Final[Mapping[str, Dialect]] = {
    "textSignature": Dialect.OPENCLAW, "thinkingSignature": Dialect.OPENCLAW, "mimeType": Dialect.OPENCLAW,
    "source": Dialect.ANTHROPIC, "signature": Dialect.ANTHROPIC, "cache_control": Dialect.ANTHROPIC,
}  # fmt: skip
# OpenClaw's keys are its own, but it also holds blocks as other dialects spell them: so it is asked for early.
_ORDER: Final = (Dialect.CANONICAL, Dialect.OPENCLAW, Dialect.OPENAI_RESPONSES, Dialect.ANTHROPIC, Dialect.OPENAI_CHAT)


def detect(values: Iterable[Any]) -> Dialect:
    """Return the first of canonical, openclaw, openai-responses, anthropic, openai-chat that any value bears a mark of.

    Without any mark it is ``openai-chat``: plain ``{"role", "content"}`` pairs are said and read alike in the chat
    dialects.
    """
    found: set[Dialect] = set()
    for value in values:
        mark = mark_of(value)
        if mark is Dialect.CANONICAL:
            return mark
        if mark:
            found.add(mark)
    return next((dialect for dialect in _ORDER if dialect in found), Dialect.OPENAI_CHAT)


def mark_of(value: Any) -> Dialect | None:
    """Return the only dialect that *value* can be in, or None when several could say it so."""
    if not isinstance(value, Mapping):
        return None
    if isinstance(value.get("parts"), list) and "content" not in value:
        return Dialect.CANONICAL
    kind, role = str(value.get("type")), str(value.get("role"))
    item = kind in _RESPONSE_TYPES or kind.endswith(("_call", "_call_output"))
    item = item or (kind == "compaction" and "encrypted_content" in value)
    if item and "role" not in value:
        return Dialect.OPENAI_RESPONSES
    entry = isinstance(value.get("message"), Mapping) or (kind in ENTRY_TYPES and "encrypted_content" not in value)
    if entry or role in _OPENCLAW_ROLES or not _OPENCLAW_KEYS.isdisjoint(value):
        return Dialect.OPENCLAW
    if role in {"tool", "function"} or not _CHAT_KEYS.isdisjoint(value):
        return Dialect.OPENAI_CHAT
    return _mark_of_content(value.get("content")) or _mark_of_envelope(value)


def _mark_of_envelope(value: Mapping[str, Any]) -> Dialect | None:
    if "stop_reason" in value:
        return Dialect.ANTHROPIC
    return Dialect.OPENAI_RESPONSES if value.get("type") == "message" else None


def _mark_of_content(content: Any) -> Dialect | None:
    blocks = [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []
    kinds = [kind for block in blocks if isinstance(kind := block.get("type"), str)]
    found = {_BLOCKS[kind] for kind in kinds if kind in _BLOCKS}
    found |= {Dialect.ANTHROPIC for kind in kinds if kind.endswith("_tool_result")}
    found |= {dialect for block in blocks for key, dialect in _BLOCK_KEYS.items() if key in block}
    return next((dialect for dialect in _ORDER if dialect in found), None)
