"""Every alias of replay.md §1.3 becomes the canonical field; roles, results and mirrors keep what they said."""

from __future__ import annotations

import json
from datetime import timedelta, timezone

import pytest

from stenolith.errors import InvalidInput
from stenolith.interop import Problem, read_messages, write_messages
from stenolith.model.message import (
    Image,
    Message,
    Opaque,
    Origin,
    Role,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)


def read(messages, dialect=None):
    return read_messages(json.dumps(messages), dialect=dialect).messages


def block(value, role="assistant", dialect="openclaw"):
    (message,) = read([{"role": role, "content": [value]}], dialect)
    return message.parts[0]


@pytest.mark.parametrize("alias", ["toolCallId", "toolUseId", "tool_call_id", "tool_use_id", "callId", "call_id"])
def test_t24_every_alias_of_a_results_id_is_its_id(alias):
    (message,) = read(
        [{"role": "toolResult", alias: "call_1", "toolName": "read", "content": [{"type": "text", "text": "x"}]}]
    )
    assert message.parts == (ToolResult(id="call_1", name="read", content=(Text(text="x"),)),)


@pytest.mark.parametrize("mark", [{"details": {"openclawSyntheticMissingToolResult": True}}, {"synthetic": True}])
@pytest.mark.parametrize("dialect", ["openclaw", "openai-chat", "anthropic"])
def test_a_result_that_was_made_up_is_known_as_such(dialect, mark):
    result = {
        "role": "toolResult",
        "toolCallId": "c",
        "toolName": "read",
        "content": "missing",
        "isError": True,
        **mark,
    }
    if dialect == "anthropic":
        result = {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c", "content": "missing", **mark}],
        }
    (message,) = read([result], dialect)
    assert message.parts[0].synthetic


def test_a_result_is_what_a_tool_said_unless_marked():
    plain = {"role": "toolResult", "toolCallId": "c", "content": "aborted", "isError": True}
    for more in ({}, {"synthetic": False}, {"details": {"openclawSyntheticMissingToolResult": False}}):
        assert not read([{**plain, **more}], "openclaw")[0].parts[0].synthetic


@pytest.mark.parametrize("kind", ["toolCall", "toolUse", "functionCall", "tool_use", "tool_call", "function_call"])
@pytest.mark.parametrize("payload", ["arguments", "input"])
def test_every_alias_of_a_call_is_a_call(kind, payload):
    assert block({"type": kind, "id": "c", "name": "read", payload: {"a": 1}}) == ToolCall(
        id="c", name="read", arguments={"a": 1}
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"input": None, "arguments": None}, None),
        ({"input": 0}, 0),
        ({"input": ""}, ""),
        ({"arguments": '{"a":1}'}, '{"a":1}'),
        ({}, None),
        ({"arguments": None, "input": {"b": 2}}, {"b": 2}),
    ],
)
def test_t13_a_calls_payload_is_kept_as_it_is(given, expected):
    assert block({"type": "toolUse", "id": "c", "name": "n", **given}).arguments == expected


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"type": "text", "text": "a", "textSignature": "msg_1"}, Text(text="a", signature="msg_1")),
        ({"type": "text", "text": "a", "thought_signature": "AQID"}, Text(text="a", signature="AQID")),
        ({"type": "text", "text": "a", "thoughtSignature": "AQID"}, Text(text="a", signature="AQID")),
        ({"type": "thinking", "thinking": "t", "thinkingSignature": "S"}, Thinking(text="t", signature="S")),
        ({"type": "thinking", "thinking": "t", "signature": "S"}, Thinking(text="t", signature="S")),
        ({"type": "thinking", "thinking": "t", "thought_signature": "S"}, Thinking(text="t", signature="S")),
        ({"type": "thinking", "thinking": "t", "thoughtSignature": "S"}, Thinking(text="t", signature="S")),
        ({"type": "thinking", "thinking": "", "thinkingSignature": "S"}, Thinking(text="", signature="S")),
        ({"type": "thinking", "thinking": "t", "thinkingSignature": "reasoning_content"}, Thinking(text="t", signature="reasoning_content")),
        ({"type": "thinking", "thinking": "", "redacted": True, "thinkingSignature": "D"}, Thinking(signature="D", redacted=True)),
        ({"type": "redacted_thinking", "data": "D"}, Thinking(signature="D", redacted=True)),
        ({"type": "redacted_thinking", "data": ""}, Thinking(signature="", redacted=True)),
        ({"type": "image", "data": "QUJD", "mimeType": "image/png"}, Image(data="QUJD", mime="image/png")),
        ({"type": "image", "data": "QUJD"}, Image(data="QUJD")),
        ({"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "R0"}}, Image(data="R0", mime="image/gif")),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}, Image(data="QUJD", mime="image/png")),
        ({"type": "toolCall", "id": "call_1|fc_1", "name": "n", "arguments": {}, "thoughtSignature": "AQID"}, ToolCall(id="call_1|fc_1", name="n", arguments={}, signature="AQID")),
        ({"type": "toolCall", "id": "c", "name": "n", "arguments": {}, "partialJson": '{"a":'}, ToolCall(id="c", name="n", arguments={}, partial='{"a":')),
        ({"type": "toolCall", "id": 5, "name": None}, ToolCall(id="", name="")),
        ({"type": "weird", "x": 1}, Opaque(kind="weird", value={"type": "weird", "x": 1})),
        ({"type": "text", "text": 5}, Opaque(kind="text", value={"type": "text", "text": 5})),
        ({"x": 1}, Opaque(kind="unknown", value={"x": 1})),
        (5, Opaque(kind="int", value=5)),
        ("words", Text(text="words")),
    ],
)  # fmt: skip
def test_a_block_becomes_its_part(given, part):
    assert block(given) == part


