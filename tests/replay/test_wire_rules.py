"""Wire conversion: the examples of section 3.13 and 3.11 on every API, and what each wire cannot carry."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stenolith.model.message import Image, Message, Opaque, Origin, Part, Role, Text, Thinking, ToolCall, ToolResult
from stenolith.replay.lint import lint
from stenolith.replay.policy import Target, parse_api, resolve, rows
from stenolith.replay.wire import convert

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
ANT = ("anthropic", "anthropic-messages", "claude-opus-4-6")
MINIMAX = ("minimax", "anthropic-messages", "MiniMax-M2.5")
KIMI = ("kimi", "anthropic-messages", "kimi-for-coding")
CC = ("openai", "openai-chat", "gpt-4o")
GROQ = ("groq", "openai-chat", "llama-3.3")
DS = ("deepseek", "openai-chat", "deepseek-v4")
MOON = ("moonshot", "openai-chat", "kimi-k2.5")
TPL = ("vllm", "openai-chat", "mistral-small-2506")
ORG = ("openrouter", "openai-chat", "google/gemini-3-pro")
RSP = ("openai", "openai-responses", "gpt-5.4")
CODEX = ("openai", "openai-chatgpt-responses", "gpt-5.4")
GOO = ("google", "google-generative-ai", "gemini-3-pro")
GOO2 = ("google", "google-generative-ai", "gemini-2.5-pro")
GCL = ("google-antigravity", "google-generative-ai", "claude-opus-4-6")
BED = ("amazon-bedrock", "bedrock-converse", "us.anthropic.claude-opus-4-6-v1")
NOVA = ("amazon-bedrock", "bedrock-converse", "amazon.nova-pro-v1:0")
MIS = ("mistral", "mistral-conversations", "mistral-large")
MAG = ("mistral", "mistral-conversations", "magistral-medium")
OLDMIS = ("mistral", "mistral-conversations", "open-mixtral-8x7b")
SIGNED = "QUJDRA=="


def part(value):
    return Text(text=value) if isinstance(value, str) else value


def user(*parts):
    return Message(role=Role.USER, parts=tuple(map(part, parts)))


def say(*parts):
    return Message(role=Role.ASSISTANT, parts=tuple(map(part, parts)))


def tool(id_, *content, error=False, name=""):
    return Message(
        role=Role.TOOL, parts=(ToolResult(id=id_, name=name, content=tuple(map(part, content)), is_error=error),)
    )


def system(text):
    return Message(role=Role.SYSTEM, parts=(Text(text=text),))


def call(id_="c1", name="run", arguments=None, **more):
    return ToolCall(id=id_, name=name, arguments={} if arguments is None else arguments, **more)


def item(name="rs_1", **more):
    return Thinking(text="t", signature=json.dumps({"id": name, "type": "reasoning", "summary": [], **more}))


IMG = Image(data=PIXEL, mime="image/png")


def sent(route, *messages, thinking=False, tools=None):
    provider, api, model = route
    target = Target(provider=provider, api=parse_api(api), model=model, thinking=thinking, tools=tools)
    return convert(messages, target, resolve(provider, api, model))


def body(route, *messages, **more):
    payload = sent(route, *messages, **more).payload
    return next(payload[key] for key in ("messages", "input", "contents") if key in payload)


# --- Anthropic ---------------------------------------------------------------------------------------


def test_anthropic_ids_lose_what_the_pattern_refuses_and_results_stand_before_the_next_words():
    found = body(ANT, user("q"), say(call("a|b")), tool("a|b", "x"), user("next"))
    assert found[1]["content"] == [{"type": "tool_use", "id": "a_b", "name": "run", "input": {}}]
    assert found[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "a_b", "content": [{"type": "text", "text": "x"}]},
        {"type": "text", "text": "next"},
    ]


def test_minimax_gets_results_and_words_in_two_user_messages():
    found = body(MINIMAX, user("q"), say(call()), tool("c1", "x"), user("next"))
    assert [[block["type"] for block in message["content"]] for message in found[2:]] == [["tool_result"], ["text"]]
    assert found[2]["role"] == found[3]["role"] == "user"


def test_anthropic_keeps_a_result_picture_and_says_so_when_there_are_no_words():
    with_words = body(ANT, user("q"), say(call()), tool("c1", "x", IMG))[2]["content"][0]["content"]
    alone = body(ANT, user("q"), say(call()), tool("c1", IMG))[2]["content"][0]["content"]
    assert [block["type"] for block in with_words] == ["text", "image"]
    assert alone[0] == {"type": "text", "text": "(see attached image)"}
    assert alone[1]["source"] == {"type": "base64", "media_type": "image/png", "data": PIXEL}


def test_anthropic_marks_errors_and_never_sends_empty_content():
    found = body(ANT, user(" "), say(" "), user(), say(call()), tool("c1", " ", error=True))
    assert [message["content"][0].get("text") for message in found[:3]] == [".", ".", "."]
    assert found[4]["content"][0]["is_error"] is True
    assert found[4]["content"][0]["content"] == [{"type": "text", "text": "[empty content omitted]"}]


def test_the_final_assistant_text_is_right_trimmed_and_no_other():
    found = body(ANT, user("q "), say("a "), user("b"), say("c \n"))
    assert [message["content"][0]["text"] for message in found] == ["q ", "a ", "b", "c"]


def test_anthropic_system_words_stand_beside_the_messages():
    payload = sent(ANT, system("one"), user("q"), system("two")).payload
    assert payload["system"] == "one\n\ntwo"
    assert [message["role"] for message in payload["messages"]] == ["user"]


def test_signed_thinking_is_sent_as_it_is_and_unsigned_thinking_is_reported():
    wire = sent(
        ANT,
        user("q"),
        say(
            Thinking(text="", signature=SIGNED),
            Thinking(text="private", signature=" "),
            Thinking(signature="D", redacted=True),
            "a",
        ),
        user("b"),
    )
    assert wire.payload["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "", "signature": SIGNED},
        {"type": "redacted_thinking", "data": "D"},
        {"type": "text", "text": "a"},
    ]
    assert [(change.index, change.action, change.detail) for change in wire.changes] == [(1, "dropped", "private")]


@pytest.mark.parametrize("route", [ANT, BED])
def test_thinking_is_switched_off_when_the_running_tool_turn_does_not_open_with_it(route):
    think = Thinking(text="t", signature=SIGNED)
    running = [user("q"), say("x", call()), tool("c1", "r")]
    assert sent(route, *running, thinking=True).hints.disable_thinking
    assert not sent(route, *running, thinking=False).hints.disable_thinking
    assert not sent(route, user("q"), say(think, call()), tool("c1", "r"), thinking=True).hints.disable_thinking
    assert not sent(route, *running, say("done"), user("b"), thinking=True).hints.disable_thinking
    later = [user("q"), say(think, call()), tool("c1", "r"), say(call("c2")), tool("c2", "r")]
    assert not sent(route, *later, thinking=True).hints.disable_thinking


def test_kimi_on_anthropic_carries_reasoning_beside_the_content():
    found = body(KIMI, user("q"), say(Thinking(text="t"), call()), tool("c1", "r"), say(call("c2")), tool("c2", "r"))
    assert found[1]["reasoning_content"] == "t"
    assert [block["type"] for block in found[1]["content"]] == ["tool_use"]
    assert found[3]["reasoning_content"] == " "


def test_a_proxy_that_wants_tools_gets_stubs_or_words():
    turn = [user("q"), say(call()), tool("c1", "r")]
    policy = replace(resolve("litellm", "anthropic-messages", "claude-opus-4-6"), tools_required_in_request=True)
    stubs = convert(turn, Target(api=policy.api), policy)
    assert stubs.payload["tools"] == [{"name": "run", "input_schema": {"type": "object"}}]
    assert stubs.hints.tool_config_required
    words = convert(turn, Target(api=policy.api, tools=()), policy)
    assert "tools" not in words.payload
    assert words.payload["messages"][1]["content"] == [{"type": "text", "text": "[Assistant tool call]: run({})"}]


# --- chat completions --------------------------------------------------------------------------------


def test_chat_calls_take_the_left_id_and_json_text_and_no_empty_content():
    found = body(CC, user("q"), say(call("call_1|fc_1", arguments={"a": 1})), tool("call_1|fc_1", "r"))
    assert found[1] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "run", "arguments": '{"a":1}'}}],
    }
    assert found[2] == {"role": "tool", "tool_call_id": "call_1", "content": "r"}


def test_chat_result_pictures_follow_in_a_user_message_behind_all_results():
    found = body(CC, user("q"), say(call(), call("c2")), tool("c1", "x", IMG), tool("c2", IMG))
    assert [message["role"] for message in found] == ["user", "assistant", "tool", "tool", "user"]
    assert [found[2]["content"], found[3]["content"]] == ["x", "(see attached image)"]
    assert found[4]["content"][0] == {"type": "text", "text": "Attached image(s) from tool result:"}
    assert [piece["image_url"]["url"] for piece in found[4]["content"][1:]] == [f"data:image/png;base64,{PIXEL}"] * 2


def test_reasoning_goes_only_where_the_route_wants_it():
    turn = [user("q"), say(Thinking(text="t"), "a", call()), tool("c1", "r")]
    assert body(DS, *turn)[1]["reasoning_content"] == "t"
    assert body(DS, user("q"), say(call()), tool("c1", "r"))[1]["reasoning_content"] == ""
    assert body(MOON, user("q"), say(call()), tool("c1", "r"))[1]["reasoning_content"] == " "
    assert "reasoning_content" not in body(DS, user("q"), say("a"), user("b"))[1]
    for route in (GROQ, CC):
        wire = sent(route, *turn)
        assert set(wire.payload["messages"][1]) == {"role", "content", "tool_calls"}
        assert wire.changes[0].detail == "t"


def test_a_template_server_gets_one_system_message_separators_and_alternation():
    found = body(
        TPL, system("a"), system("b"), user("q"), say(call("abcdefghi")), tool("abcdefghi", "x", IMG), user("n")
    )
    assert [message["role"] for message in found] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert found[0]["content"] == "a\n\nb"
    assert found[4]["content"] == "(continuing)"
    assert [piece["type"] for piece in found[5]["content"]] == ["text", "image_url", "text"]


def test_openai_keeps_system_messages_where_they_stand():
    assert [m["role"] for m in body(CC, system("a"), user("q"), system("b"))] == ["system", "user", "system"]


def test_a_gemini_behind_a_gateway_gets_its_thought_signatures_back():
    made = body(ORG, user("q"), say(call(signature="AQID"), call("c2", signature="msg_abc")), tool("c1"), tool("c2"))[1]
    assert made["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "AQID"}}
    assert "extra_content" not in made["tool_calls"][1]


# --- Mistral -----------------------------------------------------------------------------------------


def test_mistral_gets_named_results_and_a_separator_before_the_user():
    found = body(MIS, user("q"), say(call("abcdefghi")), tool("abcdefghi", "r"), user("n"))
    assert [message["role"] for message in found] == ["user", "assistant", "tool", "assistant", "user"]
    assert found[2] == {"role": "tool", "tool_call_id": "abcdefghi", "content": "r", "name": "run"}
    assert found[3]["content"] == "(continuing)"


def test_mistral_ids_are_nine_letters_and_digits_and_never_shared():
    raw = ["call_abc|item:123", "call_abc|item:456", "x", "!!!"]
    found = body(MIS, user("q"), say(*map(call, raw)), *[tool(name, "r") for name in raw])
    ids = [made["id"] for made in found[1]["tool_calls"]]
    assert len(set(ids)) == 4
    assert all(len(name) == 9 and name.isalnum() and name.isascii() for name in ids)
    assert [message["tool_call_id"] for message in found[2:]] == ids


def test_only_a_reasoning_mistral_gets_thinking_chunks():
    turn = [user("q"), say(Thinking(text="t"), "a"), user("b")]
    assert body(MAG, *turn)[1]["content"] == [{"type": "thinking", "thinking": "t"}, {"type": "text", "text": "a"}]
    assert body(MIS, *turn)[1]["content"] == "a"


def test_an_old_mistral_gets_words_or_calls_and_loses_neither():
    turn = [user("q"), say("look", call("abcdefghi")), tool("abcdefghi", "r")]
    found = body(OLDMIS, *turn, say("done"), user("b"))
    assert [message["content"] for message in found] == ["q", None, "r", "look\ndone", "b"]
    assert [message["content"] for message in body(OLDMIS, *turn)] == ["q", "look", None, "r"]


# --- Responses ---------------------------------------------------------------------------------------


def test_item_ids_are_sent_only_behind_their_reasoning():
    found = body(
        RSP,
        user("q"),
        say(item(), Text(text="a", signature="msg_1"), Text(text="b", signature="msg_2")),
        user("n"),
        say(item("rs_2"), call("call_1|fc_1"), call("call_2|fc_2")),
        tool("call_1|fc_1", "r"),
        tool("call_2|fc_2", "r"),
        say(call("call_3|fc_3")),
        tool("call_3|fc_3", "r"),
    )
    assert [entry.get("id") for entry in found] == [
        None,
        "rs_1",
        "msg_1",
        None,
        None,
        "rs_2",
        "fc_1",
        "fc_2",
        *[None] * 4,
    ]
    assert [entry["call_id"] for entry in found if "call_id" in entry] == ["call_1", "call_2"] * 2 + ["call_3"] * 2


def test_reasoning_without_a_follower_is_left_out_and_reported():
    wire = sent(RSP, user("q"), say("a", item()), user("b"), say(item("rs_2"), item("rs_3"), "c"), user("d"))
    assert [entry.get("id") for entry in wire.payload["input"]] == [None, None, None, "rs_3", None, None]
    assert [(change.index, change.action) for change in wire.changes] == [(1, "dropped"), (3, "dropped")]


def test_an_item_is_sent_once():
    found = body(RSP, user("q"), say(item(), "a"), user("b"), say(item(), "c"), user("d"))
    assert [entry.get("id") for entry in found].count("rs_1") == 1


def test_the_phase_of_a_text_survives_its_id():
    tag = '{"v":1,"id":"msg_1","phase":"final_answer"}'
    found = body(RSP, user("q"), say(Text(text="a", signature=tag)), user("b"))
    assert found[1] == {"type": "message", "role": "assistant", "content": "a", "phase": "final_answer"}


def test_a_server_that_stores_nothing_gets_sealed_reasoning_and_no_item_ids():
    turn = [user("q"), say(item(encrypted_content="gAAAAB"), Text(text="a", signature="msg_1")), user("b")]
    payload = sent(CODEX, *turn).payload
    assert payload["store"] is False
    assert payload["input"][1]["encrypted_content"] == "gAAAAB"
    assert "id" not in payload["input"][2]
    assert "store" not in sent(RSP, *turn).payload
    bare = sent(CODEX, user("q"), say(item(), "a"), user("b"))
    assert [entry.get("type") for entry in bare.payload["input"]] == ["message"] * 3
    assert bare.changes[0].detail == "t"


def test_responses_results_keep_their_pictures():
    found = body(RSP, user("q"), say(call()), tool("c1", "x", IMG), say(call("c2")), tool("c2", IMG))
    assert [piece["type"] for piece in found[2]["output"]] == ["input_text", "input_image"]
    assert found[4]["output"][0] == {"type": "input_text", "text": "(see attached image)"}


# --- Gemini ------------------------------------------------------------------------------------------


def test_gemini_answers_all_calls_of_a_turn_in_one_content():
    found = body(GOO, user("q"), say(call(), call("c2", "stop")), tool("c1", "x"), tool("c2", "no", error=True))
    assert [content["role"] for content in found] == ["user", "model", "user"]
    assert [piece["functionResponse"] for piece in found[2]["parts"]] == [
        {"name": "run", "response": {"output": "x"}},
        {"name": "stop", "response": {"error": "no"}},
    ]


def test_only_claude_and_gpt_oss_carry_ids_on_googles_wire():
    turn = [user("q"), say(call()), tool("c1", "x")]
    named = body(GCL, *turn)
    assert named[1]["parts"][0]["functionCall"]["id"] == named[2]["parts"][0]["functionResponse"]["id"] == "c1"
    assert "id" not in body(GOO, *turn)[1]["parts"][0]["functionCall"]


def test_gemini_three_takes_pictures_inside_a_result_and_older_ones_behind_it():
    turn = [user("q"), say(call()), tool("c1", IMG)]
    inline = {"inlineData": {"mimeType": "image/png", "data": PIXEL}}
    assert body(GOO, *turn)[2]["parts"][0]["functionResponse"]["parts"] == [inline]
    older = body(GOO2, *turn)
    assert older[2]["parts"][0]["functionResponse"]["response"] == {"output": "(see attached image)"}
    assert older[3] == {"role": "user", "parts": [{"text": "Tool result image:"}, inline]}


def test_gemini_three_gets_the_sentinel_on_the_first_unsigned_call_of_a_step():
    turn = [user("q"), say(call(), call("c2")), tool("c1"), tool("c2"), say(call("c3", signature="QUJD")), tool("c3")]
    found = body(GOO, *turn)
    signs = [[piece.get("thoughtSignature") for piece in found[at]["parts"]] for at in (1, 3)]
    assert signs == [["skip_thought_signature_validator", None], ["QUJD"]]
    assert "thoughtSignature" not in body(GOO2, *turn)[1]["parts"][0]


def test_gemini_merges_model_turns_so_that_a_call_follows_a_user():
    found = body(GOO, user("q"), say("a"), say(call()), tool("c1", "x"))
    assert [content["role"] for content in found] == ["user", "model", "user"]


def test_gemini_fills_what_is_empty_and_keeps_thoughts():
    found = body(GOO, user(), say(Thinking(text="t", signature="QUJD"), Text(text="a", signature="msg_1")), user("b"))
    assert found[0]["parts"] == [{"text": " "}]
    assert found[1]["parts"] == [{"text": "t", "thought": True, "thoughtSignature": "QUJD"}, {"text": "a"}]


def test_gemini_names_may_hold_dots_and_colons_and_others_not():
    turn = [user("q"), say(call(name="mcp.srv:tool-x")), tool("c1", "x")]
    assert body(GOO, *turn)[1]["parts"][0]["functionCall"]["name"] == "mcp.srv:tool-x"
    wire = sent(ANT, *turn)
    assert wire.payload["messages"][1]["content"][0]["name"] == "mcp_srv_tool-x"
    assert "mcp.srv:tool-x" in wire.changes[0].detail


# --- Bedrock -----------------------------------------------------------------------------------------


def test_bedrock_puts_all_results_and_the_next_words_into_one_user_message():
    wire = sent(BED, user("q"), say(call(), call("c2")), tool("c1", "x"), tool("c2", "y", error=True), user("n"))
    last = wire.payload["messages"][2]["content"]
    assert [next(iter(block)) for block in last] == ["toolResult", "toolResult", "text"]
    assert [block["toolResult"]["status"] for block in last[:2]] == ["success", "error"]
    assert wire.hints.tool_config_required
    assert wire.payload["toolConfig"]["tools"][0]["toolSpec"]["name"] == "run"


def test_bedrock_without_tools_gets_calls_and_results_as_text():
    wire = sent(BED, user("q"), say(call(arguments={"a": 1})), tool("c1", "x", IMG), user("n"), tools=())
    assert wire.payload["messages"][1]["content"] == [{"text": '[Assistant tool call]: run({"a":1})'}]
    last = wire.payload["messages"][2]["content"]
    assert [last[0], last[2]] == [{"text": "[Tool result: run]: x"}, {"text": "n"}]
    assert last[1] == {"image": {"format": "png", "source": {"bytes": PIXEL}}}
    assert "toolConfig" not in wire.payload
    assert not wire.hints.tool_config_required
    assert lint("bedrock-converse", wire.payload) == []


def test_bedrock_skips_blank_blocks_and_keeps_roles_in_turn():
    found = body(BED, user("q"), say(" "), user(" ", "n"), user("m"))
    assert found == [{"role": "user", "content": [{"text": "q"}, {"text": "n"}, {"text": "m"}]}]


def test_only_claude_thinks_on_bedrock():
    redacted = Thinking(signature="QUJD", redacted=True)
    turn = [user("q"), say(Thinking(text="t", signature=SIGNED), redacted, "a"), user("b")]
    assert body(BED, *turn)[1]["content"][:2] == [
        {"reasoningContent": {"reasoningText": {"text": "t", "signature": SIGNED}}},
        {"reasoningContent": {"redactedContent": "QUJD"}},
    ]
    assert body(NOVA, *turn)[1]["content"] == [{"text": "a"}]
    odd = sent(BED, user("q"), say(Thinking(signature="not base64", redacted=True), "a"), user("b"))
    assert odd.payload["messages"][1]["content"] == [{"text": "a"}]
    assert odd.changes


# --- every wire --------------------------------------------------------------------------------------

ROUTES = [ANT, MINIMAX, KIMI, CC, GROQ, DS, MOON, TPL, ORG, RSP, CODEX, GOO, GOO2, GCL, BED, NOVA, MIS, MAG, OLDMIS]


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route[0]}-{route[2]}")
def test_halves_of_surrogate_pairs_never_leave(route):
    wire = sent(
        route, user("a\ud83d b", "\U0001f600"), say(call(arguments={"k\udc00": "\ud83d"})), tool("c1", "r\ud83d")
    )
    text = json.dumps(wire.payload, ensure_ascii=False)
    assert text.encode()
    assert "a b" in text
    assert "\U0001f600" in text
    assert wire.changes


@pytest.mark.parametrize(("route", "expected"), [(BED, "ab\t"), (RSP, "ab\t"), (ANT, "a\x1bb\t"), (CC, "a\x1bb\t")])
def test_control_characters_go_where_they_are_refused_and_the_report_has_them(route, expected):
    wire = sent(route, user("a\x1bb\t\x00"))
    assert json.dumps(expected)[1:-1] in json.dumps(wire.payload)
    assert any("a\x1bb\t\x00" in change.detail for change in wire.changes)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route[0]}-{route[2]}")
def test_ids_of_a_longer_history_begin_with_the_ids_of_the_shorter(route):
    raw = ["a|b", "a:b", "x" * 70, "x" * 71, "call_1|fc_1", "call_1|fc_2", "!!!", "", "functions.read:0"]
    turns = [message for name in raw for message in (user("q"), say(call(name)), tool(name, "r"), say("a"))]
    whole = _ids(sent(route, *turns).payload)
    assert len(set(whole)) == len(raw) or not whole
    for cut in range(4, len(turns), 4):
        shorter = _ids(sent(route, *turns[:cut]).payload)
        assert whole[: len(shorter)] == shorter


def _ids(payload):
    keys = {"toolUseId", "tool_use_id", "tool_call_id"}
    found = []

    def walk(value):
        if isinstance(value, dict):
            if value.get("type") == "function_call_output":
                found.append(value["call_id"])
            if "functionResponse" in value and "id" in value["functionResponse"]:
                found.append(value["functionResponse"]["id"])
            if "content" in value and keys & set(value):
                found.append(value[(keys & set(value)).pop()])
            [walk(inner) for inner in value.values()]
        if isinstance(value, list):
            [walk(inner) for inner in value]

    walk(payload)
    return found


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route[0]}-{route[2]}")
@pytest.mark.parametrize(
    "arguments", [None, "", "{bad", '{"a":1}', "[1]", 5, [1, {"b": 2}], float("nan"), {"a": float("inf")}]
)
def test_whatever_the_arguments_are_they_leave_as_an_object(route, arguments):
    payload = sent(route, user("q"), say(ToolCall(id="c1", name="run", arguments=arguments)), tool("c1", "r")).payload
    for made in _arguments(payload):
        assert isinstance(json.loads(made) if isinstance(made, str) else made, dict)
    json.dumps(payload, allow_nan=False)


def _arguments(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in {"arguments", "input", "args"} and not isinstance(inner, list):
                yield inner
            else:
                yield from _arguments(inner)
    if isinstance(value, list):
        for inner in value:
            yield from _arguments(inner)


WORDS = st.text(max_size=8) | st.sampled_from(
    ["", " ", "call_1|fc_1", "msg_1", "QUJD", "a\ud83d", '{"id":"rs_1","type":"reasoning"}']
)
SIGNATURES = st.none() | WORDS
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)
TEXTS = st.builds(Text, text=WORDS, signature=SIGNATURES)
IMAGES = st.builds(Image, data=st.sampled_from([PIXEL, "", "@"]), mime=st.sampled_from(["image/png", "", "x"]))
PARTS: st.SearchStrategy[Part] = st.one_of(
    TEXTS,
    IMAGES,
    st.builds(Thinking, text=WORDS, signature=SIGNATURES, redacted=st.booleans()),
    st.builds(ToolCall, id=WORDS, name=WORDS, arguments=VALUES, signature=SIGNATURES),
    st.builds(
        ToolResult,
        id=WORDS,
        name=WORDS,
        content=st.lists(TEXTS | IMAGES, max_size=2).map(tuple),
        is_error=st.booleans(),
    ),
    st.builds(Opaque, kind=WORDS, value=VALUES),
)
MESSAGES = st.lists(
    st.builds(
        Message,
        role=st.sampled_from(list(Role)),
        parts=st.lists(PARTS, max_size=4).map(tuple),
        origin=st.none() | st.builds(Origin, provider=WORDS, api=WORDS, model=WORDS),
    ),
    max_size=6,
)


@given(MESSAGES, st.sampled_from(ROUTES), st.booleans(), st.sampled_from([None, (), ("run",)]))
def test_conversion_accepts_any_canonical_messages(messages, route, thinking, tools):
    first = sent(route, *messages, thinking=thinking, tools=tools)
    assert json.dumps(first.payload, ensure_ascii=False, allow_nan=False).encode()
    assert sent(route, *messages, thinking=thinking, tools=tools) == first
    assert all(0 <= change.index < len(messages) for change in first.changes)


def test_every_policy_row_has_a_wire():
    for row in rows():
        for api in row.get("api") or ["openai-chat"]:
            policy = resolve((row.get("provider") or ["custom"])[0], api, "some-model")
            assert convert([user("q")], Target(api=policy.api), policy).payload
