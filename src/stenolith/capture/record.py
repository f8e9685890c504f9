"""The guest book: what is new becomes messages, records and a job in one transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from functools import partial
from typing import Any

from stenolith.capture.align import Alignment, Known, align, alignment_digest
from stenolith.capture.clean import clean
from stenolith.capture.forgotten import forgotten_head, recognised
from stenolith.capture.opaque import without_secrets
from stenolith.capture.turn import Turn, sound
from stenolith.errors import InvalidInput
from stenolith.model.identity import Scope, new_id
from stenolith.model.message import Message, Role, mended
from stenolith.model.provenance import ProvenanceKind
from stenolith.store.audit import Tombstones
from stenolith.store.database import Database
from stenolith.store.records import Record, Records
from stenolith.store.transcripts import Entry, MessageStatus, Session, StoredMessage, Transcripts, TurnState

FORGOTTEN = "forgotten before"
"""Why a message of a history that a host sends again is not stored: somebody had it deleted."""
NO_PROSE = "code only"
"""Why an answer that is nothing but a code block makes no record; the transcript has it."""


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
class Draft:
    """One new message on its way: its place in the turn, its record's words, or why it makes no record."""

    index: int
    message: Message
    digest: str
    reason: str = ""
    text: str = ""

    def entry(self, status: MessageStatus) -> Entry:
        """Return what the transcript stores."""
        return Entry(message=self.message, digest=self.digest, status=status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What every record of one turn has in common."""

    scope: Scope
    now: int
    zone: tzinfo
    distillable: bool

    def records(self, session: Session, drafts: Sequence[Draft], stored: Sequence[StoredMessage]) -> list[Record]:
        """Make the records of those drafts that carry words."""
        dated = any(draft.message.timestamp is not None for draft in drafts)
        times = _Times(session.clock if dated else None, self.now)
        said = [times.of(message.message) for message in stored]
        pairs = zip(drafts, stored, said, strict=True)
        return [self._record(session, draft.text, message, when) for draft, message, when in pairs if not draft.reason]

    def _record(self, session: Session, text: str, stored: StoredMessage, said: tuple[int, str]) -> Record:
        at = datetime.fromtimestamp(self.now / 1000, UTC)
        return Record(
            record_id=new_id("rec", self.now),
            session_key=session.session_key,
            session_id=session.session_id,
            team_id=self.scope.team,
            user_id=self.scope.user,
            agent_id=self.scope.agent,
            task_id=self.scope.task,
            role=stored.message.role.value,
            message_text=text,
            recorded_at=at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            timestamp=said[0],
            owner_id=session.owner_id,
            session_ref=session.session_ref,
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


class Scribe:
    """Turns messages into transcript entries and, once stored, into records with their search rows and jobs."""

    def __init__(self, database: Database, surroundings: Surroundings) -> None:
        self.database = database
        self.transcripts = Transcripts(database)
        self.given = surroundings
        self._records = Records(database)

    def draft(self, index: int, message: Message, digest: str, original: str | None = None) -> Draft:
        """Prepare one message: secrets out, then the words of its record, or the reason for none."""
        kept = without_secrets(message, self.given.redact)
        draft = Draft(index=index, message=kept, digest=digest)
        draft.reason = _not_said(kept)
        if draft.reason:
            return draft
        cleaned = clean(kept.text(), role=kept.role, original=original)
        draft.text = mended(self.given.redact(cleaned.search_text if kept.role is Role.ASSISTANT else cleaned.text))
        draft.reason = cleaned.skip or ("" if draft.text else NO_PROSE)
        return draft

    async def file(
        self, session: Session, drafts: Sequence[Draft], stored: Sequence[StoredMessage], heading: Heading
    ) -> list[Record]:
        """Write the records of stored messages; joins the transaction that stored them."""
        records = heading.records(session, drafts, stored)
        if records:
            await self._records.append(records)
            await self.given.index(records)
            await self.given.enqueue(session, records)
        return records

    def heading(self, scope: Scope, now: int, *, distillable: bool) -> Heading:
        """Return what the records of one turn have in common."""
        return Heading(scope=scope, now=now, zone=self.given.zone, distillable=distillable)


class Recorder:
    """Writes whole turns. One instance serves every session of a home."""

    def __init__(self, scribe: Scribe) -> None:
        self._scribe = scribe
        self._tombstones = Tombstones(scribe.database)

    async def record(self, owner_id: int, scope: Scope, turn: Turn) -> CaptureReport:
        """Store what is new of *turn* under the session of *scope*.

        One transaction: transcript messages, records, search rows, jobs.  When it returns, the words
        are durable; when it raises, nothing was stored.  Raises `InvalidInput` without a session key.
        """
        require_session(scope)
        turn = replace(turn, messages=tuple(map(sound, turn.messages)))
        digests = [alignment_digest(message) for message in turn.messages]
        return await self._scribe.database.atomically(partial(self._write, owner_id, scope, turn, digests))

    async def _write(self, owner_id: int, scope: Scope, turn: Turn, digests: Sequence[str]) -> CaptureReport:
        scribe, now = self._scribe, self._scribe.given.now()
        await scribe.database.lock(owner_id)
        session = await open_session(scribe.transcripts, owner_id, scope, now)
        gone = await self._forgotten(owner_id, scope, turn, digests)
        found = await self._align(session, turn, digests, gone)
        drafts = [self._draft(turn, index, digests[index]) for index in found.new]
        if not drafts:
            return _report(turn, found, gone, [], [])
        state: TurnState = "failed" if turn.failed else "complete"
        entries = [draft.entry("failed" if turn.failed else "complete") for draft in drafts]
        stored_turn, stored = await scribe.transcripts.append(session, entries, state=state, now=now)
        heading = scribe.heading(scope, now, distillable=turn.distillable)
        records = await scribe.file(session, drafts, stored, heading)
        return replace(_report(turn, found, gone, drafts, records), turn_id=stored_turn.turn_id)

    async def _forgotten(self, owner_id: int, scope: Scope, turn: Turn, digests: Sequence[str]) -> int:
        """Return how many messages at the head are history that was forgotten; this turn's own never are."""
        said = [(digest, message.timestamp) for digest, message in zip(digests, turn.messages, strict=True)]
        history = said if turn.mark is None else said[: max(turn.mark, 0)]
        return await forgotten_head(self._tombstones, owner_id, scope.session_key, history)

    async def _align(self, session: Session, turn: Turn, digests: Sequence[str], gone: int) -> Alignment:
        """Say which messages behind the first *gone* ones are new."""
        rows = await self._scribe.transcripts.tail(session.session_ref, self._scribe.given.tail)
        held = await recognised(self._tombstones, [row["digest"] for row in rows], digests)
        known = [
            Known(digest=digest, timestamp=row["timestamp"], host_id=row["host_id"])
            for digest, row in zip(held, rows, strict=True)
        ]
        mark = None if turn.mark is None else turn.mark - gone
        found = align(turn.messages[gone:], known, mark=mark, clock=session.clock)
        return replace(found, new=tuple(gone + index for index in found.new))

    def _draft(self, turn: Turn, index: int, digest: str) -> Draft:
        return self._scribe.draft(index, turn.messages[index], digest, turn.original_at(index))


_WRITTEN_BY_HOSTS = {"summary": "a summary", "bash": "a command's output", "custom_type": "a host's own entry"}
_SENT_BY_MACHINES = {ProvenanceKind.INTER_SESSION: "another session", ProvenanceKind.INTERNAL_SYSTEM: "the system"}


def _not_said(message: Message) -> str:
    """Return why a message holds nobody's words, or an empty text when user or assistant said it.

    Such messages stay in the transcript; as records they would be searched and learned from as if a
    person had typed them.
    """
    if message.role not in {Role.USER, Role.ASSISTANT}:
        return f"{message.role.value} message: kept in the transcript"
    for name, what in _WRITTEN_BY_HOSTS.items():
        if name in message.extra:
            return f"{what}: kept in the transcript"
    sender = _SENT_BY_MACHINES.get(message.provenance.kind) if message.provenance else None
    return f"sent by {sender}: kept in the transcript" if sender else ""


def require_session(scope: Scope) -> None:
    """Raise `InvalidInput` when *scope* names no session."""
    if not scope.session_key:
        raise InvalidInput("capture needs a session key: it names the conversation these messages belong to")


async def open_session(transcripts: Transcripts, owner_id: int, scope: Scope, now: int) -> Session:
    """Return the session of *scope*; an instance that is not named has the session key's name."""
    instance = scope.session_id or scope.session_key
    return await transcripts.open(owner_id, scope.session_key, instance, task=scope.task, now=now)


def _report(
    turn: Turn, found: Alignment, gone: int, drafts: Sequence[Draft], records: Sequence[Record]
) -> CaptureReport:
    new = set(found.new)
    skipped = [(index, FORGOTTEN) for index in range(gone)]
    skipped += [(index, "already stored") for index in range(gone, len(turn.messages)) if index not in new]
    skipped += [(draft.index, draft.reason) for draft in drafts if draft.reason]
    return CaptureReport(
        recorded=tuple(records),
        skipped=tuple(sorted(skipped)),
        new_messages=len(drafts),
        aligned_by=found.by,
        warnings=tuple(found.warnings),
    )
