"""One file, many conversations: names that stay the same, the formats people export, damage that costs one line."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stenolith.errors import InvalidInput
from stenolith.interop import Choices, conversations
from stenolith.interop.scan import Element, scan

ONE = {"role": "user", "content": "one"}
TWO = {"role": "assistant", "content": "two"}


def seen(source, form="auto", choices=None):
    return [
        (found.session_key, found.session_id, [message.text() for message in found.messages])
        for found in conversations(source, form, choices)
    ]


def write(tmp_path, value, name="talks.json"):
    path = tmp_path / name
    text = value if isinstance(value, str) else json.dumps(value)
    path.write_text(text)
    return path


def test_a_plain_array_is_one_conversation_called_after_its_file(tmp_path):
    assert seen(write(tmp_path, [ONE, TWO])) == [("talks", "talks", ["one", "two"])]
    assert seen(write(tmp_path, [ONE, TWO]), choices=Choices(session_key="mine")) == [("mine", "mine", ["one", "two"])]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        (json.dumps({"messages": [ONE, TWO]}), ["talks"]),
        (json.dumps([{"messages": [ONE, TWO]}]), ["talks"]),
        (json.dumps([[ONE], [TWO]]), ["talks#1", "talks#2"]),
        (json.dumps([{"messages": [ONE]}, {"messages": [TWO]}]), ["talks#1", "talks#2"]),
        ("\n".join(json.dumps({"messages": [message]}) for message in (ONE, TWO)), ["talks#1", "talks#2"]),
        (json.dumps([{"session_key": "k", "messages": [ONE]}, {"messages": [TWO]}]), ["k", "talks#2"]),
        ("\n".join([json.dumps(ONE), json.dumps(TWO)]), ["talks"]),
    ],
)
def test_conversations_keep_their_names_from_run_to_run(tmp_path, text, keys):
    path = write(tmp_path, text)
    found = seen(path)
    assert [key for key, _, _ in found] == keys
    assert [text for _, _, texts in found for text in texts] == ["one", "two"]
    assert seen(path) == found


def test_seed_files_are_known_by_their_keys(tmp_path):
    session = {"sessionKey": "k", "sessionId": "i", "conversations": [[ONE, TWO]]}
    for value in ([session], {"sessions": [session]}):
        assert seen(write(tmp_path, value)) == [("k", "i", ["one", "two"])]


def test_an_openclaw_session_has_the_id_of_its_header(tmp_path):
    lines = [
        {"type": "session", "version": 3, "id": "s1"},
        {"type": "message", "id": "a", "parentId": None, "message": ONE},
    ]
    assert seen(write(tmp_path, "\n".join(map(json.dumps, lines)), "a.jsonl")) == [("a", "s1", ["one"])]


def test_daily_files_are_grouped_by_session(tmp_path):
    lines = [
        {"sessionKey": key, "sessionId": "", "recordedAt": "2026-09-01T08:00:00.000Z", "id": f"m{at}", "role": "user", "content": f"{key}{at}", "timestamp": 1_785_657_600_000 + at}
        for at, key in enumerate(["a", "b", "a"])
    ]  # fmt: skip
    path = write(tmp_path, "\n".join(map(json.dumps, lines)) + "\n{broken\n", "2026-09-01.jsonl")
    found = list(conversations(path))
    assert [(c.session_key, [m.text() for m in c.messages]) for c in found] == [
        ("", []),
        ("a", ["a0", "a2"]),
        ("b", ["b1"]),
    ]
    assert found[0].problems[0].line == 4
    assert [message.timestamp for message in found[1].messages] == [1_785_657_600_000, 1_785_657_600_002]


def node(name, parent, message):
    return {"id": name, "parent": parent, "message": message}


def test_chatgpt_exports_follow_the_branch_of_the_current_node(tmp_path):
    def said(name, role, text, **more):
        return {
            "id": name,
            "author": {"role": role},
            "create_time": 1_785_657_600.5,
            "content": {"content_type": "text", "parts": [text]},
            **more,
        }

    mapping = {
        "r": node("r", None, None),
        "u": node("u", "r", said("u", "user", "what is 2+2?")),
        "x": node("x", "u", said("x", "assistant", "abandoned")),
        "c": node("c", "u", said("c", "assistant", "print(2+2)", recipient="python")),
        "t": node(
            "t",
            "c",
            {
                **said("t", "tool", ""),
                "author": {"role": "tool", "name": "python"},
                "content": {"content_type": "execution_output", "text": "4"},
            },
        ),
        "a": node("a", "t", said("a", "assistant", "4", recipient="all", metadata={"model_slug": "gpt-5"})),
    }
    value = [{"title": "sum", "conversation_id": "conv-1", "mapping": mapping, "current_node": "a"}]
    (found,) = conversations(write(tmp_path, value))
    assert (found.session_key, found.session_id) == ("conv-1", "conv-1")
    assert [(m.role.value, m.text(), m.timestamp) for m in found.messages] == [
        ("user", "what is 2+2?", 1_785_657_600_500), ("assistant", "", 1_785_657_600_500),
        ("tool", "", 1_785_657_600_500), ("assistant", "4", 1_785_657_600_500),
    ]  # fmt: skip
    call, result = found.messages[1].parts[0], found.messages[2].parts[0]
    assert (call.id, call.name, call.arguments) == ("c", "python", "print(2+2)")
    assert (result.id, result.name, result.content[0].text) == ("c", "python", "4")
    assert found.messages[3].origin.model == "gpt-5"


def test_claude_exports_are_read(tmp_path):
    messages = [
        {"uuid": "m1", "sender": "human", "text": "hello", "content": [{"type": "text", "text": "hello"}], "created_at": "2026-08-02T08:00:00Z", "attachments": [], "files": []},
        {"uuid": "m2", "sender": "assistant", "text": "hi", "created_at": "2026-08-02T08:00:05Z"},
    ]  # fmt: skip
    (found,) = conversations(write(tmp_path, [{"uuid": "c1", "name": "n", "chat_messages": messages}]))
    assert found.session_key == "c1"
    assert [(m.role.value, m.text(), m.id, m.timestamp) for m in found.messages] == [
        ("user", "hello", "m1", 1_785_657_600_000),
        ("assistant", "hi", "m2", 1_785_657_605_000),
    ]


def test_damage_costs_one_line_and_is_named(tmp_path):
    lines = [json.dumps({"messages": [ONE]}), "{broken", json.dumps({"messages": [TWO, 5]})]
    found = list(conversations(write(tmp_path, "\n".join(lines), "a.jsonl")))
    assert [(c.session_key, len(c.messages), [p.line for p in c.problems]) for c in found] == [
        ("a#1", 1, []), ("a#2", 1, [3]), ("a", 0, [2]),
    ]  # fmt: skip


def test_an_unknown_format_is_refused_before_anything_is_read(tmp_path):
    with pytest.raises(InvalidInput, match="chatgpt"):
        conversations(tmp_path / "none", "docx")


# ---- the scanner under it ----
@given(st.lists(st.integers(0, 3), max_size=4), st.integers(0, 3))
def test_values_that_straddle_the_ends_of_chunks_are_read_whole(sizes, shift):
    chunk = 1 << 20
    values = ["é" * (chunk // 2 * size + shift) for size in sizes]
    data = (
        "[" + " " * shift + ",".join(json.dumps(v, ensure_ascii=False) for v in [{"v": v} for v in values]) + "]"
    ).encode()
    assert [element.value["v"] for element in scan(data)] == values


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda v: st.lists(v) | st.dictionaries(st.text(), v),
        max_leaves=10,
    )
)
def test_an_array_is_read_as_json_reads_it(value):
    for spelled in (json.dumps([value, value]), json.dumps([value, value], indent=1)):
        found = list(scan(spelled))
        assert [(element.value, element.within) for element in found] == [(value, "[]"), (value, "[]")]


@given(st.binary(max_size=60) | st.text('[]{}",:0aué\\n \n\x00\ufeff', max_size=60).map(str.encode))
def test_any_bytes_are_read_or_refused(data):
    with contextlib.suppress(InvalidInput):
        assert all(isinstance(value, Element) or value.line >= 1 for value in scan(data))
