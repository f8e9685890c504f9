"""Contracts of scenes and personas, as test classes: see `stenolith.testing.stores` for how to use them."""
# ruff: noqa: S101  # a contract asserts

from __future__ import annotations

from dataclasses import replace

import pytest

from stenolith.errors import InvalidInput, NotFound
from stenolith.model.persona import PersonaLine, PersonaStatus
from stenolith.model.scene import Line, Section
from stenolith.store.database import Database
from stenolith.store.persona import Personas
from stenolith.store.scenes import SceneDraft, Scenes
from stenolith.testing.clock import FrozenClock
from stenolith.testing.stores import two_owners

MOBILE = Line(text="移动端还在用旧鉴权模块", atoms=("atm_1",), section=Section.BACKGROUND)
KEEP = Line(text="Do not rewrite it before March", atoms=("atm_1", "atm_2"), section=Section.CONSTRAINTS)


def scene(name: str = "旧鉴权模块", *lines: Line, **given: object) -> SceneDraft:
    """Return the draft of a scene about the seed's module."""
    shape: dict[str, object] = {"summary": "旧模块", "terms": ("鉴权", "auth"), **given}
    return SceneDraft(name=name, title=name, lines=lines or (MOBILE, KEEP), **shape)  # type: ignore[arg-type]  # test


def trait(text: str, *atoms: str, **given: object) -> PersonaLine:
    """Return a standing line without an id."""
    shape: dict[str, object] = {"id": "", "section": "style", "status": PersonaStatus.STANDING, **given}
    return PersonaLine(text=text, atoms=atoms or ("atm_1",), **shape)  # type: ignore[arg-type]  # test


