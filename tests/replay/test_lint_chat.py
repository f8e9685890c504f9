"""Chat completions, Mistral and Responses: every rule finds what it is for, the near miss passes."""

from __future__ import annotations

import pytest
from lint_rows import check_found, rows

from stenolith.errors import InvalidInput
from stenolith.replay.lint import codes, lint

CHT, MIS, RSP = "openai-chat", "mistral-conversations", "openai-responses"
NINE, OTHER = "abcdefghi", "123456789"


def msgs(*messages, **more):
    return {"messages": list(messages), **more}


def u(text="q"):
    return {"role": "user", "content": text}


def a(text="a", **more):
    return {"role": "assistant", "content": text, **more}


def call(id_=NINE, name="run", arguments="{}"):
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(*made, **more):
    return {"role": "assistant", "tool_calls": list(made), **more}


def res(id_=NINE, content="r", **more):
    return {"role": "tool", "tool_call_id": id_, "content": content, **more}


DONE = msgs(u(), calls(call()), res())
GROQ = ("groq", "llama-3.3")
TEMPLATE = ("vllm", "mistral-small-2506")
CHAT = [
    ("W-CHT-1", msgs(u(), calls(call(), call(OTHER)), res()), "messages[1]", "did not have response messages: 123456789", msgs(u(), calls(call(), call(OTHER)), res(OTHER), res())),
    ("W-CHT-1", msgs(u(), calls(call()), u(), a()), "messages[1]", "must be followed by tool messages", msgs(u(), calls(call()), res(), u(), a())),
    ("W-CHT-2", msgs(u(), a(), res()), "messages[2]", "must be a response to a preceeding message", DONE),
    ("W-CHT-2", msgs(u(), calls(call()), res(), res("zz")), "messages[3]", "preceeding message with 'tool_calls'", DONE),
    ("W-CHT-3", msgs(u(), calls(call("c" * 41)), res("c" * 41)), None, "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 41", msgs(u(), calls(call("c" * 40)), res("c" * 40))),
    ("W-CHT-3", msgs(u(), calls(call("c" * 41)), res("c" * 41)), None, "messages[2].tool_call_id", DONE),
    ("W-CHT-4", msgs(u(), calls(call(name="my tool")), res()), "messages[1].tool_calls[0]", "'messages[1].tool_calls[0].function.name': string does not match pattern", msgs(u(), calls(call(name="my-tool_1")), res())),
    ("W-CHT-5", msgs(u(), a(tool_calls=[]), u()), "messages[1]", "[] is too short - 'messages.1.tool_calls'", msgs(u(), a(), u())),
    ("W-CHT-6", msgs(u(), calls(call(arguments={"a": 1})), res()), "messages[1].tool_calls[0].function.arguments", "expected a JSON string", msgs(u(), calls(call(arguments='{"a":1}')), res())),
    ("W-CHT-6", msgs(u(), calls(call(arguments='{"a":')), res()), "messages[1].tool_calls[0].function.arguments", "JSON", DONE),
    ("W-CHT-7", msgs(u(), {"role": "assistant", "content": None}, u()), "messages[1]", "expected a string, got null", msgs(u(), calls(call(), content=None), res())),
    ("W-CHT-8", msgs(u(), {"role": "model", "content": "x"}), "messages[1]", "'model'", msgs({"role": "developer", "content": "x"}, u())),
    ("W-CHT-9", msgs(), "messages", "too short", msgs(u())),
    ("W-CHT-10", msgs(u("\ud83d")), "messages[0].content", "surrogate", msgs(u("\U0001f600"))),
    ("W-DSK-1", DONE, "messages[1]", "Missing `reasoning_content` field in the assistant message at message index 1", msgs(u(), calls(call(), reasoning_content=""), res()), "deepseek", "deepseek-v4"),
    ("W-KIM-2", msgs(u(), calls(call(reasoning := NINE), reasoning_content=" "), res(), calls(call(reasoning), reasoning_content=" "), res()), "messages[3].tool_calls[0]", "tool call id abcdefghi is duplicated", msgs(u(), calls(call(), reasoning_content=" "), res(), calls(call(OTHER), reasoning_content=" "), res(OTHER)), "moonshot", "kimi-k2.5"),
    ("W-KIM-3", msgs(u(), a(" "), u()), "messages[1]", "must not be empty", msgs(u(), a("."), u())),
    ("W-GRQ-1", msgs(u(), a(reasoning_content="t"), u()), "messages[1].reasoning_content", "property 'messages.1.assistant.reasoning_content' is unsupported", msgs(u(), a(), u()), *GROQ),
    ("W-GRQ-1", msgs(u(), a(reasoning="t"), u()), "messages[1].reasoning", "is unsupported", msgs(u(), a(reasoning_content="t"), u()), "deepseek", "deepseek-chat"),
    ("W-TPL-1", msgs(u(), u()), "messages[1]", "roles must alternate user and assistant roles except for tool calls and results", msgs({"role": "system", "content": "s"}, u(), a(), u()), *TEMPLATE),
    ("W-TPL-1", msgs(u(), a(), a(), u()), "messages[2]", "must alternate", msgs(u(), a(), u(), calls(call()), res(), a(), u()), *TEMPLATE),
    ("W-TPL-2", msgs(u(), calls(call()), res(), u()), None, "Unexpected role 'user' after role 'tool'", msgs(u(), calls(call()), res(), a("(continuing)"), u()), *TEMPLATE),
    ("W-TPL-3", msgs(u(), calls(call("call_1")), res("call_1")), None, "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.", DONE, *TEMPLATE),
    ("W-QWN-1", msgs({"role": "system", "content": "s"}), "messages", "No user query found in messages.", msgs({"role": "system", "content": "s"}, u()), "lmstudio", "qwen3"),
]  # fmt: skip

