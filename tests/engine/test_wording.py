"""Dossiers and the persona in a model's words: rules write first, words are laid over, and nothing outlives its facts."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from homes import ME, MINUTE, Home, open_home

from stenolith.errors import ModelUnavailable
from stenolith.llm.port import Prompt
from stenolith.model.persona import PersonaStatus
from stenolith.model.scene import Scene
from stenolith.store.files import folder_of
from stenolith.testing.backends import BACKENDS
from stenolith.testing.model import Said, ScriptedModel

DAY = 24 * 60 * MINUTE
FACTS = (
    "The Orion gateway runs on port 8443.",
    "The Orion gateway must not be restarted at noon.",
    "The Orion gateway logs go to Loki.",
    "The Orion gateway belongs to the platform team.",
)


@pytest.fixture(params=sorted(BACKENDS))
async def home(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Home]:
    async with open_home(tmp_path / "home", backend=request.param) as opened:
        yield opened


def lines_of(prompt: Prompt, tag: str) -> list[dict[str, Any]]:
    body = prompt.user.split(f"<{tag}>\n")[1].split(f"\n</{tag}>")[0]
    return [json.loads(line) for line in body.split("\n") if line]


def learn_all(prompt: Prompt) -> Said:
    said = [line for line in lines_of(prompt, "conversation") if line["role"] == "user"]
    return {"memories": [{"text": line["text"], "sources": [line["id"]], "kind": _kind(line["text"])} for line in said]}


def _kind(text: str) -> str:
    return "preference" if re.search(r"small|prefer", text) else "fact"


def put_together(prompt: Prompt) -> Said:
    """Make one line of the first two that can be, in their own words."""
    lines = [line for line in lines_of(prompt, "dossier")[1:] if line["section"] != "open points"]
    if len(lines) < 2:
        return {"title": "", "summary": "", "edits": []}
    one, two = lines[:2]
    text = f"{one['text'].rstrip('.')}; {two['text']}"
    first = {"op": "replace", "line": one["line"], "section": one["section"], "text": text}
    edits = [{**first, "cites": one["cites"] + two["cites"]}, {"op": "remove", "line": two["line"], "cites": []}]
    return {"title": "", "summary": text[:150], "edits": edits}


def repeat(prompt: Prompt) -> Said:
    groups = lines_of(prompt, "groups")
    return {"lines": [{"group": group["group"], "text": f"Note: {group['said'][-1]}"} for group in groups]}


def model(**scripts: Any) -> ScriptedModel:
    usual = {"extract": learn_all, "arbiter": lambda _: {"decisions": []}, "dossier": put_together, "portrait": repeat,
             "shelf": lambda _: {"merges": []}}  # fmt: skip
    return ScriptedModel({**usual, **scripts})


async def _gateway(home: Home) -> Scene:
    (found,) = [one for one in await home.house.scenes.listing(await home.owner()) if "Orion" in str(one.lines)]
    return found


async def _say_all(home: Home) -> None:
    for text in FACTS:
        await home.say(text)


async def test_a_dossier_is_edited_after_rules_wrote_it_and_both_are_history(home: Home) -> None:
    await _say_all(home)
    scripted = model()
    await home.work(scripted)
    scene = await _gateway(home)
    joined = [line for line in scene.lines if len(line.atoms) == 2]
    assert len(joined) == 1
    assert "; " in joined[0].text
    assert {one for line in scene.lines for one in line.atoms} == {atom.id for atom in await home.active()}
    authors = [version.author for version in await home.house.scenes.versions(await home.owner(), scene.id)]
    assert authors == ["rules", "model"]
    files = folder_of(home.house.home, await home.house.owners.scope_of(await home.owner()))
    assert joined[0].text in "".join(path.read_text() for path in files.rglob("*.md"))
    found = await home.memory.search("scenes", "Orion gateway", scope=ME)
    assert found["items"][0]["id"] == scene.id


async def test_words_stay_and_cost_nothing_while_nothing_changes(home: Home) -> None:
    await _say_all(home)
    await home.work(model())
    scene = await _gateway(home)
    await home.say("Good morning!")
    async with home.house.database.transaction():
        owner = await home.owner()
        await home.house.jobs.enqueue(owner, _scenes_job())
    scripted = model(extract=lambda _: {"scenes": []})
    await home.work(scripted)
    assert scripted.prompts("dossier") == []
    assert await _gateway(home) == scene


def _scenes_job() -> Any:
    from stenolith.store.jobs import JobRequest

    return JobRequest(kind="scenes", key="")


async def test_a_new_fact_joins_the_words_and_they_are_edited_again(home: Home) -> None:
    await _say_all(home)
    await home.work(model())
    before = await _gateway(home)
    await home.say("The Orion gateway speaks HTTP 3.")
    await home.work(model(dossier=[ModelUnavailable("down")]))
    waiting = await _gateway(home)
    assert {line.text for line in before.lines} < {line.text for line in waiting.lines}, "rules add the fact at once"
    home.clock.advance(10 * MINUTE)
    await home.work(model())
    after = await _gateway(home)
    assert {one for line in after.lines for one in line.atoms} == {atom.id for atom in await home.active()}


async def test_a_model_that_is_down_delays_no_dossier(home: Home) -> None:
    await _say_all(home)
    down = model(dossier=[ModelUnavailable("down")] * 3)
    report = await home.work(down)
    scene = await _gateway(home)
    assert len(scene.lines) == 4
    assert report.dead == {}
    (job,) = await home.jobs("pending", "scenes")
    assert (job.key, "down" in job.error) == ("model", True)
    home.clock.advance(10 * MINUTE)
    await home.work(model())
    assert len((await _gateway(home)).lines) == 3


async def test_an_unreadable_edit_leaves_the_rules_words_and_is_not_asked_for_again(home: Home) -> None:
    await _say_all(home)
    await home.work(model(dossier=["no", "no"]))
    scene = await _gateway(home)
    assert len(scene.lines) == 4
    assert any(job.result.get("left to the rules: unreadable") == 1 for job in await home.jobs("done", "scenes"))
    async with home.house.database.transaction():
        await home.house.jobs.enqueue(await home.owner(), _scenes_job())
    scripted = model()
    await home.work(scripted)
    assert scripted.prompts("dossier") == []


async def test_uncited_and_foreign_lines_never_get_in(home: Home) -> None:
    await _say_all(home)

    def wild(prompt: Prompt) -> Said:
        uncited = {"op": "add", "line": 0, "section": "background", "text": "The Orion gateway is fast.", "cites": []}
        foreign = {**uncited, "text": "The Orion gateway runs.", "cites": [99]}
        invented = {**uncited, "text": "Anna founded the company in Berlin.", "cites": [1]}
        return {"title": "", "summary": "Founded in 1999.", "edits": [uncited, foreign, invented]}

    await home.work(model(dossier=wild))
    scene = await _gateway(home)
    assert sorted(line.text for line in scene.lines) == sorted(FACTS)
    assert "1999" not in scene.summary
    (job,) = [job for job in await home.jobs("done", "scenes") if job.key == "model"]
    assert job.result == {
        "refused: no citation": 1,
        "refused: foreign citation": 1,
        "refused: not in the facts it cites": 1,
    }


async def test_forgotten_facts_take_the_words_with_them(home: Home) -> None:
    await _say_all(home)
    await home.work(model())
    scene = await _gateway(home)
    (joined,) = [line for line in scene.lines if len(line.atoms) == 2]
    await home.memory.forget([joined.atoms[0]], scope=ME)
    await home.work(model())
    told = json.dumps(
        [version.lines for version in await home.house.scenes.versions(await home.owner(), scene.id)], default=str
    )
    gone = next(text for text in FACTS if joined.text.startswith(text.rstrip(".")))
    after = await _gateway(home)
    assert gone.rstrip(".") not in told + after.summary
    assert len({one for line in after.lines for one in line.atoms}) == 3


async def test_a_scene_that_changed_while_the_model_thought_is_left_to_the_next_edit(home: Home) -> None:
    await _say_all(home)

    class Slow(ScriptedModel):
        async def complete(self, prompt: Prompt, /) -> Any:
            if prompt.name == "dossier" and len(self.prompts("dossier")) == 0:
                scene = await _gateway(home)
                await home.memory.forget([scene.lines[0].atoms[0]], scope=ME)
            return await super().complete(prompt)

    scripts = {
        "extract": learn_all,
        "arbiter": lambda _: {"decisions": []},
        "dossier": put_together,
        "portrait": repeat,
        "shelf": lambda _: {"merges": []},
    }
    await home.work(Slow(scripts))
    atoms = {atom.id for atom in await home.active()}
    assert {one for line in (await _gateway(home)).lines for one in line.atoms} == atoms
    assert len(atoms) == 3


# Persona
async def _habits(home: Home) -> None:
    for day, topic in enumerate(("Orion gateway", "Vega billing", "Orion gateway", "Vega billing")):
        said = f"I prefer small commits in the {topic}, number {day} of them."
        at = home.clock.advance(DAY) if day else home.clock()
        await home.say(said, at=at)
        await home.say(f"The {topic} has a test suite in folder {day}.", at=at + MINUTE)


async def _standing(home: Home) -> list[Any]:
    portrait = await home.house.personas.current(await home.owner())
    return [line for line in portrait.lines if line.status is PersonaStatus.STANDING]


async def test_the_gate_decides_which_lines_stand_and_the_model_words_them(home: Home) -> None:
    await _habits(home)
    scripted = model()
    await home.work(scripted)
    (line,) = await _standing(home)
    assert line.text.startswith("Note: I prefer small commits")
    assert len(line.atoms) >= 3
    assert len(scripted.prompts("portrait")) == 1
    again = model()
    async with home.house.database.transaction():
        await home.house.jobs.enqueue(await home.owner(), _persona_job())
    await home.work(again)
    assert await _standing(home) == [line], "the same evidence keeps its words and costs nothing"
    assert again.prompts("portrait") == []
    assert (await home.memory.persona(scope=ME))["markdown"].count("Note: I prefer small") == 1


def _persona_job() -> Any:
    from stenolith.store.jobs import JobRequest

    return JobRequest(kind="persona", key="")


@pytest.mark.parametrize("said", ["no", {"lines": [{"group": 1, "text": "Is a control freak with 3 cats."}]}])
async def test_a_line_that_no_sentence_fits_keeps_the_rules_words(home: Home, said: Said) -> None:
    await _habits(home)
    await home.work(model(portrait=[said, said]))
    (line,) = await _standing(home)
    assert line.text.startswith('Has said repeatedly: "I prefer small commits')
    async with home.house.database.transaction():
        await home.house.jobs.enqueue(await home.owner(), _persona_job())
    again = model()
    await home.work(again)
    assert again.prompts("portrait") == []


async def test_a_portrait_without_a_model_stands_at_once_and_is_worded_later(home: Home) -> None:
    await _habits(home)
    await home.work(model(portrait=[ModelUnavailable("down")]))
    (line,) = await _standing(home)
    assert line.text.startswith("Has said repeatedly")
    home.clock.advance(10 * MINUTE)
    await home.work(model())
    assert (await _standing(home))[0].text.startswith("Note:")


async def test_a_line_goes_with_its_evidence_in_every_projection_and_does_not_come_back(home: Home) -> None:
    await _habits(home)
    await home.work(model())
    (line,) = await _standing(home)
    records = {source.record_id for atom in await home.active() if atom.id in line.atoms for source in atom.sources}
    shown = await home.memory.show(line.id, scope=ME)
    assert all(one in json.dumps(shown, default=str) for one in records)
    await home.memory.forget(sorted(records), scope=ME)
    await home.work(model())
    assert await _standing(home) == []
    assert "small commits" not in (await home.memory.persona(scope=ME))["markdown"]
    files = folder_of(home.house.home, await home.house.owners.scope_of(await home.owner()))
    assert all("small commits" not in path.read_text() for path in files.rglob("*.md"))
    every = await home.house.personas.versions(await home.owner())
    assert "small commits" not in str(every)
