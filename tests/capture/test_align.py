"""What is new among the messages a host holds: the table of `stenolith.capture.align`, case by case.

A payload is written as words; ``word@5`` has the timestamp 5 s after noon, ``a:word`` is an
assistant's.  Expected are the positions that are new.
"""

from __future__ import annotations

import random
import time
from dataclasses import replace

import pytest

from stenolith.capture.align import Known, align, alignment_digest
from stenolith.model.message import Image, Message, Role, Text, Thinking, ToolCall, ToolResult

NOON = 1_780_000_000_000
ROLES = {"u": Role.USER, "a": Role.ASSISTANT, "t": Role.TOOL, "s": Role.SYSTEM}


def said(word):
    text, _, second = word.partition("@")
    role, colon, rest = text.partition(":")
    stamp = NOON + int(second) * 1000 if second else None
    known_role = colon and role in ROLES
    return Message(
        role=ROLES[role] if known_role else Role.USER,
        parts=(Text(text=rest if known_role else text),),
        timestamp=stamp,
    )


def payload(words):
    return [said(word) for word in words.split()]


def stored(words):
    return [known(message) for message in payload(words)]


def known(message):
    return Known(digest=alignment_digest(message), timestamp=message.timestamp, host_id=message.id)


def run(held, before, mark=None, clock=None):
    rows = stored(before)
    times = [row.timestamp for row in rows if row.timestamp is not None]
    return align(payload(held), rows, mark=mark, clock=clock if clock is not None else max(times, default=None))


def new(held, before, mark=None):
    return list(run(held, before, mark).new)