def test_a_reasoning_item_in_a_signature_becomes_its_json_text():
    item = {"id": "rs_1", "type": "reasoning", "summary": []}
    part = block({"type": "thinking", "thinking": "", "thinkingSignature": item})
    assert json.loads(part.signature) == item


@pytest.mark.parametrize("value", [5, None, True, ["x"]])
def test_a_signature_that_is_no_text_stays_beside_its_part(value):
    (message,) = read(
        [{"role": "assistant", "content": [{"type": "text", "text": "a", "thought_signature": value}]}], "openclaw"
    )
    assert message.parts == (Text(text="a"),)
    assert message.extra["part_fields"]["0"] == {"thought_signature": value}


# ---- roles of OpenClaw ----
def test_a_custom_message_is_a_user_message_that_knows_its_type():
    given = {
        "role": "custom",
        "customType": "openclaw.runtime-context",
        "content": "ctx",
        "display": False,
        "details": {"a": 1},
        "timestamp": 5,
    }
    (message,) = read([given])
    assert message == Message(
        role=Role.USER, parts=(Text(text="ctx"),), display=False, timestamp=5,
        extra={"custom_type": "openclaw.runtime-context", "details": {"a": 1}},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"command": "ls", "output": "a\nb", "exitCode": 0}, "Ran `ls`\n```\na\nb\n```"),
        ({"command": "ls", "output": "  ", "exitCode": 2}, "Ran `ls`\n(no output)\nCommand exited with code 2"),
        (
            {"command": "cat x.md", "output": "```py\n1\n```", "exitCode": None},
            "Ran `cat x.md`\n````\n```py\n1\n```\n````",
        ),
    ],
)
def test_a_command_a_person_ran_becomes_their_text(given, text):
    (message,) = read([{"role": "bashExecution", "timestamp": 1, **given}])
    assert (message.role, message.text(), message.extra) == (Role.USER, text, {"bash": given})


@pytest.mark.parametrize(
    ("role", "name", "text"),
    [
        ("compactionSummary", "compaction", "The conversation history before this point was compacted into the following summary:\n\n<summary>\nS\n</summary>"),
        ("branchSummary", "branch", "The following is a summary of a branch that this conversation came back from:\n\n<summary>\nS\n</summary>"),
    ],
)  # fmt: skip
def test_a_summary_is_a_user_message_that_knows_what_it_is(role, name, text):
    (message,) = read([{"role": role, "summary": "S", "timestamp": 9}])
    assert (message.role, message.text(), message.extra) == (Role.USER, text, {"summary": name})


@pytest.mark.parametrize("model", ["delivery-mirror", "gateway-injected"])
def test_a_mirror_is_marked(model):
    (message,) = read(
        [{"role": "assistant", "content": [], "provider": "openclaw", "model": model, "stopReason": "stop"}]
    )
    assert message.origin == Origin(provider="openclaw", model=model)
    assert message.extra["mirror"] is True


def test_what_an_assistant_turn_said_about_itself_is_kept():
    (message,) = read([{
        "role": "assistant", "content": "partial", "provider": "openai", "api": "openai-responses", "model": "gpt-5.4",
        "stopReason": "error", "errorMessage": "boom", "usage": {"input": 0}, "timestamp": 7, "responseModel": "gpt-5.4-x",
    }])  # fmt: skip
    assert message.origin == Origin(provider="openai", api="openai-responses", model="gpt-5.4")
    assert (message.stop_reason, message.error, message.usage, message.timestamp) == (
        StopReason.ERROR,
        "boom",
        {"input": 0},
        7,
    )
    assert message.extra["fields"] == {"responseModel": "gpt-5.4-x"}