MISTRAL = [
    ("W-MIS-1", msgs(u(), calls(call("call_1")), res("call_1")), None, "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.", DONE),
    ("W-MIS-2", msgs(u(), calls(call()), res(), u()), "messages[3]", "Unexpected role 'user' after role 'tool'", msgs(u(), calls(call()), res(), a("(continuing)"), u())),
    ("W-MIS-3", msgs(u(), a()), "messages[1]", "for serving but got assistant", msgs(u(), a(prefix=True))),
    ("W-MIS-4", msgs(u(), calls(call(), call(OTHER)), res()), "messages[1]", "Not the same number of function calls and responses", msgs(u(), calls(call(), call(OTHER)), res(), res(OTHER))),
    ("W-MIS-5", msgs(u(), calls(call()), res(OTHER)), "messages[2]", "Unexpected tool call id 123456789 in tool results", DONE),
    ("W-MIS-6", msgs(u(), calls(call(), content="x"), res()), "messages[1]", "either content or tool_calls, but not both", DONE, "mistral", "open-mixtral-8x7b"),
    ("W-MIS-7", msgs(u(), res()), "messages[1]", "Unexpected role 'tool' after role 'user'", DONE),
    ("W-MIS-7", msgs(u(), a(), {"role": "system", "content": "s"}, u()), "messages[2]", "Unexpected role 'system' after role 'assistant'", msgs(u(), {"role": "system", "content": "s"}, u())),
    ("W-MIS-8", msgs(u(), a([{"type": "thinking", "thinking": []}]), u()), "messages[1].content[0]", "Reasoning input is not enabled", msgs(u(), a([{"type": "text", "text": "x"}]), u())),
    ("W-MIS-9", msgs(u(), a(""), u()), "messages[1]", "either content or tool_calls", msgs(u(), a("."), u())),
    ("W-MIS-10", msgs(u(), calls(call(name="my tool")), res()), "messages[1].tool_calls[0]", "Function name was my tool", msgs(u(), calls(call(name="my-tool")), res())),
    ("W-MIS-10", msgs(u(), calls(call()), res(name="a.b")), "messages[2]", "Function name was a.b", msgs(u(), calls(call()), res(name="a_b"))),
    ("W-MIS-11", msgs(u(), calls(call(arguments={})), res()), "messages[1].tool_calls[0]", "JSON string", DONE),
    ("W-MIS-12", msgs(u(), calls(call()), res(content=[{"type": "image_url", "image_url": "x"}])), "messages[2].content[0]", "image_url", msgs(u(), calls(call()), res(content=[{"type": "text", "text": "x"}]))),
    ("W-MIS-13", msgs(), "messages", "at least one message", msgs(u())),
    ("W-MIS-14", msgs(u("\ud83d")), "messages[0].content", "surrogate", msgs(u("\U0001f600"))),
]  # fmt: skip


def items(*found, **more):
    return {"input": list(found), **more}


def rs(id_="rs_1", **more):
    return {"type": "reasoning", "id": id_, "summary": [], **more}


def msg(id_=None, text="a"):
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "content": content, **({"id": id_} if id_ else {})}


def ask(text="q"):
    return {"role": "user", "content": [{"type": "input_text", "text": text}]}


def fc(call_id="call_1", id_=None, **more):
    named = {"type": "function_call", "call_id": call_id, "name": "run", "arguments": "{}"}
    return {**named, **({"id": id_} if id_ else {}), **more}


def out(call_id="call_1"):
    return {"type": "function_call_output", "call_id": call_id, "output": "r"}


