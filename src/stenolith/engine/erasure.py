"""Forgetting: atoms, single records, sessions, or everything of a user, from every place at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from stenolith.capture.forgotten import LAYER as MESSAGES
from stenolith.capture.forgotten import name_of, traces
from stenolith.engine.curation import is_statement
from stenolith.engine.projections import Projections
from stenolith.engine.wiring import House
from stenolith.errors import InvalidInput, NotFound
from stenolith.model.identity import DEFAULT, Scope, is_id
from stenolith.store.audit import AuditEntry
from stenolith.store.files import drop_edits
from stenolith.store.inspection import Inspection
from stenolith.store.records import Record
from stenolith.store.search import Layer
from stenolith.store.transcripts import Session

ACTOR = "person"
EVERY = 2**31
"""More messages than a session has."""
GONE = "the words it rested on were deleted"


@dataclass(slots=True, kw_only=True)
class Erased:
    """What was deleted, by id; *evidence* is what was not: the words of conversations that atoms rested on."""

    atoms: list[str] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)
    records: list[str] = field(default_factory=list)
    evidence: list[str] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    days: set[str] = field(default_factory=set)
    owners: set[int] = field(default_factory=set)
    scenes: set[str] = field(default_factory=set)

    def to_dict(self) -> dict[str, object]:
        """Return the JSON of ``stenolith forget --json``."""
        return {
            "atoms": len(self.atoms),
            "records": len(self.records),
            "sessions": len(self.sessions),
            "forgotten": [*self.atoms, *self.records, *self.sessions],
            "withdrawn": self.withdrawn,
            "evidence": self.evidence,
        }


class Erasure:
    """Deletes for good and leaves only keyed hashes and audit entries without words."""

    def __init__(self, house: House, projections: Projections) -> None:
        self._house = house
        self._projections = projections

    async def forget(self, scope: Scope, ids: Sequence[str], *, user: bool) -> Erased:
        """Delete *ids*; without ids the session of *scope*; with *user* everything of its user, or of one agent.

        One transaction for the database; the daily files follow at once.  Raises `NotFound` when an id
        is not the owner's (nothing is deleted then) and `InvalidInput` for an empty call.
        """
        done = Erased()
        owner_id = await self._house.owners.find(scope)
        async with self._house.database.transaction():
            for locked in sorted({owner_id, *(await self._owners_of_user(scope) if user else ())}):
                await self._house.database.lock(locked)
            if ids:
                await self._ids(owner_id, ids, done)
            elif scope.session_key:
                await self._session_key(owner_id, scope, done)
            elif user:
                await self._user(scope, done)
            else:
                raise InvalidInput("say what to forget: ids, a session, or a user; an empty call deletes nothing")
        if done.days:
            await self._house.journal.rebuild_files(sorted(done.days), erase=True)
        for touched in sorted(done.owners):
            await self._projections.write_files(touched)
        drop_edits(self._house.home, [*done.atoms, *done.scenes])
        await self._house.index.compact()
        await Inspection(self._house.database).empty_log()
        return done

    async def _ids(self, owner_id: int, ids: Sequence[str], done: Erased) -> None:
        atoms = [one for one in ids if is_id(one, "atm")]
        records = [one for one in ids if is_id(one, "rec")]
        unknown = [one for one in ids if one not in atoms and one not in records]
        found = {atom.id for atom in await self._house.atoms.get(owner_id, atoms)}
        kept = await self._house.records.get(owner_id, records)
        unknown += [one for one in atoms if one not in found]
        unknown += sorted(set(records) - {record.record_id for record in kept})
        if unknown:
            raise NotFound(f"nothing was deleted: {', '.join(unknown)} is no atom or record under this scope")
        witnesses = await self._witnesses(owner_id, atoms)
        await self._atoms(owner_id, atoms, done)
        await self._records(owner_id, kept, done)
        entries = [AuditEntry(actor=ACTOR, action="forget record", target=record.record_id) for record in kept]
        await self._house.audit.record(owner_id, entries)
        await self._with_statements(owner_id, [one for one in witnesses if one.record_id not in done.records], done)

    async def _witnesses(self, owner_id: int, atom_ids: Sequence[str]) -> list[Record]:
        """Return the records that atoms rest on."""
        atoms = await self._house.atoms.get(owner_id, atom_ids)
        cited = dict.fromkeys(source.record_id for atom in atoms for source in atom.sources)
        return await self._house.records.get(owner_id, list(cited))

    async def _with_statements(self, owner_id: int, records: Sequence[Record], done: Erased) -> None:
        """Delete the statements that were made only to be remembered; what was said in a conversation is named.

        A conversation is nobody's memory but its own record: who wants its words gone too forgets them by id.
        """
        shared = await self._house.atoms.by_record(owner_id, [record.record_id for record in records])
        cited = {source.record_id for atom in shared for source in atom.sources}
        made = [one for one in records if one.record_id not in cited and await self._is_statement(owner_id, one)]
        await self._records(owner_id, made, done)
        done.evidence += [record.record_id for record in records if record not in made]

    async def _is_statement(self, owner_id: int, record: Record) -> bool:
        stored = await self._house.transcripts.message(owner_id, record.message_id)
        return stored is not None and is_statement(stored.message)

    async def _atoms(self, owner_id: int, ids: Sequence[str], done: Erased) -> None:
        done.owners.add(owner_id)
        if ids:
            change = await self._house.atoms.forget(owner_id, ids, ACTOR)
            await self._projections.follow(owner_id, change)
            done.atoms += change.removed
            done.scenes |= set(change.scenes)

    async def _records(self, owner_id: int, records: Sequence[Record], done: Erased) -> None:
        digests: dict[int, dict[int, str]] = {}
        for record in records:
            ref = record.session_ref
            if ref not in digests:
                digests[ref] = await self._house.transcripts.digests(ref)
            name = await name_of(self._house.tombstones, digests[ref][record.seq])
            await self._house.transcripts.blank(owner_id, record.message_id, name)
        await self._house.records.delete(owner_id, [record.record_id for record in records])
        await self._without_evidence(owner_id, [(record.record_id, record.journal_day) for record in records], done)

    async def _session_key(self, owner_id: int, scope: Scope, done: Erased) -> None:
        sessions = await self._house.transcripts.of_key(owner_id, scope.session_key)
        wanted = [one for one in sessions if scope.session_id in {"", one.session_id}]
        if not wanted:
            raise NotFound(f"there is no session {scope.session_key!r} under this scope")
        for session in wanted:
            await self._session(owner_id, session, done)

    async def _session(self, owner_id: int, session: Session, done: Erased) -> None:
        said = await self._house.transcripts.tail(session.session_ref, EVERY)
        digests, times = [row["digest"] for row in said], [row["timestamp"] for row in said]
        history = await traces(self._house.tombstones, session.session_key, digests, times)
        await self._house.tombstones.bury(owner_id, MESSAGES, history, ACTOR)
        gone = await self._house.records.delete_session(session.session_ref)
        await self._without_evidence(owner_id, gone, done)
        await self._house.transcripts.delete(owner_id, session.session_ref)
        await self._house.jobs.drop(owner_id, "distill", str(session.session_ref))
        await self._house.cursors.reset(owner_id, "distill", str(session.session_ref))
        name = f"{session.session_key}\n{session.session_id}"
        await self._house.tombstones.bury(owner_id, "sessions", [name], ACTOR)
        entry = AuditEntry(actor=ACTOR, action="forget session", target=str(session.session_ref))
        await self._house.audit.record(owner_id, [entry])
        done.sessions.append(session.session_key)

    async def _without_evidence(self, owner_id: int, gone: Sequence[tuple[str, str]], done: Erased) -> None:
        """Take deleted records out of search, vectors and the atoms that stood on them."""
        ids = [record_id for record_id, _ in gone]
        if not ids:
            return
        await self._projections.drop(owner_id, Layer.RECORD, ids)
        change = await self._house.atoms.remove_evidence(owner_id, ids, GONE)
        await self._projections.follow(owner_id, change)
        # The text of an atom repeats the words it was drawn from: with the last of them it goes for good.
        bare = [atom.id for atom in change.retired]
        done.withdrawn += bare
        await self._atoms(owner_id, bare, done)
        done.records += ids
        done.days |= {day for _, day in gone}

    async def _user(self, scope: Scope, done: Erased) -> None:
        """Delete everything of one user of a team: what was said to the agent that is named, else to any."""
        for owner_id in await self._owners_of_user(scope):
            for session in await self._all_sessions(owner_id):
                await self._session(owner_id, session, done)
            atoms = [atom.id for atom, _ in await self._house.atoms.export(owner_id, "", 10_000_000)]
            await self._atoms(owner_id, atoms, done)
            scenes = [kept.scene.id for kept in await self._house.scenes.export(owner_id)]
            await self._projections.drop(owner_id, Layer.SCENE, scenes)
            for scene_id in scenes:
                await self._house.scenes.delete(owner_id, scene_id)
            await self._house.jobs.delete_all(owner_id)

    async def _owners_of_user(self, scope: Scope) -> list[int]:
        every = await self._house.owners.every()
        agents = {owner.agent for _, owner in every} if scope.agent == DEFAULT else {scope.agent}
        mine = (scope.team, scope.user)
        return [owner_id for owner_id, owner in every if (owner.team, owner.user) == mine and owner.agent in agents]

    async def _all_sessions(self, owner_id: int) -> list[Session]:
        found: list[Session] = []
        while page := await self._house.transcripts.page(owner_id, found[-1].session_ref if found else 0, 1000):
            found += page
        return found
