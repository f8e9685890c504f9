"""One rich conversation on every wire, compared with files that were read by people."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from validators import validate

from stenolith.model.message import Image, Message, Origin, Role, Text, Thinking, ToolCall, ToolResult
from stenolith.replay.lint import lint
from stenolith.replay.policy import Target, parse_api, resolve
from stenolith.replay.wire import convert

GOLDEN = Path(__file__).parent / "golden"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
ITEM = '{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"look first"}],"encrypted_content":"gAAAAB"}'
TAG = '{"v":1,"id":"msg_1","phase":"final_answer"}'

# Each wire with the signature that its own model would have left, and the ids that sanitising would give.
ROUTES = {
    "anthropic-messages": ("anthropic", "claude-opus-4-6", "QUJDRA==", ("toolu_01", "toolu_02")),
    "openai-chat": ("deepseek", "deepseek-v4", "reasoning_content", ("call1", "call2")),
    "openai-responses": ("openai", "gpt-5.4", ITEM, ("call_1|fc_1", "call_2|fc_2")),
    "google-generative-ai": ("google", "gemini-3-pro", "QUJDRA==", ("call1", "call2")),
    "bedrock-converse": ("amazon-bedrock", "us.anthropic.claude-opus-4-6-v1", "QUJDRA==", ("tooluse_1", "tooluse_2")),
    "mistral-conversations": ("mistral", "magistral-medium-2509", "", ("abcdefghi", "123456789")),
}


def conversation(api):
    """Two users, a picture, thinking, two calls, a picture and an error as results, an answer, a last question."""
    provider, model, signature, (first, second) = ROUTES[api]
    origin = Origin(provider=provider, api=api, model=model)
    picture = Image(data=PIXEL, mime="image/png")
    return [
        Message(role=Role.SYSTEM, parts=(Text(text="You help with 旧的鉴权模块."),)),
        Message(role=Role.USER, parts=(Text(text="What is on this picture?"), picture)),
        Message(
            role=Role.ASSISTANT,
            origin=origin,
            parts=(
                Thinking(text="look first", signature=signature),
                Text(text="I will look."),
                ToolCall(id=first, name="look", arguments={"path": "a.png", "deep": {"n": [1, 2.5, None]}}),
                ToolCall(id=second, name="read_file", arguments={"path": "b.txt"}),
            ),
        ),
        Message(
            role=Role.TOOL,
            parts=(ToolResult(id=first, name="look", content=(Text(text="one pixel"), picture)),),
        ),
        Message(
            role=Role.TOOL,
            parts=(ToolResult(id=second, name="read_file", content=(Text(text="no such file"),), is_error=True),),
        ),
        Message(
            role=Role.ASSISTANT,
            origin=origin,
            parts=(Text(text="One pixel. The file is missing.", signature=TAG if api == "openai-responses" else None),),
        ),
        Message(role=Role.USER, parts=(Text(text="[from ana] Then leave it."), Text(text="Danke, 谢谢 😀"))),
    ]


@pytest.mark.parametrize("api", ROUTES)
def test_a_rich_conversation_gives_exactly_the_golden_payload(api):
    provider, model, *_ = ROUTES[api]
    target = Target(provider=provider, api=parse_api(api), model=model, thinking=True, tools=("look", "read_file"))
    wire = convert(conversation(api), target, resolve(provider, api, model))
    found = {"payload": wire.payload, "hints": wire.hints.to_dict(), "changes": [c.to_dict() for c in wire.changes]}
    path = GOLDEN / f"{api}.json"
    assert found == json.loads(path.read_text(encoding="utf-8"))
    assert lint(api, wire.payload, provider=provider, model=model) == []
    assert validate(api, wire.payload) == []