def test_provenance_is_trimmed_and_its_other_fields_stay():
    given = {"kind": "inter_session", "sourceSessionKey": " agent:a:main ", "sourceTool": "sessions_send", "jobId": "j"}
    (message,) = read([{"role": "user", "content": "x", "provenance": given}])
    assert message.provenance.to_dict() == {
        "kind": "inter_session",
        "session": "agent:a:main",
        "tool": "sessions_send",
        "extra": {"jobId": "j"},
    }


def test_an_unknown_kind_of_provenance_means_that_nothing_is_known():
    (message,) = read([{"role": "user", "content": "x", "provenance": {"kind": "telepathy"}}])
    assert message.provenance is None
    assert message.extra["fields"] == {"provenance": {"kind": "telepathy"}}


def test_t03_a_results_plain_text_is_kept():
    (message,) = read([{"role": "toolResult", "toolCallId": "c1", "content": "plain"}])
    assert message.parts[0].content == (Text(text="plain"),)


def test_unknown_pieces_of_a_result_survive():
    given = [
        {
            "role": "toolResult",
            "toolCallId": "c1",
            "toolName": "t",
            "isError": False,
            "content": [{"type": "document", "x": 1}, {"type": "text", "text": "a"}],
        }
    ]
    (message,) = read(given)
    assert message.parts[0].content == (Text(text="a"),)
    assert message.parts[0].details == {
        "unknown_parts": [{"type": "opaque", "kind": "document", "value": {"type": "document", "x": 1}}],
        "details": None,
    }
    assert write_messages([message], "openclaw") == given


# ---- Anthropic and OpenAI ----
def test_results_in_a_user_message_stand_before_its_words():
    given = [
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "r"}, {"type": "text", "text": "next"}],
        }
    ]
    results, words = read(given)
    assert (results.role, results.parts) == (Role.TOOL, (ToolResult(id="t1", content=(Text(text="r"),)),))
    assert (words.role, words.text()) == (Role.USER, "next")
    assert write_messages([results, words], "anthropic") == given


def test_user_messages_that_were_apart_stay_apart():
    given = [
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "r"}]},
        {"role": "user", "content": "next"},
    ]
    assert write_messages(read(given, "anthropic"), "anthropic") == given


def test_chat_calls_become_objects_and_results_tool_messages():
    given = [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "r"},
        {"role": "developer", "content": "be brief"},
    ]
    call, result, system = read(given)
    assert call.parts == (ToolCall(id="c1", name="f", arguments={"a": 1}),)
    assert (result.role, result.parts) == (Role.TOOL, (ToolResult(id="c1", content=(Text(text="r"),)),))
    assert system.role is Role.SYSTEM


def test_broken_arguments_stay_the_text_they_are():
    given = [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":'}}],
        }
    ]
    assert read(given)[0].parts[0].arguments == '{"a":'


def test_reasoning_content_becomes_thinking_that_names_its_field():
    (message,) = read([{"role": "assistant", "content": "a", "reasoning_content": "why"}])
    assert message.parts == (Thinking(text="why", signature="reasoning_content"), Text(text="a"))


def test_responses_items_of_one_turn_are_one_message():
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]}
    given = [
        {"role": "user", "content": "q"},
        reasoning,
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "r"},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "phase": "final_answer",
            "content": [{"type": "output_text", "text": "done"}],
        },
    ]
    user, turn, result, answer = read(given)
    assert user.text() == "q"
    assert turn.parts[0].text == "hm"
    assert json.loads(turn.parts[0].signature) == reasoning
    assert turn.parts[1] == ToolCall(id="call_1|fc_1", name="f", arguments={})
    assert result.parts[0].id == "call_1|fc_1"
    assert answer.parts == (Text(text="done", signature='{"v":1,"id":"msg_1","phase":"final_answer"}'),)


