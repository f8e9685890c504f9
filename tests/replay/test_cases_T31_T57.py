# ruff: noqa: N802 - the names are those of the specification
"""Cases T31-T57 of spec/replay.md section 5: ids, turns, thinking and signatures, Responses items."""

from __future__ import annotations

import json
import re

import pytest
from notation import (
    ANY,
    MISSING,
    REASONING,
    SIG,
    SIG2,
    A,
    R,
    U,
    call,
    call_ids,
    clean,
    details,
    origin,
    rs,
    send,
    show,
    think,
)

from stenolith.model.message import Message, Origin, Role, Text, Thinking, ToolResult
from stenolith.replay.plan import Continuation, Options

STRICT = re.compile(r"[A-Za-z0-9]{1,40}")


def answers(done):
    return [part.id for message in done.messages for part in message.parts if isinstance(part, ToolResult)]


def turn(*names):
    return [A(*(call(name) for name in names)), *(R(name, f"result of {name}") for name in names)]


def test_T31_ids_that_differ_in_a_stripped_character_stay_apart():
    found = clean("CC", U("q"), *turn("call_a|b", "call_a:b"))
    assert call_ids(found) == ["callab", "callab164e5cbf"]  # section 3.7.1
    assert answers(found) == call_ids(found)


@pytest.mark.parametrize("route", ["CC", "OAI", "ORA"])
def test_T32_long_ids_with_one_prefix_stay_apart(route):
    stem = "call_" + "a" * 54
    found = clean(route, U("q"), *turn(stem + "123456", stem + "12345"))
    assert len(set(call_ids(found))) == 2
    assert all(len(name) <= 40 for name in call_ids(found))
    assert answers(found) == call_ids(found)


def test_T33_mistral_ids_have_nine_alphanumerics():
    found = clean("MIS", U("q"), *turn("call_abc|item:123", "call_abc|item:456", "x", "!!!"))
    assert call_ids(found)[0] == "callabcit"  # section 3.7.2
    assert len(set(call_ids(found))) == 4
    assert all(re.fullmatch("[A-Za-z0-9]{9}", name) for name in call_ids(found))
    assert answers(found) == call_ids(found)


def test_C29_mistral_keeps_what_already_fits():
    raw = ["call_PTLP8xhu3uwZk4l3nlnrrJha", "toolu_01Vp", "turn1_0", "turn1-0", "abcdef123"]
    found = call_ids(clean("MIS", U("q"), *turn(*raw)))
    assert found[-1] == "abcdef123"
    assert len(set(found)) == 5
    assert all(re.fullmatch("[A-Za-z0-9]{9}", name) for name in found)
    assert call_ids(clean("MIS", U("q"), *turn(*raw))) == found
    assert call_ids(clean("ORA", U("q"), *turn(*raw))) == raw


def test_T34_kimi_ids_stay_once():
    assert call_ids(clean("CC", U("q"), *turn("functions.read:0"))) == ["functions.read:0"]
    twice = clean("CC", U("q"), *turn("functions.read:0"), *turn("functions.read:0"))
    assert call_ids(twice) == ["functions.read:0", "functionsread02"]  # section 3.7.1
    assert all(
        re.fullmatch("[A-Za-z0-9]{9}", name) for name in call_ids(clean("MIS", U("q"), *turn("functions.read:0")))
    )


def test_T35_anthropic_ids_stay_on_anthropic():
    assert call_ids(clean("ANT", U("q"), *turn("toolu_01AB_c"))) == ["toolu_01AB_c"]
    assert call_ids(clean("ANT", U("q"), *turn("toolu_01AB_c"), *turn("toolu_01AB_c"))) == [
        "toolu_01AB_c",
        "toolu01ABc2",
    ]
    assert call_ids(clean("CC", U("q"), *turn("toolu_01AB_c"))) == ["toolu01ABc"]


def test_T36_a_padded_id_is_still_a_pair():
    found = clean("CC", U("q"), A(call(" call_1 ")), R("call_1", "x"))
    assert show(found) == 'U"q"|A[call1 read]|R call1 "x"'


