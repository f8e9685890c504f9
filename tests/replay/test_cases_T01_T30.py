# ruff: noqa: N802 - the names are those of the specification
"""Cases T01-T30 of spec/replay.md section 5: normalisation, tool input, pairing."""

from __future__ import annotations

import pytest
from notation import (
    ANY,
    EMPTY,
    FAILED,
    MISSING,
    ROUTES,
    SIG,
    A,
    R,
    U,
    call,
    clean,
    details,
    origin,
    send,
    show,
    think,
)

from stenolith.model.message import Message, Opaque, Role, Text, ToolResult
from stenolith.replay.normalise import drop_incomplete_reasoning
from stenolith.replay.plan import Options, Plan
from stenolith.replay.policy import Target, resolve
from stenolith.replay.report import Line

MERGING = [route for route in ANY if resolve(*ROUTES[route]).merges_assistants]


@pytest.mark.parametrize("route", ANY)
def test_T01_blank_users_go_and_blank_blocks_are_trimmed(route):
    found = show(clean(route, U("q"), A("a"), U("   "), A("b"), U(" ", "x")))
    expected = 'U"q"|A"a"+"b"|U"x"' if route in MERGING else 'U"q"|A"a"|A"b"|U"x"'
    assert found == expected


def test_T02_a_blank_tool_result_says_so():
    assert show(clean("ANT", U("q"), A(call("c1")), R("c1", " "), U("z"))) == f'U"q"|A[c1 read]|R c1 "{EMPTY}"|U"z"'


@pytest.mark.parametrize("route", ["ANT", "CC"])
def test_T03_the_text_of_a_tool_result_stays(route):
    assert "R c1" in show(clean(route, U("q"), A(call("c1")), R("c1", "plain")))
    assert "plain" in str(send(route, U("q"), A(call("c1")), R("c1", "plain")).payload)


def test_T04_neighbouring_assistants_are_merged_with_their_words():
    assert show(clean("ANT", U("q"), A("one"), A("two"), U("z"))) == 'U"q"|A"one"+"two"|U"z"'


@pytest.mark.parametrize("route", ["ANT", "BED", "RSP"])
def test_T05_a_turn_that_ran_out_while_thinking_is_not_sent(route):
    stored = [U("q"), A(think("t", SIG), stop="length"), U("z")]
    found = clean(route, *stored)
    assert "A" not in show(found).replace("U", "")
    assert "t" in details(found)
    assert stored[1].parts  # storage is not touched


@pytest.mark.parametrize(
    "parts", [(), (think("t", SIG), "par"), (think("t", SIG), call("c1")), (Opaque(kind="weird", value={}),)]
)
def test_T06_only_turns_of_nothing_but_thinking_are_incomplete(parts):
    lines = [Line(0, A(*parts, stop="length"))]
    plan = Plan(target=Target(), policy=resolve("x", "openai-chat", "y"))
    assert drop_incomplete_reasoning(lines, plan) == (lines, [])


def test_T07_a_failed_turn_is_closed_with_a_sentence():
    found = clean("BED", U("q"), A(stop="error"), U("z"))
    assert show(found) == f'U"q"|A"{FAILED}"|U"z"'
    send("BED", U("q"), A(stop="error"), U("z"))


def test_T08_a_trailing_failed_turn_is_taken_off():
    assert show(clean("BED", U("q"), A("a"), U("z"), A(stop="error"))) == 'U"q"|A"a"|U"z"'
    assert show(clean("OAI", U("q"), A(FAILED))) == 'U"q"'
    assert show(clean("OAI", U("q"), A("[assistant turn failed before producing content]"))) == 'U"q"'


def test_T09_a_failed_turn_of_blank_text_sends_no_blank_text():
    assert show(clean("BED", U("q"), A("  ", stop="error"), U("z"))) == f'U"q"|A"{FAILED}"|U"z"'
    send("BED", U("q"), A("  ", stop="error"), U("z"))


