# ruff: noqa: N802 - the names are those of the specification
"""The notation of spec/replay.md for tests: build messages from it, show messages in it.

``U"x"`` user, ``A"x"`` assistant, ``[c1 read]`` a call, ``R c1 "x"`` a result, ``R! c1`` an error result, ``R? c1`` a
synthetic one, ``<t/sig>`` thinking, ``(img)`` a picture; ``|`` separates messages.
"""

from __future__ import annotations

import json
from typing import Any

from stenolith.model.message import Image, Message, Origin, Part, Role, StopReason, Text, Thinking, ToolCall, ToolResult
from stenolith.replay.pipeline import replay, sanitise
from stenolith.replay.plan import Options
from stenolith.replay.policy import Target, parse_api, resolve
from stenolith.replay.report import Replayed, Sanitised

SIG = "YSBzaWduYXR1cmUgYXMgaXRzIHByb3ZpZGVyIHdvdWxkIGhhdmUgbWFkZSBpdC4h"
SIG2 = "YW5vdGhlciBzaWduYXR1cmUsIG9mIHRoZSBzYW1lIHByb3ZpZGVyLCBhcyB3ZWxs"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
EMPTY = "[empty content omitted]"
REASONING = "[assistant reasoning omitted]"
FAILED = "[previous turn failed before producing content]"
MISSING = "[tool result missing: the call was interrupted or its result was not recorded]"

ROUTES = {
    "ANT": ("anthropic", "anthropic-messages", "claude-opus-4-6"),
    "OLD": ("anthropic", "anthropic-messages", "claude-3-7-sonnet-20250219"),
    "BED": ("amazon-bedrock", "bedrock-converse-stream", "us.anthropic.claude-opus-4-6-v1"),
    "RSP": ("openai", "openai-responses", "gpt-5.4"),
    "CC": ("groq", "openai-completions", "llama-3.3-70b"),
    "DS": ("deepseek", "openai-completions", "deepseek-v4"),
    "GOO": ("google", "google-generative-ai", "gemini-3-pro"),
    "MIS": ("mistral", "mistral-conversations", "mistral-large-latest"),
    "ORG": ("openrouter", "openai-completions", "google/gemini-3-pro"),
    "ORA": ("openrouter", "openai-completions", "anthropic/claude-opus-4-5"),
    "OAI": ("openai", "openai-completions", "gpt-4o"),
    "MMX": ("minimax", "anthropic-messages", "MiniMax-M2.1"),
    "KIM": ("moonshot", "openai-completions", "kimi-k2.5"),
    "AGY": ("google-antigravity", "google-gemini-cli", "claude-sonnet-4-5"),
}
ANY = sorted(ROUTES)


def target(route: str, **more: Any) -> Target:
    provider, api, model = ROUTES[route]
    return Target(provider=provider, api=parse_api(api), model=model, **more)


def origin(route: str) -> Origin:
    provider, api, model = ROUTES[route]
    return Origin(provider=provider, api=api, model=model)


def clean(route: str, *messages: Message, options: Options | None = None, flags: Any = None, **more: Any) -> Sanitised:
    provider, api, model = ROUTES[route]
    return sanitise(messages, target(route, **more), resolve(provider, api, model, overrides=flags), options)


def send(route: str, *messages: Message, options: Options | None = None, **more: Any) -> Replayed:
    provider, api, model = ROUTES[route]
    sent = replay(messages, target(route, **more), resolve(provider, api, model), options)
    assert [violation.to_dict() for violation in sent.violations] == []
    return sent


def _parts(parts: tuple[Part | str, ...]) -> tuple[Part, ...]:
    return tuple(Text(text=part) if isinstance(part, str) else part for part in parts)


def U(*parts: Part | str, **fields: Any) -> Message:
    return Message(role=Role.USER, parts=_parts(parts), **fields)


def A(*parts: Part | str, stop: str | None = None, **fields: Any) -> Message:
    return Message(role=Role.ASSISTANT, parts=_parts(parts), stop_reason=StopReason(stop) if stop else None, **fields)


def R(name: str, *content: Part | str, tool: str = "", error: bool = False, synthetic: bool = False) -> Message:
    result = ToolResult(id=name, name=tool, content=_parts(content), is_error=error, synthetic=synthetic)
    return Message(role=Role.TOOL, parts=(result,))


def call(name: str, tool: str = "read", arguments: Any = (), **fields: Any) -> ToolCall:
    return ToolCall(id=name, name=tool, arguments={} if arguments == () else arguments, **fields)


def think(text: str = "t", signature: str | None = None, *, redacted: bool = False) -> Thinking:
    return Thinking(text=text, signature=signature, redacted=redacted)


def rs(name: str, **more: Any) -> Thinking:
    """A Responses reasoning item as hosts store it: JSON in the signature."""
    return Thinking(text="private", signature=json.dumps({"id": name, "type": "reasoning", "summary": [], **more}))


def picture() -> Image:
    return Image(data=PNG, mime="image/png")


def show(messages: Any) -> str:
    """Messages in the notation, without signatures of texts and calls."""
    found = messages.messages if isinstance(messages, Sanitised) else messages
    return "|".join(_show(message) for message in found)


def _show(message: Message) -> str:
    if message.role is Role.TOOL:
        return "+".join(_show_result(part) for part in message.parts)
    letter = {"user": "U", "assistant": "A", "system": "S"}[message.role.value]
    return letter + "+".join(_show_part(part) for part in message.parts)


def _show_result(result: Any) -> str:
    mark = "?" if result.synthetic else "!" if result.is_error else ""
    return f"R{mark} {result.id} " + "+".join(_show_part(part) for part in result.content)


def _show_part(part: Any) -> str:
    if isinstance(part, Text):
        return f'"{part.text}"'
    if isinstance(part, ToolCall):
        return f"[{part.id} {part.name}]"
    if isinstance(part, Thinking):
        return f"<{part.text}>"
    return "(img)" if isinstance(part, Image) else f"?{part}"


def details(done: Sanitised | Replayed) -> str:
    """All texts that the report holds."""
    changes = done.changes if isinstance(done, Sanitised) else done.report
    return "\n".join(change.detail for change in changes)


def call_ids(done: Sanitised) -> list[str]:
    """Return the ids of every tool call, in order."""
    return [part.id for message in done.messages for part in message.parts if isinstance(part, ToolCall)]