@pytest.mark.parametrize("route", ANY)
def test_T37_ids_are_idempotent_and_prefix_stable(route):
    names = [
        "call_1",
        "call_1",
        "call_a|b",
        "call_a:b",
        "functions.read:0",
        "toolu_01AB_c",
        "x" * 65,
        "!!!",
        "call1",
        "call12",
    ]
    stored = [U("q"), *(message for name in names for message in turn(name))]
    whole = clean(route, *stored)
    assert len(set(call_ids(whole))) == len(names)
    assert clean(route, *whole.messages).messages == whole.messages
    for end in range(1, len(stored), 2):
        part = call_ids(clean(route, *stored[:end]))
        assert part == call_ids(whole)[: len(part)]


def test_T38_responses_ids_are_canonical_in_both_halves():
    found = clean("RSP", U("q"), A(rs("rs_1"), call("bad id|item")), R("bad id|item", "x"))
    assert call_ids(found) == ["call_bad_id_4b2d2ff66c|fc_item_4a33eacd5f"]  # section 3.11.4
    assert answers(found) == call_ids(found)
    assert call_ids(clean("RSP", U("q"), A(rs("rs_1"), call("call_1|fc_1")), R("call_1|fc_1", "x"))) == ["call_1|fc_1"]
    assert call_ids(clean("RSP", U("q"), *turn("toolu_01"))) == ["call_toolu_01_7a95b70396"]
    odd = clean("RSP", U("q"), A(rs("rs_1"), call("call_x|notfc")), R("call_x|notfc", "x"))
    assert call_ids(odd) == ["call_x|fc_notfc_3254d23bf2"]


@pytest.mark.parametrize(("route", "merged"), [("ANT", True), ("MIS", True), ("RSP", False), ("OAI", False)])
def test_T39_who_merges_users(route, merged):
    found = clean(route, U("a", timestamp=1), U("b", timestamp=2), A("x"), U("z"))
    assert show(found) == ('U"a"+"b"|A"x"|U"z"' if merged else 'U"a"|U"b"|A"x"|U"z"')
    assert found.messages[0].timestamp == (2 if merged else 1)


def test_T40_without_pairing_a_dangling_call_is_stripped():
    flags = {"repair_tool_use_result_pairing": False}
    assert show(clean("ANT", U("a"), A(call("c1")), U("b"), flags=flags)) == 'U"a"|A"[tool calls omitted]"|U"b"'
    kept = clean("ANT", U("a"), A("p", call("c1"), call("c2")), R("c1", "x"), U("b"), flags=flags)
    assert show(kept) == 'U"a"|A"p"+[c1 read]|R c1 "x"|U"b"'


@pytest.mark.parametrize("route", ["GOO", "CC", "BED", "MIS", "ANT"])
def test_T41_a_history_that_starts_with_the_assistant_gets_a_bootstrap(route):
    found = clean(route, A("hi", timestamp=5), U("z"))
    assert show(found) == 'U"(session bootstrap)"|A"hi"|U"z"'
    assert found.messages[0].timestamp == 5
    assert clean(route, *found.messages).messages == found.messages


def test_T42_the_later_assistant_decides_how_the_turn_ended():
    first = A("1", stop="stop", usage={"input": 1})
    found = clean("GOO", U("q"), first, A("2", stop="length"), U("z"))
    assert show(found) == 'U"q"|A"1"+"2"|U"z"'
    assert found.messages[1].stop_reason == "length"
    assert found.messages[1].usage == {"input": 1}


def test_T43_with_thinking_a_request_ends_with_the_user():
    stored = [U("a"), A("x")]
    found = clean("ANT", *stored, thinking=True)
    assert show(found) == 'U"a"'
    assert "x" in details(found)
    assert stored[1].parts
    assert show(clean("ANT", U("a"), A("x"), A("y"), thinking=True)) == 'U"a"'
    pair = clean("ANT", U("a"), A(think("t", SIG), call("c1")), R("c1", "x"), thinking=True)
    assert show(pair) == 'U"a"|A<t>+[c1 read]|R c1 "x"'


