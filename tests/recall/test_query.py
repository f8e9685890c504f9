"""How a question is read: its parts, the times it names, whom it names, whether it names anything."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from stenolith.recall.query import read_question

NOW = int(datetime(2026, 8, 2, 8, 0, tzinfo=UTC).timestamp() * 1000)


def _at(*when: int) -> int:
    return int(datetime(*when, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("text", "moment", "covered"),
    [
        ("what broke yesterday", _at(2026, 8, 1, 12), True),
        ("what broke yesterday", _at(2026, 7, 20), False),
        ("昨天哪里坏了", _at(2026, 8, 1, 12), True),
        ("上周说了什么", _at(2026, 7, 22), True),
        ("what did we decide in March 2026", _at(2026, 3, 15), True),
        ("what did we decide in March 2026", _at(2025, 3, 15), False),
        ("what did we decide in March", _at(2024, 3, 15), True),
        ("what did we decide in March", _at(2024, 6, 15), False),
        ("what did we decide", _at(2026, 8, 1), False),
    ],
)
def test_a_named_time_covers_what_was_told_about_it(text: str, moment: int, *, covered: bool) -> None:
    question = read_question(text, NOW, UTC)
    assert any(hint.covers(moment) for hint in question.hints) is covered


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("When did we meet?", True),
        ("什么时候上线的", True),
        ("how long does it take", True),
        ("いつ会議ですか", True),
        ("whenever you like", False),
        ("什么人上线的", False),
    ],
)
def test_asking_when_is_noticed(text: str, *, asks: bool) -> None:
    assert read_question(text, NOW, UTC).asks_when is asks


@pytest.mark.parametrize(
    ("text", "speaker", "named"),
    [
        ("What does Ann like?", "Ann", True),
        ("What does ann's dog like?", "Ann", True),
        ("What does Annabel like?", "Ann", False),
        ("小云喜欢什么", "小云", True),
        ("anything", "", False),
        ("What about C++ (dev)?", "C++ (dev)", True),
    ],
)
def test_a_person_is_named_as_a_whole_word(text: str, speaker: str, *, named: bool) -> None:
    assert read_question(text, NOW, UTC).names(speaker) is named


@pytest.mark.parametrize(
    ("text", "vague"),
    [("继续", True), ("go on", True), ("", True), ("the", True), ("我的", True), ("gateway", False), ("猫", False)],
)
def test_a_question_that_names_nothing_is_vague(text: str, *, vague: bool) -> None:
    assert read_question(text, NOW, UTC).vague is vague


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("花名", True),
        ("用户 NAS", True),
        ("session_key", True),
        ("gateway port token", False),
        ("oat milk?", False),
        ("花名是什么？", False),
        ("", False),
    ],
)
def test_one_or_two_words_without_a_question_mark_are_plain(text: str, *, plain: bool) -> None:
    assert read_question(text, NOW, UTC).plain is plain


def test_sentences_are_parts_when_at_least_two_ask_something() -> None:
    assert read_question("Where is the gateway?", NOW, UTC).parts == ()
    assert read_question("Hi. Where is the gateway?", NOW, UTC).parts[-1].words == ("gateway",)
    parts = read_question("网关在哪里？另外，合同归档了吗？", NOW, UTC).parts
    assert [part.words[0] for part in parts] == ["网关", "合同"]


def test_a_question_behind_a_pasted_file_is_read() -> None:
    question = read_question("log line " * 5000 + "\nWhere is the violin?", NOW, UTC)
    assert "violin" in question.whole.words
    question = read_question("Where is the violin?\n" + "log line " * 5000, NOW, UTC)
    assert "violin" in question.whole.words