@pytest.mark.parametrize(
    "silent", ["NO_REPLY", ' "NO_REPLY" ', '{"action":"NO_REPLY"}', "<think>hm</think>\nNO_REPLY", "`NO_REPLY`"]
)
def test_T10_a_silent_reply_is_no_turn(silent):
    assert show(clean("ANT", U("a"), A(silent), U("b"))) == 'U"a"+"b"'
    assert show(clean("ANT", U("a"), A(think("t", SIG), silent), U("b"))) == 'U"a"+"b"'
    assert show(clean("ANT", U("a"), A("hi NO_REPLY"), U("b"))) == 'U"a"|A"hi NO_REPLY"|U"b"'


@pytest.mark.parametrize("route", ANY)
def test_T11_half_a_surrogate_pair_goes_and_a_whole_character_stays(route):
    stored = [
        U("a\ud83d b"),
        A("\U0001f600", call("c1", arguments={"k\ud83d": ["v\udc00"]})),
        R("c1", "r\ud800"),
        U("😀"),
    ]
    found = clean(route, *stored)
    assert 'U"a b"' in show(found)
    assert "😀" in show(found)
    str(send(route, *stored).payload).encode()  # raises on a lone surrogate


def test_T12_a_call_without_arguments_goes_and_takes_its_result():
    stored = [U("q"), A("p", call("c1", arguments=None)), R("c1", "answer"), U("z")]
    without = clean("ANT", *stored, options=Options(keep_evidence=False))
    assert show(without) == 'U"q"|A"p"|U"z"'
    assert "answer" in details(without)


def test_T12_what_the_tool_returned_stays_as_text():
    stored = [U("q"), A("p", call("c1", arguments=None)), R("c1", "answer"), U("z")]
    kept = clean("ANT", *stored)
    assert show(kept) == 'U"q"|A"p"+"[tool call read omitted: it has no arguments]\nanswer"|U"z"'
    assert "answer" in details(kept)


def test_T13_missing_arguments_drop_a_call_and_odd_ones_become_an_object():
    assert show(clean("OAI", U("q"), A(call("c1", arguments=None)), U("z"))) == 'U"q"|U"z"'
    for value, expected in [(0, {"input": 0}), ("", {}), ('{"a":1}', {"a": 1}), ("odd", {"input": "odd"})]:
        sent = send("ANT", U("q"), A(call("c1", arguments=value)), R("c1", "x"), U("z")).payload
        assert sent["messages"][1]["content"][0]["input"] == expected


def test_T14_names_are_trimmed_and_illegal_ones_dropped():
    def names(name, route="ANT"):
        return show(clean(route, U("q"), A("p", call("c1", name)), U("z")))

    assert "[c1 exec]" in names(" exec ")
    assert "[c1 mcp.srv:tool-x]" in names("mcp.srv:tool-x")
    for bad in ["", "  ", "n" * 65, "my tool", "工具"]:
        assert names(bad) == 'U"q"|A"p"|U"z"'


@pytest.mark.parametrize("route", ["ANT", "BED", "CC", "RSP", "GOO", "MIS"])
def test_T14_a_name_is_valid_on_the_wire(route):
    send(route, U("q"), A(call("c1", "mcp.srv:tool-x")), R("c1", "x"), U("z"))  # send() lints


def test_T14_a_name_that_was_really_called_is_mapped():
    stored = [
        U("q"),
        A(call("c1", "my tool"), call("c2", "my_tool"), call("c3", "my/tool")),
        R("c1", "x"),
        R("c2", "y"),
    ]
    found = show(clean("ANT", *stored, R("c3", "z"), U("z")))
    assert "[c1 my_tool]" in found
    assert "[c3 my_tool_" in found  # not confused with the first


def test_T15_a_truncated_call_is_dropped_and_a_finished_buffer_kept():
    half = call("c1", arguments={}, partial='{"a":')
    assert show(clean("ANT", U("q"), A("p", half), U("z"))) == 'U"q"|A"p"|U"z"'
    whole = call("call_1|fc_1", arguments={"a": 1}, partial='{"a":1}')
    found = clean("RSP", U("q"), A(whole, stop="tool_use"), R("call_1|fc_1", "x"), U("z"))
    assert show(found) == 'U"q"|A[call_1 read]|R call_1 "x"|U"z"'
    assert found.messages[1].parts[0].partial is None
    assert show(clean("RSP", U("q"), A("p", whole, stop="length"), U("z"))) == 'U"q"|A"p"|U"z"'


