"""Whatever stands anywhere in a payload, the linter answers: what is wrong is a violation, never a traceback."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from stenolith.replay.lint import lint
from stenolith.replay.policy import parse_api

ABSURD: list[Any] = [
    None, True, 5, 1.5, "x", "\ud800", [], {}, [[]], [None], {"type": {"a": 1}}, {"type": [1]}, [{"type": {}}],
    {"role": []}, {"id": {}}, {"name": []}, {"text": {}},
]  # fmt: skip
PAYLOADS: dict[str, dict[str, Any]] = {
    "anthropic-messages": {
        "system": "s",
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "tools": [{"name": "f", "input_schema": {}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "a"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "t", "signature": "c2ln"},
                    {"type": "tool_use", "id": "t1", "name": "f", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "r"}]},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}},
                ],
            },
        ],
    },
    "openai-chat": {
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "a"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
                ],
            },
            {
                "role": "assistant",
                "content": None,
                "reasoning_content": "t",
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "r"},
        ],
    },
    "openai-responses": {
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "a"}]},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "QUJD"},
            {"type": "function_call", "call_id": "c1", "id": "fc_1", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "r"},
        ]
    },
    "google-generative-ai": {
        "tools": [],
        "contents": [
            {"role": "user", "parts": [{"text": "a"}, {"inlineData": {"mimeType": "image/png", "data": "AA"}}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "AA=="}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]},
        ],
    },
    "bedrock-converse": {
        "system": [{"text": "s"}],
        "toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {}}}}]},
        "messages": [
            {"role": "user", "content": [{"text": "a"}, {"image": {"format": "png", "source": {"bytes": "AA"}}}]},
            {
                "role": "assistant",
                "content": [
                    {"reasoningContent": {"reasoningText": {"text": "t", "signature": "c2ln"}}},
                    {"toolUse": {"toolUseId": "t", "name": "f", "input": {}}},
                ],
            },
            {
                "role": "user",
                "content": [{"toolResult": {"toolUseId": "t", "content": [{"text": "r"}], "status": "success"}}],
            },
        ],
    },
    "mistral-conversations": {
        "messages": [
            {"role": "user", "content": "a"},
            {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": [{"type": "text", "text": "x"}]}],
                "tool_calls": [{"id": "abcdefghi", "function": {"name": "f", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "abcdefghi", "name": "f", "content": "r"},
        ]
    },
}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of everything inside *value*."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield (*path, key)
        yield from places(item, (*path, key))


def with_absurd(payload: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(payload)
    *way, last = path
    holder: Any = changed
    for key in way:
        holder = holder[key]
    holder[last] = copy.deepcopy(value)
    return changed


@pytest.mark.parametrize("provider", ["", "anthropic", "deepseek", "kimi", "minimax", "groq", "openrouter"])
@pytest.mark.parametrize("api", PAYLOADS)
def test_an_absurd_value_anywhere_is_answered_with_violations(api: str, provider: str) -> None:
    found = 0
    for path in places(PAYLOADS[api]):
        for value in ABSURD:
            violations = lint(parse_api(api), with_absurd(PAYLOADS[api], path, value), provider=provider, model="")
            assert all(violation.code and violation.message for violation in violations)
            found += len(violations)
    assert found > len(ABSURD)  # absurd values are violations more often than not
