"""Contract of the full-text index, as a test class over a ``database`` fixture (see `testing.stores`)."""
# ruff: noqa: S101  # a contract asserts

from __future__ import annotations

from collections.abc import Sequence

from stenolith.model.atom import AtomDraft, Kind, Source
from stenolith.model.identity import Scope
from stenolith.model.text import query_terms
from stenolith.store.atom_rows import Filing
from stenolith.store.atoms import Atoms
from stenolith.store.database import Database
from stenolith.store.indexing import Document, SearchWriter
from stenolith.store.owners import Owners
from stenolith.store.records import Record, Records
from stenolith.store.scenes import SceneDraft, Scenes
from stenolith.store.search import Filter, Layer, SearchIndex
from stenolith.testing.clock import START_MS, FrozenClock

DAY_MS = 86_400_000


class World:
    """A few indexed rows: what the tests of search and recall start from."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.clock = FrozenClock()
        self.atoms = Atoms(database, self.clock)
        self.records = Records(database)
        self.scenes = Scenes(database, self.clock)
        self.writer = SearchWriter(database)
        self.index = SearchIndex(database)

    async def owner(self, user: str) -> int:
        """Return the number of a user."""
        return await Owners(self.database).intern(Scope(user=user))

    async def remember(self, owner: int, texts: Sequence[str], **given: object) -> list[str]:
        """Store and index one atom for each text; return their ids."""
        shape: dict[str, object] = {"kind": Kind.FACT, "sources": (Source(record_id="rec_1"),), **given}
        found = []
        async with self.database.transaction():
            for text in texts:
                draft = AtomDraft(text=text, **shape)  # type: ignore[arg-type]  # a test names the fields it means
                atom = await self.atoms.add(owner, draft, Filing(normal_form=text.casefold()))
                found.append(atom.id)
            await self.writer.index(
                [
                    Document(owner_id=owner, layer=Layer.ATOM, ref_id=ref, text=text, speaker="user")
                    for ref, text in zip(found, texts, strict=True)
                ]
            )
        return found

    async def say(self, owner: int, texts: Sequence[str], session: int = 1, at_ms: int = START_MS) -> list[str]:
        """Store and index the lines of a dialogue, one minute apart; return the records' ids."""
        records = [
            _record(owner, text, session=session, seq=seq, at_ms=at_ms + seq * 60_000)
            for seq, text in enumerate(texts, 1)
        ]
        async with self.database.transaction():
            await self.records.append(records)
            await self.writer.index([document(record) for record in records])
        return [record.record_id for record in records]

    async def find(self, owner: int, layer: Layer, query: str, **given: object) -> list[str]:
        """Return the ids of the candidates for a query, in the database's rough order."""
        conditions = Filter(now_ms=self.clock(), **given)  # type: ignore[arg-type]  # as above
        matches = await self.index.look_up(owner, layer, query_terms(query), conditions)
        return [candidate.ref_id for candidate in matches.candidates]


def document(record: Record) -> Document:
    """Return what the index is told of a record."""
    return Document(
        owner_id=record.owner_id,
        layer=Layer.RECORD,
        ref_id=record.record_id,
        text=record.message_text,
        speaker=record.speaker or record.role,
        label=record.speaker,
        occurred_ms=record.timestamp,
        session_ref=record.session_ref,
        seq=record.seq,
    )


def _record(owner: int, text: str, *, session: int, seq: int, at_ms: int) -> Record:
    return Record(
        record_id=f"rec_{owner}_{session}_{seq}",
        session_key=f"key-{session}",
        session_id=f"key-{session}",
        team_id="default",
        user_id="default",
        agent_id="default",
        task_id="",
        role="user" if seq % 2 else "assistant",
        message_text=text,
        recorded_at="",
        timestamp=at_ms,
        owner_id=owner,
        session_ref=owner * 100 + session,
        seq=seq,
        message_id=f"msg_{owner}_{session}_{seq}",
        speaker="",
        timestamp_source="host",
        distillable=True,
        journal_day="2026-08-02",
    )


