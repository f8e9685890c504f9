"""Transcripts (authority 1): sessions, their turns, and every message exactly as it came.

Messages are only ever appended; compaction and trimming are marks beside them.  Positions
(``seq``) start at 1 and have no gaps.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from stenolith.errors import NotFound, SequenceConflict
from stenolith.model.identity import new_id
from stenolith.model.message import Message, Opaque, compact_json, message_from_dict, message_to_dict
from stenolith.store.database import Database, Row, statements

TurnState = Literal["open", "complete", "failed", "cancelled"]
MessageStatus = Literal["complete", "partial", "failed", "cancelled"]
_STATUS_OF: dict[TurnState, MessageStatus] = {
    "open": "complete",
    "complete": "complete",
    "failed": "failed",
    "cancelled": "cancelled",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One conversation instance. *head_seq* is the position of its last message, 0 when empty.

    *clock* is the greatest message time captured so far (epoch ms), None when no message had one.
    """

    session_ref: int
    owner_id: int
    session_key: str
    session_id: str
    task_id: str
    head_seq: int
    clock: int | None
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A message on its way into a session. *digest* is what it is recognised by when it is sent again."""

    message: Message
    digest: str
    status: MessageStatus = "complete"
    message_id: str = field(default_factory=lambda: new_id("msg"))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """A message as it stands in a session."""

    message_id: str
    seq: int
    turn_id: str
    status: MessageStatus
    recorded_at: int
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One exchange: where it begins and ends, and how it went. Times are epoch milliseconds."""

    turn_id: str
    session_ref: int
    state: TurnState
    first_seq: int
    last_seq: int
    opened_at: int
    closed_at: int | None
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A change of view: what a compaction replaced (*first_kept_seq* and later stay in sight)."""

    mark_id: str
    kind: str
    first_kept_seq: int
    body: dict[str, Any]
    created_at: int


class Transcripts:
    """The session store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements(database.dialect)

    async def open(self, owner_id: int, key: str, instance: str, *, task: str, now: int) -> Session:
        """Return the session of this structured key, making an empty one on first sight."""
        values = {"owner_id": owner_id, "session_key": key, "session_id": instance, "task_id": task, "now": now}
        rows = await self._database.fetch(self._sql["open_session"], **values)
        return Session(**rows[0])

    async def find(self, owner_id: int, key: str, instance: str) -> Session | None:
        """Return the session of this key, or None when there is none. I/O errors raise."""
        rows = await self._database.fetch(
            self._sql["find_session"], owner_id=owner_id, session_key=key, session_id=instance
        )
        return Session(**rows[0]) if rows else None

    async def of_key(self, owner_id: int, key: str) -> list[Session]:
        """Return every instance of a session key, oldest first."""
        rows = await self._database.fetch(self._sql["sessions_of_key"], owner_id=owner_id, session_key=key)
        return [Session(**row) for row in rows]

    async def page(self, owner_id: int, after: int, limit: int) -> list[Session]:
        """Return a page of the owner's sessions, in the order they began."""
        rows = await self._database.fetch(self._sql["page_sessions"], owner_id=owner_id, after=after, limit=limit)
        return [Session(**row) for row in rows]

    async def get(self, owner_id: int, session_ref: int) -> Session | None:
        """Return one session of the owner by its number."""
        rows = await self._database.fetch(self._sql["get_session"], owner_id=owner_id, session_ref=session_ref)
        return Session(**rows[0]) if rows else None

    async def append(
        self, session: Session, entries: Sequence[Entry], *, state: TurnState, now: int, error: str = ""
    ) -> tuple[Turn, list[StoredMessage]]:
        """Append *entries* as one turn in one transaction.

        Raises `SequenceConflict` when somebody appended to the session since *session* was read.
        A turn in state ``open`` is closed later by `close`; any other state is final.
        """
        last = session.head_seq + len(entries)
        closed = None if state == "open" else now
        turn = Turn(
            turn_id=new_id("trn"),
            session_ref=session.session_ref,
            state=state,
            first_seq=session.head_seq + 1,
            last_seq=last,
            opened_at=now,
            closed_at=closed,
            error=error,
        )
        async with self._database.transaction():
            await self._advance(session, entries, now)
            await self._database.fetch(self._sql["insert_turn"], **_turn_row(turn))
            stored = await self._insert(turn.turn_id, session, entries, now)
        return turn, stored

    async def extend(
        self, turn_id: str, session: Session, entries: Sequence[Entry], *, now: int
    ) -> list[StoredMessage]:
        """Append progress to an open turn. Raises `NotFound` when the turn is closed or unknown."""
        async with self._database.transaction():
            last = session.head_seq + len(entries)
            if not await self._database.fetch(self._sql["extend_turn"], turn_id=turn_id, last_seq=last):
                raise NotFound(f"turn {turn_id} is not open", turn_id=turn_id)
            await self._advance(session, entries, now)
            return await self._insert(turn_id, session, entries, now)

    async def close(self, turn_id: str, state: TurnState, *, now: int, error: str = "") -> bool:
        """Close an open turn; False when it was closed already. Partial messages take the turn's status."""
        async with self._database.transaction():
            rows = await self._database.fetch(
                self._sql["close_turn"], turn_id=turn_id, state=state, now=now, error=error
            )
            if rows:
                status = _STATUS_OF[state]
                await self._database.fetch(self._sql["set_message_status"], turn_id=turn_id, status=status)
            return bool(rows)

    async def abandoned(self, before: int) -> list[tuple[int, str]]:
        """Return owner and id of every turn left open since before *before* (epoch ms), oldest first."""
        rows = await self._database.fetch(self._sql["open_turns"], before=before)
        return [(row["owner_id"], row["turn_id"]) for row in rows]

    async def turn(self, owner_id: int, turn_id: str) -> Turn | None:
        """Return one turn of the owner."""
        rows = await self._database.fetch(self._sql["get_turn"], owner_id=owner_id, turn_id=turn_id)
        return Turn(**rows[0]) if rows else None

    async def turns(self, session_ref: int) -> list[Turn]:
        """Return a session's turns in order."""
        rows = await self._database.fetch(self._sql["session_turns"], session_ref=session_ref)
        return [Turn(session_ref=session_ref, **row) for row in rows]

    async def tail(self, session_ref: int, limit: int) -> list[Row]:
        """Return ``seq digest timestamp host_id`` of the last *limit* messages, in order."""
        rows = await self._database.fetch(self._sql["message_tail"], session_ref=session_ref, limit=limit)
        return rows[::-1]

    async def messages(self, session_ref: int, after: int = 0, limit: int = 1_000_000) -> list[StoredMessage]:
        """Return a session's messages with a position greater than *after*, in order."""
        rows = await self._database.fetch(
            self._sql["session_messages"], session_ref=session_ref, after=after, limit=limit
        )
        return [_stored(row) for row in rows]

    async def message(self, owner_id: int, message_id: str) -> StoredMessage | None:
        """Return one message of the owner."""
        rows = await self._database.fetch(self._sql["get_message"], owner_id=owner_id, message_id=message_id)
        return _stored(rows[0]) if rows else None

    async def blank(self, owner_id: int, message_id: str, name: str) -> bool:
        """Delete the content of one message for good; its place, role and time stay, so positions have no gap.

        *name* stands where its digest stood: something that tells the message again, and not what it said.
        """
        stored = await self.message(owner_id, message_id)
        if stored is None:
            return False
        empty = Message(role=stored.message.role, parts=(Opaque(kind="forgotten", value=None),))
        body = compact_json(message_to_dict(empty))
        named = {"owner_id": owner_id, "message_id": message_id}
        return bool(await self._database.fetch(self._sql["blank_message"], **named, body=body, digest=name))

    async def mark(self, session_ref: int, kind: str, first_kept_seq: int, body: dict[str, Any], now: int) -> str:
        """Put a mark on the view of a session; no message changes."""
        mark_id = new_id("mrk")
        values = {"mark_id": mark_id, "session_ref": session_ref, "kind": kind, "first_kept_seq": first_kept_seq}
        await self._database.fetch(self._sql["insert_mark"], **values, body=compact_json(body), now=now)
        return mark_id

    async def marks(self, session_ref: int) -> list[Mark]:
        """Return the marks of a session, oldest first."""
        rows = await self._database.fetch(self._sql["session_marks"], session_ref=session_ref)
        return [Mark(**{**row, "body": json.loads(row["body"])}) for row in rows]

    async def digests(self, session_ref: int) -> dict[int, str]:
        """Return what each message of a session is recognised by, by position."""
        return {row["seq"]: row["digest"] for row in await self.tail(session_ref, 2**31)}

    async def restore(self, session: Session) -> Session | None:
        """Store a session as an export holds it, under a new number; None when its key is taken."""
        values = {name: getattr(session, name) for name in session.__slots__ if name != "session_ref"}
        rows = await self._database.fetch(self._sql["restore_session"], **values)
        return replace(session, session_ref=rows[0]["session_ref"]) if rows else None

    async def restore_turn(self, turn: Turn) -> None:
        """Store a turn of a restored session."""
        await self._database.fetch(self._sql["insert_turn"], **_turn_row(turn))

    async def restore_message(self, session_ref: int, stored: StoredMessage, digest: str) -> None:
        """Store a message of a restored session in its place."""
        entry = Entry(message=stored.message, digest=digest, status=stored.status, message_id=stored.message_id)
        row = _message_row(stored.turn_id, session_ref, stored.seq, entry, stored.recorded_at)
        await self._database.fetch(self._sql["insert_message"], **row)

    async def restore_mark(self, session_ref: int, mark: Mark) -> None:
        """Store a mark of a restored session."""
        values = {"mark_id": mark.mark_id, "session_ref": session_ref, "kind": mark.kind, "now": mark.created_at}
        body = compact_json(mark.body)
        await self._database.fetch(self._sql["insert_mark"], **values, first_kept_seq=mark.first_kept_seq, body=body)

    async def delete(self, owner_id: int, session_ref: int) -> bool:
        """Delete a session with its turns, messages and marks; False when there is no such session."""
        rows = await self._database.fetch(self._sql["delete_session"], owner_id=owner_id, session_ref=session_ref)
        return bool(rows)

    async def _advance(self, session: Session, entries: Sequence[Entry], now: int) -> None:
        stamps = [entry.message.timestamp for entry in entries if entry.message.timestamp is not None]
        clock = max([*stamps, *([] if session.clock is None else [session.clock])], default=None)
        moved = await self._database.fetch(
            self._sql["advance_session"],
            session_ref=session.session_ref,
            head_seq=session.head_seq + len(entries),
            expected_seq=session.head_seq,
            clock=clock,
            now=now,
        )
        if not moved:
            raise SequenceConflict(
                f"session {session.session_key!r} is no longer at message {session.head_seq}; read it again",
                session_key=session.session_key,
                expected_seq=session.head_seq,
            )

    async def _insert(self, turn_id: str, session: Session, entries: Sequence[Entry], now: int) -> list[StoredMessage]:
        rows = [
            _message_row(turn_id, session.session_ref, session.head_seq + number, entry, now)
            for number, entry in enumerate(entries, 1)
        ]
        await self._database.execute_many(self._sql["insert_message"], rows)
        return [
            StoredMessage(
                message_id=entry.message_id,
                seq=session.head_seq + number,
                turn_id=turn_id,
                status=entry.status,
                recorded_at=now,
                message=entry.message,
            )
            for number, entry in enumerate(entries, 1)
        ]


def _turn_row(turn: Turn) -> Row:
    return {name: getattr(turn, name) for name in turn.__slots__}


def _message_row(turn_id: str, session_ref: int, seq: int, entry: Entry, now: int) -> Row:
    return {
        "message_id": entry.message_id,
        "session_ref": session_ref,
        "seq": seq,
        "turn_id": turn_id,
        "role": entry.message.role.value,
        "host_id": entry.message.id,
        "digest": entry.digest,
        "timestamp": entry.message.timestamp,
        "recorded_at": now,
        "status": entry.status,
        "body": compact_json(message_to_dict(entry.message)),
    }


def _stored(row: Row) -> StoredMessage:
    names = ("message_id", "seq", "turn_id", "status", "recorded_at")
    return StoredMessage(**{name: row[name] for name in names}, message=message_from_dict(json.loads(row["body"])))
