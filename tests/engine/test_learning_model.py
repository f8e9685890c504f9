# ruff: noqa: N802  # the cases keep the names that the specification gives them
"""Records become atoms with a scripted model: W1, W2, C01, C06, C07, C10, C11, C18, C19 and what surrounds them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from homes import ME, MINUTE, Home, helper, open_home, person

from stenolith.errors import ModelUnavailable
from stenolith.llm.port import Completion, Obstacle, Prompt, Unanswerable
from stenolith.model.atom import AtomStatus, Kind
from stenolith.model.identity import Scope
from stenolith.model.provenance import Provenance, ProvenanceKind
from stenolith.testing.backends import BACKENDS
from stenolith.testing.embedder import HashEmbedder
from stenolith.testing.model import Said, ScriptedModel, TroubledModel


@pytest.fixture(params=sorted(BACKENDS))
async def home(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Home]:
    async with open_home(tmp_path / "home", backend=request.param) as opened:
        yield opened


def shown(prompt: Prompt) -> list[dict[str, Any]]:
    """The messages that a prompt offers."""
    body = prompt.user.split("<conversation>\n")[1].split("\n</conversation>")[0]
    return [json.loads(line) for line in body.split("\n") if line]


def memory(text: str, *sources: int | str, **more: Any) -> dict[str, Any]:
    return {"text": text, "sources": list(sources), **more}


def learned(*items: Any) -> dict[str, Any]:
    return {"scenes": [{"name": "Talk", "memories": list(items)}]}


def parrot(prompt: Prompt) -> Said:
    """Learn every sentence that people say, word for word."""
    if prompt.name != "extract":
        return {"decisions": [], "lines": [], "edits": []}
    return learned(*(memory(line["text"], line["id"]) for line in shown(prompt) if line["role"] == "user"))


def model(extract: Any = parrot, arbiter: Any = ({"decisions": []},) * 50) -> ScriptedModel:
    return ScriptedModel({"extract": extract, "arbiter": arbiter, "*": lambda _prompt: {"edits": [], "lines": []}})


async def test_C01_the_newer_of_two_opposite_statements_survives(home: Home) -> None:
    first = await home.say("I love spicy noodles.")
    await home.work(model([{"memories": [{"text": "Loves spicy noodles"}]}]))
    second = await home.say("Honestly, I can't stand spicy noodles any more.")
    careless = {"ops": [{"op": "delete", "id": 0}]}
    await home.work(model([{"memories": [{"text": "Cannot stand spicy noodles any more"}]}], [careless]))
    old, new = await home.atoms()
    assert (old.text, old.status) == ("Loves spicy noodles", AtomStatus.SUPERSEDED)
    assert (new.text, new.status) == ("Cannot stand spicy noodles any more", AtomStatus.ACTIVE)
    assert second[0] in old.reason
    assert old.superseded_by == new.id
    assert [source.record_id for source in old.sources] == first
    found = await home.memory.search("memories", "spicy food noodles", scope=ME)
    assert [item["id"] for item in found["items"]] == [new.id]


async def test_C01_a_model_that_only_deletes_cannot_leave_a_hole(home: Home) -> None:
    await home.say("I love spicy noodles.")
    await home.work(model([{"memories": [{"text": "Loves spicy noodles"}]}]))
    await home.say("Honestly, I can't stand spicy noodles any more.")
    careless = {"ops": [{"op": "delete", "id": 0}]}
    await home.work(model([careless], [careless]))
    assert await home.texts() == ["I can't stand spicy noodles any more."]
    assert [atom.text for atom in await home.atoms() if atom.status == "superseded"] == ["Loves spicy noodles"]


async def test_C06_what_the_assistant_wrote_is_not_the_users(home: Home) -> None:
    await home.say("Explain how to reverse a linked list in groups of k.", "Here is an elegant recursive solution.")
    claim = memory("User implemented an elegant recursive solution", 2)
    await home.work(model([learned(claim)]))
    assert await home.atoms() == []
    (job,) = await home.jobs("done")
    assert job.result["refused: only the assistant says it"] == 1


async def test_C07_in_a_room_everybody_keeps_their_own_words(home: Home) -> None:
    at = home.clock()
    agent = Provenance(kind=ProvenanceKind.INTER_SESSION)
    room = [
        person("I only drink oat milk.", at, speaker="ana"),
        person("I prefer answering in French.", at + 1, speaker="bot-b", provenance=agent),
        person("Booking the 9:40 train.", at + 2, speaker="ben"),
    ]
    await home.send(room)
    scripted = model(
        [{"memories": [{"text": "Drinks only oat milk", "source": [1]}, {"text": "Takes the 9:40", "source": [2]}]}]
    )
    await home.work(scripted)
    assert {(atom.text, atom.speaker) for atom in await home.active()} == {
        ("Drinks only oat milk", "ana"),
        ("Takes the 9:40", "ben"),
    }
    assert "French" not in scripted.prompts("extract")[0].user, "another agent's words are nobody's"


async def test_C10_a_request_for_this_task_is_no_standing_rule(home: Home) -> None:
    await home.say("For this report only, answer with just OK when you are done.")
    wish = {"text": "User wants answers to be only OK", "type": "preference", "scope": "global"}
    await home.work(model([{"memories": [wish]}]))
    (atom,) = await home.atoms()
    assert atom.task_only
    assert atom.expires_at is not None
    await home.say("From now on always answer in metric units.")
    rule = {"text": "From now on always answer in metric units", "type": "instruction"}
    await home.work(model([{"memories": [rule]}]))
    lasting = [one for one in await home.active() if not one.task_only]
    assert [(one.kind, one.expires_at) for one in lasting] == [(Kind.INSTRUCTION, None)]
    portrait = (await home.memory.persona(scope=Scope(user="u1", session_key="new")))["markdown"]
    assert "metric units" in portrait
    assert "only OK" not in portrait


async def test_C11_yesterday_belongs_to_the_message_not_to_the_import(tmp_path: Path) -> None:
    said = int(datetime.fromisoformat("2023-05-08T09:00:00+02:00").timestamp() * 1000)
    async with open_home(tmp_path, zone="Europe/Amsterdam") as home:
        await home.send([person("Yesterday I went to the night market.", said)])
        scripted = model([learned(memory("Yesterday the user went to the night market", 1, kind="event"))])
        await home.work(scripted)
        assert "2023-05-08" in scripted.prompts("extract")[0].user
        (atom,) = await home.atoms()
        day = int(datetime.fromisoformat("2023-05-07T00:00:00+02:00").timestamp() * 1000)
        assert (atom.occurred_start, atom.occurred_end) == (day, day + 24 * 60 * MINUTE - 1)
        assert atom.recorded_at == home.clock()
        assert "yesterday" not in atom.text.lower()
        then = home.memory.filters(since="2023-05-01", until="2023-05-10")
        found = await home.memory.search("memories", "night market", scope=ME, filters=then)
        assert len(found["items"]) == 1


async def test_C18_prose_instead_of_an_answer_leaves_the_turn_pending_with_a_visible_error(home: Home) -> None:
    await home.say("I have a cat.")
    prose = "You have reached your monthly limit"
    report = await home.work(model([prose] * 4))
    assert report.dead == {}
    assert await home.position() == 0
    (job,) = await home.jobs("pending")
    assert "nothing that can be read" in job.error
    assert job.attempts == 0, "an ill model uses up no attempt"
    home.clock.advance(60 * MINUTE)
    await home.work(model())
    assert await home.texts() == ["I have a cat."]
    assert await home.position() == 1


BROKEN = {
    "fences and prose around": 'Here are the facts:\n```json\n{"memories":[{"text":"Has a cat"}]}\n```\nHope this helps!',
    "a list for an object": '[{"text":"Has a cat"}]',
    "half a character": '{"memories":[{"text":"Has a cat \\ud83d"}]}',
}


@pytest.mark.parametrize("said", BROKEN.values(), ids=BROKEN)
async def test_C18_broken_output_costs_no_fact(home: Home, said: str) -> None:
    await home.say("I have a cat.")
    scripted = model([said])
    await home.work(scripted)
    (atom,) = await home.active()
    assert atom.text.startswith("Has a cat")
    assert atom.text.isprintable()
    assert len(scripted.prompts("extract")) == 1


async def test_C18_a_schema_that_is_echoed_is_asked_for_again(home: Home) -> None:
    await home.say("I have a cat.")
    scripted = model(
        ['{"$defs": {"Memory": {"type": "object"}}, "properties": {}}', {"memories": [{"text": "Has a cat"}]}]
    )
    await home.work(scripted)
    assert await home.texts() == ["Has a cat"]
    first, second = scripted.prompts("extract")
    assert first.user != second.user or first.system != second.system, "the second time it is told what was wrong"


async def test_C18_a_bad_item_is_reported_and_the_good_ones_stored(home: Home) -> None:
    await home.say("I have a cat and I live in Graz.")
    items = [{"text": "Has a cat"}, {"op": "update", "id": "97", "text": "x"}, {"text": "Lives in Graz"}]
    await home.work(model([{"memories": items}]))
    assert await home.texts() == ["Has a cat", "Lives in Graz"]
    (job,) = await home.jobs("done")
    assert job.result["refused: not a memory"] == 1


async def test_C19_a_turn_that_is_too_long_even_alone_does_not_hold_up_its_neighbours(home: Home) -> None:
    for number in range(12):
        await home.say(f"Fact number {number} is about word{number}.")
    await home.work(model([ModelUnavailable("overloaded")]))
    assert await home.position() == 0
    assert len(await home.jobs("pending")) == 1
    home.clock.advance(10 * MINUTE)

    def healthy(prompt: Prompt) -> Said:
        if any("word7" in line["text"] for line in shown(prompt)):
            return Unanswerable("output too long", Obstacle.TOO_LONG)
        return parrot(prompt)

    await home.work(model(healthy))
    assert [text for text in await home.texts() if "word" in text] == sorted(
        f"Fact number {number} is about word{number}." for number in range(12) if number != 7
    )
    assert await home.position() == 12
    (dead,) = await home.jobs("dead")
    assert "too long" in dead.error
    assert "word7" not in dead.error
    assert dead.key.endswith((await home.house.records.page(await home.owner(), "", 100))[7].record_id)
    await home.house.jobs.retry(await home.owner(), dead.id)
    await home.work(model())
    assert len(await home.texts()) == 12, "with a better model it is learned after all"


async def test_one_unreadable_turn_is_set_aside_once_the_model_has_answered_about_another(home: Home) -> None:
    for number in range(5):
        await home.say(f"Fact number {number} is about word{number}.")

    def moody(prompt: Prompt) -> Said:
        return "I cannot do that." if any("word1" in line["text"] for line in shown(prompt)) else parrot(prompt)

    await home.work(model(moody))
    assert len(await home.texts()) == 4
    (dead,) = await home.jobs("dead")
    assert "no usable answer" in dead.error


async def test_an_unreadable_first_turn_waits_until_the_model_answers_about_another(home: Home) -> None:
    def moody(prompt: Prompt) -> Said:
        return "I cannot do that." if any("word0" in line["text"] for line in shown(prompt)) else parrot(prompt)

    await home.say("Fact number 0 is about word0.", "I see.")
    await home.work(model(moody))
    assert await home.position() == 0
    assert await home.jobs("dead") == []
    await home.say("Fact number 1 is about word1.", "I see.")
    home.clock.advance(60 * MINUTE)
    await home.work(model(moody))
    assert await home.texts() == ["Fact number 1 is about word1."]
    assert len(await home.jobs("dead")) == 1
    assert await home.position() == 4


async def test_a_model_that_is_ill_is_not_asked_about_every_turn(home: Home) -> None:
    for number in range(20):
        await home.say(f"Fact number {number}.")
    ill = model(lambda _prompt: "limit reached")
    await home.work(ill)
    assert len(ill.prompts("extract")) <= 2 * (5 + 3)
    assert await home.position() == 0
    assert len(await home.jobs("pending")) == 1


async def test_an_answer_that_was_cut_off_is_asked_for_in_smaller_windows(home: Home) -> None:
    for number in range(8):
        await home.say(f"Fact number {number} is about word{number}.")

    def short_breath(prompt: Prompt) -> Said:
        text = json.dumps(parrot(prompt))
        return Completion(text=text[:400], model="m", truncated=True) if len(shown(prompt)) > 2 else text

    await home.work(model(short_breath))
    assert len(await home.texts()) == 8
    assert await home.jobs("dead") == []


# W1, W2
async def test_a_model_that_is_down_for_long_loses_nothing_and_repeats_nothing(home: Home) -> None:
    scripted = model()
    troubled = TroubledModel(scripted, broken=True)
    for number in range(120):
        await home.say(f"Fact number {number} is about word{number}.", "Noted.")
        if number % 10 == 0:
            await home.work(troubled, "distill")
            home.clock.advance(MINUTE)
    assert troubled.refused > 5
    assert await home.position() == 0
    (job,) = await home.jobs("pending")
    assert "out of order" in job.error
    troubled.broken = False
    home.clock.advance(60 * MINUTE)
    await home.work(troubled, "distill")
    assert len(await home.texts()) == 120
    offered = [
        line["text"] for prompt in scripted.prompts("extract") for line in shown(prompt) if line["role"] == "user"
    ]
    assert len(offered) == len(set(offered)) == 120
    assert await home.position() == 240


async def test_turns_that_come_while_a_slow_model_thinks_are_all_offered_once(home: Home) -> None:
    scripted = model()
    scripted.delay_s = 0.05
    await home.say("Fact number 0 is about word0.")
    working = asyncio.create_task(home.work(scripted, "distill"))
    for number in range(1, 40):
        # The queue's clock stands still: a minute for every turn would end the worker's lease while it works.
        await home.say(f"Fact number {number} is about word{number}.", at=home.clock() + number)
    await working
    await home.work(scripted, "distill")
    texts = [line["text"] for prompt in scripted.prompts("extract") for line in shown(prompt)]
    assert sorted(texts) == sorted(f"Fact number {number} is about word{number}." for number in range(40))
    assert len(await home.texts()) == 40


async def test_failed_turns_and_turns_of_no_person_are_never_offered(home: Home) -> None:
    await home.send([person("I live in Graz.", home.clock())], failed=True)
    await home.say("I have a cat.", "I see.")
    scripted = model()
    await home.work(scripted)
    texts = [line["text"] for prompt in scripted.asked if prompt.name == "extract" for line in shown(prompt)]
    assert texts == ["I have a cat.", "I see."]
    assert "Graz" not in "".join(prompt.user for prompt in scripted.asked)


async def test_an_assistant_alone_costs_no_call(home: Home) -> None:
    await home.send([helper("Good morning! I am ready.", home.clock())])
    scripted = model()
    await home.work(scripted)
    assert scripted.prompts("extract") == []
    assert await home.position() == 1


async def test_what_was_read_before_is_only_background(home: Home) -> None:
    await home.say("My cat is called Milo.", "Nice.")
    await home.work(model())
    await home.say("She is ten.", "Old!")
    scripted = model([learned(memory("Milo is ten years old", 1), memory("The cat is called Milo", "b1"))])
    await home.work(scripted)
    prompt = scripted.prompts("extract")[0]
    assert [line["text"] for line in shown(prompt)] == ["She is ten.", "Old!"]
    assert "My cat is called Milo." in prompt.user.split("<background>")[1].split("</background>")[0]
    assert "The scene before was: Talk" in prompt.user
    assert any(job.result.get("refused: invented source") == 1 for job in await home.jobs("done"))
    assert await home.texts() == ["Milo is ten years old", "My cat is called Milo."]


async def test_a_long_turn_is_read_in_several_calls_and_learned_once(tmp_path: Path) -> None:
    async with open_home(tmp_path, llm={"window_tokens": 300}) as home:
        await home.say(" ".join(f"Sentence {number} is about word{number}." for number in range(150)))
        scripted = model()
        await home.work(scripted)
        assert len(scripted.prompts("extract")) > 2
        assert {line["id"] for prompt in scripted.prompts("extract") for line in shown(prompt)} == {1}
        assert await home.position() == 1


# Reconciliation
async def test_an_exact_repeat_costs_no_call_and_adds_a_source(home: Home) -> None:
    first = await home.say("I have a cat.")
    await home.work(model())
    second = await home.say("i have a CAT!")
    scripted = model(arbiter=[])
    await home.work(scripted)
    assert scripted.prompts("arbiter") == []
    (atom,) = await home.atoms()
    assert {source.record_id for source in atom.sources} == {*first, *second}


async def test_the_same_words_twice_in_one_answer_are_one_atom(home: Home) -> None:
    await home.say("I have a cat.")
    await home.say("I have a cat, as I said.")
    await home.work(model([learned(memory("Has a cat", 1), memory("has a cat", 2))]))
    (atom,) = await home.atoms()
    assert len(atom.sources) == 2


async def test_a_batch_is_reconciled_in_one_call_with_candidates_of_the_same_owner(home: Home) -> None:
    await home.say("Milo the cat sleeps a lot.", scope=Scope(user="u2", session_key="chat"))
    await home.say("I have a cat.")
    await home.say("My bicycle is red.")
    await home.work(model())
    await home.say("The cat is called Milo and the bicycle is old.")
    scripted = model(
        [learned(memory("The cat is called Milo", 1), memory("The bicycle is old", 1))], [{"decisions": []}]
    )
    await home.work(scripted)
    (prompt,) = scripted.prompts("arbiter")
    assert "I have a cat." in prompt.user
    assert "My bicycle is red." in prompt.user
    assert "sleeps a lot" not in prompt.user, "another owner's memory is nobody's candidate"


async def test_a_merge_keeps_the_past_and_its_sources(home: Home) -> None:
    first = await home.say("I have a grey cat.")
    await home.work(model())
    second = await home.say("My grey cat is called Milo.")
    merged = "The user has a grey cat called Milo"
    ruling = {"memory": 1, "action": "update", "known": [0], "text": merged, "reason": "more exact"}
    await home.work(model([learned(memory("The grey cat is called Milo", 1))], [{"decisions": [ruling]}]))
    old, new = await home.atoms()
    assert (old.status, old.superseded_by) == (AtomStatus.SUPERSEDED, new.id)
    assert (new.text, new.version, new.root_id) == (merged, 2, old.root_id)
    assert {source.record_id for source in new.sources} == {*first, *second}
    assert [view["id"] for view in await home.memory.history(new.id, scope=ME)] == [old.id, new.id]


async def test_a_failed_reconciliation_call_loses_nothing(home: Home) -> None:
    await home.say("I have a cat.")
    await home.work(model())
    await home.say("My cat is called Milo.")
    down = model([learned(memory("The cat is called Milo", 1))], [ModelUnavailable("down")])
    await home.work(down, "distill")
    assert await home.position() == 1
    assert await home.texts() == ["I have a cat."]
    home.clock.advance(10 * MINUTE)
    await home.work(model([learned(memory("The cat is called Milo", 1))]))
    assert await home.texts() == ["I have a cat.", "The cat is called Milo"]
    assert await home.position() == 2


async def test_an_unreadable_reconciliation_is_decided_by_rule_and_counted(home: Home) -> None:
    await home.say("I have a cat.")
    await home.work(model())
    await home.say("My cat is called Milo.")
    await home.work(model([learned(memory("The cat is called Milo", 1))], ["no", "no"]))
    assert await home.texts() == ["I have a cat.", "The cat is called Milo"]
    assert any(job.result.get("reconciled by rule: unreadable") == 1 for job in await home.jobs("done"))


async def test_a_ruling_on_what_was_forgotten_meanwhile_leaves_an_addition(home: Home) -> None:
    await home.say("I live in Graz.")
    await home.work(model())
    (old,) = await home.atoms()
    await home.say("I live in Linz now.")

    class Slow(ScriptedModel):
        async def complete(self, prompt: Prompt, /) -> Completion:
            if prompt.name == "arbiter":
                await home.memory.forget([old.id], scope=ME)
            return await super().complete(prompt)

    ruling = {"decisions": [{"memory": 1, "action": "supersede", "known": [0]}]}
    await home.work(Slow({"extract": parrot, "arbiter": [ruling], "*": lambda _: {"edits": [], "lines": []}}))
    assert await home.texts() == ["I live in Linz now."]


async def test_a_forgotten_conclusion_does_not_come_back(home: Home) -> None:
    await home.say("I have a cat.")
    await home.work(model())
    (atom,) = await home.atoms()
    await home.memory.forget([atom.id], scope=ME)
    await home.say("As I said: cat.")
    await home.work(model([learned(memory("I have a cat", 1))]))
    assert await home.atoms() == []
    assert any(job.result.get("forgotten before") == 1 for job in await home.jobs("done"))


async def test_as_of_answers_with_what_held_then(home: Home) -> None:
    await home.say("I live in Graz.")
    city = {"attribute": "home city", "kind": "fact"}
    await home.work(model([learned(memory("Lives in Graz", 1, **city))]))
    between = home.clock.advance(60 * MINUTE)
    await home.say("I moved, I live in Linz now.")
    ruling = {"decisions": [{"memory": 1, "action": "supersede", "known": [0], "reason": "moved"}]}
    await home.work(model([learned(memory("Lives in Linz", 1, **city, changes=True))], [ruling]))
    owner = await home.owner()
    assert [atom.text for atom in await home.house.atoms.as_of(owner, between)] == ["Lives in Graz"]
    assert [atom.text for atom in await home.house.atoms.as_of(owner, home.clock())] == ["Lives in Linz"]


async def test_meaning_finds_candidates_that_share_no_word(tmp_path: Path) -> None:
    embedder = HashEmbedder(synonyms={"kitti": "cat"})
    async with open_home(tmp_path, embedder=embedder) as home:
        await home.say("Our kitty sleeps.")
        await home.work(model())
        await home.say("The cat eats.")
        scripted = model([learned(memory("The cat eats", 1))], [{"decisions": []}])
        await home.work(scripted)
        (prompt,) = scripted.prompts("arbiter")
        assert "Our kitty sleeps." in prompt.user


# What it costs
async def test_every_call_is_billed_and_every_atom_says_what_made_it(tmp_path: Path) -> None:
    async with open_home(tmp_path, llm={"input_price": 1.0, "output_price": 2.0}) as home:
        await home.say("I have a cat.")
        await home.work(model(), "distill")
        (atom,) = await home.atoms()
        assert atom.origin == "model"
        assert atom.provenance["prompt"] == "extract/1"
        assert atom.provenance["model"] == "scripted"
        assert atom.provenance["tokens"] > 50
        assert atom.provenance["cost"] > 0
        ((account, spent),) = (await home.usage.of_owner(await home.owner())).items()
        assert (account.day, account.kind, account.model) == ("2026-08-02", "distill", "scripted")
        assert (spent.calls, spent.failed) == (1, 0)
        assert spent.tokens_in + spent.tokens_out == atom.provenance["tokens"]
        assert spent.cost == pytest.approx((spent.tokens_in + 2 * spent.tokens_out) / 1e6)


async def test_a_spent_budget_pauses_the_queue_until_midnight_and_drops_nothing(tmp_path: Path) -> None:
    async with open_home(tmp_path, llm={"tokens_per_day": 1}) as home:
        await home.say("I have a cat.")
        await home.work(model(), "distill")
        await home.say("I have a dog.")
        scripted = model()
        await home.work(scripted, "distill")
        assert scripted.asked == []
        (job,) = await home.jobs("pending")
        assert "budget" in job.error
        assert job.attempts == 0
        midnight = int(datetime.fromisoformat("2026-08-03T00:00:00+00:00").timestamp() * 1000)
        assert job.run_after == midnight
        home.clock.advance(midnight - home.clock())
        await home.work(scripted, "distill")
        assert await home.texts() == ["I have a cat.", "I have a dog."]


async def test_without_a_model_rules_distil_as_before(home: Home) -> None:
    await home.say("I love spicy noodles.")
    await home.work(None)
    (atom,) = await home.atoms()
    assert atom.origin == "rules"
    assert await home.usage.of_home() == {}


async def test_a_secret_in_a_models_words_is_not_stored(home: Home) -> None:
    await home.say("The staging password is on the blue card.")
    leak = memory("The staging password is hunter2-hunter2", 1)
    await home.work(model([learned(leak)]))
    assert all("hunter2" not in atom.text for atom in await home.atoms())
