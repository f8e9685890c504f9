# ruff: noqa: N802  # the cases keep the names that the specification gives them
"""Cases C01-C07, C10-C12: what is believed, since when, and of whom. By rules alone: no case here asks a model."""

from __future__ import annotations

import json

import pytest
from stage import DAY, MINUTE, Stage, ms, said

from stenolith import InvalidInput, NotFound, Scope, Turn
from stenolith.model.provenance import Provenance, ProvenanceKind
from stenolith.testing.embedder import HashEmbedder

U1 = Scope(user="u1", session_key="chat")
R7 = [
    "Rule R7 blocks weekend deploys.",
    "Because of R7 nobody may deploy on Saturday or Sunday.",
    "Deployments at the weekend are forbidden by rule R7.",
    "R7: no deploys on weekends, not even hotfixes.",
]


async def test_C01_the_newer_of_two_opposite_statements_survives(stage: Stage) -> None:
    await stage.say("I love spicy noodles.", scope=U1, at=ms("2026-03-01T12:00:00+08:00"))
    await stage.work()
    second = await stage.say(
        "Honestly, I can't stand spicy noodles any more.", scope=U1, at=ms("2026-03-20T12:00:00+08:00")
    )
    await stage.work()
    found = await stage.memory.recall("spicy food", scope=U1)
    (now,) = await stage.atoms(U1)
    assert "can't stand spicy noodles" in now["text"]
    assert [item.id for item in found.items if item.layer == "atom"] == [now["id"]]
    (before,) = await stage.atoms(U1, "superseded")
    assert before["text"] == "I love spicy noodles."
    assert second.recorded[0].record_id in before["reason"]
    assert before["superseded_by"] == now["id"]
    assert "love spicy" not in found.dynamic


async def test_C02_saying_the_same_thing_twice_is_a_no_op(stage: Stage) -> None:
    texts = ("Allergic to penicillin", "Allergic to penicillin", "ALLERGIC to Penicillin.")
    ids = [(await stage.memory.remember(text, scope=U1))["id"] for text in texts]
    (atom,) = await stage.atoms(U1)
    assert set(ids) == {atom["id"]}
    assert len({source["id"] for source in atom["sources"]}) == 3
    assert len(await stage.records(U1)) == 3
    assert await stage.count("audit") == 0
    assert await stage.count("tombstones") == 0


async def test_C03_a_superseded_value_never_outranks_the_current_one(stage: Stage) -> None:
    question = "which SSH port does the gateway listen on"
    old = await stage.memory.remember("The gateway listens on SSH port 22.", scope=U1)
    new = await stage.memory.correct("Since June remote login uses 49222.", scope=U1, atom_id=old["id"])
    found = await stage.memory.recall(question, scope=U1, limit=5)
    assert new["id"] in [item.id for item in found.items]
    assert old["id"] not in [item.id for item in found.items]
    assert "port 22." not in found.dynamic


async def test_C03_history_is_shown_behind_what_holds(stage: Stage) -> None:
    question = "which SSH port does the gateway listen on"
    old = await stage.memory.remember("The gateway listens on SSH port 22.", scope=U1)
    new = await stage.memory.correct("Since June remote login uses 49222.", scope=U1, atom_id=old["id"])
    history = stage.memory.filters(include_history=True)
    items = (await stage.memory.search("memories", question, scope=U1, limit=5, filters=history))["items"]
    assert [item["id"] for item in items] == [new["id"], old["id"]]
    assert (items[1]["status"], items[1]["superseded_by"]) == ("superseded", new["id"])


async def test_C04_correcting_by_query_replaces_and_says_what_it_replaced(settings) -> None:
    meaning = HashEmbedder(synonyms={"mysql": "databas", "postgresql": "databas", "database": "databas"})
    async with Stage(settings, meaning) as stage:
        m1 = await stage.memory.remember("Stack: Django, PostgreSQL, Redis", scope=U1)
        reply = await stage.memory.correct("Stack: Django, MySQL, Redis", scope=U1, query="stack postgres")
        await stage.work()
        assert reply["superseded"] == [m1["id"]]
        assert (await stage.memory.show(m1["id"], scope=U1))["status"] == "superseded"
        found = await stage.memory.recall("database", scope=U1)
        assert [item.text for item in found.items] == ["Stack: Django, MySQL, Redis"]
        again = await stage.memory.correct("Stack: Django, SQLite, Redis", scope=U1, atom_id=reply["id"])
        assert again["superseded"] == [reply["id"]]
        assert await stage.texts(U1) == ["Stack: Django, SQLite, Redis"]
        before = await stage.export(U1, "before.jsonl")
        with pytest.raises(NotFound, match="nothing was changed"):
            await stage.memory.correct("Kubernetes", scope=U1, query="zeppelin quantum")
        assert await stage.export(U1, "after.jsonl") == before