class SearchContract:
    """What the index promises: the right rows, nobody else's, and no slot for a row that may not show."""

    async def test_words_of_another_owner_are_not_found(self, database: Database) -> None:
        """Rows and word counts belong to one owner."""
        world = World(database)
        ana, ben = await world.owner("ana"), await world.owner("ben")
        (mine,) = await world.remember(ana, ["The gateway checks tokens"])
        await world.remember(ben, ["The gateway is down"])
        assert await world.find(ana, Layer.ATOM, "gateway") == [mine]
        matches = await world.index.look_up(ana, Layer.ATOM, query_terms("gateway"), Filter(now_ms=0))
        assert (matches.statistics.rows, matches.statistics.counts["gateway"]) == (1, 1)

    async def test_layers_do_not_mix(self, database: Database) -> None:
        """A record is no atom."""
        world = World(database)
        ana = await world.owner("ana")
        said = await world.say(ana, ["The gateway checks tokens"])
        assert await world.find(ana, Layer.ATOM, "gateway") == []
        assert await world.find(ana, Layer.RECORD, "gateway") == said

    async def test_expired_and_superseded_rows_take_no_slots(self, database: Database) -> None:
        """Forty expired rows nearer to the query leave the five live ones their places."""
        world = World(database)
        ana = await world.owner("ana")
        await world.remember(ana, [f"gateway port {n}" for n in range(40)], expires_at=world.clock() + DAY_MS)
        live = await world.remember(ana, [f"the gateway of building {n} was repainted lately" for n in range(5)])
        world.clock.advance(2 * DAY_MS)
        conditions = Filter(now_ms=world.clock())
        matches = await world.index.look_up(ana, Layer.ATOM, query_terms("gateway port"), conditions, pool=5)
        assert sorted(found.ref_id for found in matches.candidates) == sorted(live)

    async def test_history_and_as_of_see_what_the_present_does_not(self, database: Database) -> None:
        """A superseded atom is found with history, and alone for a moment at which it held."""
        world = World(database)
        ana = await world.owner("ana")
        (old,) = await world.remember(ana, ["The gateway listens on SSH port 22"])
        then = world.clock()
        world.clock.advance(DAY_MS)
        new_draft = AtomDraft(kind=Kind.FACT, text="SSH uses port 49222", sources=(Source(record_id="rec_2"),))
        change = await world.atoms.supersede(ana, old, new_draft, Filing(normal_form="ssh uses port 49222"), "moved")
        new = next(atom.id for atom in change.added)
        await world.writer.index(
            [Document(owner_id=ana, layer=Layer.ATOM, ref_id=new, text=new_draft.text, speaker="user")]
        )
        assert await world.find(ana, Layer.ATOM, "SSH port") == [new]
        assert sorted(await world.find(ana, Layer.ATOM, "SSH port", include_history=True)) == sorted([old, new])
        assert await world.find(ana, Layer.ATOM, "SSH port", as_of_ms=then + 1) == [old]

    async def test_filters_work_inside_the_search(self, database: Database) -> None:
        """Kind, session and time narrow before rows are counted."""
        world = World(database)
        ana = await world.owner("ana")
        await world.remember(ana, [f"gateway note {n}" for n in range(30)])
        (rule,) = await world.remember(ana, ["never restart the gateway by day"], kind=Kind.CONSTRAINT)
        (late,) = await world.remember(ana, ["gateway outage in spring"], occurred_start=START_MS + 90 * DAY_MS)
        assert await world.find(ana, Layer.ATOM, "gateway", kinds=("constraint",)) == [rule]
        assert await world.find(ana, Layer.ATOM, "gateway", since_ms=START_MS + 80 * DAY_MS) == [late]
        assert await world.find(ana, Layer.ATOM, "gateway", until_ms=START_MS - DAY_MS) == []
        first = await world.say(ana, ["the gateway is red"], session=1)
        await world.say(ana, ["the gateway is blue"], session=2)
        assert await world.find(ana, Layer.RECORD, "gateway", session_key="key-1") == first

    async def test_scenes_are_found_until_they_are_archived(self, database: Database) -> None:
        """An archived scene is history."""
        world = World(database)
        ana = await world.owner("ana")
        scene = await world.scenes.put(ana, SceneDraft(name="gateway", title="Gateway", lines=()), "rules")
        await world.writer.index(
            [Document(owner_id=ana, layer=Layer.SCENE, ref_id=scene.id, text="Gateway: ports and tokens")]
        )
        assert await world.find(ana, Layer.SCENE, "tokens") == [scene.id]
        await world.scenes.archive(ana, scene.id)
        assert await world.find(ana, Layer.SCENE, "tokens") == []
        assert await world.find(ana, Layer.SCENE, "tokens", include_history=True) == [scene.id]

    async def test_a_row_is_found_through_its_neighbours(self, database: Database) -> None:
        """Two turns on each side count, also when they come later; other sessions do not."""
        world = World(database)
        ana = await world.owner("ana")
        lines = ["Morning", "Where do you keep the violin?", "In the attic", "Dusty", "Yes", "Lunch?"]
        said = await world.say(ana, lines[:3])
        assert set(await world.find(ana, Layer.RECORD, "violin")) == set(said)
        more = await world.say(ana, ["Elsewhere"], session=2)
        assert more[0] not in await world.find(ana, Layer.RECORD, "violin")

    async def test_adding_in_one_batch_or_line_by_line_gives_the_same_rows(self, database: Database) -> None:
        """Context does not depend on how turns arrived."""
        world = World(database)
        lines = [f"line {word}" for word in "oak elm ash fir yew bay".split()]  # noqa: SIM905  # reads best so
        ana, ben = await world.owner("ana"), await world.owner("ben")
        await world.say(ana, lines)
        for seq, text in enumerate(lines, 1):
            record = _record(ben, text, session=1, seq=seq, at_ms=START_MS + seq * 60_000)
            await world.records.append([record])
            await world.writer.index([document(record)])
        seen = []
        for owner in (ana, ben):
            matches = await world.index.look_up(owner, Layer.RECORD, query_terms("line"), Filter(now_ms=0))
            seen.append(sorted((one.terms, one.context, one.context_length) for one in matches.candidates))
        assert seen[0] == seen[1]

    async def test_removed_words_leave_the_index_and_their_neighbours(self, database: Database) -> None:
        """Nothing of a removed row is found, not through the rows beside it either."""
        world = World(database)
        ana = await world.owner("ana")
        said = await world.say(ana, ["Good morning", "The locker code is on the blue card", "Thanks"])
        await world.writer.remove(ana, Layer.RECORD, [said[1]])
        assert await world.find(ana, Layer.RECORD, "locker card") == []
        left = await database.fetch("SELECT COUNT(*) AS n FROM search_rows")
        assert left[0]["n"] == 2

    async def test_removing_under_another_owner_removes_nothing(self, database: Database) -> None:
        """The owner is part of the condition."""
        world = World(database)
        ana, ben = await world.owner("ana"), await world.owner("ben")
        (mine,) = await world.remember(ana, ["The gateway checks tokens"])
        await world.writer.remove(ben, Layer.ATOM, [mine])
        assert await world.find(ana, Layer.ATOM, "gateway") == [mine]

    async def test_indexing_again_replaces(self, database: Database) -> None:
        """The old words are gone, the row is still one."""
        world = World(database)
        ana = await world.owner("ana")
        (ref,) = await world.remember(ana, ["The gateway checks tokens"])
        await world.writer.index([Document(owner_id=ana, layer=Layer.ATOM, ref_id=ref, text="The proxy signs cookies")])
        assert await world.find(ana, Layer.ATOM, "gateway tokens") == []
        assert await world.find(ana, Layer.ATOM, "proxy") == [ref]

    async def test_signs_match_literally(self, database: Database) -> None:
        """Per cent, underscore, quotes and stars are no wildcards and no syntax."""
        world = World(database)
        ana = await world.owner("ana")
        (share,) = await world.remember(ana, ["Coverage must stay at 100%"])
        (name,) = await world.remember(ana, ["session_key is required"])
        await world.remember(ana, ["sessionXkey and 1000 devices"])
        assert await world.find(ana, Layer.ATOM, "100%") == [share]
        assert (await world.find(ana, Layer.ATOM, "session_key"))[0] == name
        for odd in ("%", "_", '"', "*", "' OR 1=1 --", "NEAR(", 'a" OR "b', "\x00", "☃"):
            assert await world.find(ana, Layer.ATOM, odd) in ([], [share], [name])