# ---- detection ----
@pytest.mark.parametrize(
    ("first", "dialect"),
    [
        ({"role": "user", "parts": []}, "canonical"),
        ({"role": "user", "content": "x"}, "openai-chat"),
        ({"role": "tool", "tool_call_id": "c", "content": "x"}, "openai-chat"),
        ({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}, "openai-chat"),
        ({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]}, "anthropic"),
        ({"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": "s"}]}, "anthropic"),
        ({"role": "assistant", "type": "message", "content": [], "stop_reason": "end_turn"}, "anthropic"),
        ({"role": "assistant", "type": "message", "content": []}, "openai-responses"),
        ({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}, "openai-responses"),
        ({"type": "web_search_call", "id": "ws_1"}, "openai-responses"),
        ({"role": "user", "content": [{"type": "input_text", "text": "x"}]}, "openai-responses"),
        ({"role": "toolResult", "toolCallId": "c", "content": []}, "openclaw"),
        ({"role": "assistant", "content": [], "stopReason": "stop"}, "openclaw"),
        ({"type": "session", "version": 3, "id": "s"}, "openclaw"),
        ({"type": "message", "message": {"role": "user", "content": "x"}}, "openclaw"),
        ({"role": "user", "content": [{"type": "image", "data": "", "mimeType": "image/png"}]}, "openclaw"),
    ],
)
def test_a_message_with_a_mark_tells_the_dialect(first, dialect):
    plain = {"role": "system", "content": "be brief"}
    assert read_messages(json.dumps([first])).dialect == dialect
    assert read_messages(json.dumps([plain, first] if "parts" not in first else [first])).dialect == dialect


def test_openclaw_files_may_hold_blocks_that_others_spell():
    messages = [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "n", "input": {}}]},
        {"role": "toolResult", "tool_use_id": "c", "content": [{"type": "text", "text": "x"}]},
        {"role": "assistant", "content": "done", "provider": "anthropic", "model": "claude"},
    ]
    reading = read_messages(json.dumps(messages))
    assert reading.dialect == "openclaw"
    assert reading.messages[2].origin == Origin(provider="anthropic", model="claude")


# ---- layouts and complaints ----
GOOD = '{"role": "user", "content": "x"}'


@pytest.mark.parametrize(
    "data",
    [
        f"[{GOOD}, {GOOD}]",
        f"{GOOD}\n{GOOD}\n",
        f"{GOOD}\r\n{GOOD}\r\n",
        f"{GOOD}{GOOD}",
        f"\ufeff[\n{GOOD},\n{GOOD}\n]",
        f"{GOOD}\n{GOOD}\n" + "\0" * 300,
        f'{{"messages": [{GOOD}, {GOOD}]}}',
        f'{{\n"model": "m",\n"messages": [\n{GOOD},\n{GOOD}\n]}}',
        f'{{"messages": [\n{GOOD},\n{GOOD}\n]}}',
        f'{{"input": [{GOOD}, {GOOD}]}}',
    ],
)
def test_every_layout_gives_the_same_messages(data):
    reading = read_messages(data.encode())
    assert [message.text() for message in reading.messages] == ["x", "x"]
    assert reading.problems == ()