def test_T16_a_tool_that_is_not_on_offer_needs_a_completed_result():
    def found(name, *more):
        return show(clean("ANT", U("q"), A("p", call("c1", name)), *more, U("z"), tools=("read",)))

    assert "[c1 READ]" in found("READ")
    assert "[c1 exec]" in found("exec", R("c1", "done"))
    assert "exec" not in found("exec")


@pytest.mark.parametrize("route", ["ANT", "CC"])
def test_T17_displaced_duplicate_and_orphan_results(route):
    stored = [
        U("q"),
        A(call("c1"), call("c2")),
        U("mid"),
        R("c2", "two"),
        R("c1", "one"),
        R("c1", "dup"),
        R("zz", "lost"),
    ]
    found = clean(route, *stored, A("done"), U("z"))
    assert show(found) == 'U"q"|A[c1 read]+[c2 read]|R c1 "one"|R c2 "two"|U"mid"|A"done"|U"z"'
    assert "dup" in details(found)
    assert "lost" in details(found)


@pytest.mark.parametrize("route", ["ANT", "CC"])
def test_T18_a_late_result_returns_to_its_call(route):
    stored = [U("q"), A(call("c1")), U("u"), A(call("c2")), R("c2", "two"), R("c1", "late")]
    expected = 'U"q"|A[c1 read]|R c1 "late"|U"u"|A[c2 read]|R c2 "two"'
    assert show(clean(route, *stored)) == expected


def test_T19_a_missing_result_is_an_error_result():
    assert show(clean("RSP", U("q"), A(call("call_1")), U("z"))) == 'U"q"|A[call_1 read]|R? call_1 "aborted"|U"z"'
    found = clean("ANT", U("q"), A(call("c1"), timestamp=7), U("z"))
    assert show(found) == f'U"q"|A[c1 read]|R? c1 "{MISSING}"|U"z"'
    result = found.messages[2]
    assert result.parts[0].is_error
    assert result.timestamp == 7


def test_T20_a_result_before_its_call_is_no_answer():
    found = clean("ANT", U("q"), R("c1", "early"), A(call("c1")), U("z"))
    assert show(found) == f'U"q"|A[c1 read]|R? c1 "{MISSING}"|U"z"'
    assert "early" in details(found)


def test_T21_a_result_without_id_is_adopted_by_one_open_call_only():
    def found(*messages):
        return show(clean("ANT", U("q"), *messages, U("z")))

    assert 'R c1 "x"' in found(A(call("c1")), R("", "x", tool="read"))
    assert 'R c1 "x"' in found(A(call("c1")), R("", "x"))
    assert '"x"' not in found(A(call("c1"), call("c2")), R("", "x", tool="read"))
    assert '"x"' not in found(A(call("c1")), R("", "x", tool="other"))


def test_T21_an_adopted_result_keeps_its_own_verdict():
    assert 'R c1 "x"' in show(clean("ANT", U("q"), A(call("c1")), R("", "x")))
    assert 'R! c1 "x"' in show(clean("ANT", U("q"), A(call("c1")), R("", "x", error=True)))


def test_T22_a_phantom_result_is_removed_and_nothing_is_invented():
    found = clean("ANT", U("q"), A("text only", stop="tool_use"), R("", "Tool  not found"), U("z"))
    assert show(found) == 'U"q"|A"text only"|U"z"'
    assert "Tool  not found" in details(found)


def test_T23_a_real_result_replaces_a_synthetic_one():
    stored = [
        U("q"),
        A(call("c1")),
        R("c1", "missing", error=True, synthetic=True),
        U("u"),
        R("c1", "real"),
        A("k"),
        U("z"),
    ]
    assert show(clean("ANT", *stored)) == 'U"q"|A[c1 read]|R c1 "real"|U"u"|A"k"|U"z"'


