"""Heartbeats without news leave the payload (spec/replay.md section 3.0), those with news stay."""

from __future__ import annotations

import pytest
from notation import A, R, U, call, clean, details, show

ASKED = "Read HEARTBEAT.md if it exists (workspace context). If nothing needs attention, reply HEARTBEAT_OK."


@pytest.mark.parametrize("route", ["ANT", "OAI"])
@pytest.mark.parametrize("asked", [ASKED, "[OpenClaw heartbeat poll]"])
@pytest.mark.parametrize("answer", ["HEARTBEAT_OK", "**HEARTBEAT_OK**", " HEARTBEAT_OK.\n"])
def test_a_heartbeat_without_news_leaves_with_its_answer(route, asked, answer):
    done = clean(route, U("q"), A("a"), U(asked), A(answer), U("z"))
    assert show(done) == 'U"q"|A"a"|U"z"'
    assert [(change.rule, change.index) for change in done.changes] == [("heartbeat", 2), ("heartbeat", 3)]
    assert asked in details(done)


def test_its_calls_and_results_go_with_it_into_the_report():
    done = clean("ANT", U(ASKED), A(call("c1")), R("c1", "an empty file"), A("HEARTBEAT_OK"), U("z"))
    assert show(done) == 'U"z"'
    assert "an empty file" in details(done)


def test_a_result_that_came_late_goes_back_to_its_own_turn_first():
    done = clean("ANT", U("q"), A(call("c1")), U(ASKED), R("c1", "late"), A("HEARTBEAT_OK"), U("z"))
    assert show(done) == 'U"q"|A[c1 read]|R c1 "late"|U"z"'


@pytest.mark.parametrize("answer", ["The disk is full.", "HEARTBEAT_OK, but the disk is full"])
def test_a_heartbeat_with_news_stays(answer):
    assert show(clean("ANT", U(ASKED), A(answer), U("z"))) == f'U"{ASKED}"|A"{answer}"|U"z"'


def test_a_heartbeat_that_nobody_answered_stays():
    assert show(clean("OAI", U(ASKED), U("z"))) == f'U"{ASKED}"|U"z"'


def test_the_heartbeat_that_is_being_answered_stays():
    stored = [U("q"), A("a"), U(ASKED)]
    assert show(clean("ANT", *stored)) == f'U"q"|A"a"|U"{ASKED}"'


def test_words_about_heartbeats_are_words():
    stored = [U("what does HEARTBEAT_OK mean?"), A("That nothing needs attention."), U("z")]
    assert len(clean("OAI", *stored).messages) == 3