def test_T43_openrouter_claude_strips_only_while_it_reasons():
    assert show(clean("ORA", U("a"), A("x"), thinking=True)) == 'U"a"'
    assert show(clean("ORA", U("a"), A("x"))) == 'U"a"|A"x"'
    assert show(clean("OLD", U("a"), A("x"))) == 'U"a"|A"x"'


def test_T43_a_caller_may_ask_to_go_on_instead():
    options = Options(continuation=Continuation.CONTINUE)
    found = clean("ANT", U("a"), A("x"), options=options)
    assert show(found) == 'U"a"|A"x"|U"(continue)"'
    assert clean("ANT", *found.messages, options=options).messages == found.messages


@pytest.mark.parametrize("route", ["ANT", "BED"])
def test_T44_thinking_without_a_signature_is_not_sent(route):
    def found(part):
        return show(clean(route, U("q"), A(part), U("u"), A("ok"), U("z")))

    for bad in [think("t", "  "), think("t"), think("t", ""), think("", "", redacted=True), think("t", "QUJDR")]:
        assert found(bad) == f'U"q"|A"{REASONING}"|U"u"|A"ok"|U"z"'
    assert found(think("", "D", redacted=True)) == 'U"q"|A<>|U"u"|A"ok"|U"z"'


def test_T44_not_even_in_the_running_turn():
    found = clean("ANT", U("q"), A(think("t", ""), call("c1")), R("c1", "x"), thinking=True)
    assert show(found) == 'U"q"|A[c1 read]|R c1 "x"'
    assert found.hints.disable_thinking
    assert "t" in details(found)


def test_T45_an_empty_thought_with_a_signature_is_kept():
    part = think("", SIG)
    assert clean("ANT", U("q"), A(part, "x"), U("z")).messages[1].parts[0] == part
    assert clean("ANT", U("q"), A(part), U("z")).messages[1].parts == (part,)


def test_T46_signatures_older_than_the_compaction_are_not_sent():
    summary = U("so far", extra={"summary": "compaction"}, timestamp=5000)
    old = A(think("t", SIG), "kept", timestamp=4000)
    new = A(think("t2", SIG2), "new", timestamp=6000)
    found = show(clean("ANT", summary, old, U("u"), new, U("z")))
    assert 'A"kept"|U"u"|A<t2>+"new"|U"z"' in found


def test_T46_the_order_of_entries_decides_where_it_is_known():
    summary = U("so far", extra={"summary": "compaction"})
    old = A(think("t", SIG), call("c1"), extra={"before_compaction": True})
    found = clean("ANT", summary, U("q"), old, R("c1", "x"), thinking=True)
    assert show(found).endswith('A[c1 read]|R c1 "x"')
    assert found.hints.disable_thinking


def test_T47_older_models_get_only_the_latest_thinking():
    stored = [U("q"), A(think("t", SIG)), U("u"), A(think("t2", SIG2), "b"), U("z")]
    assert show(clean("OLD", *stored)) == f'U"q"|A"{REASONING}"|U"u"|A<t2>+"b"|U"z"'


def test_T47_every_step_of_a_running_tool_turn_keeps_its_thinking():
    stored = [U("q"), A(think("t", SIG), call("c1")), R("c1", "x"), A(think("t2", SIG2), call("c2")), R("c2", "y")]
    assert show(clean("OLD", *stored)) == 'U"q"|A<t>+[c1 read]|R c1 "x"|A<t2>+[c2 read]|R c2 "y"'


def test_T48_chat_completions_forget_the_reasoning_of_finished_turns():
    stored = [U("q"), A(think("t0"), "a0"), U("u"), A(think("t"), call("c1")), R("c1", "x")]
    assert show(clean("CC", *stored)) == 'U"q"|A"a0"|U"u"|A<t>+[c1 read]|R c1 "x"'
    assert show(clean("CC", U("q"), A(think("t")), U("z"))) == f'U"q"|A"{REASONING}"|U"z"'
    assert "reasoning_content" not in json.dumps(send("CC", *stored).payload)