async def test_C05_one_refutation_reaches_every_copy_of_the_claim(stage: Stage) -> None:
    ids = []
    for number, claim in enumerate(R7):
        scope = Scope(user="u1", session_key=f"s{number}")
        ids.append((await stage.memory.remember(claim, scope=scope, kind="constraint"))["id"])
    fixed = await stage.memory.correct("Rule R7 was withdrawn on 2026-05-02", scope=U1, atom_id=ids[0])
    await stage.work()
    for other in ids[1:]:
        atom = await stage.memory.show(other, scope=U1)
        assert atom["status"] == "superseded" or atom["needs_review"] == fixed["id"], atom["text"]


async def test_C05_the_refutation_stands_before_what_it_may_refute(stage: Stage) -> None:
    ids = [(await stage.memory.remember(claim, scope=U1, kind="constraint"))["id"] for claim in R7]
    fixed = await stage.memory.correct("Rule R7 was withdrawn on 2026-05-02", scope=U1, atom_id=ids[0])
    found = await stage.memory.recall("may I deploy on Saturday", scope=U1)
    assert found.items[0].id == fixed["id"]
    contrary = [item for item in found.items if item.id != fixed["id"]]
    assert all(item.flags for item in contrary), [item.text for item in contrary if not item.flags]


async def test_C06_what_the_assistant_wrote_is_not_something_the_user_did(stage: Stage) -> None:
    answer = (
        "I prefer recursion, so here is my elegant recursive solution. I always use the iterative one in interviews."
    )
    await stage.say("Explain how to reverse a linked list in groups of k.", answer, scope=U1)
    await stage.work()
    assert [atom for atom in await stage.atoms(U1) if "recursi" in atom["text"]] == []
    assert "recursi" not in (await stage.memory.persona(scope=U1))["markdown"]
    found = await stage.memory.recall("what does the user prefer, recursion or iteration?", scope=U1)
    assert "recursi" not in found.stable
    assert [item.text for item in found.items if item.layer == "atom"] == []
    for item in found.items:
        assert (item.layer, item.speaker or item.kind) in {("record", "assistant"), ("record", "user")}
    await stage.say("I prefer recursion in Haskell.", scope=U1)
    await stage.work()
    (atom,) = await stage.atoms(U1)
    assert atom["subject"] == "user"
    assert {source["quote"] for source in atom["sources"]} == {"I prefer recursion in Haskell."}


async def test_C07_in_a_group_room_who_said_it_stays_attached(stage: Stage) -> None:
    room = Scope(user="ana", session_key="kitchen")
    at = stage.clock()
    machine = Provenance(kind=ProvenanceKind.INTER_SESSION, session="bot-b")
    messages = (
        said("user", "I only drink oat milk.", at, speaker="ana"),
        said("user", "I prefer answering in French.", at + 1000, speaker="bot-b", provenance=machine),
        said("user", "I'm allergic to peanuts.", at + 2000, speaker="ben"),
        said("user", "I don't like cow's milk, but I love peanut butter.", at + 3000, speaker="ben"),
    )
    await stage.memory.capture(Turn(messages=messages, mark=0), scope=room)
    await stage.work()
    speakers = {(atom["speaker"], atom["text"]) for atom in await stage.atoms(room)}
    assert ("ana", "I only drink oat milk.") in speakers
    assert ("ben", "I'm allergic to peanuts.") in speakers
    assert {speaker for speaker, _ in speakers} == {"ana", "ben"}
    found = await stage.memory.recall("oat milk", scope=room)
    assert (found.items[0].text, found.items[0].speaker) == ("I only drink oat milk.", "ana")
    profile = (await stage.memory.persona(scope=room))["markdown"]
    assert "oat milk" in profile
    assert "peanut" not in profile
    assert "French" not in profile
    for scene in (await stage.memory.list("scenes", scope=room))["items"]:
        for line in (await stage.memory.scene(scene["id"], scope=room))["markdown"].splitlines():
            for speaker, words in speakers:
                assert words not in line or f"{speaker}: {words}" in line
    nobody = await stage.memory.recall("milk", scope=Scope(user="ben"))
    assert nobody.items == ()


async def test_C07_a_recalled_line_of_a_room_names_its_speaker(stage: Stage) -> None:
    room = Scope(user="room", session_key="kitchen")
    await stage.say("I only drink oat milk.", scope=room, speaker="ana")
    await stage.say("From now on always answer in metric units.", scope=room, speaker="ben")
    await stage.work()
    found = await stage.memory.recall("oat milk", scope=room)
    assert "ana" in next(line for line in found.dynamic.splitlines() if "oat milk" in line)
    assert "ben" in next(line for line in found.stable.splitlines() if "metric" in line)


