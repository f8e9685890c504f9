"""Who answers whom where it is not plain (spec/replay.md section 3.9.3)."""

from __future__ import annotations

from notation import MISSING, A, R, U, call, clean, details, show

OTHER = call("k", "exec")


def test_half_an_id_names_the_one_call_that_begins_with_it():
    assert show(clean("OAI", U("q"), A(call("call_1|fc_1")), R("call_1", "x"), U("z"))) == (
        'U"q"|A[call1fc1 read]|R call1fc1 "x"|U"z"'
    )
    assert 'R call1 "x"' in show(clean("OAI", U("q"), A(call("call_1")), R("call_1|fc_1", "x"), U("z")))


def test_half_an_id_of_two_calls_names_neither_and_the_words_are_reported():
    done = clean("OAI", U("q"), A(call("call_1|fc_1"), call("call_1|fc_2")), R("call_1", "x"), U("z"))
    assert show(done).count(MISSING) == 2
    assert "x" in {change.detail for change in done.changes}


def test_as_many_late_results_as_open_calls_go_back_in_their_order():
    stored = [
        U("q"),
        A(call("c1")),
        U("w"),
        A(call("c1")),
        U("v"),
        A(OTHER),
        R("k", "k"),
        R("c1", "one"),
        R("c1", "two"),
    ]
    assert show(clean("OAI", *stored, U("z"))) == (
        'U"q"|A[c1 read]|R c1 "one"|U"w"|A[c12 read]|R c12 "two"|U"v"|A[k exec]|R k "k"|U"z"'
    )


def test_one_late_result_of_two_open_calls_is_nobodys_and_is_reported():
    stored = [U("q"), A(call("c1")), U("w"), A(call("c1")), U("v"), A(OTHER), R("k", "k"), R("c1", "whose"), U("z")]
    done = clean("OAI", *stored)
    assert show(done).count(MISSING) == 2
    assert "whose" in details(done)


def test_a_result_never_answers_a_call_that_was_made_after_it():
    again = [A(call("c1")), R("c1", "a"), R("c1", "again"), U("w"), A(call("c1")), U("v"), A(call("c1"))]
    done = clean("OAI", U("q"), *again, U("u"), A(OTHER), R("k", "k"), R("c1", "late"), U("z"))
    assert show(done).count(MISSING) == 2
    assert {"again", "late"} <= {change.detail for change in done.changes}


def test_a_late_result_that_was_made_up_never_beats_a_real_one():
    stored = [U("q"), A(call("c1")), U("v"), A(OTHER), R("c1", "old", synthetic=True), R("k", "k"), R("c1", "real")]
    assert show(clean("OAI", *stored, U("z"))) == 'U"q"|A[c1 read]|R c1 "real"|U"v"|A[k exec]|R k "k"|U"z"'