CASES = {
    # --- nothing stored ---
    "first capture": ("q a:r", "", None, [0, 1]),
    "first capture in a running session": ("q a:r q2 a:r2", "", 2, [0, 1, 2, 3]),
    "nothing handed over": ("", "q a:r", None, []),
    "nothing at all": ("", "", None, []),
    # --- the host resends everything ---
    "resend and one turn": ("q a:r q2 a:r2", "q a:r", None, [2, 3]),
    "resend and one turn, marked": ("q a:r q2 a:r2", "q a:r", 2, [2, 3]),
    "the same again": ("q a:r q2 a:r2", "q a:r q2 a:r2", None, []),
    "the same again, marked": ("q a:r q2 a:r2", "q a:r q2 a:r2", 2, []),
    "the first turn again, marked": ("q a:r", "q a:r", 0, []),
    "only a part was stored": ("q a:r q2 a:r2", "q a:r q2", None, [3]),
    "only a part was stored, marked": ("q a:r q2 a:r2", "q a:r q2", 2, [3]),
    # --- clocks ---
    "restart moves the clock back": ("q@0 a:r@5 q2@100 a:r2@105", "q@20 a:r@25", None, [2, 3]),
    "restart moves the clock on": ("q@20 a:r@25 q2@100 a:r2@105", "q@0 a:r@5", None, [2, 3]),
    "restart, moved, nothing new": ("q@0 a:r@5", "q@20 a:r@25", None, []),
    "a host that stamps at every send": ("q@9000 a:r@9001 q2@9002 a:r2@9003", "q@0 a:r@5", None, [2, 3]),
    "a long history stamped anew, nothing new": ("q@9000 a:r@9001 x@9002 a:y@9003 z@9004", "q a:r x a:y z", None, []),
    "equal times, other words": ("q@0 a:r@0 q2@0 a:r2@0", "q@0 a:r@0", None, [2, 3]),
    "no times": ("q a:r q2 a:r2", "q a:r", None, [2, 3]),
    "some times": ("q a:r@5 q2 a:r2@9", "q@1 a:r", None, [2, 3]),
    "times run backwards": ("q@50 a:r@40 q2@30 a:r2@20", "q@50 a:r@40", None, [2, 3]),
    "only new messages, historical times": ("old@0 a:older@1", "q@9000 a:r@9001", None, [0, 1]),
    "only new messages, out of order": ("x@9100 a:y@100", "q@9000 a:r@9001", None, [0, 1]),
    # --- the host sends only what is new ---
    "delta": ("q2 a:r2", "q a:r", None, [0, 1]),
    "delta, marked": ("q2 a:r2", "q a:r", 0, [0, 1]),
    "delta, same words later": ("ok@900 a:done@905", "q@0 a:r@1 ok@100 a:done@105", None, [0, 1]),
    "delta, same words soon": ("ok@120 a:done@125", "q@0 a:r@1 ok@100 a:done@105", None, [0, 1]),
    "delta, same words, marked": ("ok a:done", "q a:r ok a:done", 0, [0, 1]),
    "delta, same words later, marked": ("ok@900 a:done@905", "ok@100 a:done@105", 0, [0, 1]),
    "delta handed over twice": ("ok@100 a:done@105", "q@0 a:r@1 ok@100 a:done@105", None, []),
    "delta handed over twice, marked": ("ok@100 a:done@105", "q@0 a:r@1 ok@100 a:done@105", 0, []),
    "an older delta handed over again": ("q@0 a:r@1", "q@0 a:r@1 q2@100 a:r2@105", None, []),
    "a much older delta again": ("q@0 a:r@1", "q@0 a:r@1 " + " ".join(f"x{i}@{i + 9}" for i in range(40)), None, []),
    "delta without times, same words": ("ok a:done", "q a:r ok a:done", None, []),
    "delta, an older exchange's words": ("ok a:done z", "q a:r ok a:done x a:y", None, [0, 1, 2]),
    "delta, an older exchange's words, marked": ("ok a:done z", "q a:r ok a:done x a:y", 0, [0, 1, 2]),
    "delta, an older exchange's words soon": ("ok@40 a:done@45 z@50", "ok@0 a:done@5 x@20 a:y@25", None, [0, 1, 2]),
    "one word again": ("ok@200", "q@0 ok@100", None, [0]),
    "one word again soon": ("ok@110", "q@0 ok@100", None, [0]),
    "one word handed over twice": ("ok@100", "q@0 ok@100", None, []),
    "an answer that was given before": ("q2 a:done", "q a:done", None, [0, 1]),
    "an answer that was given before, with times": ("q2@300 a:done@305", "q@0 a:done@5", None, [0, 1]),
    "two turns with answers given before": ("q2 a:ok q3 a:ok", "p a:ok q a:ok", None, [0, 1, 2, 3]),
    "question asked again after a failure": ("retry@500 a:now@505", "q@0 a:r@5 retry@100", None, [0, 1]),
    "answer follows its stored question": ("retry@100 a:now@105", "q@0 a:r@5 retry@100", None, [1]),
    "answer alone": ("a:r", "q", None, [0]),
    "a late clock, the last three behind a summary": (
        "s:sum@0 a:call@127 t:out@134 a:done@141",
        "ok@0 a:done@5 ok@100 a:call@107 t:out@114 a:done@121",
        None,
        [],
    ),
    # --- repeated words in a full history (C09) ---
    "turn nine repeats turn one": (
        "m1@1 m2@2 m3@3 m4@4 m5@5 m6@6 m7@7 m8@8 m1@9000",
        "m1@1 m2@2 m3@3 m4@4 m5@5 m6@6 m7@7 m8@8",
        None,
        [8],
    ),
    "ok, ok, ok": ("ok ok ok", "ok ok", None, [2]),
    "the same exchange again": ("ok a:done ok a:done", "ok a:done", None, [2, 3]),
    "the same exchange again, marked": ("ok a:done ok a:done", "ok a:done", 2, [2, 3]),
    "the same exchange again, with times": ("ok@0 a:done@5 ok@90 a:done@95", "ok@0 a:done@5", None, [2, 3]),
    "the same exchange twice, resent": ("ok a:done ok a:done", "ok a:done ok a:done", 2, []),
    "the same exchange behind a summary": (
        "s:sum ok@300 a:done@305 ok@600 a:done@605",
        "ok@0 a:done@5 ok@300 a:done@305",
        None,
        [3, 4],
    ),
    "the same exchange behind a summary, marked": ("s:sum ok a:done ok a:done", "ok a:done ok a:done", 3, [3, 4]),
    # --- the host changed its history ---
    "head dropped": ("q2 a:r2 q3 a:r3", "q a:r q2 a:r2", None, [2, 3]),
    "head became a summary": ("s:sum q2 a:r2 q3 a:r3", "q a:r q2 a:r2", None, [3, 4]),
    "head became a summary, one message kept": ("s:sum a:r2@5 q3@90 a:r3@95", "q@0 a:r@1 q2@4 a:r2@5", None, [2, 3]),
    "one hidden in the middle": ("q a:r a:r2 q3 a:r3", "q a:r q2 a:r2", None, [3, 4]),
    "one edited in the middle": ("q a:r EDIT a:r2 q3 a:r3", "q a:r q2 a:r2", None, [4, 5]),
    "the last one edited, with times": ("q@0 a:r@1 q2@9 a:EDIT@11 q3@99", "q@0 a:r@1 q2@9 a:r2@10", None, [4]),
    "the last one edited, marked": ("q a:r q2 a:EDIT q3 a:r3", "q a:r q2 a:r2", 4, [4, 5]),
    "the last one hidden": ("q a:r q2 q3 a:r3", "q a:r q2 a:r2", None, [3, 4]),
    "more held than is compared": ("x1 x2 x3 q a:r q2 a:r2 q3 a:r3", "q a:r q2 a:r2", None, [7, 8]),
    # --- captures that failed ---
    "a failed capture before this turn": ("q a:r q2 a:r2 q3 a:r3", "q a:r", None, [2, 3, 4, 5]),
    "a failed capture before this turn, marked": ("q a:r q2 a:r2 q3 a:r3", "q a:r", 4, [2, 3, 4, 5]),
    "a failed capture, nothing aligns": ("s:sum q2@90 a:r2@95 q3@99", "q@0 a:r@1", 3, [1, 2, 3]),
    "a hole between two stored ones": ("q a:r LOST a:too q3 a:r3 q4", "q a:r q3 a:r3", None, [2, 3, 6]),
    "a late retry of a turn that another capture stored": ("q a:r q2 a:r2", "q a:r q2 a:r2 q3 a:r3", 2, []),
    # --- marks that do not fit ---
    "mark beyond the messages": ("q a:r q2 a:r2", "q a:r", 9, [2, 3]),
    "negative mark": ("q a:r q2 a:r2", "q a:r", -1, [2, 3]),
    "compacted during the turn": ("s:sum q3 a:r3", "q a:r q2 a:r2", 4, [0, 1, 2]),
    "mark only": ("s:sum q3 a:r3", "q a:r q2 a:r2", 1, [1, 2]),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_each_message_is_stored_once(case):
    held, before, mark, expected = case
    assert new(held, before, mark) == expected


@pytest.mark.parametrize(
    ("held", "before", "mark", "by"),
    [
        ("q a:r", "", None, "first"),
        ("q a:r", "", 0, "first"),
        ("q a:r q2 a:r2", "q a:r", 2, "mark"),
        ("q a:r q2 a:r2", "q a:r", None, "content"),
        ("q a:r q2 a:r2", "q a:r q2 a:r2", 2, "content"),
        ("q2 a:r2", "q a:r", None, "clock"),
        ("q2 a:r2", "q a:r", 0, "mark"),
    ],
)
def test_the_defence_that_decided_is_named(held, before, mark, by):
    assert run(held, before, mark).by == by


def test_a_failed_capture_is_reported():
    assert "2 messages from before this turn had never been stored" in run("q a:r x a:y z a:w", "q a:r", 4).warnings[0]
    assert "2 messages" in run("q a:r z a:w", "", 2).warnings[0]
    assert run("q a:r z a:w", "q a:r", 2).warnings == ()


def test_many_messages_new_by_time_alone_are_suspect():
    eight = " ".join(f"x{i}@{900 + i}" for i in range(8))
    assert run(eight, "q@0").warnings == ()
    nine = run(eight + " x9@999", "q@0")
    assert len(nine.new) == 9
    assert "timestamps may have drifted" in nine.warnings[0]


def test_with_a_mark_many_new_messages_are_not_suspect():
    assert run(" ".join(f"x{i}@{900 + i}" for i in range(12)), "q@0", 0).warnings == ()


def test_the_clock_parts_a_long_payload_that_matches_nothing():
    old = " ".join(f"old{i}@{i}" for i in range(10))
    found = run(old + " x@9000 a:y@9001", "q@8000 a:r@8001")
    assert found.new == (10, 11)
    assert "10 messages are older" in found.warnings[0]


def test_a_mark_that_does_not_fit_is_reported():
    assert "mark 9 does not fit 4 messages" in run("q a:r q2 a:r2", "q a:r", 9).warnings[0]


def test_identical_ids_tell_a_resend_without_times():
    exchange = [replace(said("ok"), id="m7"), replace(said("a:done"), id="m8")]
    before = [*stored("q a:r"), *(known(message) for message in exchange)]
    assert align(exchange, before, mark=0, clock=None).new == ()
    again = [replace(message, id=message.id + "b") for message in exchange]
    assert align(again, before, mark=0, clock=None).new == (0, 1)


def test_ids_that_repeat_prove_nothing():
    same = [replace(said("a:done"), id="__fake_id__")]
    before = [known(replace(said(word), id="__fake_id__")) for word in ("q", "a:r", "a:done")]
    assert align(same, before, mark=0, clock=None).new == (0,)


# --- the digest -----------------------------------------------------------------------------------


def digest(*parts, role=Role.USER, **fields):
    return alignment_digest(Message(role=role, parts=parts, **fields))


def test_blocks_and_a_string_are_the_same():
    assert digest(Text(text="one"), Text(text="two")) == digest(Text(text="one\ntwo"))
    assert digest(Text(text=" one \r\n two ")) == digest(Text(text="one\ntwo"))


@pytest.mark.parametrize(
    "wrapped",
    [
        "[Mon 2026-11-30 05:22 UTC] <relevant-memories>\n- a\n</relevant-memories>\n\nwhat now?",
        'Sender (untrusted metadata):\n```json\n{"id": "7"}\n```\n\nwhat now?',
        "what now?\n\n<memory-context>\n[System note: x]\n- a\n</memory-context>",
        '<stenolith-memory v="1">\n- a\n</stenolith-memory>\nwhat now?',
    ],
)
def test_a_message_with_and_without_what_was_injected_is_the_same(wrapped):
    assert digest(Text(text=wrapped)) == digest(Text(text="what now?"))


def test_ids_times_and_signatures_do_not_count():
    assert digest(Text(text="x", signature="s"), id="7", timestamp=5) == digest(Text(text="x"))


def test_role_speaker_and_other_parts_count():
    call = ToolCall(id="c1", name="ls", arguments={"path": "/"})
    result = ToolResult(id="c1", content=(Text(text="x"),))
    picture = Image(data="QUJD", mime="image/png")
    several = [
        digest(Text(text="x")),
        digest(Text(text="x"), role=Role.ASSISTANT),
        digest(Text(text="x"), speaker="ada"),
        digest(Text(text="x"), picture),
        digest(picture),
        digest(call, role=Role.ASSISTANT),
        digest(replace(call, id="c2"), role=Role.ASSISTANT),
        digest(result, role=Role.TOOL),
        digest(Thinking(text="x")),
        digest(),
    ]
    assert len(set(several)) == len(several)


def test_thinking_counts_only_alone():
    assert digest(Thinking(text="hm", signature="s"), Text(text="x")) == digest(Text(text="x"))
    assert digest(Thinking(text="hm")) != digest(Thinking(text="ha"))


def test_lone_surrogates_have_a_digest():
    assert digest(Text(text="\ud800")) != digest(Text(text="\ud801"))


# --- speed ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mark", [None, 1998])
@pytest.mark.parametrize("kinds", [2000, 2])
def test_two_thousand_messages_are_aligned_in_milliseconds(kinds, mark):
    choose = random.Random(7)
    words = [f"word{choose.randrange(99)} " * 12 + str(index % kinds) for index in range(2000)]
    texts = words if kinds > 2 else [("ok", "a:done")[index % 2] for index in range(2000)]
    held = [said(f"{text}@{index * 70}") for index, text in enumerate(texts)]
    rows = [known(message) for message in held[1598:1998]]
    best = 1.0
    for _ in range(5):
        begin = time.perf_counter()
        found = align(held, rows, mark=mark, clock=rows[-1].timestamp)
        best = min(best, time.perf_counter() - begin)
    assert found.new == (1998, 1999)
    assert best < 0.05  # 4 to 6 ms where this was written; two cores are shared with others
