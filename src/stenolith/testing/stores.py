"""Contracts of a database and of the atoms in it, as test classes.

Subclass them in a test module that has a ``database`` fixture, a migrated and empty `Database`:
a backend that passes them is one that stenolith can stand on.
"""
# ruff: noqa: S101, PT012  # a contract asserts, and a transaction that fails is a block

from __future__ import annotations

import re

import pytest

from stenolith.errors import InvalidInput, NotFound
from stenolith.model.atom import AtomDraft, AtomStatus, Kind, Source
from stenolith.model.identity import Scope
from stenolith.store.atom_rows import AtomQuery, Filing, held_at
from stenolith.store.atoms import Atoms
from stenolith.store.audit import Audit, AuditEntry, Tombstones
from stenolith.store.database import Database, statements
from stenolith.store.jobs import JobRequest, Jobs
from stenolith.store.owners import Owners
from stenolith.testing.clock import START_MS, FrozenClock

DAY_MS = 86_400_000
_PARAMETER = re.compile(r"(?<![:\w]):(\w+)")


async def two_owners(database: Database) -> tuple[int, int]:
    """Return the numbers of two users of one team and agent."""
    owners = Owners(database)
    return await owners.intern(Scope(user="ana")), await owners.intern(Scope(user="ben"))


def draft(text: str, record: str = "rec_1", **given: object) -> AtomDraft:
    """Return a fact that one record supports."""
    shape: dict[str, object] = {"kind": Kind.FACT, "text": text, "sources": (Source(record_id=record),), **given}
    return AtomDraft(**shape)  # type: ignore[arg-type]  # a test names the fields it means


def filing(text: str, **given: object) -> Filing:
    """Return a filing whose normal form is the folded text."""
    return Filing(normal_form=text.casefold().rstrip("."), **given)  # type: ignore[arg-type]  # as above


class DatabaseContract:
    """What `Database` promises."""

    async def test_a_transaction_that_raises_leaves_nothing(self, database: Database) -> None:
        """Writes of a failed block are gone."""
        with pytest.raises(LookupError):
            async with database.transaction():
                await Owners(database).intern(Scope(user="ana"))
                raise LookupError
        assert await Owners(database).every() == []

    async def test_a_transaction_inside_a_transaction_joins_it(self, database: Database) -> None:
        """What the inner block wrote falls with the outer one."""
        with pytest.raises(LookupError):
            async with database.transaction():
                async with database.transaction():
                    await Owners(database).intern(Scope(user="ana"))
                raise LookupError
        assert await Owners(database).every() == []

    async def test_work_done_atomically_is_written_whole_or_not_at_all(self, database: Database) -> None:
        """It joins the transaction that is open, and gives back what the work returned."""

        async def write() -> int:
            return await Owners(database).intern(Scope(user="ana"))

        with pytest.raises(LookupError):
            async with database.transaction():
                await database.atomically(write)
                raise LookupError
        assert await Owners(database).every() == []
        made = await database.atomically(write)
        assert await Owners(database).every() == [(made, Scope(user="ana"))]

    async def test_the_outbox_rolls_back_with_its_message(self, database: Database) -> None:
        """A job enqueued in a failed transaction does not exist, one in a committed transaction does."""
        owner, _ = await two_owners(database)
        jobs = Jobs(database)
        with pytest.raises(LookupError):
            async with database.transaction():
                await jobs.enqueue(owner, JobRequest(kind="distill", key="s1"))
                raise LookupError
        assert await jobs.counts(owner) == {}
        async with database.transaction():
            await jobs.enqueue(owner, JobRequest(kind="distill", key="s1"))
        assert await jobs.counts(owner) == {"distill": {"pending": 1}}

    async def test_every_named_statement_prepares(self, database: Database) -> None:
        """The database accepts the text of each statement of its dialect."""
        for name, sql in statements(database.dialect).items():
            bound = dict.fromkeys(_PARAMETER.findall(sql))
            # SQLite explains no PRAGMA; those we name only read.
            rows = await database.fetch(sql if sql.startswith("PRAGMA") else f"EXPLAIN {sql}", **bound)
            assert rows, name


