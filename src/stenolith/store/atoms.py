"""Atoms (L1) with their sources, versions and validity, always under an owner.

Nothing is overwritten: a change adds a version and closes the one before it.  Every mutation says
what it did (`AtomChange`), because search rows, vectors and scenes follow in the same transaction.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from stenolith.errors import InvalidInput, NotFound
from stenolith.model.atom import Atom, AtomDraft, AtomStatus, Source
from stenolith.model.clock import Clock, wall_ms
from stenolith.model.identity import new_id
from stenolith.store.atom_rows import (
    AtomChange,
    AtomNotes,
    AtomPage,
    AtomQuery,
    Filing,
    atom_from_row,
    atom_to_row,
    lay_out,
    notes_from_row,
    read_cursor,
    source_rows,
    write_cursor,
)
from stenolith.store.audit import Audit, AuditEntry, Tombstones
from stenolith.store.database import Database, Row, statements

LAYER = "atoms"
"""The layer under which atoms stand among tombstones."""


class Atoms:
    """Reads and changes atoms. Reads of active atoms leave out what has expired, swept or not."""

    def __init__(self, database: Database, now_ms: Clock = wall_ms) -> None:
        self._database = database
        self._sql = statements(database.dialect)
        self._now = now_ms
        self._tombstones = Tombstones(database, now_ms)
        self._audit = Audit(database, now_ms)

    async def add(self, owner_id: int, draft: AtomDraft, filing: Filing) -> Atom:
        """Store an admitted draft as the first version of a new atom.

        Raises `InvalidInput` when it names no source: what cites nothing does not exist.
        """
        now = self._now()
        atom = lay_out(draft, filing, atom_id=new_id("atm", now), now=now)
        await self._insert(owner_id, atom, _notes(filing))
        return atom

    async def restore(self, owner_id: int, atom: Atom, notes: AtomNotes) -> bool:
        """Store *atom* exactly as an export holds it; False when its id is already taken."""
        return await self._insert(owner_id, atom, notes)

    async def _insert(self, owner_id: int, atom: Atom, notes: AtomNotes) -> bool:
        if not atom.sources and atom.status is AtomStatus.ACTIVE:
            raise InvalidInput("an atom cites at least one record")
        async with self._database.transaction():
            await self._database.lock(owner_id)
            row = atom_to_row(owner_id, atom, notes, self._now())
            if not await self._database.fetch(self._sql["insert_atom"], **row):
                return False
            await self._database.execute_many(self._sql["insert_atom_source"], source_rows(atom.id, atom.sources))
        return True

    async def add_source(self, owner_id: int, atom_id: str, sources: Sequence[Source]) -> Atom:
        """Add evidence to an atom and return it; a record already cited changes nothing.

        Raises `NotFound` when the owner has no such atom.
        """
        async with self._database.transaction():
            await self._database.lock(owner_id)
            if not await self._database.fetch(
                self._sql["touch_atom"], owner_id=owner_id, atom_id=atom_id, now=self._now()
            ):
                raise NotFound(f"there is no atom {atom_id}")
            await self._database.execute_many(self._sql["insert_atom_source"], source_rows(atom_id, sources))
            return (await self.get(owner_id, [atom_id]))[0]

    async def supersede(self, owner_id: int, old_id: str, draft: AtomDraft, filing: Filing, reason: str) -> AtomChange:
        """Store *draft* as the next version of an active atom and close that one where the new begins.

        Both share *root_id*.  A successor never begins before the version it replaces, so that at
        every moment at most one of them held.  Raises `NotFound` when *old_id* is not active.
        """
        now = self._now()
        async with self._database.transaction():
            await self._database.lock(owner_id)
            old = await self._active(owner_id, old_id)
            first = lay_out(draft, filing, atom_id=new_id("atm", now), now=now)
            successor = replace(
                first,
                version=old.version + 1,
                root_id=old.root_id,
                supersedes=old.id,
                valid_from=max(first.valid_from, old.valid_from),
            )
            # The key moves only after the old version is closed: at most one active atom may hold it.
            await self._insert(owner_id, successor, AtomNotes(normal_form=filing.normal_form))
            retired = await self._retire(owner_id, old, successor, reason)
            if filing.caller_key is not None:
                await self._set_key(owner_id, successor.id, filing.caller_key)
        return AtomChange(added=(successor,), retired=(retired,))

    async def supersede_by(self, owner_id: int, old_id: str, successor_id: str, reason: str) -> AtomChange:
        """Close an active atom in favour of another that is active already.

        Raises `NotFound` when either is not active, `InvalidInput` when they are the same.
        """
        if old_id == successor_id:
            raise InvalidInput("an atom cannot replace itself")
        async with self._database.transaction():
            await self._database.lock(owner_id)
            old, successor = await self._active(owner_id, old_id), await self._active(owner_id, successor_id)
            return AtomChange(retired=(await self._retire(owner_id, old, successor, reason),))

    async def put_under_key(self, owner_id: int, draft: AtomDraft, filing: Filing, reason: str) -> AtomChange:
        """Store what the caller keeps under ``filing.caller_key``: new, the same again, or a new version."""
        if not filing.caller_key:
            raise InvalidInput("a caller's key is needed")
        async with self._database.transaction():
            await self._database.lock(owner_id)
            rows = await self._database.fetch(
                self._sql["atom_of_caller_key"], owner_id=owner_id, caller_key=filing.caller_key
            )
            if not rows:
                return AtomChange(added=(await self.add(owner_id, draft, filing),))
            if rows[0]["normal_form"] == filing.normal_form:
                return AtomChange(confirmed=(await self.add_source(owner_id, rows[0]["atom_id"], draft.sources),))
            return await self.supersede(owner_id, rows[0]["atom_id"], draft, filing, reason)

    async def withdraw(self, owner_id: int, ids: Sequence[str], reason: str) -> AtomChange:
        """Take active atoms out of use, keeping them as history; others are left alone."""
        async with self._database.transaction():
            await self._database.lock(owner_id)
            return AtomChange(retired=await self._close(owner_id, ids, AtomStatus.WITHDRAWN, reason, self._now()))

    async def revive(self, owner_id: int, ids: Sequence[str]) -> AtomChange:
        """Make superseded or withdrawn atoms active again."""
        rows: list[Row] = []
        async with self._database.transaction():
            await self._database.lock(owner_id)
            for atom_id in ids:
                rows += await self._database.fetch(
                    self._sql["revive_atom"], owner_id=owner_id, atom_id=atom_id, now=self._now()
                )
            return AtomChange(added=await self._read(rows))

    async def remove_evidence(self, owner_id: int, record_ids: Sequence[str], reason: str) -> AtomChange:
        """Cut atoms loose from deleted records; those that stood on nothing else are withdrawn."""
        async with self._database.transaction():
            await self._database.lock(owner_id)
            rows = await self._database.fetch(self._sql["delete_evidence"], owner_id=owner_id, ids=_dump(record_ids))
            touched = await self.get(owner_id, list(dict.fromkeys(row["atom_id"] for row in rows)))
            bare = [atom.id for atom in touched if not atom.sources]
            return await self.withdraw(owner_id, bare, reason)

    async def forget(self, owner_id: int, ids: Sequence[str], actor: str) -> AtomChange:
        """Delete atoms for good, leaving a keyed hash and an audit entry without their words.

        Only the versions named are deleted: see `history` for the others of a lineage.
        """
        async with self._database.transaction():
            await self._database.lock(owner_id)
            orphans = await self._database.fetch(self._sql["superseded_by_atoms"], owner_id=owner_id, ids=_dump(ids))
            rows = await self._database.fetch(self._sql["delete_atoms"], owner_id=owner_id, ids=_dump(ids))
            gone = {row["atom_id"]: row for row in rows}
            forms = [row["normal_form"] for row in rows]
            await self._tombstones.bury(owner_id, LAYER, forms, actor)
            await self._audit.record(
                owner_id, [AuditEntry(actor=actor, action="forget", target=atom_id) for atom_id in sorted(gone)]
            )
            return AtomChange(
                removed=tuple(sorted(gone)),
                scenes=tuple(sorted({row["scene_id"] for row in rows if row["scene_id"]})),
                orphans=await self._read([row for row in orphans if row["atom_id"] not in gone]),
            )

    async def is_tombstoned(self, owner_id: int, normal_form: str) -> bool:
        """Say whether an atom with this normal form was deleted on purpose."""
        return await self._tombstones.holds(owner_id, LAYER, normal_form)

    async def flag(self, owner_id: int, ids: Sequence[str], correction_id: str) -> None:
        """Mark atoms that the correction *correction_id* may refute; an empty id takes the mark away."""
        rows = [
            {"owner_id": owner_id, "atom_id": one, "needs_review": correction_id, "now": self._now()} for one in ids
        ]
        await self._database.execute_many(self._sql["flag_atom"], rows)

    async def set_scene(self, owner_id: int, ids: Sequence[str], scene_id: str | None) -> None:
        """Assign atoms to a scene, or to none."""
        rows = [{"owner_id": owner_id, "atom_id": one, "scene_id": scene_id} for one in ids]
        await self._database.execute_many(self._sql["set_atom_scene"], rows)

    async def expire_due_of_home(self, limit: int = 500) -> list[tuple[int, Atom]]:
        """Close atoms of any owner whose time is up and return them with their owners. For upkeep."""
        found: list[tuple[int, Atom]] = []
        async with self._database.transaction():
            due = await self._database.fetch(self._sql["due_atoms"], now=self._now(), limit=limit)
            for owner_id in sorted({row["owner_id"] for row in due}):
                await self._database.lock(owner_id)
            for row in due:
                ids = [row["atom_id"]]
                closed = await self._close(row["owner_id"], ids, AtomStatus.EXPIRED, "expired", row["expires_at"])
                found += [(row["owner_id"], atom) for atom in closed]
        return found

    async def get(self, owner_id: int, ids: Sequence[str]) -> list[Atom]:
        """Return the owner's atoms with these ids, of any status, in the order asked; others are left out."""
        rows = await self._database.fetch(self._sql["atoms_by_id"], owner_id=owner_id, ids=_dump(ids))
        found = {atom.id: atom for atom in await self._read(rows)}
        return [found[one] for one in ids if one in found]

    async def doubts(self, owner_id: int, ids: Sequence[str]) -> dict[str, str]:
        """Return which of the owner's atoms with these ids a person should compare, and with which atom."""
        rows = await self._database.fetch(self._sql["doubts_of_atoms"], owner_id=owner_id, ids=_dump(ids))
        return {row["atom_id"]: row["needs_review"] for row in rows}

    async def notes(self, owner_id: int, ids: Sequence[str]) -> dict[str, AtomNotes]:
        """Return what the store keeps beside the owner's atoms, by id."""
        rows = await self._database.fetch(self._sql["atoms_by_id"], owner_id=owner_id, ids=_dump(ids))
        return {row["atom_id"]: notes_from_row(row) for row in rows}

    async def by_normal_form(self, owner_id: int, normal_form: str) -> tuple[Atom, ...]:
        """Return active atoms that say exactly this."""
        return await self._active_rows("atoms_by_normal_form", owner_id=owner_id, normal_form=normal_form)

    async def by_attribute(self, owner_id: int, subject: str, attribute: str) -> tuple[Atom, ...]:
        """Return active atoms about this property; an empty *attribute* is nobody's."""
        return await self._active_rows("atoms_by_attribute", owner_id=owner_id, subject=subject, attribute=attribute)

    async def candidates(self, owner_id: int, draft: AtomDraft, normal_form: str) -> tuple[Atom, ...]:
        """Return active atoms that *draft* may repeat or replace: the same words, or the same property."""
        same = await self.by_normal_form(owner_id, normal_form)
        near = await self.by_attribute(owner_id, draft.subject, draft.attribute) if draft.attribute else ()
        return tuple({atom.id: atom for atom in (*same, *near)}.values())

    async def standing_instructions(self, owner_id: int, limit: int = 50) -> tuple[Atom, ...]:
        """Return active instructions that hold beyond one task, weightiest first."""
        return await self._active_rows("standing_instructions", owner_id=owner_id, limit=limit)

    async def of_scene(self, owner_id: int, scene_id: str) -> tuple[Atom, ...]:
        """Return the active atoms of a scene, oldest first."""
        return await self._active_rows("atoms_of_scene", owner_id=owner_id, scene_id=scene_id)

    async def without_scene(self, owner_id: int, limit: int = 500) -> tuple[Atom, ...]:
        """Return active atoms that no scene holds yet, oldest first."""
        return await self._active_rows("atoms_without_scene", owner_id=owner_id, limit=limit)

    async def flagged(self, owner_id: int, limit: int = 100) -> tuple[Atom, ...]:
        """Return active atoms that wait for a review, oldest first."""
        rows = await self._database.fetch(self._sql["flagged_atoms"], owner_id=owner_id, limit=limit)
        return await self._read(rows)

    async def recent(self, owner_id: int, limit: int) -> tuple[Atom, ...]:
        """Return the newest active atoms, newest first."""
        return (await self.listing(owner_id, AtomQuery(limit=limit))).items

    async def listing(self, owner_id: int, query: AtomQuery) -> AtomPage:
        """Return one page of atoms, newest first. Raises `InvalidInput` for a foreign cursor."""
        at, last = read_cursor(query.cursor)
        shared = {"owner_id": owner_id, "now": self._now(), "before_at": at, "before_id": last}
        rows: list[Row] = []
        kind = query.kind.value if query.kind else ""
        for status in dict.fromkeys(query.statuses):
            rows += await self._database.fetch(
                self._sql["page_atoms"], **shared, status=status.value, kind=kind, limit=query.limit + 1
            )
        rows.sort(key=lambda row: (row["recorded_at"], row["atom_id"]), reverse=True)
        items = await self._read(rows[: query.limit])
        return AtomPage(items=items, next=write_cursor(items[-1]) if items and len(rows) > query.limit else "")

    async def export(self, owner_id: int, after: str, limit: int) -> list[tuple[Atom, AtomNotes]]:
        """Return a page of all the owner's atoms, of every status, in the order of their ids."""
        rows = await self._database.fetch(self._sql["export_atoms"], owner_id=owner_id, after=after, limit=limit)
        return list(zip(await self._read(rows), map(notes_from_row, rows), strict=True))

    async def history(self, owner_id: int, atom_id: str) -> tuple[Atom, ...]:
        """Return every version of the fact that *atom_id* is one of, and what replaced it, oldest first."""
        rows = await self._database.fetch(self._sql["lineage_of_atom"], owner_id=owner_id, atom_id=atom_id)
        return await self._read(rows)

    async def as_of(self, owner_id: int, at: int, limit: int = 1000) -> tuple[Atom, ...]:
        """Return the atoms that held at *at* (epoch ms), the youngest first; see `held_at`."""
        rows = await self._database.fetch(self._sql["atoms_as_of"], owner_id=owner_id, at=at, limit=limit)
        return await self._read(rows)

    async def by_record(self, owner_id: int, record_ids: Sequence[str]) -> tuple[Atom, ...]:
        """Return atoms of any status that stand on one of these records."""
        rows = await self._database.fetch(self._sql["atoms_by_record"], owner_id=owner_id, ids=_dump(record_ids))
        return await self._read(rows)

    async def ids_of_session(self, owner_id: int, session_key: str) -> list[str]:
        """Return the ids of all atoms learned in a session."""
        rows = await self._database.fetch(self._sql["ids_of_session"], owner_id=owner_id, session_key=session_key)
        return [row["atom_id"] for row in rows]

    async def counts(self, owner_id: int) -> dict[str, dict[str, int]]:
        """Return how many atoms the owner has, by kind and status."""
        found: dict[str, dict[str, int]] = {}
        for row in await self._database.fetch(self._sql["count_atoms"], owner_id=owner_id):
            found.setdefault(row["kind"], {})[row["status"]] = int(row["n"])
        return found

    async def _active(self, owner_id: int, atom_id: str) -> Atom:
        found = await self.get(owner_id, [atom_id])
        if not found or found[0].status is not AtomStatus.ACTIVE:
            raise NotFound(f"there is no active atom {atom_id}")
        return found[0]

    async def _retire(self, owner_id: int, old: Atom, successor: Atom, reason: str) -> Atom:
        rows = await self._database.fetch(
            self._sql["retire_atom"],
            owner_id=owner_id,
            atom_id=old.id,
            status=AtomStatus.SUPERSEDED.value,
            superseded_by=successor.id,
            reason=reason,
            valid_until=successor.valid_from,
            now=self._now(),
        )
        return (await self._read(rows))[0]

    async def _close(
        self, owner_id: int, ids: Sequence[str], status: AtomStatus, reason: str, until: int
    ) -> tuple[Atom, ...]:
        rows: list[Row] = []
        shared = {"status": status.value, "superseded_by": None, "reason": reason, "valid_until": until}
        for one in ids:
            rows += await self._database.fetch(
                self._sql["retire_atom"], owner_id=owner_id, atom_id=one, now=self._now(), **shared
            )
        return await self._read(rows)

    async def _set_key(self, owner_id: int, atom_id: str, caller_key: str) -> None:
        await self._database.fetch(
            self._sql["set_caller_key"], owner_id=owner_id, atom_id=atom_id, caller_key=caller_key
        )

    async def _active_rows(self, statement: str, **params: str | int) -> tuple[Atom, ...]:
        return await self._read(await self._database.fetch(self._sql[statement], **params, now=self._now()))

    async def _read(self, rows: Sequence[Row]) -> tuple[Atom, ...]:
        if not rows:
            return ()
        cited: dict[str, list[Source]] = {row["atom_id"]: [] for row in rows}
        for row in await self._database.fetch(self._sql["sources_of_atoms"], ids=_dump(list(cited))):
            source = Source(record_id=row["record_id"], quote=row["quote"], timestamp=row["timestamp"])
            cited[row["atom_id"]].append(source)
        return tuple(atom_from_row(row, cited[row["atom_id"]]) for row in rows)


def _notes(filing: Filing) -> AtomNotes:
    return AtomNotes(normal_form=filing.normal_form, caller_key=filing.caller_key)


def _dump(ids: Sequence[str]) -> str:
    return json.dumps(list(ids))
