"""Persona (L3): the owner's lines and every earlier portrait.

A portrait that says the same again leaves every row and the version as they were, so that what is
rendered from it keeps its bytes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from stenolith.errors import InvalidInput
from stenolith.model.clock import Clock, wall_ms
from stenolith.model.identity import new_id
from stenolith.model.persona import PersonaLine, PersonaStatus
from stenolith.store.database import Database, Row, statements


@dataclass(frozen=True, slots=True, kw_only=True)
class Portrait:
    """All lines of one version, in the order in which they were first written; version 0 is empty."""

    version: int = 0
    lines: tuple[PersonaLine, ...] = ()
    recorded_at: int = 0


class Personas:
    """Reads and replaces owners' personas."""

    def __init__(self, database: Database, now_ms: Clock = wall_ms) -> None:
        self._database = database
        self._sql = statements(database.dialect)
        self._now = now_ms

    async def current(self, owner_id: int) -> Portrait:
        """Return the portrait as it stands, candidates and withdrawn lines included."""
        rows = await self._database.fetch(self._sql["persona_lines"], owner_id=owner_id)
        last = await self._database.fetch(self._sql["last_persona_version"], owner_id=owner_id)
        named = last[0] if last else {}
        return Portrait(lines=tuple(map(_line, rows)), **named)

    async def replace(self, owner_id: int, lines: Sequence[PersonaLine]) -> Portrait:
        """Make *lines* the portrait and return it.

        A line keeps its id by *id*, or else by section and text; a kept line that says something new
        gains a version, a line left out is gone from the portrait but not from its history.  When
        nothing changed, nothing is written.  Raises `InvalidInput` for a line without atoms.
        """
        if not all(line.atoms for line in lines):
            raise InvalidInput("each line of a persona cites atoms")
        async with self._database.transaction():
            await self._database.lock(owner_id)
            before = await self.current(owner_id)
            wanted = _match(before.lines, lines)
            if not await self._write(owner_id, before.lines, wanted):
                return before
            await self._keep_version(owner_id, before.version + 1)
            return await self.current(owner_id)

    async def _write(self, owner_id: int, before: Sequence[PersonaLine], wanted: Sequence[PersonaLine]) -> bool:
        now = self._now()
        old = {line.id: line for line in before}
        fresh = [line for line in wanted if line.id not in old]
        moved = [line for line in wanted if line.id in old and not _same(old[line.id], line)]
        gone = [line for line in before if line.id not in {kept.id for kept in wanted}]
        for statement, group in (("insert", fresh), ("update", moved), ("delete", gone)):
            rows = [_row(owner_id, line if line.id else replace(line, id=new_id("prs", now)), now) for line in group]
            await self._database.execute_many(self._sql[f"{statement}_persona_line"], rows)
        return bool(fresh or moved or gone)

    async def _keep_version(self, owner_id: int, version: int) -> None:
        rows = await self._database.fetch(self._sql["persona_lines"], owner_id=owner_id)
        body = _dump([_shape(_line(row)) for row in rows])
        await self._database.fetch(
            self._sql["insert_persona_version"], owner_id=owner_id, version=version, body=body, now=self._now()
        )

    async def versions(self, owner_id: int) -> list[Portrait]:
        """Return every portrait there was, oldest first."""
        rows = await self._database.fetch(self._sql["persona_versions"], owner_id=owner_id)
        return [
            Portrait(version=row["version"], lines=_lines(row["body"]), recorded_at=row["recorded_at"]) for row in rows
        ]

    async def citing(self, owner_id: int, atom_ids: Sequence[str]) -> tuple[PersonaLine, ...]:
        """Return the lines that stand on one of these atoms."""
        wanted = frozenset(atom_ids)
        return tuple(line for line in (await self.current(owner_id)).lines if not wanted.isdisjoint(line.atoms))

    async def scrub(self, owner_id: int, atom_ids: Sequence[str]) -> Portrait:
        """Take the lines that stand on forgotten atoms out of the portrait and of every version kept."""
        gone = frozenset(atom_ids)
        async with self._database.transaction():
            await self._database.lock(owner_id)
            before = await self.current(owner_id)
            kept = [line for line in before.lines if gone.isdisjoint(line.atoms)]
            for old in await self.versions(owner_id):
                left = [line for line in old.lines if gone.isdisjoint(line.atoms)]
                if len(left) < len(old.lines):
                    body = _dump([_shape(line) for line in left])
                    await self._database.fetch(
                        self._sql["insert_persona_version"],
                        owner_id=owner_id,
                        version=old.version,
                        body=body,
                        now=old.recorded_at,
                    )
            return await self.replace(owner_id, kept)

    async def restore(self, owner_id: int, current: Portrait, earlier: Sequence[Portrait]) -> bool:
        """Store a persona exactly as an export holds it; False when the owner has one already."""
        async with self._database.transaction():
            await self._database.lock(owner_id)
            if (await self.current(owner_id)).version:
                return False
            # The lines' places stand in for the times of writing, which only order them.
            rows = [
                {**_row(owner_id, line, line.updated_at), "version": line.version, "recorded_at": at}
                for at, line in enumerate(current.lines)
            ]
            await self._database.execute_many(self._sql["insert_persona_line"], rows)
            for old in earlier:
                body = _dump([_shape(line) for line in old.lines])
                named = {"owner_id": owner_id, "version": old.version, "now": old.recorded_at}
                await self._database.fetch(self._sql["insert_persona_version"], **named, body=body)
        return True


def _match(before: Sequence[PersonaLine], lines: Sequence[PersonaLine]) -> list[PersonaLine]:
    """Give the wanted lines the ids of the lines they continue; each old line is continued once."""
    ids = {line.id for line in before}
    by_words = {(line.section, line.text): line.id for line in before}
    taken = {line.id for line in lines if line.id}
    matched = []
    for line in lines:
        found = line.id if line.id in ids or line.id else by_words.get((line.section, line.text), "")
        matched.append(replace(line, id="" if not line.id and found in taken else found))
        taken.add(found)
    return matched


def _same(old: PersonaLine, new: PersonaLine) -> bool:
    return replace(new, version=old.version, updated_at=old.updated_at) == old


def _row(owner_id: int, line: PersonaLine, now: int) -> Row:
    named = {"line_id": line.id, "owner_id": owner_id, "section": line.section, "text": line.text}
    judged = {"atoms": _dump(list(line.atoms)), "status": line.status.value, "missing": line.missing}
    return {**named, **judged, "version": 1, "recorded_at": now, "updated_at": now}


def _line(row: Row) -> PersonaLine:
    named = {name: row[name] for name in ("section", "text", "missing", "version", "updated_at")}
    status = PersonaStatus(row["status"])
    return PersonaLine(**named, id=row["line_id"], atoms=tuple(json.loads(row["atoms"])), status=status)


def _shape(line: PersonaLine) -> dict[str, object]:
    named = {name: getattr(line, name) for name in ("id", "section", "text", "missing", "version", "updated_at")}
    return {**named, "atoms": list(line.atoms), "status": line.status.value}


def _lines(body: str) -> tuple[PersonaLine, ...]:
    return tuple(
        PersonaLine(**{**item, "atoms": tuple(item["atoms"]), "status": PersonaStatus(item["status"])})
        for item in json.loads(body)
    )


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
