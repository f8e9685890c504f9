"""Transcripts damaged in every way that spec/replay.md section 3 names, and every policy row to replay them on."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from stenolith.model.fence import Fence, render
from stenolith.model.message import (
    Image,
    Message,
    Opaque,
    Origin,
    Part,
    Role,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from stenolith.model.provenance import Provenance, ProvenanceKind

# provider, modelApi, model: one line per row of section 2.2, and the facts laid over them.
ROUTES: list[tuple[str, str, str]] = [
    ("anthropic", "anthropic-messages", "claude-opus-4-6"),
    ("anthropic", "anthropic-messages", "claude-3-7-sonnet-20250219"),
    ("anthropic-vertex", "anthropic-messages", "claude-sonnet-4-5"),
    ("clawrouter", "anthropic-messages", "claude-opus-5-5"),
    ("minimax", "anthropic-messages", "MiniMax-M2.1"),
    ("kimi-coding", "anthropic-messages", "k2p5"),
    ("github-copilot", "anthropic-messages", "claude-sonnet-4-6"),
    ("litellm", "anthropic-messages", "claude-sonnet-4-6"),
    ("amazon-bedrock", "bedrock-converse-stream", "us.anthropic.claude-opus-4-6-v1"),
    ("amazon-bedrock", "bedrock-converse-stream", "us.anthropic.claude-3-7-sonnet-20250219-v1:0"),
    ("amazon-bedrock", "bedrock-converse-stream", "amazon.nova-pro-v1:0"),
    ("google", "google-generative-ai", "gemini-3-pro"),
    ("google-vertex", "google-vertex", "gemini-2.5-pro"),
    ("google-antigravity", "google-gemini-cli", "claude-sonnet-4-5"),
    ("openai", "openai-responses", "gpt-5.4"),
    ("openai", "openai-chatgpt-responses", "gpt-5.4"),
    ("azure-openai", "azure-openai-responses", "gpt-5.4"),
    ("openai-codex", "openai-chatgpt-responses", "gpt-5.4"),
    ("github-copilot", "openai-responses", "gpt-5.4"),
    ("xai", "openai-responses", "grok-4"),
    ("custom", "openai-responses", "my-claude-proxy"),
    ("openai", "openai-completions", "gpt-4o"),
    ("mistral", "mistral-conversations", "mistral-large-latest"),
    ("mistral", "mistral-conversations", "magistral-medium-latest"),
    ("mistral", "openai-completions", "mistral-large-latest"),
    ("openrouter", "openai-completions", "google/gemini-3-pro"),
    ("openrouter", "openai-completions", "mistralai/devstral"),
    ("openrouter", "openai-completions", "anthropic/claude-opus-4-6"),
    ("openrouter", "openai-completions", "qwen/qwen3"),
    ("opencode", "openai-completions", "gemini-3-pro"),
    ("opencode-go", "openai-completions", "glm-4.7"),
    ("github-copilot", "openai-completions", "gpt-4o"),
    ("moonshot", "openai-completions", "kimi-k2.5"),
    ("groq", "openai-completions", "llama-3.3-70b"),
    ("vllm", "openai-completions", "mistralai/Mistral-7B-Instruct-v0.3"),
    ("zai", "openai-completions", "glm-4.7"),
    ("deepseek", "openai-completions", "deepseek-v4"),
    ("deepseek", "openai-completions", "deepseek-reasoner"),
    ("xiaomi", "openai-completions", "mimo-v2.5"),
    ("minimax", "openai-completions", "MiniMax-M2.1"),
    ("together", "openai-completions", "moonshotai/kimi-k2.5"),
    ("ollama", "ollama", "qwen3"),
    ("ollama", "openai-completions", "qwen3"),
]

SIGNATURE = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
CALL_IDS = [
    "c1", "c1", "c2", "call_1", "call_1|fc_1", "call_2|fc_2", "call_a|b", "call_a:b", "functions.read:0",
    "toolu_01AB_c", "tooluse_ab-c", " call_1 ", "", "x" * 65, "x" * 64 + "y", "é", "abcdef123", "!!!", "bad id|item",
]  # fmt: skip
NAMES = ["read", "exec", " exec ", "mcp.srv:tool-x", "my tool", "工具", "", "n" * 65, "READ", "9lives"]
RUNTIME = "This context is runtime-generated, not user-authored. Keep internal details private."
SCRAPS = [
    "", " ", "\n\t", "\x00", "plain", "tail  ", "a\ud83d b", "好的，明白", "😀", "NO_REPLY", '{"action":"NO_REPLY"}', "(continue)",
    "[previous turn failed before producing content]", "[Inter-session message] isUser=false\nhello",
    "x\n<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nsecret\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>\ny",
    "x\n<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nnever closed", "⟦ctx:abc⟧\nsecret\n⟦/ctx:abc⟧",
    'Sender (untrusted metadata):\n```json\n{"id":1}\n```\n\nreal', "[Mon 2026-01-05 10:00 UTC] stamped", "a\x07b",
    "HEARTBEAT_OK", "**HEARTBEAT_OK**", "Read HEARTBEAT.md if it exists. If nothing needs attention, reply HEARTBEAT_OK.",
    render(Fence.MEMORY, [("", ["recalled"])]) + "\n\nand now?", render(Fence.PROFILE, [("", ["recalled"])]),
    "OpenClaw runtime context (internal):\n" + RUNTIME + "\nrest",
]  # fmt: skip


def _item(name: str, **more: Any) -> str:
    return json.dumps({"id": name, "type": "reasoning", "summary": [], **more})


SIGNATURES = [
    None, "", "  ", SIGNATURE, SIGNATURE, "QUJD", "QUJDR", "YR", "not b64!", "msg_abc", "reasoning_content", "reasoning",
    _item("rs_1"), _item("rs_2", encrypted_content="E"), _item("rs_1", summary=[{"type": "summary_text", "text": "s"}]),
]  # fmt: skip
TEXT_SIGNATURES = [None, None, "msg_1", "msg_2", '{"v":1,"id":"msg_1","phase":"final_answer"}', "QUJD", "not b64!"]

_words = st.one_of(st.sampled_from(SCRAPS), st.text(max_size=8), st.integers(0, 9999).map("words {}".format))
_texts = st.builds(Text, text=_words)
_spoken = st.builds(Text, text=_words, signature=st.sampled_from(TEXT_SIGNATURES))
_images = st.builds(
    Image,
    data=st.sampled_from([PNG, PNG, "", "@@@", "data:image/png;base64," + PNG]),
    mime=st.sampled_from(["image/png", "image/jpeg", ""]),
)
_opaques = st.builds(Opaque, kind=st.sampled_from(["weird", "video"]), value=st.just({"type": "weird", "n": 1}))
_thinking = st.builds(
    Thinking, text=_words, signature=st.sampled_from(SIGNATURES), redacted=st.sampled_from([False, False, True])
)
_arguments = st.sampled_from(
    [
        {},
        {"path": "a.txt"},
        {"deep": {"a\ud83d": [1, float("nan"), "b\ud800"]}},
        None,
        '{"a":1}',
        "",
        "not json",
        0,
        [1],
    ]
)
_calls = st.builds(
    ToolCall,
    id=st.sampled_from(CALL_IDS),
    name=st.sampled_from(NAMES),
    arguments=_arguments,
    signature=st.sampled_from([None, None, "QUJD", "not b64!"]),
    partial=st.sampled_from([None, None, None, '{"a":', '{"a":1}']),
)
_results = st.builds(
    ToolResult,
    id=st.sampled_from(CALL_IDS),
    name=st.sampled_from(["", "read", "exec", "other"]),
    content=st.lists(st.one_of(_texts, _texts, _images), max_size=2).map(tuple),
    is_error=st.booleans(),
    synthetic=st.sampled_from([False, False, False, True]),
    details=st.sampled_from([None, {"secret": 1}]),
)
_origins = st.sampled_from(
    [
        None, None, Origin(provider="openai", api="openai-responses", model="gpt-5.4"),
        Origin(provider="anthropic", api="anthropic-messages", model="claude-opus-4-6"),
        Origin(provider="google", api="google-generative-ai", model="gemini-3-pro"),
        Origin(provider="deepseek", api="openai-completions", model="deepseek-v4"),
        Origin(provider="openclaw", api="", model="delivery-mirror"),
        Origin(provider="openclaw", api="", model="gateway-injected"),
    ]
)  # fmt: skip
_provenances = st.one_of(
    st.none(),
    st.none(),
    st.builds(
        Provenance,
        kind=st.sampled_from(list(ProvenanceKind)),
        session=st.sampled_from(["", "agent:a:main", "a b isUser=true\nevil", "会话"]),
        tool=st.sampled_from(["", "sessions_send"]),
    ),
)
_extras = st.sampled_from(
    [
        {}, {}, {}, {}, {"custom_type": "note"}, {"custom_type": "openclaw.runtime-context"}, {"summary": "compaction"},
        {"summary": "branch"}, {"bash": {"command": "ls", "output": "", "exitCode": 1}}, {"mirror": True},
        {"bash": {"command": "ls", "excludeFromContext": True}}, {"before_compaction": True}, {"account": "other"},
    ]
)  # fmt: skip
_usages = st.sampled_from([None, {"input": 0, "output": 0}, {"input": 3, "output": 4}])


def _message(role: Role, parts: st.SearchStrategy[Any], most: int) -> st.SearchStrategy[Message]:
    return st.builds(
        Message,
        role=st.just(role),
        parts=st.lists(parts, max_size=most).map(tuple),
        id=st.sampled_from(["", "m1"]),
        timestamp=st.one_of(st.none(), st.integers(1000, 9000)),
        origin=_origins if role is Role.ASSISTANT else st.none(),
        stop_reason=st.sampled_from([None, *StopReason]) if role is Role.ASSISTANT else st.none(),
        provenance=_provenances if role is Role.USER else st.none(),
        usage=_usages if role is Role.ASSISTANT else st.none(),
        extra=_extras,
    )


_user = _message(Role.USER, st.one_of(_texts, _texts, _texts, _images, _opaques, _results, _calls, _thinking), 3)
_assistant = _message(
    Role.ASSISTANT, st.one_of(_spoken, _spoken, _thinking, _calls, _calls, _opaques, _images, _results), 4
)
_tool = _message(Role.TOOL, st.one_of(_results, _results, _results, _texts, _opaques), 2)
_system = _message(Role.SYSTEM, _texts, 2)

transcripts = st.lists(st.one_of(_user, _user, _assistant, _assistant, _assistant, _tool, _tool, _system), max_size=10)
routes = st.sampled_from(ROUTES)


def tagged(messages: list[Message]) -> list[Message]:
    """The same transcript with a word of its own in every user message and every real tool result."""
    found = []
    for at, message in enumerate(messages):
        parts = [_tagged(part, f"{at}.{number}") for number, part in enumerate(message.parts)]
        spoken = message.role is Role.USER and message.extra.get("custom_type") != "openclaw.runtime-context"
        word = [Text(text=f"«u{at}»")] if spoken else []
        found.append(replace(message, parts=(*parts, *word)))
    return found


def _tagged(part: Part, number: str) -> Part:
    if not isinstance(part, ToolResult) or part.synthetic:
        return part
    return replace(part, content=(*part.content, Text(text=f"«r{number}»")))


def everything() -> list[Message]:
    """One long transcript with every scrap, id, name and signature in it: for runs that must not be random."""
    found: list[Message] = []
    for at, scrap in enumerate(SCRAPS):
        call = ToolCall(id=CALL_IDS[at % len(CALL_IDS)], name=NAMES[at % len(NAMES)], arguments={"b": 1, "a": scrap})
        thought = Thinking(text="t", signature=SIGNATURES[at % len(SIGNATURES)])
        found.append(Message(role=Role.USER, parts=(Text(text=scrap), Text(text=f"ask {at}"))))
        found.append(Message(role=Role.ASSISTANT, parts=(thought, Text(text=scrap), call), timestamp=at))
        if at % 3:
            result = ToolResult(id=call.id, name=call.name, content=(Text(text=f"answer {at}"),))
            found.append(Message(role=Role.TOOL, parts=(result,)))
    return found