def test_T24_a_result_always_carries_the_id_of_its_call():
    # the readers map toolUseId, tool_call_id, ... to the canonical id; padding is ours
    found = clean("ANT", U("q"), A(call("c1")), R(" c1 ", "x"), U("z"))
    assert found.messages[2].parts[0].id == "c1"


@pytest.mark.parametrize("route", ANY)
def test_T25_ids_that_restart_keep_both_results(route):
    stored = [U("q"), A(call("c1")), R("c1", "one"), U("u"), A(call("c1")), R("c1", "two"), U("z")]
    sent = str(send(route, *stored).payload)
    assert "one" in sent
    assert "two" in sent
    ids = [
        part.id for message in clean(route, *stored).messages for part in message.parts if hasattr(part, "arguments")
    ]
    assert len(set(ids)) == 2


def test_T26_a_result_belongs_to_the_nearest_occurrence():
    found = show(clean("ANT", U("q"), A(call("c1")), U("u"), A(call("c1")), R("c1", "two"), U("z")))
    assert found == f'U"q"|A[c1 read]|R? c1 "{MISSING}"|U"u"|A[c12 read]|R c12 "two"|U"z"'


@pytest.mark.parametrize("route", ANY)
def test_T27_the_same_id_twice_in_one_turn(route):
    found = clean(route, U("q"), A(call("c1"), call("c1")), R("c1", "one"), R("c1", "two"), U("z"))
    calls = [part.id for part in found.messages[1].parts]
    results = [message.parts[0] for message in found.messages[2:4]]
    assert len(set(calls)) == 2
    assert [result.id for result in results] == calls
    assert [result.content[0].text for result in results] == ["one", "two"]


@pytest.mark.parametrize("route", ANY)
def test_T28_what_stands_between_call_and_result_moves_behind(route):
    note = U("note", extra={"custom_type": "note"})
    mirror = A("sent", extra={"mirror": True})
    found = show(clean(route, U("q"), A(call("c1"), "sent"), note, mirror, R("c1", "x"), U("z")))
    call_at, result_at, note_at = found.index("A["), found.index("R "), found.index('"note"')
    assert call_at < result_at < note_at
    assert found.count("sent") == 1


def test_T29_an_aborted_turn_keeps_its_words():
    found = clean("ANT", U("q"), A("partial", call("c1"), stop="aborted"), U("z"))
    assert show(found) == 'U"q"|A"partial"|U"z"'
    send("ANT", U("q"), A("partial", call("c1"), stop="aborted"), U("z"))


def test_T29_what_a_failed_turn_completed_stays_as_text():
    found = clean("ANT", U("q"), A("partial", call("c1"), stop="error"), R("c1", "done"), U("z"))
    assert show(found) == 'U"q"|A"partial"+"[tool call read completed before the turn failed]\ndone"|U"z"'


@pytest.mark.parametrize("route", ANY)
def test_T30_a_crash_in_the_last_call_replays_clean(route):
    sent = send(route, U("q"), A("I look", call("c1"), origin=origin(route)))
    assert sent.payload
    assert "R? " in show(clean(route, U("q"), A(call("c1"))))


def test_C27_pairs_survive_compaction_and_abort():
    before = [U("q"), A("t", call("A"), call("B")), R("A", "a")]
    after = [R("B", "b"), A(call("C"), stop="aborted"), U("z")]
    summary = U("so far", extra={"summary": "compaction"})
    found = clean("ANT", summary, *after)
    assert "b" in details(found)
    assert show(found).endswith(f'A[C read]|R? C "{MISSING}"|U"z"')
    assert clean("ANT", *found.messages).messages == found.messages
    whole = send("ANT", *before, *after).payload["messages"]
    roles = [message["role"] for message in whole]
    assert roles == ["user", "assistant", "user", "assistant", "user"]


def test_embedded_results_are_split_from_the_words_of_a_user():
    both = Message(role=Role.USER, parts=(ToolResult(id="c1", content=(Text(text="x"),)), Text(text="next")))
    assert show(clean("OAI", U("q"), A(call("c1")), both)) == 'U"q"|A[c1 read]|R c1 "x"|U"next"'
