"""Scores, fusion and repeats: pure values in, pure values out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stenolith.model.text import terms
from stenolith.recall.find import Meaning
from stenolith.recall.fuse import (
    Hit,
    Repeats,
    merge,
    put_corrections_before,
    put_past_behind,
    put_whole_first,
    rank,
    redirect,
)
from stenolith.recall.query import Question, read_question
from stenolith.recall.score import score
from stenolith.store.matrix import Nearness, Place, build
from stenolith.store.search import Candidate, Layer, Matches, Statistics
from stenolith.testing.clock import START_MS

DAY_MS = 86_400_000


def _ask(text: str) -> Question:
    return read_question(text, START_MS, UTC)


def _row(ref: str, text: str, **given_values: object) -> Candidate:
    body = terms(text)
    shape: dict[str, object] = {
        "ref_id": ref,
        "terms": " ".join([*body, "|"]),
        "context": "",
        "length": len(body),
        "context_length": 0,
        "occurred_ms": None,
        "speaker": "user",
        "declarative": 0.0,
        **given_values,
    }
    return Candidate(**shape)


def _matches(question: Question, rows: list[Candidate], total: int = 100) -> Matches:
    counts = {
        word: sum(word in row.terms.split() or word in row.context.split() for row in rows)
        for word in question.whole.words
    }
    statistics = Statistics(rows=total, mean_length=8.0, counts=counts)
    return Matches(asked=question.whole, statistics=statistics, candidates=tuple(rows))


def _order(text: str, rows: list[Candidate]) -> list[str]:
    question = _ask(text)
    matches = _matches(question, rows)
    return [row.ref_id for row in score(question, matches.asked, matches.statistics, rows, {})]


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    rows = [_row(f"c{n}", f"port number {n}") for n in range(9)] + [_row("rare", "the gateway is here")]
    assert _order("gateway port", rows)[0] == "rare"


def test_a_word_in_the_turn_before_counts_less_than_one_of_its_own_and_more_than_two_before() -> None:
    rows = [
        _row("own", "violin in the attic now"),
        _row("one before", "it is in the attic", context=" | where violin | | "),
        _row("two before", "it is in the attic", context="where violin | | | "),
        _row("none", "it is in the attic"),
    ]
    assert _order("violin", rows)[:3] == ["own", "one before", "two before"]


def test_coverage_is_the_same_for_any_number_of_rows_and_falls_with_unknown_words() -> None:
    rows = [_row("a", "gateway tokens")]
    covered = []
    for text in ("gateway", "gateway zzz", "gateway zzz yyy xxx"):
        question = _ask(text)
        matches = _matches(question, rows)
        covered.append(score(question, matches.asked, matches.statistics, rows, {})[0].coverage)
    assert 1 >= covered[0] > covered[1] > covered[2] > 0


def test_the_one_speaker_who_is_named_is_preferred_and_of_two_neither() -> None:
    rows = [_row("ann", "likes tea", speaker="Ann"), _row("bob", "likes tea", speaker="Bob")]
    assert _order("What tea does Bob like?", rows) == ["bob", "ann"]
    assert _order("What tea do Bob and Ann like?", rows) == ["ann", "bob"]
    assert _order("Who is Annabel's tea from?", rows) == ["ann", "bob"]


def test_a_named_time_is_a_soft_filter() -> None:
    rows = [
        _row("other", "gateway broke down", occurred_ms=START_MS - 100 * DAY_MS),
        _row("then", "gateway broke down", occurred_ms=START_MS - DAY_MS),
        _row("better", "gateway broke down with smoke", occurred_ms=START_MS - 100 * DAY_MS),
    ]
    assert _order("what broke yesterday at the gateway", rows)[0] == "then"
    assert _order("昨天 gateway smoke broke", rows)[0] == "better"


def test_asking_when_prefers_a_row_with_a_time_word() -> None:
    rows = [_row("a", "went camping by car"), _row("b", "went camping last week")]
    assert _order("When was the camping?", rows) == ["b", "a"]
    assert _order("How was the camping?", rows) == ["a", "b"]


def test_each_sentence_of_a_long_question_may_be_what_is_asked() -> None:
    rows = [_row("a", "weather coat rain cloudy"), _row("b", "shoe size 42")]
    assert _order("Strange weather, rain, clouds, and my coat is wet today. What is my shoe size?", rows)[0] == "b"


@pytest.mark.parametrize(
    ("text", "found"),
    [("what was step 8", ["said"]), ("what was it on 8 August", ["said", "day"])],
)
def test_a_bare_number_is_no_day_of_the_month(text: str, found: list[str]) -> None:
    rows = [_row("said", "gate 8 is open"), _row("day", "boats", terms="boat | 8 august 2026")]
    question = _ask(text)
    matches = _matches(question, rows)
    scored = score(question, matches.asked, matches.statistics, rows, {})
    assert sorted(row.ref_id for row in scored if row.coverage > 0) == sorted(found)


def test_a_row_holds_its_own_words_and_not_those_of_its_neighbours() -> None:
    rows = [_row("both", "gateway tokens"), _row("one", "gateway", context="| token | |")]
    question = _ask("gateway tokens")
    hits = {hit.ref_id: hit for hit in rank(question, Layer.RECORD, _matches(question, rows), None)}
    assert (hits["both"].held, hits["one"].held) == (1.0, 0.5)


def _nearness(
    vectors: dict[str, list[float]], query: list[float], anchors: list[list[float]] | None = None
) -> Nearness:
    rows = np.asarray(list(vectors.values()), np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    asked = np.asarray(query, np.float32) / np.linalg.norm(query)
    known = None if anchors is None else np.asarray(anchors, np.float32)
    return Nearness(build([Place(ref_id=ref) for ref in vectors], rows, None), asked, known)


def test_a_weak_arm_does_not_push_a_strong_match_aside() -> None:
    # 200 rows that are all about equally near, in the order that rank fusion would follow.
    question = _ask("gateway tokens expire")
    strong = _row("strong", "gateway tokens expire hourly")
    others = [_row(f"x{n:03d}", f"something else {n}") for n in range(200)]
    vectors = {row.ref_id: [1.0, n / 1000] for n, row in enumerate(others)} | {"strong": [0.9, 0.5]}
    meaning = Meaning(nearness=_nearness(vectors, [1.0, 0.1]), candidates=tuple(others))
    hits = rank(question, Layer.ATOM, _matches(question, [strong]), meaning)
    assert hits[0].ref_id == "strong"


def test_meaning_finds_what_words_do_not() -> None:
    question = _ask("哪些食物我不能吃")
    rows = [_row("nuts", "我对花生过敏"), _row("tea", "喜欢喝茶")]
    anchors = [[0.0, 1.0, 0.1], [0.2, 0.9, 0.1]]
    meaning = Meaning(
        nearness=_nearness({"nuts": [1, 0.2, 0], "tea": [0, 0, 1]}, [1, 0.1, 0], anchors), candidates=tuple(rows)
    )
    hits = {hit.ref_id: hit for hit in rank(question, Layer.ATOM, _matches(question, []), meaning)}
    assert hits["nuts"].relevant
    assert not hits["tea"].relevant


def test_an_arm_that_did_not_answer_leaves_the_other_one_s_order() -> None:
    question = _ask("gateway tokens")
    rows = [_row("a", "gateway"), _row("b", "gateway tokens")]
    assert [hit.ref_id for hit in rank(question, Layer.ATOM, _matches(question, rows), None)] == ["b", "a"]
    assert rank(question, Layer.ATOM, None, None) == []


def _hit(ref: str, value: float, *, relevant: bool = True) -> Hit:
    return Hit(ref_id=ref, layer=Layer.ATOM, score=value, coverage=value, relevant=relevant)


def test_old_words_lead_to_what_holds_now() -> None:
    past = [_hit("old", 0.8), _hit("lost", 0.9), _hit("weak", 0.7, relevant=False)]
    heirs = {"old": "new", "weak": "other"}
    found = redirect(past, heirs, [_hit("new", 0.1), _hit("third", 0.5)])
    assert [(hit.ref_id, hit.score) for hit in found] == [("new", 0.8), ("third", 0.5)]


def test_the_past_stands_behind_the_present() -> None:
    found = put_past_behind([_hit("old", 0.9), _hit("mid", 0.5), _hit("new", 0.2)], {"old": "new"})
    assert [hit.ref_id for hit in found] == ["mid", "new", "old"]
    assert merge([_hit("a", 0.1)], [_hit("b", 0.3), _hit("c", 0.1)])[0].ref_id == "b"


def test_a_correction_stands_before_what_it_may_refute_found_or_not() -> None:
    hits = [_hit("doubted", 0.9), _hit("late", 0.5), _hit("third", 0.2), _hit("fix", 0.1)]
    found = put_corrections_before(hits, {"doubted": "fix", "late": "unseen"})
    assert [hit.ref_id for hit in found] == ["fix", "doubted", "unseen", "late", "third"]
    assert put_corrections_before(hits, {}) == hits


def test_rows_with_all_of_the_words_come_before_those_with_some() -> None:
    hits = [replace(_hit("some", 0.9), held=0.5), replace(_hit("all", 0.4), held=1.0), _hit("near", 0.2)]
    assert [hit.ref_id for hit in put_whole_first(hits)] == ["all", "some", "near"]
    assert put_whole_first(hits[::2]) == hits[::2]


@pytest.mark.parametrize(
    ("first", "second", "new"),
    [
        ("旧的鉴权模块先不要重构", "旧的鉴权模块先不要重构。", False),
        ("The gateway listens on port 22", "the gateway listens on port 22!", False),
        ("The gateway listens on port 22", "The gateway listens on port 23", True),
        ("A pays B", "B pays A", True),
        ("tea", "tea", False),
        ("", "", False),
    ],
)
def test_the_same_words_in_the_same_order_are_a_repeat(first: str, second: str, new: bool) -> None:
    repeats = Repeats()
    assert repeats.is_new(first)
    assert repeats.is_new(second) is new


@given(st.lists(st.sampled_from(["a b c", "c b a", "a b c.", "d", "e f"]), max_size=8), st.integers(0, 8))
def test_what_is_kept_does_not_depend_on_what_follows(texts: list[str], end: int) -> None:
    whole, part = Repeats(), Repeats()
    assert [whole.is_new(text) for text in texts][:end] == [part.is_new(text) for text in texts[:end]]


LONG = " ".join(f"step{at} was done" for at in range(20_000))


@pytest.mark.parametrize(
    ("second", "new"),
    [(LONG, False), (LONG + " And so on.", False), (LONG[: len(LONG) // 2], True), (LONG + "?" * len(LONG), True)],
    ids=["itself", "a little more", "half", "twice as long"],
)
def test_of_long_texts_beginning_end_and_length_are_compared(second: str, new: bool) -> None:
    repeats = Repeats()
    assert repeats.is_new(LONG)
    assert repeats.is_new(second) is new


def test_a_repeat_is_found_among_hundreds_of_texts() -> None:
    repeats = Repeats()
    texts = [" ".join(f"word{(at + 1) * (place + 1) % 499}" for place in range(40)) for at in range(498)]
    assert all(repeats.is_new(text) for text in texts)
    assert not any(repeats.is_new(text + " indeed") for text in texts)