class ScenesContract:
    """What `Scenes` promises."""

    async def test_the_version_moves_only_when_something_changes(self, database: Database) -> None:
        """Writing the same again leaves version, times and bytes; every version can be read."""
        owner, _ = await two_owners(database)
        clock = FrozenClock()
        scenes = Scenes(database, clock)
        first = await scenes.put(owner, scene(), "rules")
        clock.advance(1000)
        assert await scenes.put(owner, scene(), "rules") == first
        second = await scenes.put(owner, scene(summary="bleibt"), "ana")
        assert (second.id, second.version, second.created_at) == (first.id, 2, first.created_at)
        assert second.updated_at == first.updated_at + 1000
        kept = await scenes.versions(owner, first.id)
        assert [(one.version, one.author, one.summary, one.lines) for one in kept] == [
            (1, "rules", "旧模块", (MOBILE, KEEP)),
            (2, "ana", "bleibt", (MOBILE, KEEP)),
        ]

    async def test_a_line_without_atoms_is_refused(self, database: Database) -> None:
        """Evidence before knowledge."""
        owner, _ = await two_owners(database)
        with pytest.raises(InvalidInput):
            await Scenes(database).put(owner, scene("x", Line(text="said nobody", atoms=())), "rules")

    async def test_a_scene_can_be_renamed_but_not_over_another(self, database: Database) -> None:
        """A name leads to one scene of an owner."""
        owner, _ = await two_owners(database)
        scenes = Scenes(database)
        first = await scenes.put(owner, scene("one"), "rules")
        await scenes.put(owner, scene("two"), "rules")
        assert (await scenes.put(owner, scene("three", id=first.id), "rules")).id == first.id
        assert await scenes.get(owner, "one") is None
        with pytest.raises(InvalidInput):
            await scenes.put(owner, scene("two", id=first.id), "rules")
        with pytest.raises(NotFound):
            await scenes.put(owner, scene("four", id="scn_unknown"), "rules")

    async def test_merged_scenes_lead_to_the_one_that_stayed(self, database: Database) -> None:
        """Redirects are followed by name and by id, through chains, and never in a circle."""
        owner, _ = await two_owners(database)
        scenes = Scenes(database)
        one, two, three = [await scenes.put(owner, scene(name), "rules") for name in ("one", "two", "three")]
        await scenes.redirect(owner, one.id, two.id)
        await scenes.redirect(owner, two.id, three.id)
        for name in ("one", one.id, "two", "three"):
            found = await scenes.get(owner, name)
            assert found
            assert found.id == three.id
        with pytest.raises(InvalidInput):
            await scenes.redirect(owner, three.id, one.id)
        assert [kept.name for kept in await scenes.listing(owner)] == ["three"]
        back = await scenes.put(owner, scene("one", summary="again"), "rules")
        assert (back.id, await scenes.get(owner, "one")) == (one.id, back)

    async def test_the_directory_shows_live_scenes_latest_first(self, database: Database) -> None:
        """An archived scene is out of the directory, can be listed, and comes back when written."""
        owner, _ = await two_owners(database)
        clock = FrozenClock()
        scenes = Scenes(database, clock)
        for name in ("one", "two", "three"):
            clock.advance(1)
            await scenes.put(owner, scene(name), "rules")
        two = await scenes.get(owner, "two")
        assert two
        await scenes.archive(owner, two.id)
        assert [kept.name for kept in await scenes.listing(owner)] == ["three", "one"]
        assert [kept.name for kept in await scenes.listing(owner, limit=1, skip=1)] == ["one"]
        assert [kept.archived for kept in await scenes.listing(owner, archived=True)] == [True]
        clock.advance(1)
        await scenes.put(owner, scene("two"), "rules")
        assert [kept.name for kept in await scenes.listing(owner)] == ["two", "three", "one"]

    async def test_a_change_of_an_atom_marks_the_scenes_that_cite_it(self, database: Database) -> None:
        """Exactly those, until they are written again."""
        owner, other = await two_owners(database)
        scenes = Scenes(database)
        one = await scenes.put(owner, scene("one", MOBILE), "rules")
        two = await scenes.put(owner, scene("two", KEEP), "rules")
        await scenes.put(owner, scene("three", replace(MOBILE, atoms=("atm_12", "atmx1"))), "rules")
        await scenes.put(other, scene("theirs", MOBILE), "rules")
        assert await scenes.mark_stale(owner, ["atm_2"]) == [two.id]
        assert await scenes.mark_stale(owner, ["atm_1"]) == sorted([one.id, two.id])
        assert {kept.id for kept in await scenes.stale(owner)} == {one.id, two.id}
        assert await scenes.stale(other) == []
        await scenes.put(owner, scene("one", MOBILE), "rules")
        assert [kept.id for kept in await scenes.stale(owner)] == [two.id]

    async def test_a_forgotten_atom_leaves_no_words_in_any_version(self, database: Database) -> None:
        """C15: lines that cite it go, in archived scenes and in history too; what remains is due for a rewrite."""
        owner, other = await two_owners(database)
        scenes = Scenes(database)
        secret = Line(text="locker code on the blue card", atoms=("atm_9", "atm_1"))
        one = await scenes.put(owner, scene("one", MOBILE, secret, summary="locker code"), "rules")
        await scenes.put(owner, scene("one", MOBILE), "rules")
        two = await scenes.put(owner, scene("two", secret, summary="locker code"), "rules")
        await scenes.archive(owner, two.id)
        theirs = await scenes.put(other, scene("one", secret), "rules")
        assert [changed.id for changed in await scenes.scrub(owner, ["atm_9"])] == [two.id]
        assert "locker" not in repr(await scenes.export(owner))
        assert [kept.lines for kept in await scenes.versions(owner, one.id)] == [(MOBILE,), (MOBILE,)]
        assert [kept.archived for kept in await scenes.listing(owner, archived=True)] == [True]
        assert await scenes.get(other, "one") == theirs
        assert await scenes.scrub(owner, ["atm_9"]) == []

    async def test_an_export_comes_back_the_same(self, database: Database) -> None:
        """C17: ids, versions, redirects and marks."""
        owner, other = await two_owners(database)
        scenes = Scenes(database)
        one = await scenes.put(owner, scene("one"), "rules")
        two = await scenes.put(owner, scene("two", summary="b"), "ana")
        await scenes.put(owner, scene("two", summary="c"), "ana")
        await scenes.redirect(owner, one.id, two.id)
        await scenes.mark_stale(owner, ["atm_1"])
        kept = await scenes.export(owner)
        assert [await scenes.delete(owner, one.id), await scenes.delete(owner, two.id)] == [True, True]
        assert [await scenes.restore(other, item) for item in kept] == [True, True]
        assert await scenes.export(other) == kept
        assert [await scenes.restore(other, item) for item in kept] == [False, False]

    async def test_a_foreign_owner_sees_and_changes_nothing(self, database: Database) -> None:
        """C14: reads are empty, changes find nothing."""
        owner, other = await two_owners(database)
        scenes = Scenes(database)
        mine = await scenes.put(owner, scene(), "rules")
        assert await scenes.get(other, mine.name) is None
        assert await scenes.get(other, mine.id) is None
        reads = [await scenes.listing(other), await scenes.versions(other, mine.id), await scenes.export(other)]
        changes = [await scenes.mark_stale(other, ["atm_1"]), await scenes.scrub(other, ["atm_1"])]
        assert not any(reads + changes)
        assert not await scenes.delete(other, mine.id)
        for change in (scenes.archive(other, mine.id), scenes.put(other, scene(id=mine.id), "x")):
            with pytest.raises(NotFound):
                await change
        assert await scenes.get(owner, mine.name) == mine