def test_a_payloads_system_text_comes_first():
    reading = read_messages('{"system": "be brief", "messages": [{"role": "user", "content": "x"}]}')
    assert [(message.role, message.text()) for message in reading.messages] == [
        (Role.SYSTEM, "be brief"),
        (Role.USER, "x"),
    ]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b" \n\x00\x00", "empty"),
        (b"hello", "line 1: not JSON"),
        (b"[1]", "line 1: a message must be an object, not int"),
        (b"null", "line 1: a message must be an object, not NoneType"),
        (b'{"a": 1}', "line 1: a message needs a role"),
        (b"\xff\xfe[\x00", "UTF-8"),
        (b'[\n{"role": "user", "content": "\xff"}]', "line 2: not UTF-8"),
        (b'[\n{"role": "user",\n"content" "x"}]', "line 3: not JSON"),
        (b'[{"role": "user", "content": "x"}', "line 1: ends before ']'"),
        (b"[" * 100_000, "nested more than 128 levels deep"),
        (b'[{"role": "user", "content": ' + b"[" * 200 + b"]" * 200 + b"}]", "nested more than 128 levels deep"),
        (b'[{"role": "user", "content": "x", "n": NaN}]', "NaN is not JSON"),
        (b'[{"role": "user", "content": "x", "n": ' + b"9" * 5000 + b"}]", "not JSON"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_place(data, words):
    with pytest.raises(InvalidInput, match=r"^[^\n]*$") as caught:
        read_messages(data)
    assert words in str(caught.value)


def test_a_damaged_line_is_named_and_the_others_are_read():
    reading = read_messages(
        f'{GOOD}\n{{"role": "us\n{GOOD}\n{{"role": ""}}\n{{"role": "narrator", "content": "n"}}\n"x"\n\xff'.encode(
            "latin-1"
        )
    )
    assert [(message.role, message.text()) for message in reading.messages] == [
        (Role.USER, "x"),
        (Role.USER, "x"),
        (Role.SYSTEM, "n"),
    ]
    assert reading.problems == (
        Problem(line=2, message="not JSON: unterminated string starting at (character 10)"),
        Problem(line=4, message="a message needs a role such as user, assistant, tool or system"),
        Problem(line=5, message="unknown role 'narrator'; kept as a system message"),
        Problem(line=6, message="a message must be an object, not str"),
        Problem(line=7, message="not UTF-8 at byte 1 of the line"),
    )


@pytest.mark.parametrize(
    ("data", "said", "left"),
    [
        (f'[{GOOD}, {{"role": "assist', ["x"], '{"role": "assist'),
        (f"[{GOOD}", ["x"], ""),
        (f"[\n{GOOD},\n", ["x"], ""),
        (
            f'{{"system": "s", "messages": [{GOOD}, {{"role": "user", "content": "ha',
            ["s", "x"],
            '{"role": "user", "content": "ha',
        ),
        (f'{{\n"input": [\n{GOOD},\n{{"type": "mess', ["x"], '{"type": "mess'),
        (f'{GOOD}\n{{"role": "assistant", "content": "ab', ["x"], '{"role": "assistant", "content": "ab'),
    ],
)
def test_a_file_that_a_crash_cut_off_gives_what_is_whole_and_names_the_rest(data, said, left):
    reading = read_messages(data, cut_off=True)
    assert [message.text() for message in reading.messages] == said
    assert [problem.text for problem in reading.problems] == [left]


@pytest.mark.parametrize("data", [f"[{GOOD} {GOOD}]", f"[{GOOD}, nonsense, {GOOD}]", "[", '{"messages": [', '{"role'])
def test_what_is_broken_elsewhere_is_refused_also_then(data):
    with pytest.raises(InvalidInput):
        read_messages(data, cut_off=True)


@pytest.mark.parametrize("line", ['{"role": "us', '{"role": ""}', '"x"', '{"role": "user", "n": NaN}'])
@pytest.mark.parametrize("dialect", [None, "openai-responses", "canonical"])
def test_a_problem_holds_the_text_of_what_was_left_out(line, dialect):
    good = GOOD if dialect != "canonical" else '{"role": "user", "parts": ["x"]}'
    (problem,) = read_messages(f"{good}\n{line}\n", dialect=dialect).problems
    assert problem.text == line


def test_an_unknown_dialect_is_refused_with_the_names_there_are():
    with pytest.raises(InvalidInput, match="canonical, openai-chat, openai-responses, anthropic, openclaw"):
        read_messages(GOOD, dialect="latin")


def test_a_lone_surrogate_is_read_and_written_back():
    data = '[{"role": "user", "content": "a\\ud83d b"}]'
    reading = read_messages(data)
    assert reading.messages[0].text() == "a\ud83d b"
    assert write_messages(reading.messages, "openai-chat") == json.loads(data)


# ---- times ----
@pytest.mark.parametrize(
    ("key", "value", "expected", "assumed"),
    [
        ("timestamp", 1_785_657_600_000, 1_785_657_600_000, False),
        ("timestamp", 1_785_657_600, 1_785_657_600_000, False),
        ("timestamp", 5000, 5000, False),
        ("timestamp", -5000, -5000, False),
        ("timestamp", "2026-08-02T08:00:00Z", 1_785_657_600_000, False),
        ("timestamp", "2026-08-02T16:00:00+08:00", 1_785_657_600_000, False),
        ("timestamp", "2026-08-02T16:00:00", 1_785_657_600_000, True),
        ("timestamp", "2026-08-02", 1_785_600_000_000, True),
        ("timestamp", "1785657600000", 1_785_657_600_000, False),
        ("timestamp", 1_785_657_600_000_000, 1_785_657_600_000, False),
        ("created", 1_785_657_600, 1_785_657_600_000, False),
        ("create_time", 1_785_657_600.25, 1_785_657_600_250, False),
        ("timestamp", "yesterday", None, False),
        ("timestamp", True, None, False),
        ("timestamp", 10**40, None, False),
        ("timestamp", None, None, False),
    ],
)
def test_times_are_read_in_every_unit(key, value, expected, assumed):
    data = json.dumps([{"role": "user", "content": "x", key: value}])
    (message,) = read_messages(data, zone=timezone(timedelta(hours=8))).messages
    assert message.timestamp == expected
    assert ("timestamp_assumed" in message.extra) is assumed
    assert write_messages([message], "openai-chat") == json.loads(data)


def test_openclaws_times_are_milliseconds_however_small():
    (message,) = read([{"role": "toolResult", "toolCallId": "c", "content": [], "timestamp": 1_785_657_600}])
    assert message.timestamp == 1_785_657_600