async def test_C10_a_request_for_this_task_is_not_a_standing_rule(stage: Stage) -> None:
    here, there = Scope(user="u1", session_key="report"), Scope(user="u1", session_key="later")
    await stage.say("For this report only, answer with just OK when you are done.", scope=here)
    await stage.say("From now on always answer in metric units.", scope=here)
    await stage.work()
    bound = [atom for atom in await stage.atoms(here) if "OK" in atom["text"]]
    assert all(atom["task_only"] and atom["expires_at"] for atom in bound)
    assert "just OK" not in (await stage.memory.persona(scope=there))["markdown"]
    for question in ("how shall I answer?", "write the report", "answer with just OK when you are done"):
        context = await stage.memory.recall(question, scope=there)
        assert "just OK" not in context.stable
        assert [item for item in context.items if item.layer == "atom" and "OK" in item.text] == []
    assert "metric units" in (await stage.memory.recall("hello", scope=there)).stable
    (rule,) = [atom for atom in await stage.atoms(there) if "metric" in atom["text"]]
    assert (rule["task_only"], rule["expires_at"]) == (False, None)


async def test_C11_yesterday_belongs_to_the_message_not_to_the_import(stage: Stage, tmp_path) -> None:
    file = tmp_path / "old.jsonl"
    line = {
        "role": "user",
        "content": "Yesterday I went to the night market.",
        "timestamp": "2023-05-08T09:00:00+02:00",
    }
    file.write_text(json.dumps(line) + "\n")
    report = await stage.memory.import_files([file], scope=U1)
    assert (report["recorded"], report["errors"]) == (1, [])
    await stage.work()
    (atom,) = await stage.atoms(U1)
    assert stage.clock() > ms("2026-01-01T00:00:00+00:00")
    assert atom["occurred"] == ms("2023-05-07T00:00:00+08:00")
    assert "2023-05-07" in atom["text"]
    assert "yesterday" not in atom["text"].lower().replace("yesterday (2023-05-07)", "")
    may = stage.memory.filters(since="2023-05-01", until="2023-05-10")
    assert len((await stage.memory.search("memories", "night market", scope=U1, filters=may))["items"]) == 1
    lately = stage.memory.filters(since="last week")
    assert (await stage.memory.search("memories", "night market", scope=U1, filters=lately))["items"] == []


async def test_C12_occurred_recorded_and_imported_are_three_times(settings, tmp_path) -> None:
    file = tmp_path / "chat.json"
    lines = [
        {"role": "user", "content": "first, without a zone", "timestamp": "2026-05-12 08:00"},
        {"role": "assistant", "content": "second, with a zone", "timestamp": "2026-05-12T08:05:00+08:00"},
        {"role": "user", "content": "third, without any time"},
    ]
    file.write_text(json.dumps({"messages": lines}))
    async with Stage(settings) as stage:
        stage.clock.advance(ms("2026-08-03T10:00:00+08:00") - stage.clock())
        await stage.memory.import_files([file], scope=U1)
        first = await stage.records(U1)
        stage.clock.advance(38 * DAY)
        report = await stage.memory.import_files([file], scope=U1)
        assert report["recorded"] == 0
        assert await stage.records(U1) == first
    by_time = sorted(first, key=lambda record: record["timestamp"])
    assert [record["text"][:5] for record in by_time] == ["first", "secon", "third"]
    assert first[0]["timestamp"] == ms("2026-05-12T08:00:00+08:00")
    assert [record["timestamp_source"] for record in first] == ["assumed", "host", "neighbour"]
    assert first[2]["timestamp"] == first[1]["timestamp"]
    assert {record["recorded_at"][:10] for record in first} == {"2026-08-03"}


async def test_C12_a_time_that_is_none_is_refused_in_words(stage: Stage) -> None:
    with pytest.raises(InvalidInput, match="is no time"):
        stage.memory.moment("the day the music died")


async def test_deleting_a_winner_lets_the_loser_hold_again(stage: Stage) -> None:
    """What a forgotten correction had replaced is believed, found and told again, as of when it was said."""
    old = await stage.memory.remember("The gateway listens on port 8443", scope=U1)
    stage.clock.advance(MINUTE)
    new = await stage.memory.correct("The gateway listens on port 9000", scope=U1, atom_id=old["id"])
    await stage.work()
    assert await stage.texts(U1) == ["The gateway listens on port 9000"]
    await stage.memory.forget([new["id"]], scope=U1)
    await stage.work()
    (again,) = await stage.atoms(U1)
    assert (again["id"], again["status"], again["superseded_by"], again["valid_until"]) == (
        old["id"],
        "active",
        None,
        None,
    )
    (found,) = (await stage.memory.search("memories", "gateway port", scope=U1))["items"]
    assert (found["id"], found["status"]) == (old["id"], "active")
    pages = [
        await stage.memory.scene(one["name"], scope=U1)
        for one in (await stage.memory.list("scenes", scope=U1))["items"]
    ]
    assert ["8443" in page["markdown"] for page in pages] == [True]
    assert not any("9000" in page["markdown"] for page in pages)
