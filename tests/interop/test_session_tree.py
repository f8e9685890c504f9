"""A session file's context is the walk from its leaf; versions 1 to 3, compaction, branches, damage."""

from __future__ import annotations

import json

import pytest
from dialect_files import openclaw
from hypothesis import given

from stenolith.interop import read_messages, write_session
from stenolith.model.message import Role

HEADER = {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-08-01T00:00:00.000Z", "cwd": "/"}


def user(name, parent, text, **more):
    message = {"role": "user", "content": text, **more}
    return {
        "type": "message",
        "id": name,
        "parentId": parent,
        "timestamp": "2026-08-01T00:00:01.000Z",
        "message": message,
    }


def read(*entries):
    return read_messages("\n".join(json.dumps(entry) for entry in entries))


def texts(reading):
    return [message.text() for message in reading.messages]


def test_messages_take_their_entrys_id_and_time():
    reading = read(HEADER, user("a", None, "one"), user("b", "a", "two", timestamp=1_785_542_400_777))
    assert reading.dialect == "openclaw"
    assert [(m.id, m.timestamp) for m in reading.messages] == [("a", 1_785_542_401_000), ("b", 1_785_542_400_777)]


def test_an_abandoned_branch_is_not_in_the_context():
    reading = read(HEADER, user("a", None, "one"), user("b", "a", "wrong"), user("c", "a", "right"))
    assert texts(reading) == ["one", "right"]


def test_a_branch_summary_and_custom_messages_stand_in_their_place_and_bookkeeping_does_not():
    reading = read(
        HEADER,
        user("a", None, "one"),
        {"type": "model_change", "id": "m", "parentId": "a"},
        {"type": "custom", "id": "k", "parentId": "m", "customType": "model-snapshot", "data": {}},
        {"type": "branch_summary", "id": "b", "parentId": "k", "summary": "tried x", "fromId": "z"},
        {"type": "custom_message", "id": "c", "parentId": "b", "customType": "note", "content": "n", "display": True},
    )
    assert texts(reading)[0] == "one"
    assert "tried x" in texts(reading)[1]
    assert [message.extra.get("summary") for message in reading.messages] == [None, "branch", None]
    assert reading.messages[2].extra["custom_type"] == "note"


def test_a_compaction_puts_its_summary_first_and_marks_what_it_kept():
    reading = read(
        HEADER,
        user("a", None, "gone"),
        user("b", "a", "kept"),
        {
            "type": "compaction",
            "id": "c",
            "parentId": "b",
            "summary": "S",
            "firstKeptEntryId": "b",
            "tokensBefore": 9,
            "timestamp": "2026-08-01T01:00:00Z",
        },
        user("d", "c", "after"),
    )
    assert [message.id for message in reading.messages] == ["c", "b", "d"]
    assert [message.extra.get("summary") for message in reading.messages] == ["compaction", None, None]
    assert [message.extra.get("before_compaction") for message in reading.messages] == [None, True, None]
    assert reading.messages[0].timestamp == 1_785_546_000_000


def test_of_two_compactions_the_last_counts():
    reading = read(
        HEADER,
        user("a", None, "gone"),
        {
            "type": "compaction",
            "id": "c1",
            "parentId": "a",
            "summary": "one",
            "firstKeptEntryId": "a",
            "tokensBefore": 9,
        },
        user("b", "c1", "kept"),
        {
            "type": "compaction",
            "id": "c2",
            "parentId": "b",
            "summary": "two",
            "firstKeptEntryId": "b",
            "tokensBefore": 9,
        },
    )
    assert [message.id for message in reading.messages] == ["c2", "b"]


def test_version_1_is_a_line_without_ids():
    first = {"type": "session", "id": "s", "timestamp": "2026-08-01T00:00:00Z"}
    entries = [{"type": "message", "message": {"role": "user", "content": text}} for text in ("gone", "kept")]
    compaction = {"type": "compaction", "summary": "S", "firstKeptEntryIndex": 2, "tokensBefore": 9}
    reading = read(first, *entries, compaction, {"type": "message", "message": {"role": "user", "content": "after"}})
    assert [message.text()[-7:] for message in reading.messages] == ["ummary>", "kept", "after"]


def test_version_2_calls_custom_messages_hook_messages():
    hook = {"role": "hookMessage", "customType": "note", "content": "n", "display": False}
    reading = read({**HEADER, "version": 2}, {"type": "message", "id": "a", "parentId": None, "message": hook})
    assert reading.messages[0].extra["custom_type"] == "note"
    assert reading.messages[0].display is False


def test_a_lost_parent_does_not_hide_what_it_followed():
    reading = read(HEADER, user("a", None, "one"), user("c", "b", "three"))
    assert texts(reading) == ["one", "three"]
    assert [(problem.line, problem.message) for problem in reading.problems] == [
        (3, "parent 'b' is missing; took the entry before")
    ]


def test_repeated_ids_do_not_make_a_circle():
    reading = read(HEADER, user("a", None, "one"), user("a", "a", "two"), user("a", "a", "three"))
    assert texts(reading) == ["one", "two", "three"]


def test_a_compaction_whose_first_kept_entry_is_lost_is_a_problem():
    compaction = {
        "type": "compaction",
        "id": "c",
        "parentId": "a",
        "summary": "S",
        "firstKeptEntryId": "zz",
        "tokensBefore": 9,
    }
    reading = read(HEADER, user("a", None, "one"), compaction, user("d", "c", "after"))
    assert [message.id for message in reading.messages] == ["c", "d"]
    assert reading.problems[0].line == 3


@pytest.mark.parametrize("message", [None, "x", {}, {"role": None}, {"role": ""}])
def test_an_entry_without_a_message_is_a_problem(message):
    reading = read(HEADER, user("a", None, "one"), {"type": "message", "id": "b", "parentId": "a", "message": message})
    assert texts(reading) == ["one"]
    assert reading.problems[0].line == 3


def test_a_newer_version_is_read_with_a_warning():
    reading = read({**HEADER, "version": 4}, user("a", None, "one"))
    assert texts(reading) == ["one"]
    assert "newer" in reading.problems[0].message


def test_bare_messages_between_entries_are_read_too():
    assert texts(read(HEADER, user("a", None, "one"), {"role": "user", "content": "two"})) == ["one", "two"]


def without_compaction(bare):
    return [message for message in bare if message["role"] != "compactionSummary"]  # it would hide what stands before


@given(openclaw.map(without_compaction))
def test_a_written_session_reads_back_as_its_messages(bare):
    messages = read_messages(json.dumps(bare), dialect="openclaw").messages
    lines = write_session(messages, "s1", 1_785_542_400_000)
    again = read_messages("\n".join(json.dumps(line) for line in lines))
    assert [(m.role, m.parts, m.timestamp) for m in again.messages] == [
        (m.role, m.parts, m.timestamp) for m in messages
    ]
    assert lines[0]["id"] == "s1"


def test_a_written_compaction_reads_back():
    before = read(
        HEADER,
        user("a", None, "gone"),
        user("b", "a", "kept"),
        {
            "type": "compaction",
            "id": "c",
            "parentId": "b",
            "summary": "S",
            "firstKeptEntryId": "b",
            "tokensBefore": 9,
            "timestamp": "2026-08-01T01:00:00Z",
        },
        user("d", "c", "after"),
    ).messages
    lines = write_session(before, "s1", 0)
    again = read_messages("\n".join(json.dumps(line) for line in lines)).messages
    assert again == before
    assert again[0].role is Role.USER
