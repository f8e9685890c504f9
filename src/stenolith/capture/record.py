"""The guest book: what is new becomes messages, records and a job in one transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any

from stenolith.capture.align import Alignment, Known, align, alignment_digest
from stenolith.capture.clean import clean
from stenolith.capture.turn import Turn
from stenolith.errors import InvalidInput
from stenolith.model.identity import Scope, new_id
from stenolith.model.message import Message, Role, message_from_dict, message_to_dict
from stenolith.store.database import Database
from stenolith.store.records import Record, Records
from stenolith.store.transcripts import Entry, Session, StoredMessage, Transcripts

EMPTY_ONCE_CLEANED = "code only"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureReport:
    """What one capture did.

    *recorded* holds the new records, *skipped* pairs of position in the turn and reason, *new_messages*
    how many messages the transcript gained, *aligned_by* which defence told what is new: ``mark``,
    ``content``, ``clock`` or ``first``.
    """

    recorded: tuple[Record, ...] = ()
    skipped: tuple[tuple[int, str], ...] = ()
    new_messages: int = 0
    aligned_by: str = "first"
    warnings: tuple[str, ...] = ()
    turn_id: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of ``stenolith capture --json``."""
        recorded = [
            {
                "id": record.record_id,
                "message_id": record.message_id,
                "role": record.role,
                "text": record.message_text,
                "timestamp": record.timestamp,
            }
            for record in self.recorded
        ]
        return {
            "recorded": recorded,
            "skipped": [{"index": index, "reason": reason} for index, reason in self.skipped],
            "new_messages": self.new_messages,
            "aligned_by": self.aligned_by,
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the recorder is given by the engine.

    *redact* replaces secrets inside a JSON-like value; *index* and *enqueue* run inside the
    transaction; *now* gives epoch milliseconds; *tail* is how many stored messages are compared.
    """

    redact: Callable[[Any], Any]
    index: Callable[[Sequence[Record]], Awaitable[None]]
    enqueue: Callable[[Session, Sequence[Record]], Awaitable[None]]
    now: Callable[[], int]
    zone: tzinfo
    tail: int = 400


@dataclass(slots=True, kw_only=True)
class _Draft:
    """One new message on its way: its place in the turn, what is left of it, why it makes no record."""

    index: int
    entry: Entry
    reason: str = ""
    text: str = ""


class Recorder:
    """Writes turns. One instance serves every session of a home."""

    def __init__(self, database: Database, surroundings: Surroundings) -> None:
        self._database = database
        self._transcripts = Transcripts(database)
        self._records = Records(database)
        self._given = surroundings

    async def record(self, owner_id: int, scope: Scope, turn: Turn) -> CaptureReport:
        """Store what is new of *turn* under the session of *scope*.

        One transaction: transcript messages, records, search rows, jobs.  When it returns, the words
        are durable; when it raises, nothing was stored.  Raises `InvalidInput` without a session key.
        """
        if not scope.session_key:
            raise InvalidInput("capture needs a session key: it names the conversation these messages belong to")
        digests = [alignment_digest(message) for message in turn.messages]
        now = self._given.now()
        async with self._database.transaction():
            session = await self._transcripts.open(
                owner_id, scope.session_key, scope.session_id or scope.session_key, task=scope.task, now=now
            )
            found = await self._align(session, turn)
            drafts = [self._draft(turn, index, digests[index]) for index in found.new]
            if not drafts:
                return _report(turn, found, [], [], "")
            state = "failed" if turn.failed else "complete"
            entries = [draft.entry for draft in drafts]
            stored_turn, stored = await self._transcripts.append(session, entries, state=state, now=now)
            heading = _Heading(
                scope=scope, session=session, now=now, zone=self._given.zone, distillable=turn.distillable
            )
            records = heading.records(drafts, stored)
            await self._records.append(records)
            if records:
                await self._given.index(records)
                await self._given.enqueue(session, records)
        return _report(turn, found, drafts, records, stored_turn.turn_id)

    async def _align(self, session: Session, turn: Turn) -> Alignment:
        rows = await self._transcripts.tail(session.session_ref, self._given.tail)
        known = [Known(digest=row["digest"], timestamp=row["timestamp"], host_id=row["host_id"]) for row in rows]
        return align(turn.messages, known, mark=turn.mark, clock=session.clock)

    def _draft(self, turn: Turn, index: int, digest: str) -> _Draft:
        message = turn.messages[index]
        kept = message_from_dict(self._given.redact(message_to_dict(message)))
        status = "failed" if turn.failed else "complete"
        draft = _Draft(index=index, entry=Entry(message=kept, digest=digest, status=status))
        self._clean(draft, turn.original_at(index))
        return draft

    def _clean(self, draft: _Draft, original: str | None) -> None:
        message = draft.entry.message
        if message.role not in {Role.USER, Role.ASSISTANT}:
            draft.reason = f"{message.role.value} message: kept in the transcript"
            return
        cleaned = clean(message.text(), role=message.role, original=original)
        words = cleaned.search_text if message.role is Role.ASSISTANT else cleaned.text
        draft.text = self._given.redact(words)
        draft.reason = cleaned.skip or ("" if draft.text else EMPTY_ONCE_CLEANED)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heading:
    """What every record of one turn has in common."""

    scope: Scope
    session: Session
    now: int
    zone: tzinfo
    distillable: bool

    def records(self, drafts: Sequence[_Draft], stored: Sequence[StoredMessage]) -> list[Record]:
        """Make the records of those drafts that carry words."""
        dated = any(draft.entry.message.timestamp is not None for draft in drafts)
        times = _Times(self.session.clock if dated else None, self.now)
        said = [times.of(message.message) for message in stored]
        pairs = zip(drafts, stored, said, strict=True)
        return [self._record(draft.text, message, when) for draft, message, when in pairs if not draft.reason]

    def _record(self, text: str, stored: StoredMessage, said: tuple[int, str]) -> Record:
        at = datetime.fromtimestamp(self.now / 1000, UTC)
        return Record(
            record_id=new_id("rec", self.now),
            session_key=self.session.session_key,
            session_id=self.session.session_id,
            team_id=self.scope.team,
            user_id=self.scope.user,
            agent_id=self.scope.agent,
            task_id=self.scope.task,
            role=stored.message.role.value,
            message_text=text,
            recorded_at=at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            timestamp=said[0],
            owner_id=self.session.owner_id,
            session_ref=self.session.session_ref,
            seq=stored.seq,
            message_id=stored.message_id,
            speaker=stored.message.speaker,
            timestamp_source=said[1],
            distillable=self.distillable,
            journal_day=at.astimezone(self.zone).date().isoformat(),
        )


class _Times:
    """Give every message a time: its own, its neighbour's, or the moment of writing."""

    def __init__(self, clock: int | None, now: int) -> None:
        self._last = clock
        self._now = now

    def of(self, message: Message) -> tuple[int, str]:
        """Return epoch milliseconds and where they come from."""
        if message.timestamp is not None:
            self._last = message.timestamp
            return message.timestamp, "assumed" if message.extra.get("timestamp_assumed") else "host"
        if self._last is not None:
            return self._last, "neighbour"
        return self._now, "recorded"


def _report(
    turn: Turn, found: Alignment, drafts: Sequence[_Draft], records: Sequence[Record], turn_id: str
) -> CaptureReport:
    new = set(found.new)
    skipped = [(index, "already stored") for index in range(len(turn.messages)) if index not in new]
    skipped += [(draft.index, draft.reason) for draft in drafts if draft.reason]
    return CaptureReport(
        recorded=tuple(records),
        skipped=tuple(sorted(skipped)),
        new_messages=len(drafts),
        aligned_by=found.by,
        warnings=tuple(found.warnings),
        turn_id=turn_id,
    )
