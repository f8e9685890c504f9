"""What becomes of a draft beside what is known."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stenolith.distill.reconcile import conflicts, normal_form, reconcile
from stenolith.model.atom import Atom, AtomDraft, AtomStatus, Kind, Source

JANUARY, MARCH, JUNE = 1_767_225_600_000, 1_772_323_200_000, 1_780_272_000_000  # 2026, the first of each, UTC


def draft(text, at=MARCH, record="r1", **more):
    said = Source(record_id=record, quote=text, timestamp=at)
    return AtomDraft(**{"kind": Kind.FACT, "text": text, "sources": (said,), **more})


def atom(text, name="a1", since=JANUARY, record="r0", status=AtomStatus.ACTIVE, **more):
    shape = {field.name: None for field in dataclasses.fields(Atom) if field.default is dataclasses.MISSING}
    plain = {
        **shape,
        "kind": Kind.FACT,
        "priority": 60,
        "subject": "user",
        "attribute": "",
        "speaker": "",
        "version": 1,
    }
    said = (Source(record_id=record, quote=text, timestamp=since),) if record else ()
    return Atom(**{**plain, "id": name, "text": text, "status": status, "valid_from": since, "sources": said, **more})


def decide(new, *known):
    (decision,) = reconcile([new], known)
    return decision.action, decision.target


HOME = {"subject": "user", "attribute": "residence"}
DATABASE = {"subject": "project", "attribute": "database"}


def test_something_new_is_added():
    assert decide(draft("Allergic to penicillin"), atom("Has a cat")) == ("add", None)
    assert reconcile([], [atom("Has a cat")]) == []


@pytest.mark.parametrize(
    "again",
    [
        "Allergic to penicillin",
        "ALLERGIC TO PENICILLIN.",
        "  allergic  to\tpenicillin!! ",
        "Ａｌｌｅｒｇｉｃ to penicillin…",
        "“Allergic to penicillin.”",
    ],
)
def test_the_same_words_again_add_a_source_and_no_atom(again):
    assert decide(draft(again), atom("Allergic to penicillin")) == ("add_source", "a1")


def test_the_same_record_again_changes_nothing():
    assert decide(draft("Allergic to penicillin", record="r0"), atom("Allergic to penicillin")) == ("skip", "a1")


def test_a_newer_value_of_the_same_property_supersedes_and_names_the_turn():
    (decision,) = reconcile([draft("We use MySQL", record="r9", **DATABASE)], [atom("We use Postgres", **DATABASE)])
    assert (decision.action, decision.target) == ("supersede", "a1")
    assert "r9" in decision.reason


def test_the_newer_of_two_opposite_tastes_survives():
    known = atom("I love spicy noodles.", kind=Kind.PREFERENCE, attribute="taste: spicy noodles")
    new = draft(
        "I can't stand spicy noodles any more", kind=Kind.PREFERENCE, attribute="taste: spicy noodles", corrects=True
    )
    assert decide(new, known) == ("supersede", "a1")


@pytest.mark.parametrize("change", [{"attribute": ""}, {"subject": "billing"}, {"attribute": "cache"}])
def test_another_subject_or_property_or_none_replaces_nothing(change):
    assert decide(draft("We use MySQL", **{**DATABASE, **change}), atom("We use Postgres", **DATABASE)) == ("add", None)


def test_a_correction_without_a_property_replaces_the_one_claim_that_its_words_mean():
    new = draft("We no longer use Redis for caching", corrects=True)
    used = atom("We use Redis for caching", "a1")
    assert decide(new, used, atom("The API runs on Hetzner", "a2")) == ("supersede", "a1")
    assert decide(replace(new, corrects=False), used) == ("add", None)
    assert decide(new, used, atom("Redis does the caching of pages", "a2")) == ("add", None)  # which one is meant?
    assert decide(new, replace(used, subject="billing")) == ("add", None)
    assert decide(new, replace(used, kind=Kind.EVENT)) == ("add", None)


def test_the_kind_may_change_when_the_property_is_the_same():
    known = atom("希望使用简体中文回答", kind=Kind.PREFERENCE, attribute="reply_language")
    new = draft("以后都用英文回复", kind=Kind.INSTRUCTION, attribute="reply_language")
    assert decide(new, known) == ("supersede", "a1")


@pytest.mark.parametrize("kind", [Kind.EVENT, Kind.LESSON])
def test_events_and_lessons_are_never_superseded_and_never_supersede(kind):
    told = atom("Moved to Graz", kind=kind, **HOME)
    assert decide(draft("Moved to Linz", kind=kind, **HOME), told) == ("add", None)
    assert decide(draft("I live in Linz", **HOME), told) == ("add", None)
    assert decide(draft("Moved to Linz", kind=kind, **HOME), atom("I live in Graz", **HOME)) == ("add", None)


def test_a_property_with_several_values_is_replaced_only_by_a_correction():
    known = atom("We use Python", subject="project", attribute="language")
    second = draft("We use TypeScript", subject="project", attribute="language")
    assert decide(second, known) == ("add", None)
    assert decide(replace(second, corrects=True), known) == ("supersede", "a1")


def test_two_limits_on_one_thing_hold_until_one_is_lifted():
    known = atom("Don't deploy on Fridays, QA is away", kind=Kind.CONSTRAINT, subject="project", attribute="deploy")
    second = draft("Don't deploy during the sale", kind=Kind.CONSTRAINT, subject="project", attribute="deploy")
    assert decide(second, known) == ("add", None)
    assert decide(replace(second, corrects=True), known) == ("supersede", "a1")
    lifted = draft("旧鉴权模块现在可以重构了", subject="旧鉴权模块", attribute="重构", corrects=True)
    rule = atom("旧的鉴权模块先不要重构", kind=Kind.CONSTRAINT, subject="旧鉴权模块", attribute="重构")
    assert decide(lifted, rule) == ("supersede", "a1")


def test_an_older_statement_does_not_replace_a_newer_one():
    known = atom("I live in Paris", since=MARCH, **HOME)
    assert decide(draft("I live in Berlin", at=JANUARY, **HOME), known) == ("skip", "a1")
    assert decide(draft("I live in Berlin", at=None, **HOME), known) == ("supersede", "a1")


def test_the_same_fact_in_two_periods_stays_two_periods():
    first = atom("I live in Berlin", "a1", JANUARY, status=AtomStatus.SUPERSEDED, **HOME)
    second = atom("I live in Paris", "a2", MARCH, "r2", **HOME)
    assert decide(draft("I live in Berlin", at=JUNE, record="r3", **HOME), first, second) == ("supersede", "a2")


def test_the_same_event_on_another_day_is_another_event():
    known = atom("Went to the dentist", kind=Kind.EVENT, occurred_start=JANUARY)
    assert decide(draft("Went to the dentist", kind=Kind.EVENT, occurred_start=JANUARY), known) == ("add_source", "a1")
    assert decide(draft("Went to the dentist", kind=Kind.EVENT, occurred_start=JUNE), known) == ("add", None)


@pytest.mark.parametrize("status", [AtomStatus.WITHDRAWN, AtomStatus.SUPERSEDED, AtomStatus.EXPIRED])
def test_what_was_retired_is_not_revived_by_the_same_evidence(status):
    known = atom("Has a cat", record="r1", status=status)
    assert decide(draft("Has a cat.", record="r1"), known) == ("skip", None)
    assert decide(draft("Has a cat.", record="r2"), known) == ("add", None)


def test_a_record_distilled_again_in_other_words_adds_nothing():
    known = atom("Works as a data engineer in Hamburg", record="r1", attribute="occupation")
    again = draft("Works in Hamburg as a data engineer at a company", record="r1", attribute="occupation")
    assert decide(again, known) == ("skip", None)


def test_two_facts_of_one_record_are_two_facts():
    known = atom("I'm vegan", record="r1")
    assert decide(draft("I have two cats", record="r1"), known) == ("add", None)


def test_two_speakers_do_not_replace_or_confirm_each_other():
    ana = atom("I use Vim", speaker="ana", attribute="editor")
    assert decide(draft("I use Zed", speaker="ben", attribute="editor"), ana) == ("add", None)
    assert decide(draft("I use Vim", speaker="ben", attribute="editor"), ana) == ("add", None)
    assert decide(draft("I use Zed", speaker="ana", attribute="editor"), ana) == ("supersede", "a1")
    shared = atom("We use Postgres", speaker="ana", **DATABASE)
    assert decide(draft("We use MySQL", speaker="ben", **DATABASE), shared) == ("supersede", "a1")


def test_a_rule_with_an_end_does_not_replace_a_lasting_one():
    known = atom("Deploys go out on Tuesdays", kind=Kind.CONSTRAINT, subject="deploys", attribute="day")
    week = draft(
        "Deploys go out on Thursday this week",
        kind=Kind.CONSTRAINT,
        subject="deploys",
        attribute="day",
        expires_at=JUNE,
    )
    assert decide(week, known) == ("add", None)


def test_drafts_of_one_batch_reconcile_with_each_other():
    batch = [
        draft("We use Postgres", JANUARY, "r1", **DATABASE),
        draft("we use postgres.", MARCH, "r2", **DATABASE),
        draft("We use MySQL now", JUNE, "r3", **DATABASE),
        draft("We use SQLite", JANUARY, "r4", **DATABASE),
    ]
    found = [(one.action, one.target) for one in reconcile(batch, [])]
    assert found == [("add", None), ("add_source", "#0"), ("supersede", "#0"), ("skip", "#2")]


def test_of_several_rivals_the_newest_is_superseded():
    rivals = [atom("A", "a1", JANUARY, **HOME), atom("B", "a2", MARCH, "r5", **HOME)]
    assert decide(draft("C", at=JUNE, **HOME), *rivals) == ("supersede", "a2")


R7 = [
    "Rule R7 blocks weekend deploys",
    "R7: no releases on Saturdays and Sundays",
    "Nothing ships at the weekend because of R7",
    "周末不能发布，因为有R7",
]


def test_one_refutation_reaches_every_copy_of_the_claim():
    copies = [atom(text, f"a{index}", record=f"r{index}") for index, text in enumerate(R7)]
    others = [atom("Rule R8 allows hotfixes", "b1"), atom("Has a cat", "b2"), atom("R7 fired", "b3", kind=Kind.EVENT)]
    assert conflicts(draft("Rule R7 was withdrawn on 2026-05-02"), [*copies, *others]) == ["a0", "a1", "a2", "a3"]
    assert conflicts(draft(R7[0]), [*copies, *others]) == ["a0", "a1", "a2", "a3"]


@pytest.mark.parametrize(
    ("new", "old", "clash"),
    [
        ("The gateway listens on SSH port 49222", "SSH port of the gateway: 22, it listens there", True),
        ("旧鉴权模块可以重构了", "旧的鉴权模块先不要重构", True),
        ("Backups go to S3 every night", "S3 bucket names are lower case", False),
        ("New endpoints use v3", "The v3 branch is frozen", False),
        ("Meeting at 5pm", "Lunch at 5pm is too late", False),
        ("Has a cat", "Has a dog", False),
    ],
)
def test_other_words_for_one_claim_clash_and_everyday_names_do_not(new, old, clash):
    assert (conflicts(draft(new), [atom(old)]) == ["a1"]) is clash


def test_a_clash_needs_an_active_atom_and_the_same_property_when_both_have_one():
    assert conflicts(draft("I live in Linz", **HOME), [atom("My flat is in Graz", **HOME)]) == ["a1"]
    assert conflicts(draft("I live in Linz", **HOME), [atom("x", status=AtomStatus.SUPERSEDED, **HOME)]) == []
    told = {"text": "The editor of our main office is Zed", "name": "a1", "attribute": "editor"}
    assert conflicts(draft("The shell of our main office is Zed", attribute="shell"), [atom(**told)]) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("后端使用 TypeScript。", "后端使用TypeScript"),
        ("我 住 在 杭州", "我住在杭州！"),
        ("先不要改，移动端在用", "先不要改, 移动端在用"),
        ("Prefers “dark” mode", "prefers “dark” mode..."),
    ],
)
def test_forms_are_equal_for_the_same_words(one, other):
    assert normal_form(one) == normal_form(other)


def test_forms_differ_where_words_differ():
    texts = ["", "...", "a b", "ab", "port 22", "port 2.2", "C", "C++", "不要重构", "要重构"]
    assert len({normal_form(text) for text in texts}) == len(texts)


@given(st.text(max_size=60))
def test_a_form_is_its_own_form(text):
    assert normal_form(normal_form(text)) == normal_form(text)