class AtomsContract:
    """What `Atoms` promises."""

    async def test_an_atom_without_a_source_is_refused(self, database: Database) -> None:
        """What cites nothing does not exist."""
        owner, _ = await two_owners(database)
        with pytest.raises(InvalidInput):
            await Atoms(database).add(owner, draft("Likes tea", sources=()), filing("Likes tea"))

    async def test_an_added_atom_reads_back_whole(self, database: Database) -> None:
        """Kind, words, evidence, times and provenance come back as they went in."""
        owner, _ = await two_owners(database)
        clock = FrozenClock()
        atoms = Atoms(database, clock)
        source = Source(record_id="rec_7", quote="移动端还在用", timestamp=START_MS - DAY_MS)
        given = draft("不要重构旧鉴权模块", kind=Kind.CONSTRAINT, sources=(source,), provenance={"rule": "zh-7"})
        added = await atoms.add(owner, given, filing("x", origin="model", session_key="s1", provenance={"model": "m"}))
        assert await atoms.get(owner, [added.id]) == [added]
        assert (added.sources, added.version, added.root_id) == ((source,), 1, added.id)
        assert (added.valid_from, added.valid_until) == (START_MS - DAY_MS, None)
        assert (added.recorded_at, added.provenance) == (START_MS, {"rule": "zh-7", "model": "m"})

    async def test_a_repeat_adds_a_source_once_and_no_atom(self, database: Database) -> None:
        """C02: the same fact said again is the same atom with one more source."""
        owner, _ = await two_owners(database)
        atoms = Atoms(database)
        added = await atoms.add(owner, draft("Allergic to penicillin"), filing("Allergic to penicillin"))
        for record in ("rec_2", "rec_3", "rec_3"):
            same = (await atoms.by_normal_form(owner, "allergic to penicillin"))[0]
            await atoms.add_source(owner, same.id, [Source(record_id=record)])
        page = await atoms.listing(owner, AtomQuery())
        assert [atom.id for atom in page.items] == [added.id]
        assert [source.record_id for source in page.items[0].sources] == ["rec_1", "rec_2", "rec_3"]

    async def test_a_correction_keeps_the_old_version_with_its_reason(self, database: Database) -> None:
        """One lineage, the successor active, the predecessor closed where it begins."""
        owner, _ = await two_owners(database)
        clock = FrozenClock()
        atoms = Atoms(database, clock)
        old = await atoms.add(owner, draft("SSH port 22"), filing("SSH port 22"))
        clock.advance(DAY_MS)
        change = await atoms.supersede(owner, old.id, draft("SSH port 49222"), filing("SSH port 49222"), "moved")
        new, closed = change.added[0], change.retired[0]
        assert (new.version, new.root_id, new.supersedes) == (2, old.id, old.id)
        assert (closed.status, closed.superseded_by, closed.reason) == (AtomStatus.SUPERSEDED, new.id, "moved")
        assert closed.valid_until == new.valid_from == START_MS + DAY_MS
        assert await atoms.history(owner, new.id) == await atoms.history(owner, old.id) == (closed, new)
        assert (await atoms.listing(owner, AtomQuery())).items == (new,)

    async def test_only_an_active_atom_can_be_superseded(self, database: Database) -> None:
        """The second of two corrections of one version finds nothing to correct, and stores nothing."""
        owner, _ = await two_owners(database)
        atoms = Atoms(database)
        old = await atoms.add(owner, draft("a"), filing("a"))
        await atoms.supersede(owner, old.id, draft("b"), filing("b"), "first")
        with pytest.raises(NotFound):
            await atoms.supersede(owner, old.id, draft("c"), filing("c"), "second")
        assert [atom.text for atom in (await atoms.listing(owner, AtomQuery())).items] == ["b"]

    async def test_a_successor_never_begins_before_what_it_replaces(self, database: Database) -> None:
        """At every moment at most one version of a fact holds."""
        owner, _ = await two_owners(database)
        atoms = Atoms(database, FrozenClock())
        old = await atoms.add(owner, draft("a"), filing("a"))
        late = filing("b", valid_from=START_MS - DAY_MS)
        new = (await atoms.supersede(owner, old.id, draft("b"), late, "import")).added[0]
        assert [atom.id for atom in await atoms.as_of(owner, START_MS)] == [new.id]
        assert await atoms.as_of(owner, START_MS - 1) == ()

    async def test_as_of_answers_with_what_held_then(self, database: Database) -> None:
        """Each moment shows the version of its time, and `held_at` agrees."""
        owner, _ = await two_owners(database)
        clock = FrozenClock()
        atoms = Atoms(database, clock)
        first = await atoms.add(owner, draft("Graz"), filing("Graz"))
        second_at = clock.advance(DAY_MS)
        second = (await atoms.supersede(owner, first.id, draft("Linz"), filing("Linz"), "moved")).added[0]
        for at, expected in ((START_MS - 1, []), (second_at - 1, [first.id]), (second_at, [second.id])):
            assert [atom.id for atom in await atoms.as_of(owner, at)] == expected
            history = await atoms.history(owner, first.id)
            assert [atom.id for atom in history if held_at(atom, at)] == expected

    async def test_every_copy_of_a_claim_can_point_to_its_refutation(self, database: Database) -> None:
        """C05: copies from other lineages are closed in favour of the correction, or flagged with it."""
        owner, _ = await two_owners(database)
        atoms = Atoms(database)
        copies = [await atoms.add(owner, draft(f"R7 blocks, said {n}"), filing(f"r7 {n}")) for n in range(3)]
        change = await atoms.supersede(owner, copies[0].id, draft("R7 withdrawn"), filing("r7 gone"), "corrected")
        new = change.added[0]
        await atoms.supersede_by(owner, copies[1].id, new.id, "same claim")
        await atoms.flag(owner, [copies[2].id], new.id)
        assert {atom.id for atom in await atoms.history(owner, copies[1].id)} == {copies[0].id, copies[1].id, new.id}
        assert [atom.id for atom in await atoms.flagged(owner)] == [copies[2].id]
        assert (await atoms.get(owner, [copies[2].id]))[0].needs_review == new.id

    async def test_expired_atoms_take_no_place(self, database: Database) -> None:
        """C13: what has expired is in no active read, swept or not; the sweep closes it once."""
        owner, _ = await two_owners(database)
        clock = FrozenClock()
        atoms = Atoms(database, clock)
        soon = draft("for today", kind=Kind.INSTRUCTION, attribute="tone", expires_at=START_MS + 10)
        brief = await atoms.add(owner, soon, filing("for today"))
        kept = await atoms.add(owner, draft("always", kind=Kind.INSTRUCTION), filing("always"))
        clock.advance(10)
        assert [atom.id for atom in await atoms.recent(owner, 5)] == [kept.id]
        assert [atom.id for atom in await atoms.standing_instructions(owner)] == [kept.id]
        assert await atoms.candidates(owner, soon, "for today") == ()
        swept = await atoms.expire_due_of_home()
        assert [(number, atom.id, atom.status) for number, atom in swept] == [(owner, brief.id, AtomStatus.EXPIRED)]
        assert await atoms.expire_due_of_home() == []

    async def test_candidates_are_the_same_words_or_the_same_property(self, database: Database) -> None:
        """An empty attribute brings nobody in; other subjects and retired atoms stay out."""
        owner, _ = await two_owners(database)
        atoms = Atoms(database)
        same = await atoms.add(owner, draft("port 22"), filing("port 22"))
        slot = await atoms.add(owner, draft("port 2222", subject="gw", attribute="port"), filing("port 2222"))
        await atoms.add(owner, draft("port 80", subject="web", attribute="port"), filing("port 80"))
        gone = await atoms.add(owner, draft("port 1", subject="gw", attribute="port"), filing("port 1"))
        await atoms.withdraw(owner, [gone.id], "wrong")
        asked = draft("Port 22.", subject="gw", attribute="port")
        assert {atom.id for atom in await atoms.candidates(owner, asked, "port 22")} == {same.id, slot.id}
        assert [a.id for a in await atoms.candidates(owner, draft("Port 22."), "port 22")] == [same.id]

    async def test_pages_follow_without_gap_or_repeat(self, database: Database) -> None:
        """Newest first over all statuses, also where many atoms share one millisecond."""
        owner, _ = await two_owners(database)
        clock = FrozenClock()
        atoms = Atoms(database, clock)
        ids = []
        for number in range(23):
            clock.advance(number % 3 // 2)
            ids.append((await atoms.add(owner, draft(f"n{number}"), filing(f"n{number}"))).id)
        await atoms.withdraw(owner, ids[::4], "test")
        both = (AtomStatus.ACTIVE, AtomStatus.WITHDRAWN)
        seen: list[str] = []
        cursor = ""
        while cursor or not seen:
            page = await atoms.listing(owner, AtomQuery(statuses=both, cursor=cursor, limit=5))
            seen += [atom.id for atom in page.items]
            cursor = page.next
        assert seen == ids[::-1]
        with pytest.raises(InvalidInput):
            await atoms.listing(owner, AtomQuery(cursor="' OR 1=1"))

    async def test_forgetting_deletes_words_and_leaves_a_hash(self, database: Database) -> None:
        """C15: no read finds it, the audit has one entry without the words, the same words are known as deleted."""
        owner, other = await two_owners(database)
        atoms = Atoms(database)
        old = await atoms.add(owner, draft("Locker code"), filing("Locker code"))
        text = "Locker code on the blue card"
        new = (await atoms.supersede(owner, old.id, draft(text), filing(text), "moved")).added[0]
        change = await atoms.forget(owner, [new.id], "ana")
        assert (change.removed, [atom.id for atom in change.orphans]) == ((new.id,), [old.id])
        assert await atoms.get(owner, [new.id]) == []
        entries = await Audit(database).entries(owner)
        assert [(entry.actor, entry.action, entry.target) for entry in entries] == [("ana", "forget", new.id)]
        stones = await Tombstones(database).listing(owner)
        assert "blue card" not in f"{entries}{stones}".casefold()
        assert await atoms.is_tombstoned(owner, text.casefold())
        assert not await atoms.is_tombstoned(other, text.casefold())
        assert await atoms.forget(owner, [], "ana") == await atoms.forget(owner, ["atm_x"], "ana")

    async def test_a_loser_can_come_back_when_its_winner_is_deleted(self, database: Database) -> None:
        """Reviving opens the old version again."""
        owner, _ = await two_owners(database)
        atoms = Atoms(database)
        old = await atoms.add(owner, draft("a"), filing("a"))
        new = (await atoms.supersede(owner, old.id, draft("b"), filing("b"), "r")).added[0]
        orphans = (await atoms.forget(owner, [new.id], "ana")).orphans
        assert (await atoms.revive(owner, [atom.id for atom in orphans])).added == (old,)

    async def test_atoms_without_evidence_are_withdrawn(self, database: Database) -> None:
        """Deleting records closes what stood on nothing else, and only that."""
        owner, other = await two_owners(database)
        atoms = Atoms(database)
        alone = await atoms.add(owner, draft("a", "rec_1"), filing("a"))
        both = await atoms.add(
            owner, draft("b", sources=(Source(record_id="rec_1"), Source(record_id="rec_2"))), filing("b")
        )
        theirs = await atoms.add(other, draft("c", "rec_1"), filing("c"))
        change = await atoms.remove_evidence(owner, ["rec_1"], "records deleted")
        assert [(atom.id, atom.status) for atom in change.retired] == [(alone.id, AtomStatus.WITHDRAWN)]
        assert [source.record_id for source in (await atoms.get(owner, [both.id]))[0].sources] == ["rec_2"]
        assert await atoms.get(other, [theirs.id]) == [theirs]

    async def test_a_callers_key_names_one_active_atom(self, database: Database) -> None:
        """The same words confirm it, other words make its next version."""
        owner, other = await two_owners(database)
        atoms = Atoms(database)
        under = {"caller_key": "editor"}
        first = (await atoms.put_under_key(owner, draft("vim"), filing("vim", **under), "said")).added[0]
        again = await atoms.put_under_key(owner, draft("Vim.", "rec_2"), filing("Vim.", **under), "said")
        assert [atom.id for atom in again.confirmed] == [first.id]
        third = await atoms.put_under_key(owner, draft("helix"), filing("helix", **under), "said")
        assert (third.added[0].version, third.retired[0].id) == (2, first.id)
        assert (await atoms.put_under_key(other, draft("nano"), filing("nano", **under), "said")).added[0].version == 1

    async def test_an_export_comes_back_the_same(self, database: Database) -> None:
        """C17: ids, times, versions, provenance, links and flags of every status."""
        owner, other = await two_owners(database)
        atoms = Atoms(database, FrozenClock())
        old = await atoms.add(owner, draft("a"), filing("a"))
        new = (await atoms.supersede(owner, old.id, draft("b", task_only=True), filing("b"), "r")).added[0]
        await atoms.flag(owner, [new.id], "atm_z")
        kept = await atoms.export(owner, "", 10)
        await atoms.forget(owner, [old.id, new.id], "move")
        assert [await atoms.restore(other, atom, notes) for atom, notes in kept] == [True, True]
        assert await atoms.export(other, "", 10) == kept
        assert [await atoms.restore(other, atom, notes) for atom, notes in kept] == [False, False]

    async def test_a_foreign_owner_sees_and_changes_nothing(self, database: Database) -> None:
        """C14: every read under another owner is empty, every change leaves the atom as it was."""
        owner, other = await two_owners(database)
        atoms = Atoms(database)
        given = draft("mine", subject="gw", attribute="port", kind=Kind.INSTRUCTION)
        mine = await atoms.add(owner, given, filing("mine", session_key="s1"))
        await atoms.set_scene(owner, [mine.id], "scn_1")
        mine = (await atoms.get(owner, [mine.id]))[0]
        assert mine.scene_id == "scn_1"
        reads = [
            await atoms.get(other, [mine.id]),
            await atoms.notes(other, [mine.id]),
            await atoms.candidates(other, given, "mine"),
            (await atoms.listing(other, AtomQuery(statuses=tuple(AtomStatus)))).items,
            await atoms.standing_instructions(other),
            await atoms.of_scene(other, "scn_1"),
            await atoms.without_scene(other),
            await atoms.flagged(other),
            await atoms.history(other, mine.id),
            await atoms.as_of(other, 2**60),
            await atoms.by_record(other, ["rec_1"]),
            await atoms.ids_of_session(other, "s1"),
            await atoms.export(other, "", 9),
            await atoms.counts(other),
        ]
        assert not any(reads)
        await atoms.withdraw(other, [mine.id], "x")
        await atoms.flag(other, [mine.id], "x")
        await atoms.set_scene(other, [mine.id], None)
        await atoms.remove_evidence(other, ["rec_1"], "x")
        assert (await atoms.forget(other, [mine.id], "x")).removed == ()
        assert await atoms.get(owner, [mine.id]) == [mine]
        with pytest.raises(NotFound):
            await atoms.add_source(other, mine.id, [Source(record_id="rec_9")])


class AuditContract:
    """What `Audit` and `Tombstones` promise."""

    async def test_acts_are_listed_in_order_and_by_page(self, database: Database) -> None:
        """From a time on, after an entry, and only the owner's."""
        owner, other = await two_owners(database)
        clock = FrozenClock()
        audit = Audit(database, clock)
        for n in range(5):
            await audit.record(owner, [AuditEntry(actor="ana", action="forget", target=f"atm_{n}", detail={"n": n})])
            clock.advance(1)
        await audit.record(other, [AuditEntry(actor="ben", action="export", target="all")])
        first = await audit.entries(owner, since=START_MS + 1, limit=2)
        rest = await audit.entries(owner, since=START_MS + 1, after=first[-1].id)
        assert [(entry.target, entry.at - START_MS) for entry in first + rest] == [(f"atm_{n}", n) for n in range(1, 5)]
        assert [entry.actor for entry in await audit.entries_of_home()] == ["ana"] * 5 + ["ben"]

    async def test_a_tombstone_knows_its_own_words_only(self, database: Database) -> None:
        """By layer and owner; a person who states it anew lifts it."""
        owner, other = await two_owners(database)
        stones = Tombstones(database)
        await stones.bury(owner, "atoms", ["likes tea", "likes tea"], "ana")
        held = [
            await stones.holds(*given)
            for given in (
                (owner, "atoms", "likes tea"),
                (owner, "atoms", "likes coffee"),
                (owner, "records", "likes tea"),
                (other, "atoms", "likes tea"),
            )
        ]
        assert held == [True, False, False, False]
        assert [await stones.lift(owner, "atoms", "likes tea") for _ in range(2)] == [True, False]
        assert not await stones.holds(owner, "atoms", "likes tea")

    async def test_tombstones_move_with_their_key(self, database: Database) -> None:
        """An import under another number is refused the same words; a home keeps the key it has."""
        owner, other = await two_owners(database)
        stones = Tombstones(database)
        assert await stones.key_of_home("ab" * 32) == await stones.key_of_home("cd" * 32) == "ab" * 32
        await stones.bury(owner, "atoms", ["likes tea"], "ana")
        await stones.restore(other, await stones.listing(owner))
        assert await Tombstones(database).holds(other, "atoms", "likes tea")