def test_T48_deepseek_gets_its_reasoning_back():
    stored = [U("q"), A(think("t0", "reasoning_content"), "a0"), U("z")]
    message = send("DS", *stored, thinking=True).payload["messages"][1]
    assert message["reasoning_content"] == "t0"


def test_T49_every_tool_step_of_the_turn_keeps_its_reasoning():
    stored = [U("q"), A(think("t1"), call("c1")), R("c1", "x"), A(think("t2"), call("c2")), R("c2", "y")]
    assert show(clean("CC", *stored)) == 'U"q"|A<t1>+[c1 read]|R c1 "x"|A<t2>+[c2 read]|R c2 "y"'
    sent = send("DS", *stored, thinking=True).payload["messages"]
    assert [message.get("reasoning_content") for message in sent if message["role"] == "assistant"] == ["t1", "t2"]


@pytest.mark.parametrize("route", ["GOO", "ORG"])
@pytest.mark.parametrize(
    ("signature", "kept"),
    [("not b64!", False), (" ", False), ("msg_123", False), ("rs_1abc", False), ("QUJD", True), ("A-_z", True),
     ("QUJDR", False), ('{"id":"rs_1"}', False), ("reasoning_content", False), ("AQID", True), ("abc…def", False)],
)  # fmt: skip
def test_T50_T51_thought_signatures_must_be_base64_of_their_own(route, signature, kept):
    found = clean(
        route, U("q"), A(Text(text="x", signature=signature), call("c1", signature=signature)), R("c1", "y"), U("z")
    )
    assert [part.signature for part in found.messages[1].parts] == [signature if kept else None] * 2


def test_T51_ids_are_untouched_on_openrouter_gemini():
    assert call_ids(clean("ORG", U("q"), *turn("call_1-x"))) == ["call_1-x"]


def test_T50_another_models_thought_signature_is_not_sent():
    found = clean("GOO", U("q"), A(Text(text="x", signature="QUJD"), origin=origin("ANT")), U("z"))
    assert found.messages[1].parts[0].signature is None


def test_T52_antigravity_claude_takes_only_whole_signatures():
    assert show(clean("AGY", U("q"), A(think("t", "QUJD"), "x"), U("z"))) == 'U"q"|A<t>+"x"|U"z"'
    assert show(clean("AGY", U("q"), A(think("t", "abc"), "x"), U("z"))) == 'U"q"|A"x"|U"z"'


def test_T53_another_providers_thinking_is_dropped_not_spoken():
    stored = [U("q"), A(think("private", SIG), "ans", origin=origin("RSP")), U("z")]
    found = clean("ANT", *stored)
    assert show(found) == 'U"q"|A"ans"|U"z"'
    assert "private" in details(found)
    alone = [U("q"), A(rs("rs_1"), origin=origin("RSP")), U("z")]
    assert show(clean("ANT", *alone)) == f'U"q"|A"{REASONING}"|U"z"'


def test_T53_callers_may_keep_it_as_text():
    stored = [U("q"), A(think("private", SIG), "ans", origin=origin("RSP")), U("z")]
    assert show(clean("ANT", *stored, flags={"foreign_thinking_as_text": True})) == 'U"q"|A"private"+"ans"|U"z"'


@pytest.mark.parametrize(
    ("wrote", "kept"),
    [
        ("claude-opus-4-6", True),
        ("claude-opus-4-6-20260205", True),
        (" Claude-Opus-4-6 ", True),
        ("claude-opus-4-6@20260205", True),
        ("claude-opus-4-5", False),
        ("claude-opus-4-6-preview", False),
    ],
)
def test_T53_a_dated_name_is_the_same_model(wrote, kept):
    writer = Origin(provider="anthropic", api="anthropic-messages", model=wrote)
    found = clean("ANT", U("q"), A(think("t", SIG), "a", origin=writer), U("z"))
    assert ("<t>" in show(found)) is kept


