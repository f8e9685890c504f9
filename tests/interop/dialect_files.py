"""Hypothesis strategies for well-formed files of each dialect: only shapes that the dialect's own programs write."""

from __future__ import annotations

import json

from hypothesis import strategies as st

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
some_words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
names = st.text("abcdefghij_", min_size=1, max_size=12)
ids = st.text("abcdefghij0123456789_", min_size=1, max_size=16)
base64 = st.sampled_from(["QUJD", "iVBORw0KGgo=", ""])
mimes = st.sampled_from(["image/png", "image/jpeg", ""])
stamps = st.integers(1_600_000_000_000, 1_900_000_000_000)
leaves = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | words
)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3), max_leaves=6
)
objects = st.dictionaries(words, values, max_size=3)
strange = st.fixed_dictionaries({"type": st.sampled_from(["weird", "document", "server_tool_use"]), "payload": values})


def record(required, optional=None):
    return st.fixed_dictionaries(required, optional=optional or {})


def arguments_text():
    compact = objects.map(lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    return compact | objects.map(json.dumps) | st.sampled_from(["", "{", '{"a":1,"a":2}', "null", "[1]", "5"])


# ---- openai-chat ----
openai_text = record({"type": st.just("text"), "text": words}, {"cache_control": objects})
openai_image = record(
    {
        "type": st.just("image_url"),
        "image_url": record(
            {"url": st.builds("data:{};base64,{}".format, mimes, base64) | st.just("https://example.org/a.png")},
            {"detail": st.sampled_from(["auto", "low"])},
        ),
    }
)
openai_audio = record({"type": st.just("input_audio"), "input_audio": objects})
openai_blocks = st.lists(openai_text | openai_image | openai_audio | strange, max_size=3)
openai_call = record({
    "id": ids, "type": st.just("function"), "function": record({"name": names, "arguments": arguments_text()}),
}) | record({"id": ids, "type": st.just("custom"), "custom": record({"name": names, "input": words})})  # fmt: skip
openai_user = record(
    {"role": st.just("user"), "content": words | openai_blocks}, {"name": names, "timestamp": stamps, "id": ids}
)
openai_system = record(
    {"role": st.sampled_from(["system", "developer"]), "content": words | st.lists(openai_text, max_size=2)}
)
openai_assistant = record(
    {"role": st.just("assistant")},
    {
        "content": st.none() | words | st.lists(openai_text, max_size=2), "refusal": st.none() | words, "name": names,
        "tool_calls": st.lists(openai_call, max_size=3), "reasoning_content": words, "audio": objects,
        "annotations": st.just([]), "function_call": record({"name": names, "arguments": arguments_text()}),
        "created": st.integers(1_600_000_000, 1_900_000_000), "model": names, "usage": objects,
        "finish_reason": st.sampled_from(["stop", "length", "tool_calls", "content_filter", "function_call", "odd"]),
    },
)  # fmt: skip
openai_tool = record(
    {"role": st.just("tool"), "tool_call_id": ids, "content": words | st.lists(openai_text, max_size=2)},
    {"name": names, "extra_key": values, "synthetic": st.just(True)},
)
openai_function = record({"role": st.just("function"), "name": names, "content": words})
openai_chat = st.lists(
    openai_user | openai_system | openai_assistant | openai_tool | openai_function, min_size=1, max_size=6
)

# ---- anthropic ----
cache = {"cache_control": st.just({"type": "ephemeral"})}
anthropic_text = record({"type": st.just("text"), "text": words}, {**cache, "citations": st.lists(objects, max_size=1)})
anthropic_image = record({
    "type": st.just("image"),
    "source": record({"type": st.just("base64"), "media_type": mimes, "data": base64})
    | record({"type": st.just("url"), "url": words}),
}, cache)  # fmt: skip
anthropic_result = record(
    {"type": st.just("tool_result"), "tool_use_id": ids},
    {
        "content": words | st.lists(anthropic_text | anthropic_image | strange, max_size=3),
        "is_error": st.booleans(),
        "synthetic": st.just(True),
        **cache,
    },
)
anthropic_thinking = record({"type": st.just("thinking"), "thinking": words, "signature": words}) | record(
    {"type": st.just("redacted_thinking"), "data": words}
)
anthropic_call = record({"type": st.just("tool_use"), "id": ids, "name": names, "input": objects}, cache)
anthropic_user = st.builds(
    lambda role, content, results, envelope: {"role": role, "content": [*results, *content] if results else content, **envelope},
    st.just("user"), st.lists(anthropic_text | anthropic_image | strange, max_size=3),
    st.lists(anthropic_result, max_size=2), record({}, {"id": ids, "timestamp": stamps}),
) | record({"role": st.just("user"), "content": words})  # fmt: skip
anthropic_assistant = record(
    {
        "role": st.just("assistant"),
        "content": words | st.lists(anthropic_text | anthropic_thinking | anthropic_call | strange, max_size=4),
    },
    {
        "id": ids, "type": st.just("message"), "model": names, "usage": objects, "stop_sequence": st.none() | words,
        "stop_reason": st.sampled_from(["end_turn", "max_tokens", "tool_use", "stop_sequence", "pause_turn", "refusal", None]),
    },
)  # fmt: skip
anthropic = st.lists(anthropic_user | anthropic_assistant, min_size=1, max_size=6)

# ---- openai-responses ----
status = {"status": st.sampled_from(["completed", "incomplete"])}
output_text = record(
    {"type": st.just("output_text"), "text": words}, {"annotations": st.just([]), "logprobs": st.just([])}
)
refusal = record({"type": st.just("refusal"), "refusal": words})
input_text = record({"type": st.just("input_text"), "text": words})
input_image = record(
    {
        "type": st.just("input_image"),
        "image_url": st.builds("data:{};base64,{}".format, mimes, base64) | st.just("https://x.org/a"),
    },
    {"detail": st.just("auto")},
)
input_file = record({"type": st.just("input_file"), "file_id": ids})
responses_user = record(
    {
        "role": st.sampled_from(["user", "system", "developer"]),
        "content": words | st.lists(input_text | input_image | input_file, max_size=3),
    },
    {"type": st.just("message"), "id": ids},
)
responses_words = record(
    {"role": st.just("assistant"), "content": words | st.lists(output_text | refusal, max_size=3)},
    {"type": st.just("message"), "id": ids, "phase": st.sampled_from(["commentary", "final_answer"]), **status},
)
summary = record({"type": st.just("summary_text"), "text": words})
responses_reasoning = record(
    {"type": st.just("reasoning"), "id": ids, "summary": st.lists(summary, max_size=2)},
    {"encrypted_content": st.none() | words, **status},
)
responses_call = record(
    {"type": st.just("function_call"), "call_id": ids, "name": names, "arguments": arguments_text()},
    {"id": ids, **status},
)
responses_custom = record(
    {"type": st.just("custom_tool_call"), "call_id": ids, "name": names, "input": words}, {"id": ids}
)
responses_output = record(
    {
        "type": st.sampled_from(["function_call_output", "custom_tool_call_output"]), "call_id": ids,
        "output": words | st.lists(input_text | input_image | input_file, max_size=2),
    },
    {"id": ids, **status},
)  # fmt: skip
responses_other = record(
    {"type": st.sampled_from(["web_search_call", "computer_call_output", "item_reference"]), "id": ids}, status
)
openai_responses = st.lists(
    responses_user | responses_words | responses_reasoning | responses_call | responses_custom | responses_output | responses_other,
    min_size=1, max_size=8,
)  # fmt: skip

# ---- openclaw (bare messages) ----
text_signature = words | st.just('{"v":1,"id":"msg_1","phase":"final_answer"}')
claw_text = record({"type": st.just("text"), "text": words}, {"textSignature": text_signature})
claw_image = record({"type": st.just("image"), "data": base64, "mimeType": mimes})
reasoning_item = record({"id": ids, "type": st.just("reasoning"), "summary": st.lists(summary, max_size=1)})
claw_thinking = record(
    {"type": st.just("thinking"), "thinking": words},
    {"thinkingSignature": words | st.just("reasoning_content") | reasoning_item.map(json.dumps) | reasoning_item},
) | record({"type": st.just("redacted_thinking"), "data": words})
claw_call = record(
    {"type": st.just("toolCall"), "id": st.builds("{}|{}".format, ids, ids) | ids, "name": names, "arguments": objects},
    {"thoughtSignature": words, "partialJson": words},
)
claw_provenance = record(
    {"kind": st.sampled_from(["external_user", "inter_session", "internal_system"])},
    {"sourceSessionKey": ids, "sourceChannel": ids, "sourceTool": ids, "originSessionId": ids, "jobId": ids},
)
claw_user = record(
    {"role": st.just("user"), "content": words | st.lists(claw_text | claw_image, max_size=3), "timestamp": stamps},
    {"provenance": claw_provenance, "display": st.just(False), "idempotencyKey": ids},
)
claw_assistant = record(
    {
        "role": st.just("assistant"), "content": st.lists(claw_text | claw_thinking | claw_call | strange, max_size=4),
        "api": names, "provider": names | st.just("openclaw"), "model": names | st.just("delivery-mirror"), "usage": objects,
        "stopReason": st.sampled_from(["stop", "length", "toolUse", "error", "aborted"]), "timestamp": stamps,
    },
    {"errorMessage": words, "responseModel": names},
)  # fmt: skip
claw_result = record(
    {
        "role": st.just("toolResult"), "toolCallId": ids, "toolName": names, "isError": st.booleans(), "timestamp": stamps,
        "content": st.lists(claw_text | claw_image, max_size=3) | words,
    },
    {"details": objects | st.just({"openclawSyntheticMissingToolResult": True})},
)  # fmt: skip
claw_custom = record(
    {
        "role": st.just("custom"),
        "customType": names,
        "content": words | st.lists(claw_text, max_size=2),
        "display": st.booleans(),
        "timestamp": stamps,
    },
    {"details": objects},
)
claw_bash = record({
    "role": st.just("bashExecution"), "command": words, "output": words, "exitCode": st.integers(0, 2) | st.none(),
    "cancelled": st.booleans(), "truncated": st.booleans(), "timestamp": stamps,
})  # fmt: skip
claw_summary = record(
    {"role": st.just("compactionSummary"), "summary": words, "tokensBefore": st.integers(0, 9), "timestamp": stamps}
)
claw_branch = record({"role": st.just("branchSummary"), "summary": words, "fromId": ids, "timestamp": stamps})
openclaw = st.lists(
    claw_user | claw_assistant | claw_result | claw_custom | claw_bash | claw_summary | claw_branch,
    min_size=1,
    max_size=6,
)

FILES = {
    "openai-chat": openai_chat,
    "anthropic": anthropic,
    "openai-responses": openai_responses,
    "openclaw": openclaw,
}