class PersonasContract:
    """What `Personas` promises."""

    async def test_the_same_portrait_again_changes_nothing(self, database: Database) -> None:
        """Ids, versions and times stay, whatever the order in which the lines come."""
        owner, _ = await two_owners(database)
        clock = FrozenClock()
        personas = Personas(database, clock)
        lines = [trait("回答要短", "atm_1", "atm_2"), trait("uses vim", section="tools")]
        first = await personas.replace(owner, lines)
        clock.advance(1000)
        assert await personas.replace(owner, lines[::-1]) == first == await personas.current(owner)
        assert await personas.replace(owner, first.lines) == first
        assert (first.version, len(await personas.versions(owner))) == (1, 1)

    async def test_only_the_line_that_changed_gains_a_version(self, database: Database) -> None:
        """A changed line keeps its id and place; a line left out stays in the earlier portraits."""
        owner, _ = await two_owners(database)
        clock = FrozenClock()
        personas = Personas(database, clock)
        before = (await personas.replace(owner, [trait("a"), trait("b"), trait("c")])).lines
        clock.advance(1000)
        kept, wider, gone = before
        after = await personas.replace(owner, [kept, replace(wider, text="b!"), trait("d")])
        assert [(line.text, line.version) for line in after.lines] == [("a", 1), ("b!", 2), ("d", 1)]
        assert (after.version, after.lines[0], after.lines[1].id) == (2, kept, wider.id)
        assert [portrait.lines for portrait in await personas.versions(owner)] == [before, after.lines]
        assert gone in before

    async def test_two_lines_with_the_same_words_stay_two(self, database: Database) -> None:
        """Each old line is continued at most once."""
        owner, _ = await two_owners(database)
        personas = Personas(database)
        lines = [trait("a", "atm_1"), trait("a", "atm_2")]
        assert len((await personas.replace(owner, lines[:1])).lines) == 1
        assert [line.atoms for line in (await personas.replace(owner, lines)).lines] == [("atm_1",), ("atm_2",)]

    async def test_a_line_without_atoms_is_refused(self, database: Database) -> None:
        """Evidence before knowledge."""
        owner, _ = await two_owners(database)
        with pytest.raises(InvalidInput):
            await Personas(database).replace(owner, [replace(trait("a"), atoms=())])

    async def test_a_forgotten_atom_leaves_no_words_in_any_portrait(self, database: Database) -> None:
        """C15 for the persona and its history."""
        owner, other = await two_owners(database)
        personas = Personas(database)
        await personas.replace(owner, [trait("blue card", "atm_9", "atm_1"), trait("tea")])
        await personas.replace(owner, [trait("tea"), trait("card is blue", "atm_9")])
        theirs = await personas.replace(other, [trait("blue card", "atm_9")])
        assert [line.text for line in await personas.citing(owner, ["atm_9"])] == ["card is blue"]
        assert [line.text for line in (await personas.scrub(owner, ["atm_9"])).lines] == ["tea"]
        assert "blue" not in repr(await personas.versions(owner))
        assert await personas.current(other) == theirs
        assert await personas.scrub(owner, ["atm_9"]) == await personas.current(owner)

    async def test_an_export_comes_back_the_same(self, database: Database) -> None:
        """C17: lines in their order, versions, and every earlier portrait."""
        owner, other = await two_owners(database)
        personas = Personas(database)
        await personas.replace(owner, [trait("b"), trait("a", status=PersonaStatus.CANDIDATE, missing="2 days")])
        current = await personas.replace(owner, [trait("b", "atm_4"), trait("c")])
        earlier = await personas.versions(owner)
        moved = replace(current, lines=tuple(replace(line, id=f"{line.id}x") for line in current.lines))
        assert await personas.restore(other, moved, earlier)
        assert await personas.current(other) == moved
        assert await personas.versions(other) == earlier
        assert not await personas.restore(other, moved, earlier)