def test_T54_a_reasoning_item_needs_its_follower():
    assert show(clean("RSP", U("q"), A(rs("rs_1")), U("z"))) == 'U"q"|U"z"'
    assert show(clean("RSP", U("q"), A(rs("rs_1"), "ans"), U("z"))) == 'U"q"|A<private>+"ans"|U"z"'
    assert show(clean("RSP", U("q"), A("ans", rs("rs_1")), U("z"))) == 'U"q"|A"ans"|U"z"'
    summary = Thinking(text="s", signature='{"id":"rs_1","type":"reasoning.summary"}')
    assert show(clean("RSP", U("q"), A(summary), U("z"))) == 'U"q"|U"z"'
    field = A(think("t", "reasoning_content"), "x")
    assert show(clean("RSP", U("q"), field, U("z"))) == 'U"q"|A<t>+"x"|U"z"'


def test_T55_after_a_switch_of_models_only_the_phase_stays():
    signature = '{"v":1,"id":"msg_1","phase":"final_answer"}'
    stored = [U("q"), A(rs("rs_1"), Text(text="a", signature=signature), origin=origin("ANT")), U("z")]
    parts = clean("RSP", *stored).messages[1].parts
    assert [type(part) for part in parts] == [Text]
    assert json.loads(parts[0].signature) == {"v": 1, "phase": "final_answer"}
    raw = A(Text(text="a", signature="msg_2"), origin=origin("ANT"))
    assert clean("RSP", U("q"), raw, U("z")).messages[1].parts[0].signature is None


def test_T55_a_switch_is_seen_on_every_run():
    old = A(rs("rs_1"), "a", origin=Origin(provider="openai", api="openai-responses", model="gpt-4.9"))
    first = clean("RSP", U("q"), old, U("z"))
    assert show(first) == 'U"q"|A"a"|U"z"'
    assert show(clean("RSP", U("q"), old, U("z"), A("b", origin=origin("RSP")), U("y"))).startswith('U"q"|A"a"|U"z"')


def test_T56_a_call_without_its_reasoning_loses_the_item_half():
    assert (
        show(clean("RSP", U("q"), A(call("call_1|fc_1")), R("call_1|fc_1", "x"))) == 'U"q"|A[call_1 read]|R call_1 "x"'
    )
    both = clean(
        "RSP", U("q"), A(rs("rs_1"), call("call_1|fc_1"), call("call_2|fc_2")), R("call_1|fc_1"), R("call_2|fc_2")
    )
    assert call_ids(both) == ["call_1|fc_1", "call_2|fc_2"]
    split = clean(
        "RSP", U("q"), A(call("call_1|fc_1"), rs("rs_1"), call("call_2|fc_2")), R("call_1|fc_1"), R("call_2|fc_2")
    )
    assert call_ids(split) == ["call_1", "call_2"]


def test_T57_a_message_id_needs_its_reasoning_directly_before():
    led = A(rs("rs_1"), Text(text="a", signature="msg_1"))
    bare = A(Text(text="b", signature="msg_2"))
    found = clean("RSP", U("q"), led, U("u"), bare, U("z"), led, U("y"))
    texts = [part for message in found.messages if message.role is Role.ASSISTANT for part in message.parts]
    assert [part.signature for part in texts if isinstance(part, Text)] == ["msg_1", None, None]
    items = send("RSP", U("q"), led, U("u"), bare, U("z"), led, U("y")).payload["input"]
    names = [item["id"] for item in items if "id" in item]
    assert len(names) == len(set(names))


def test_C28_reasoning_items_travel_with_their_follower():
    stored = [
        U("q"),
        A(rs("rs_1"), call("call_1|fc_1")),
        R("call_1|fc_1", "x"),
        A(rs("rs_2"), stop="aborted"),
        A(rs("rs_3"), Text(text="done", signature="msg_3")),
        U("z"),
    ]
    items = send("RSP", *stored).payload["input"]
    kinds = [(item.get("type", "message"), item.get("id")) for item in items]
    assert ("reasoning", "rs_2") not in kinds
    assert kinds.index(("function_call", "fc_1")) == kinds.index(("reasoning", "rs_1")) + 1
    assert kinds.index(("message", "msg_3")) == kinds.index(("reasoning", "rs_3")) + 1
    assert not any("status" in item for item in items if item.get("type") == "reasoning")