RESPONSES = [
    ("W-RSP-1", items(ask(), rs(), ask()), "input[1]", "Item 'rs_1' of type 'reasoning' was provided without its required following item.", items(ask(), rs(), msg("msg_1"))),
    ("W-RSP-1", items(ask(), rs(), rs("rs_2"), msg("msg_1")), "input[1]", "following item", items(ask(), rs("rs_2"), msg("msg_1"))),
    ("W-RSP-2", items(ask(), msg("msg_1")), "input[1]", "Item 'msg_1' of type 'message' was provided without its required 'reasoning' item", items(ask(), msg())),
    ("W-RSP-2", items(ask(), fc(id_="fc_1"), out()), "input[1]", "Item 'fc_1' of type 'function_call'", items(ask(), rs(), fc(id_="fc_1"), fc("call_2", "fc_2"), out(), out("call_2"))),
    ("W-RSP-3", items(ask(), out()), "input[1]", "No tool call found for function call output with call_id call_1.", items(ask(), fc(), out())),
    ("W-RSP-3", items(out(), fc(), out()), "input[0]", "No tool call found", items(fc(), out())),
    ("W-RSP-4", items(ask(), fc(), ask()), "input[1]", "No tool output found for function call call_1.", items(ask(), fc(), ask(), out())),
    ("W-RSP-5", items(fc("c" * 65), out("c" * 65)), None, "Invalid `input[0].call_id`: string too long. Expected a string with maximum length 64, but got a string with length 65 instead.", items(fc("c" * 64), out("c" * 64))),
    ("W-RSP-5", items(rs(), fc(id_="x"), out()), "input[1]", "Invalid 'input[1].id': 'x'. Expected an ID that begins with 'fc'.", items(rs(), fc(id_="fc_x"), out())),
    ("W-RSP-5", items(fc(""), out("")), None, "empty string", items(fc("c"), out("c"))),
    ("W-RSP-6", items(rs(), msg("msg_1"), store=False), "input[0]", "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.", items(rs(encrypted_content="gAAAAB"), msg("msg_1"), store=False)),
    ("W-RSP-6", items({"type": "item_reference", "id": "msg_9"}, store=False), "input[0]", "not persisted", items({"type": "item_reference", "id": "msg_9"})),
    ("W-RSP-7", items(rs(encrypted_content="not base64!"), msg("msg_1")), "input[0]", "The encrypted content could not be verified.", items(rs(encrypted_content="gAAAA-_="), msg("msg_1"))),
    ("W-RSP-8", items(rs(), msg("msg_1"), rs("rs_2"), msg("msg_1")), "input[3]", "Duplicate item found with id msg_1", items(rs(), msg("msg_1"), rs("rs_2"), msg("msg_2"))),
    ("W-RSP-8", items(rs("rs_" + "x" * 62), msg("msg_1")), "input[0]", "at most 64", items(rs("rs_" + "x" * 61), msg("msg_1"))),
    ("W-RSP-8", items(rs("rs_a|b"), msg("msg_1")), "input[0]", "letters, numbers", items(rs("rs_a-b"), msg("msg_1"))),
    ("W-RSP-9", items(fc(name="a b"), out()), "input[0]", "input[0].name", items(fc(name="a_b"), out())),
    ("W-RSP-10", items(fc(arguments={}), out()), "input[0]", "input[0].arguments", items(fc(arguments='{"a":1}'), out())),
    ("W-RSP-11", items(), "input", "Missing required parameter", {"input": "q"}),
    ("W-RSP-13", items({"role": "model", "content": "x"}), "input[0]", "no known item type or role", items({"role": "developer", "content": "x"})),
    ("W-RSP-12", items(ask("\ud83d")), "input[0].content[0].text", "surrogate", items(ask("\U0001f600"))),
]  # fmt: skip


ROWS = list(rows((CHT, CHAT), (MIS, MISTRAL), (RSP, RESPONSES)))


@pytest.mark.parametrize(("api", "provider", "model", "row"), ROWS)
def test_a_rule_finds_what_it_names_and_nothing_else(api, provider, model, row):
    check_found(api, provider, model, row)


@pytest.mark.parametrize(("api", "provider", "model", "row"), ROWS)
def test_the_near_miss_passes(api, provider, model, row):
    assert lint(api, row[4], provider=provider, model=model) == []


def test_every_documented_rule_of_these_wires_has_a_row():
    wanted = {
        CHT: {f"W-CHT-{n}" for n in range(1, 8)},
        MIS: {f"W-MIS-{n}" for n in range(1, 10)},
        RSP: {f"W-RSP-{n}" for n in range(1, 9)},
    }
    for api, expected in wanted.items():
        assert expected <= set(codes()[api])


def test_an_alias_of_an_api_is_linted_alike():
    bad = items(ask(), fc(), ask())
    assert lint("openai-chatgpt-responses", bad) == lint("azure-openai-responses", bad) == lint(RSP, bad)


def test_an_unknown_api_is_refused():
    with pytest.raises(InvalidInput):
        lint("smoke-signals", {})


@pytest.mark.parametrize("api", [CHT, MIS, RSP])
@pytest.mark.parametrize(
    "junk",
    [
        None,
        5,
        {},
        [None, 5, "x", {}],
        [{"role": [], "content": 7, "tool_calls": 3, "tool_call_id": {}}],
        [{"type": {}, "id": [], "tool_calls": [None, {"function": 5}]}],
    ],
)
def test_junk_is_a_violation_and_never_an_exception(api, junk):
    assert lint(api, {"messages": junk, "input": junk})


@pytest.mark.parametrize("api", [CHT, MIS, "anthropic-messages"])
def test_a_long_history_is_linted_in_linear_time(api):
    import time

    turn = [u(), a()]
    spent = []
    for size in (10_000, 40_000):
        payload = msgs(*(turn * (size // 2)), u())
        start = time.process_time()
        assert lint(api, payload) == []
        spent.append(time.process_time() - start)
    assert spent[1] < 8 * max(spent[0], 0.05)
