"""Derived data made anew from what owns it: search rows, vectors, JSONL, Markdown; and records from JSONL."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from stenolith.capture.align import alignment_digest
from stenolith.capture.record import Scribe
from stenolith.engine import documents
from stenolith.engine.projections import Projections
from stenolith.engine.wiring import House
from stenolith.errors import InvalidInput
from stenolith.model.identity import Scope
from stenolith.model.message import Message, Role, Text
from stenolith.store.journal_file import JournalLine
from stenolith.store.records import Record
from stenolith.store.search import Layer
from stenolith.store.transcripts import Entry, Session, StoredMessage

PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lost:
    """A journal line whose record is gone, and the day file it stands in."""

    line: JournalLine
    day: str


class Rebuilding:
    """Each method rebuilds one thing and returns how much of it there is."""

    def __init__(self, house: House, scribe: Scribe, projections: Projections) -> None:
        self._house = house
        self._scribe = scribe
        self._projections = projections

    async def run(self, what: str) -> dict[str, int]:
        """Rebuild one thing, or ``all``; records come first, because everything else stands on them."""
        parts = {"records": self.records, "indexes": self.indexes, "journal": self.journal, "files": self.files}
        if what not in {*parts, "all"}:
            raise InvalidInput(f"what can be rebuilt: {', '.join(parts)}, all; got {what!r}")
        done: dict[str, int] = {}
        for name, part in parts.items():
            if what in {name, "all"}:
                done |= await part()
        return done

    async def indexes(self) -> dict[str, int]:
        """Empty the full-text index and fill it from records, atoms and scenes; ask for missing vectors."""
        house, zone = self._house, self._house.settings.zone
        done: dict[str, int] = {"records": 0, "atoms": 0, "scenes": 0}
        owners = await house.owners.every()
        async with house.database.transaction():
            for owner_id, _ in owners:
                await house.database.lock(owner_id)
            await house.index.clear()
            after = ""
            while page := await house.records.page_of_home(after, PAGE):
                await house.index.index(documents.of_records(page, zone))
                done["records"] += len(page)
                after = page[-1].record_id
            for owner_id, _ in owners:
                atoms = await self._projections.all_atoms(owner_id)
                await house.index.index(documents.of_atoms(owner_id, atoms, zone))
                scenes = [kept.scene for kept in await house.scenes.export(owner_id)]
                await house.index.index(documents.of_scenes(owner_id, scenes))
                for layer in Layer:
                    await self._projections.request_vectors(owner_id, layer)
                done["atoms"] += len(atoms)
                done["scenes"] += len(scenes)
        return done

    async def journal(self) -> dict[str, int]:
        """Write every day file anew from the database."""
        rebuilt = await self._house.journal.rebuild_files()
        return {"days": rebuilt.days, "lines": rebuilt.lines, "set_aside": rebuilt.set_aside}

    async def files(self) -> dict[str, int]:
        """Write every owner's Markdown files anew and return how many changed."""
        changed = [await self._projections.write_files(owner_id) for owner_id, _ in await self._house.owners.every()]
        return {"files": sum(changed)}

    async def edited_outside(self) -> list[tuple[str, Path]]:
        """Return the scenes, by name, whose files somebody changed: writing the files anew would lose that."""
        every = await self._house.owners.every()
        return [found for owner_id, _ in every for found in await self._projections.edited_outside(owner_id)]

    async def records(self) -> dict[str, int]:
        """Bring back the records whose lines stand in the day files but not in the database.

        A line is joined to the transcript message that it was made from; where that is gone too, the
        line's words become a message again, at the end of their session.
        """
        lost: dict[tuple[Scope, str, str], list[_Lost]] = defaultdict(list)
        damaged = restored = 0
        known = await self._known()
        for day, line in self._house.journal.read_lines():
            if not isinstance(line, JournalLine):
                damaged += 1
            elif line.record_id not in known:
                scope = Scope(team=line.team_id, user=line.user_id, agent=line.agent_id)
                lost[scope, line.session_key, line.session_id].append(_Lost(line=line, day=day))
        for (scope, key, instance), lines in lost.items():
            restored += await self._restore(scope, (key, instance), lines)
        await self._house.journal.catch_up()
        return {"restored": restored, "damaged_lines": damaged}

    async def _known(self) -> set[str]:
        found: set[str] = set()
        after = ""
        while page := await self._house.records.page_of_home(after, PAGE):
            found |= {record.record_id for record in page}
            after = page[-1].record_id
        return found

    async def _restore(self, scope: Scope, name: tuple[str, str], lines: list[_Lost]) -> int:
        house = self._house
        owner_id = await house.owners.intern(scope)
        async with house.database.transaction():
            await house.database.lock(owner_id)
            session = await house.transcripts.open(owner_id, *name, task="", now=house.now())
            free = await self._free_messages(session)
            records = []
            for lost in lines:
                stored = _match(free, lost.line) or await self._told_again(owner_id, session, lost.line)
                records.append(_record(scope, session, stored, lost))
            await house.records.append(records)
            await house.index.index(documents.of_records(records, house.settings.zone))
        return len(records)

    async def _free_messages(self, session: Session) -> list[tuple[StoredMessage, str]]:
        """Return the session's messages that have no record, with the words a record of them would have."""
        taken = {record.seq for record in await self._house.records.of_session(session.session_ref, limit=10_000_000)}
        stored = await self._house.transcripts.messages(session.session_ref)
        return [
            (message, self._scribe.draft(0, message.message, "").text) for message in stored if message.seq not in taken
        ]

    async def _told_again(self, owner_id: int, session: Session, line: JournalLine) -> StoredMessage:
        said = Message(role=Role(line.role), parts=(Text(text=line.message_text),), timestamp=line.timestamp)
        entry = Entry(message=said, digest=alignment_digest(said))
        current = await self._house.transcripts.get(owner_id, session.session_ref) or session
        _, stored = await self._house.transcripts.append(current, [entry], state="complete", now=self._house.now())
        return stored[0]


def _match(free: list[tuple[StoredMessage, str]], line: JournalLine) -> StoredMessage | None:
    """Take the first free message that says what *line* says."""
    for at, (stored, words) in enumerate(free):
        if stored.message.role.value == line.role and words == line.message_text:
            return free.pop(at)[0]
    return None


def _record(scope: Scope, session: Session, stored: StoredMessage, lost: _Lost) -> Record:
    line = lost.line
    return Record(
        record_id=line.record_id,
        session_key=line.session_key,
        session_id=line.session_id,
        team_id=scope.team,
        user_id=scope.user,
        agent_id=scope.agent,
        task_id=session.task_id,
        role=line.role,
        message_text=line.message_text,
        recorded_at=line.recorded_at,
        timestamp=line.timestamp,
        owner_id=session.owner_id,
        session_ref=session.session_ref,
        seq=stored.seq,
        message_id=stored.message_id,
        speaker=stored.message.speaker,
        timestamp_source="host",
        distillable=stored.status == "complete",
        journal_day=lost.day,
    )