def test_C28_without_a_store_only_encrypted_items_travel():
    stored = [U("q"), A(rs("rs_1"), call("call_1|fc_1")), R("call_1|fc_1", "x"), U("z")]
    found = clean("RSP", *stored, flags={"store_items": False})
    assert show(found) == 'U"q"|A[call_1 read]|R call_1 "x"|U"z"'
    sealed = [U("q"), A(rs("rs_1", encrypted_content="E"), "ans"), U("z")]
    assert show(clean("RSP", *sealed, flags={"store_items": False})) == 'U"q"|A<private>+"ans"|U"z"'


def test_a_reasoning_item_that_was_stored_twice_is_sent_once_and_the_other_is_told():
    done = clean("RSP", U("q"), A(rs("rs_1"), "a"), U("u"), A(rs("rs_1"), "b"), U("z"))
    assert show(done) == 'U"q"|A<private>+"a"|U"u"|A"b"|U"z"'
    assert [(change.rule, change.index, change.detail) for change in done.changes] == [("reasoning-item", 3, "private")]


def test_encrypted_reasoning_of_another_account_is_not_sent():
    sealed = rs("rs_1", encrypted_content="E")
    stored = [U("q"), A(sealed, "ans", extra={"account": "a"}), U("z")]
    assert show(clean("RSP", *stored, account="a")) == 'U"q"|A<private>+"ans"|U"z"'
    assert show(clean("RSP", *stored, account="b")) == 'U"q"|A"ans"|U"z"'
    told = A(
        rs("rs_1", encrypted_content="E", summary=[{"type": "summary_text", "text": "s"}]),
        "ans",
        extra={"account": "a"},
    )
    kept = clean("RSP", U("q"), told, U("z"), account="b").messages[1].parts[0]
    assert "encrypted_content" not in json.loads(kept.signature)


def test_mirrors_and_injected_rows_are_not_turns():
    # T66 is the display's; this is its replay half
    mirror = A("a", origin=Origin(provider="openclaw", api="", model="delivery-mirror"))
    injected = A("b", origin=Origin(provider="openclaw", api="", model="gateway-injected"))
    assert show(clean("OAI", U("q"), A("a"), mirror, injected, U("z"))) == 'U"q"|A"a"|U"z"'
    assert "a" in details(clean("OAI", U("q"), A("a"), mirror, injected, U("z")))


UNPAID = {"input": 0, "output": 0, "cost": {"total": 0.0}}


@pytest.mark.parametrize(
    ("usage", "stop", "words", "again"),
    [
        (UNPAID, "stop", "a", False),  # the unmarked copy of 9.6 (section 3.4.6)
        ({"input": 0, "output": 1}, "stop", "a", True),
        (None, "stop", "a", True),
        (UNPAID, "length", "a", True),
        (UNPAID, "stop", "a bit more", True),
    ],
)
def test_an_unmarked_copy_of_the_last_answer_is_sent_once(usage, stop, words, again):
    done = clean("OAI", U("q"), A("a"), A(words, stop=stop, usage=usage), U("z"))
    assert show(done) == ('U"q"|A"a"|' + (f'A"{words}"|' if again else "") + 'U"z"')
    assert [change.detail for change in done.changes] == ([] if again else ["a"])


def test_a_mirror_with_words_of_its_own_is_seen_once():
    mirror = A("only here", extra={"mirror": True})
    assert show(clean("OAI", U("q"), mirror, U("z"))) == 'U"q"|A"only here"|U"z"'
    assert show(clean("ANT", U("q"), mirror, U("z"))) == 'U"q"+"z"'
    sent = A(call("c1", "message", {"text": "only here"}))
    assert "only here" not in show(clean("OAI", U("q"), sent, mirror, R("c1", "ok"), U("z")))


