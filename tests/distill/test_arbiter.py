"""A model proposes what becomes of new memories; code lets through only what holds."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from stenolith.distill.arbiter import Case, Judgement, Ruling, Verdict, arbitrate, ask, by_rule, repeated, settle
from stenolith.llm.port import Unanswerable
from stenolith.model.atom import Atom, AtomDraft, AtomStatus, Kind, Source
from stenolith.testing.model import ScriptedModel

ZONE = ZoneInfo("UTC")
DAY = 86_400_000
T0 = 1_772_323_200_000  # 2026-03-01


def draft(text: str, record: str = "rec_new", day: int = 10, **more: Any) -> AtomDraft:
    source = Source(record_id=record, quote=text, timestamp=T0 + day * DAY)
    return AtomDraft(**({"kind": Kind.FACT, "text": text, "sources": (source,)} | more))


def atom(number: int, text: str, day: int = 0, **more: Any) -> Atom:
    source = Source(record_id=f"rec_old{number}", quote=text, timestamp=T0 + day * DAY)
    given: dict[str, Any] = {
        "id": f"atm_{number}", "kind": Kind.FACT, "text": text, "priority": 60, "subject": "user", "attribute": "",
        "speaker": "", "role": "user", "session_key": "s", "session_id": "s", "status": AtomStatus.ACTIVE, "version": 1,
        "root_id": f"atm_{number}", "supersedes": None, "superseded_by": None, "reason": "", "recorded_at": T0,
        "valid_from": T0 + day * DAY, "valid_until": None, "occurred_start": None, "occurred_end": None,
        "expires_at": None, "origin": "model", "provenance": {}, "sources": (source,),
    }  # fmt: skip
    return Atom(**(given | more))


LOVES = atom(1, "Loves spicy noodles", kind=Kind.PREFERENCE)
HATES = draft("Cannot stand spicy noodles any more", kind=Kind.PREFERENCE)


async def judge(answer: Any, *cases: Case) -> Judgement:
    return await arbitrate(ScriptedModel([answer, answer]), cases, ZONE, 1000)


def decision(memory: int, action: str, *known: int | str, **more: Any) -> dict[str, Any]:
    return {"memory": memory, "action": action, "known": list(known), **more}


# C01
@pytest.mark.parametrize(
    "answer",
    [
        {"decisions": [decision(1, "supersede", 0)]},
        {"ops": [{"op": "delete", "id": 0}]},
        {"op": "delete", "id": 0},
        [{"record_id": "1", "action": "replace", "target_ids": ["0"]}],
        {"memory": [{"event": "DELETE", "id": "0"}]},
    ],
)
async def test_the_newer_of_two_opposite_statements_takes_the_place_of_the_older(answer: Any) -> None:
    judged = await judge(answer, Case(draft=HATES, near=(LOVES,)))
    verdict = settle(HATES, judged.rulings[0], [LOVES])
    assert verdict.action == "replace"
    assert verdict.targets == ("atm_1",)
    assert verdict.draft == HATES
    assert "rec_new" in verdict.reason


async def test_a_delete_that_no_new_memory_answers_is_refused() -> None:
    other = draft("The build is green")
    judged = await judge({"ops": [{"op": "delete", "id": 0}]}, Case(draft=other, near=(LOVES,)))
    assert judged.rulings == (Ruling(action="add"),)
    assert judged.tally == {"refused: a change without its successor": 1, "undecided": 1}


async def test_a_delete_that_two_new_memories_could_answer_is_refused() -> None:
    twins = [Case(draft=draft("Spicy noodles hurt"), near=(LOVES,)), Case(draft=HATES, near=(LOVES,))]
    judged = await judge({"ops": [{"op": "delete", "id": 0}]}, *twins)
    assert judged.tally["refused: a change without its successor"] == 1


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (decision(1, "supersede", 97), "outside the candidates"),
        (decision(1, "merge", "atm_1"), "outside the candidates"),
        (decision(9, "supersede", 0), "unknown memory"),
        (decision(0, "add"), "unknown memory"),
        (decision(1, "explode", 0), "unknown action"),
        (decision(1, "skip"), "names no known memory"),
        ("yes", "not a decision"),
    ],
)
async def test_what_is_refused_leaves_an_addition_and_a_count(item: Any, reason: str) -> None:
    judged = await judge({"decisions": [item]}, Case(draft=HATES, near=(LOVES,)))
    assert judged.rulings == (Ruling(action="add"),)
    assert judged.tally == {f"refused: {reason}": 1, "undecided": 1}


async def test_a_stated_change_holds_also_when_the_model_is_silent() -> None:
    old = atom(1, "Lives in Graz", attribute="home city")
    new = draft("Lives in Linz now", attribute="home city", corrects=True)
    judged = await judge({"decisions": []}, Case(draft=new, near=(old,)))
    assert judged.rulings[0].action == "supersede"
    assert by_rule(Case(draft=replace(new, corrects=False), near=(old,))).action == "add"


async def test_prose_is_no_decision() -> None:
    with pytest.raises(Unanswerable):
        await judge("I would merge [0] and [1].", Case(draft=HATES, near=(LOVES,)))


async def test_the_batch_is_one_call_with_a_pool_of_known_memories() -> None:
    other = atom(2, "Has a cat")
    cases = [Case(draft=HATES, near=(LOVES, other)), Case(draft=draft("Has two cats"), near=(other,))]
    prompt = ask(cases, ZONE, 1000)
    known = [json.loads(line) for line in prompt.user.split("<known>\n")[1].split("\n</known>")[0].split("\n")]
    new = [json.loads(line) for line in prompt.user.split("<new>\n")[1].split("\n</new>")[0].split("\n")]
    assert [item["id"] for item in known] == [0, 1]
    assert [item["near"] for item in new] == [[0, 1], [1]]
    assert new[0]["said"] == "2026-03-11"


# What code lets through
def rule(action: Any, *targets: Atom, text: str = "") -> Ruling:
    return Ruling(action=action, targets=tuple(one.id for one in targets), text=text)


CITY = {"attribute": "home city"}
SUPERSEDE = {
    "same property": (draft("Lives in Linz", **CITY), atom(1, "Lives in Graz", **CITY), "replace"),
    "same property in other words": (draft("Lives in Linz", attribute="city"), atom(1, "Lives in Graz", **CITY), "replace"),
    "same things in words": (HATES, LOVES, "replace"),
    "nothing in common": (draft("The build is green"), LOVES, "add"),
    "another property": (draft("Born in Linz", attribute="birthplace"), atom(1, "Lives in Linz", **CITY), "add"),
    "another subject": (draft("Lives in Linz", subject="Kim", **CITY), atom(1, "Lives in Graz", **CITY), "add"),
    "another speaker": (draft("Lives in Linz", speaker="ana", **CITY), atom(1, "Lives in Graz", speaker="ben", **CITY), "add"),
    "history does not end": (draft("Never went to Graz"), atom(1, "Went to Graz", kind=Kind.EVENT), "add"),
    "for a week only": (draft("Lives in Linz", expires_at=T0 + 20 * DAY, **CITY), atom(1, "Lives in Graz", **CITY), "add"),
    "for this task only": (draft("Lives in Linz", task_only=True, **CITY), atom(1, "Lives in Graz", **CITY), "add"),
    "said before": (draft("Lives in Linz", day=-5, **CITY), atom(1, "Lives in Graz", **CITY), "skip"),
}  # fmt: skip


@pytest.mark.parametrize(("new", "old", "action"), SUPERSEDE.values(), ids=SUPERSEDE.keys())
def test_nothing_is_superseded_without_a_conflict(new: AtomDraft, old: Atom, action: str) -> None:
    verdict = settle(new, rule("supersede", old), [old])
    assert verdict.action == action
    assert verdict.draft == new
    if action == "add":
        assert verdict.note == "added, no supersede"


SKIP = {
    "the same in other words": (draft("The user has a grey cat"), atom(1, "User owns a grey cat"), "cite"),
    "the same property": (draft("At home in Graz", **CITY), atom(1, "Lives in Graz", **CITY), "cite"),
    "says more": (draft("The cat Milo is grey, ten years old and deaf"), atom(1, "Has a cat"), "add"),
    "another trip": (
        draft("Went to Oslo", kind=Kind.EVENT, occurred_start=T0),
        atom(1, "Went to Oslo", kind=Kind.EVENT, occurred_start=T0 - 300 * DAY),
        "add",
    ),
    "an event is no state": (draft("Went to Oslo", kind=Kind.EVENT), atom(1, "Goes to Oslo often"), "add"),
    "another speaker": (draft("Has a cat", speaker="ana"), atom(1, "Has a cat", speaker="ben"), "add"),
}


@pytest.mark.parametrize(("new", "old", "action"), SKIP.values(), ids=SKIP.keys())
def test_nothing_is_skipped_that_says_something_new(new: AtomDraft, old: Atom, action: str) -> None:
    verdict = settle(new, rule("skip", old), [old])
    assert verdict.action == action
    if action == "cite":
        assert verdict.targets == (old.id,)


def test_a_merge_unites_sources_and_keeps_what_expires_last() -> None:
    one = atom(1, "Has a grey cat", day=1, priority=80, **CITY)
    two = atom(2, "The cat is called Milo", day=3)
    stranger = atom(3, "The build is green")
    new = draft("The cat Milo is ten years old")
    text = "The user has a grey cat called Milo, who is ten years old"
    verdict = settle(new, rule("merge", one, two, stranger, text=text), [one, two, stranger])
    assert verdict.action == "replace"
    assert verdict.targets == ("atm_1", "atm_2"), "nothing unrelated is retired"
    assert verdict.draft.text == text
    assert [source.record_id for source in verdict.draft.sources] == ["rec_new", "rec_old1", "rec_old2"]
    assert verdict.since == one.valid_from, "what was true before stays true for as-of questions"
    assert (verdict.draft.priority, verdict.draft.attribute) == (80, "home city")


def test_a_merged_sentence_that_drops_the_new_memory_is_not_used() -> None:
    old = atom(1, "Has a grey cat")
    new = draft("The grey cat is ten years old")
    verdict = settle(new, rule("update", old, text="Has a grey dog"), [old])
    assert verdict.draft.text == new.text


def test_an_update_that_forgets_the_old_memory_is_an_addition() -> None:
    old = atom(1, "Allergic to penicillin and peanuts since childhood")
    new = draft("Allergic to cats")
    assert settle(new, rule("update", old, text="Allergic to cats"), [old]).action == "add"


def test_an_update_takes_one_memory() -> None:
    one, two = atom(1, "Has a grey cat"), atom(2, "Has a grey cat named Milo")
    new = draft("Has a grey cat named Milo, ten")
    assert settle(new, rule("update", one, two), [one, two]).targets == ("atm_1",)


@pytest.mark.parametrize("kind", [Kind.FACT, Kind.EVENT])
def test_two_periods_stay_two(kind: Kind) -> None:
    old = atom(1, "Worked at Acme", kind=kind, occurred_start=T0 - 900 * DAY)
    new = draft("Worked at Acme", kind=kind, occurred_start=T0)
    for action in ("merge", "update", "skip"):
        assert settle(new, rule(action, old, text="Worked at Acme"), [old]).action == "add"


@pytest.mark.parametrize("action", ["update", "merge"])
@pytest.mark.parametrize("bound", [{"task_only": True}, {"expires_at": T0 + DAY}])
def test_what_has_an_end_is_not_united_with_what_lasts(action: Any, bound: dict[str, Any]) -> None:
    """W23: one of the two would lose its bound, or the other its words when the bound ends."""
    old = atom(1, "No deploys on Friday")
    assert settle(draft("No deploys on Friday", **bound), rule(action, old), [old]).action == "add"
    old = atom(1, "No deploys on Friday", **bound)
    assert settle(draft("No deploys on Friday"), rule(action, old), [old]).action == "add"


def test_what_ends_lasts_until_its_last_part_ends() -> None:
    old = atom(1, "No deploys on Friday", expires_at=T0 + 2 * DAY)
    verdict = settle(draft("No deploys on Friday", expires_at=T0 + DAY), rule("merge", old), [old])
    assert verdict.draft.expires_at == T0 + 2 * DAY


@pytest.mark.parametrize("action", ["skip", "update", "merge", "supersede"])
def test_a_known_memory_that_went_meanwhile_leaves_an_addition(action: Any) -> None:
    assert settle(HATES, rule(action, LOVES), []) == Verdict(action="add", draft=HATES, note=f"added, no {action}")


# Exact repeats cost no call
@pytest.mark.parametrize("text", ["Has a cat", "has a cat.", "HAS A CAT", "Ｈas a cat", " has  a cat "])
def test_an_exact_repeat_is_found_by_code(text: str) -> None:
    known = atom(1, "Has a cat")
    assert repeated(draft(text), [known]) == known


def test_chinese_repeats_are_found_whatever_their_blanks() -> None:
    known = atom(1, "用户住在 Graz，养了一只猫")
    assert repeated(draft("用户住在Graz，养了一只猫。"), [known]) == known


def test_a_contradiction_is_no_repeat() -> None:
    known = atom(1, "Lives in Graz", **CITY)
    assert repeated(draft("Lives in Linz", **CITY), [known]) is None


def test_what_this_record_said_before_and_lost_is_not_learned_again() -> None:
    gone = atom(1, "Has a cat", status=AtomStatus.WITHDRAWN)
    assert repeated(draft("Has a cat", record="rec_old1"), [gone]) == "retired"
    assert repeated(draft("Has a cat", record="rec_new"), [gone]) is None
