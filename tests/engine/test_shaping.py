"""A model splits and merges scenes: every line is kept, every name leads on, and nothing is undone by the rules."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from homes import ME, Home, open_home
from test_scene_edits import settle, titled
from test_wording import learn_all, lines_of, model, put_together

from stenolith.errors import InvalidInput, ModelUnavailable, NotFound
from stenolith.llm.port import Prompt
from stenolith.model.identity import Scope
from stenolith.model.scene import Line, Scene
from stenolith.store.files import folder_of
from stenolith.store.jobs import JobRequest
from stenolith.store.scenes import SceneDraft
from stenolith.testing.backends import BACKENDS
from stenolith.testing.model import Said

GATEWAY = (
    "The Orion gateway runs on port 8443.",
    "The Orion gateway logs go to Loki.",
    "The Orion gateway belongs to the platform team.",
    "The Orion gateway must not be restarted at noon.",
)
OFFICE = (
    "The Orion office party is on the roof.",
    "The Orion office party has a band.",
    "The Orion office party starts in June.",
)
NOTHING: dict[str, Any] = {"title": "", "summary": "", "edits": [], "split": []}


@pytest.fixture(params=sorted(BACKENDS))
async def home(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Home]:
    async with open_home(tmp_path / "home", backend=request.param) as opened:
        yield opened


@pytest.fixture
async def lite(tmp_path: Path) -> AsyncIterator[Home]:
    """A home on SQLite, for what the database has no part in."""
    async with open_home(tmp_path / "home") as opened:
        yield opened


def about(subject: str | None = None) -> Any:
    """Learn what is said as facts about one *subject*, or each about its first three words."""

    def learn(prompt: Prompt) -> Said:
        said = [line for line in lines_of(prompt, "conversation") if line["role"] == "user"]
        names = [subject or " ".join(line["text"].split()[1:3]) for line in said]
        told = zip(said, names, strict=True)
        return {"memories": [{"text": one["text"], "sources": [one["id"]], "subject": name} for one, name in told]}

    return learn


def quiet(_: Prompt) -> Said:
    return NOTHING


async def scenes(home: Home) -> list[Scene]:
    return sorted(await home.house.scenes.listing(await home.owner()), key=lambda scene: (scene.created_at, scene.id))


async def tally(home: Home) -> dict[str, int]:
    found: dict[str, int] = {}
    for job in await home.jobs("done", "scenes"):
        for name, count in job.result.items():
            found[name] = found.get(name, 0) + count
    return found


# Split
def split(*words: str, title: str = "Orion office party") -> Any:
    """Give the facts with one of *words* a dossier of their own."""

    def answer(prompt: Prompt) -> Said:
        facts = [one["fact"] for one in lines_of(prompt, "facts") if any(word in one["text"] for word in words)]
        left = len(lines_of(prompt, "facts")) - len(facts)
        return {**NOTHING, "split": [{"title": title, "facts": facts}] if facts and left else []}

    return answer


async def _one_scene(home: Home, **scripts: Any) -> None:
    for text in (*GATEWAY, *OFFICE):
        await home.say(text)
    await home.work(model(**{"extract": about("Orion"), "dossier": quiet, **scripts}))


async def test_a_split_keeps_every_line_and_the_old_name_says_where_they_went(home: Home) -> None:
    await _one_scene(home, dossier=split("party"))
    old, new = await scenes(home)
    assert (new.title, new.name) == ("Orion office party", "Orion-office-party")
    assert {line.text for line in old.lines} == {*GATEWAY}
    assert {line.text for line in new.lines} == {*OFFICE}
    for way in ("scene", "show"):
        found = await getattr(home.memory, way)(old.name, scope=ME)
        assert found["id"] == old.id
        assert [one["name"] for one in found["moved_to"]] == [new.name]
        assert found["redirected_from"] is None
    assert (await home.memory.scene(new.name, scope=ME))["moved_to"] == []
    atoms = {atom.text: atom.scene_id for atom in await home.active()}
    assert {atoms[text] for text in OFFICE} == {new.id}
    assert (await home.memory.search("scenes", "roof party band", scope=ME))["items"][0]["id"] == new.id
    assert "party" not in old.summary + (await scenes(home))[0].summary
    files = folder_of(home.house.home, await home.house.owners.scope_of(await home.owner()))
    assert OFFICE[0] in (files / "scenes" / f"{new.name}.md").read_text("utf-8")
    assert (await tally(home))["split"] == 1


async def test_no_rule_puts_together_what_a_model_split(home: Home) -> None:
    """All of it has one subject, for which rules have one scene."""
    await _one_scene(home, dossier=split("party"))
    before = await scenes(home)
    for scripted in (None, model(dossier=quiet, shelf=everything)):
        await settle(home, scripted)
    assert [(one.id, one.lines) for one in await scenes(home)] == [(one.id, one.lines) for one in before]
    assert (await tally(home)).get("merged", 0) == 0


async def test_a_successor_follows_its_predecessor_into_the_part(home: Home) -> None:
    await _one_scene(home, dossier=split("party"))
    (roof,) = [atom for atom in await home.active() if "roof" in atom.text]
    await home.memory.correct("The Orion office party is in the cellar.", scope=ME, atom_id=roof.id)
    await settle(home)
    old, new = await scenes(home)
    assert any("cellar" in line.text for line in new.lines)
    assert not any("cellar" in line.text for line in old.lines)


REFUSED = {
    "too few": (split("roof", title="Orion roof"), "too few facts"),
    "foreign": (lambda _: {**NOTHING, "split": [{"title": "Orion", "facts": [99, 1, 2]}]}, "foreign fact"),
    "shapeless": (lambda _: {**NOTHING, "split": ["the party"]}, "not a split"),
    "invented title": (split("party", title="A great success of 2031"), "no title that its facts bear out"),
    "no title": (split("party", title=" "), "no title that its facts bear out"),
    "reserved title": (split("party", title="Personal notes"), "no title that its facts bear out"),
}


@pytest.mark.parametrize(("dossier", "why"), REFUSED.values(), ids=REFUSED.keys())
async def test_a_split_that_cannot_stand_is_refused_and_counted(lite: Home, dossier: Any, why: str) -> None:
    await _one_scene(lite, dossier=dossier)
    (only,) = await scenes(lite)
    assert len(only.lines) == 7
    assert (await tally(lite))[f"refused split: {why}"] == 1


async def test_a_contradiction_is_not_torn(home: Home) -> None:
    def disputed(prompt: Prompt) -> Said:
        said = [line for line in lines_of(prompt, "conversation") if line["role"] == "user"]
        place = {"attribute": "place of the party", "subject": "Orion"}
        more = [place if "roof" in one["text"] or "cellar" in one["text"] else {"subject": "Orion"} for one in said]
        told = zip(said, more, strict=True)
        return {"memories": [{"text": one["text"], "sources": [one["id"]], **rest} for one, rest in told]}

    await home.say("The Orion gateway team wants its party in the cellar.")
    await _one_scene(home, extract=disputed, dossier=split("office party"))
    (only,) = await scenes(home)
    (dispute,) = [line for line in only.lines if "↔" in line.text]
    assert len(dispute.atoms) == 2
    assert (await tally(home))["refused split: a line would be torn"] == 1


async def test_what_a_person_wrote_into_a_scene_stays_there(home: Home) -> None:
    await _one_scene(home)
    (only,) = await scenes(home)
    page = (await home.memory.scene(only.name, scope=ME))["markdown"]
    await home.memory.edit_scene(
        only.name, page.replace("- " + OFFICE[0], "- The party is on the roof of Orion."), scope=ME
    )
    await home.house.cursors.reset(await home.owner(), "dossier", only.id)
    await settle(home, model(dossier=split("party")))
    assert len(await scenes(home)) == 1
    assert (await tally(home))["refused split: a person wrote a line of it"] >= 1


# Merge
def everything(prompt: Prompt) -> Said:
    return {"merges": [{"dossiers": [one["dossier"] for one in lines_of(prompt, "dossiers")], "reason": "one thing"}]}


LOGIN = tuple(f"The mobile-login screen shows banner {number}." for number in "ABCD")
SIGNIN = tuple(f"The sign-in page of mobile-login shows field {number}." for number in "ABCD")
OTHER = tuple(f"The cellar-wine list names bottle {number}." for number in "ABCD")


async def _apart(home: Home, *groups: tuple[str, ...], **scripts: Any) -> list[Scene]:
    """Make a scene of each group, by rules."""
    owner = await home.owner()
    for group in groups:
        for text in group:
            await home.say(text)
        await home.work(model(extract=about(f"thing {group[0].split()[1]}"), dossier=quiet, **scripts), "distill")
        atoms = [atom for atom in await home.active() if atom.text in group]
        lines = [{"text": atom.text, "atoms": (atom.id,), "section": "background"} for atom in atoms]
        draft = _draft(group[0].split()[1], lines)
        scene = await home.house.scenes.put(owner, draft, "rules")
        await home.house.atoms.set_scene(owner, [atom.id for atom in atoms], scene.id)
    return await scenes(home)


def _draft(name: str, lines: list[dict[str, Any]]) -> SceneDraft:
    return SceneDraft(name=name, title=name, lines=tuple(Line(**line) for line in lines))


async def merge(home: Home, shelf: Any = everything) -> None:
    async with home.house.database.transaction():
        await home.house.jobs.enqueue(await home.owner(), JobRequest(kind="scenes", key="model"))
    await home.work(model(extract=learn_all, dossier=quiet, shelf=shelf))


async def test_two_scenes_about_one_thing_become_one_and_the_old_name_leads_there(home: Home) -> None:
    kept, gone = await _apart(home, LOGIN, SIGNIN)
    await merge(home)
    (only,) = await scenes(home)
    assert only.id == kept.id
    assert {line.text for line in only.lines} == {*LOGIN, *SIGNIN}
    for name in (gone.name, gone.id, gone.title.upper()):
        for way in ("scene", "show"):
            found = await getattr(home.memory, way)(name, scope=ME)
            assert (found["id"], found["redirected_from"]) == (kept.id, gone.name)
    assert (await home.memory.scene(kept.name, scope=ME))["redirected_from"] is None
    listed = [(await home.memory.list("scenes", scope=ME, status=one))["items"] for one in ("live", "archived")]
    assert [[one["id"] for one in items] for items in listed] == [[kept.id], []], "a name that leads on is no scene"
    found = await home.memory.search("scenes", "sign-in page field", scope=ME)
    assert [one["id"] for one in found["items"]] == [kept.id]
    assert {atom.scene_id for atom in await home.active()} == {kept.id}
    await settle(home)
    assert {line.text for line in (await scenes(home))[0].lines} == {*LOGIN, *SIGNIN}, "rules leave it so"
    assert (await tally(home))["merged"] == 1


async def test_the_shelf_is_sorted_once_for_each_new_scene(home: Home) -> None:
    await _apart(home, LOGIN, SIGNIN)
    await merge(home, lambda _: {"merges": []})
    scripted = model(extract=learn_all, dossier=quiet, shelf=everything)
    await settle(home, scripted)
    assert scripted.prompts("shelf") == []
    assert len(await scenes(home)) == 2


async def test_a_model_that_is_down_leaves_the_shelf_for_later(home: Home) -> None:
    await _apart(home, LOGIN, SIGNIN)
    await merge(home, [ModelUnavailable("down")])
    assert len(await scenes(home)) == 2
    home.clock.advance(3_600_000)
    await home.work(model(dossier=quiet, shelf=everything))
    assert len(await scenes(home)) == 1


WRONG = {
    "alone": ({"dossiers": [1], "reason": ""}, "not a merge"),
    "foreign": ({"dossiers": [1, 9], "reason": ""}, "no such dossier"),
    "itself": ({"dossiers": [1, 1], "reason": ""}, "no such dossier"),
    "shapeless": ("all of it", "not a merge"),
    "unrelated": ({"dossiers": [1, 3], "reason": ""}, "nothing in common"),
}


@pytest.mark.parametrize(("proposal", "why"), WRONG.values(), ids=WRONG.keys())
async def test_a_merge_that_cannot_stand_is_refused_and_counted(lite: Home, proposal: Any, why: str) -> None:
    before = await _apart(lite, LOGIN, SIGNIN, OTHER)
    await merge(lite, lambda _: {"merges": [proposal]})
    assert {one.id for one in await scenes(lite)} == {one.id for one in before}
    assert (await tally(lite))[f"refused merge: {why}"] == 1


async def test_each_scene_is_merged_once_and_prose_merges_nothing(home: Home) -> None:
    await _apart(home, LOGIN, SIGNIN, OTHER)
    await merge(home, ["I would merge 1 and 2.", "really"])
    assert len(await scenes(home)) == 3
    assert (await tally(home))["shelf left as it is: unreadable"] == 1


async def test_the_title_that_a_person_gave_stays_and_two_such_titles_stay_two(home: Home) -> None:
    older, younger = await _apart(home, LOGIN, SIGNIN)
    page = (await home.memory.scene(younger.name, scope=ME))["markdown"]
    await home.memory.edit_scene(younger.name, titled("Kim's sign-in")(page), scope=ME)
    await merge(home)
    (only,) = await scenes(home)
    assert (only.id, only.title) == (younger.id, "Kim's sign-in")
    assert (await home.memory.scene(older.name, scope=ME))["id"] == younger.id


async def test_a_chain_of_merges_of_any_length_leads_to_its_end_and_never_in_a_circle(home: Home) -> None:
    owner, all_ = await home.owner(), home.house.scenes
    chain = [
        await all_.put(owner, _draft(f"s{at}", [{"text": "x", "atoms": (f"atm_{at}",)}]), "rules") for at in range(40)
    ]
    for old, new in pairwise(chain):
        await all_.redirect(owner, old.id, new.id)
    for one in chain:
        assert (await all_.get(owner, one.name)).id == chain[-1].id
    for one in chain:
        with pytest.raises(InvalidInput, match="into itself"):
            await all_.redirect(owner, chain[-1].id, one.id)
    with pytest.raises(NotFound):
        await all_.redirect(owner, chain[0].id, "nowhere")
    assert await all_.get(owner, chain[0].name) is not None


async def test_a_name_that_leads_on_is_given_to_no_new_scene(home: Home) -> None:
    kept, gone = await _apart(home, LOGIN, SIGNIN)
    await merge(home)
    await home.say(f"The {gone.name} handbook is printed.")
    await home.work(model(extract=about(gone.name), dossier=quiet))
    assert (await home.memory.scene(gone.name, scope=ME))["id"] == kept.id


async def test_a_merge_finds_the_contradiction_between_both(home: Home) -> None:
    def colour(prompt: Prompt) -> Said:
        said = [line for line in lines_of(prompt, "conversation") if line["role"] == "user"]
        one = {"subject": "mobile-login", "attribute": "colour"}
        return {"memories": [{"text": line["text"], "sources": [line["id"]], **one} for line in said]}

    owner = await home.owner()
    for text in ("The mobile-login button is red.", "The mobile-login button is blue."):
        await home.say(text)
        await home.work(model(extract=colour, dossier=quiet), "distill")
    for atom in await home.active():
        line = {"text": atom.text, "atoms": (atom.id,), "section": "background"}
        await home.house.scenes.put(owner, _draft(atom.text.split()[-1], [line]), "rules")
    await merge(home)
    await settle(home, model(dossier=quiet))
    (only,) = await scenes(home)
    assert [line.section for line in only.lines if "↔" in line.text] == ["open points"]


# Bounds
async def test_the_coldest_scene_is_archived_opened_by_name_and_found_when_asked_for(home: Home) -> None:
    owner, most = await home.owner(), home.house.settings.distill.max_scenes
    for at in range(most + 2):
        word = "".join(chr(97 + (at * step) % 26) for step in (3, 5, 7, 11)) + "ium"
        there = Scope(user=ME.user, session_key=f"k{at}", session_id=f"k{at}")
        for part in ("alpha", "beta"):
            await home.say(f"{word} {word[::-1]}{part} depot{at:02}.", scope=there)
            home.clock.advance(3_600_000)
        await home.work(model(extract=about(word), dossier=put_together), "distill")
    await settle(home)
    live, shelved = [await home.house.scenes.listing(owner, archived=one) for one in (False, True)]
    assert (len(live), len(shelved)) == (most, 2)
    (cold,) = [scene for scene in shelved if "depot00" in str(scene.lines)]
    assert "depot00" in (await home.memory.scene(cold.name, scope=ME))["markdown"]
    asked = {"query": "aaaaium", "scope": ME}
    assert (await home.memory.search("scenes", **asked))["items"] == []
    found = await home.memory.search("scenes", filters=home.memory.filters(include_history=True), **asked)
    assert [(one["id"], one["status"]) for one in found["items"]] == [(cold.id, "archived")]
    assert len((await home.memory.search("memories", **asked))["items"]) == 2, "its facts are as near as ever"