def test_history_limit_keeps_summaries_and_pairs():
    options = Options(history_turns=1)
    stored = [U("1"), A("a"), U("2"), A(call("c1")), R("c1", "x"), A("b")]
    assert show(clean("OAI", *stored, options=options)) == 'U"2"|A[c1 read]|R c1 "x"|A"b"'
    summary = U("so far", extra={"summary": "compaction"})
    found = show(clean("OAI", summary, U("1"), A("a"), U("2"), options=options))
    assert found.startswith('U"The conversation history')
    assert found.endswith('</summary>"|U"2"')
    assert show(clean("OAI", *stored, options=Options(history_turns=0))) == show(clean("OAI", *stored))


def test_history_limit_pairs_before_it_cuts():
    stored = [U("1"), A(call("c1")), U("2"), R("c1", "late"), A("b"), U("3")]
    found = clean("OAI", *stored, options=Options(history_turns=1))
    assert show(found) == 'U"3"'
    assert "late" in details(found)


def test_a_signed_turn_with_a_bad_call_keeps_its_words():
    found = clean("ANT", U("q"), A(think("t", SIG), "said", call("c1", arguments=None)), U("z"))
    assert show(found) == 'U"q"|A"said"|U"z"'
    assert "t" in details(found)


def test_a_system_message_in_the_middle_becomes_a_note():
    system = Message(role=Role.SYSTEM, parts=(Text(text="be kind"),))
    assert show(clean("ANT", system, U("q"), A("a"), system, U("z"))) == 'S"be kind"|U"q"|A"a"|U"be kind"+"z"'
    assert show(clean("OAI", system, U("q"), A("a"), system, U("z"))) == 'S"be kind"|U"q"|A"a"|S"be kind"|U"z"'


def test_retries_drop_what_the_provider_refused():
    stored = [U("q"), A(think("t", SIG), "a"), U("z")]
    assert show(clean("ANT", *stored, options=Options(drop_all_thinking=True))) == 'U"q"|A"a"|U"z"'
    sealed = [U("q"), A(rs("rs_1", encrypted_content="E"), "a"), U("z")]
    assert show(clean("RSP", *sealed, options=Options(drop_encrypted=True))) == 'U"q"|A"a"|U"z"'
    assert show(clean("ANT", *stored, options=Options(drop_prior_thinking=True))) == 'U"q"|A"a"|U"z"'


@pytest.mark.parametrize(("tools", "required"), [(None, True), (("read",), False)])
def test_sanitised_messages_say_that_tools_must_be_declared(tools, required):
    asked = [U("q"), A(call("c1")), R("c1", "x"), U("z")]
    assert clean("BED", *asked, tools=tools).hints.tool_config_required is required
    assert not clean("BED", U("q"), tools=tools).hints.tool_config_required
    assert not clean("ANT", *asked, tools=tools).hints.tool_config_required


def test_a_synthetic_result_is_marked_and_explained():
    found = clean("CC", U("q"), A(call("c1", "exec")))
    assert show(found) == f'U"q"|A[c1 exec]|R? c1 "{MISSING}"'
    assert found.messages[-1].parts[0].name == "exec"


def test_arguments_nested_without_end_are_cut():
    deep = value = {}
    for _ in range(5000):
        value["k"] = value = {}
    found = clean("ANT", U("q"), A(call("c1", arguments=deep)), R("c1", "x"), U("z"))
    assert "[nested too deeply]" in json.dumps(found.messages[1].parts[0].arguments)
    send("ANT", U("q"), A(call("c1", arguments=deep)), R("c1", "x"), U("z"))


def test_one_frame_of_many_calls_takes_linear_time():
    many = 5000
    stored = [
        U("q"),
        A(*(call("c1") for _ in range(many))),
        *(R("c1", str(n)) for n in range(many)),
        *(R("") for _ in range(many)),
    ]
    found = clean("ANT", *stored)
    assert [message.parts[0].content[0].text for message in found.messages[2:]] == [str(n) for n in range(many)]


def test_arguments_written_as_text_are_cleaned_when_read():
    found = clean("ANT", U("q"), A(call("c1", arguments='{"a":"\\ud83d","b":NaN}')), R("c1", "x"), U("z"))
    assert found.messages[1].parts[0].arguments == {"a": "", "b": "nan"}
