"""Turns that are recorded while they happen: durable before the model is called, closed exactly once.

``begin`` stores what the person said before anything can fail; ``checkpoint`` adds progress;
``close`` ends the turn as complete, failed or cancelled; ``recover`` closes what a dead process left
open.  No tool is ever run again.  A turn's records (L0) are written when it closes, so that a
half-said answer is never searched or learned from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stenolith.capture.align import alignment_digest
from stenolith.capture.record import Draft, Scribe, open_session, require_session
from stenolith.capture.turn import sound
from stenolith.errors import NotFound, SequenceConflict
from stenolith.model.identity import Scope
from stenolith.model.message import Message
from stenolith.store.records import Record
from stenolith.store.transcripts import MessageStatus, Session, StoredMessage, Turn, TurnState


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a live turn stands: its id, its state and the position of the session's last message."""

    turn_id: str
    state: TurnState
    seq: int
    records: tuple[Record, ...] = ()


class LiveTurns:
    """Opens, extends and closes turns; every call is one transaction."""

    def __init__(self, scribe: Scribe) -> None:
        self._scribe = scribe

    async def begin(self, owner_id: int, scope: Scope, messages: Sequence[Message]) -> Progress:
        """Make the user's words durable and return the open turn."""
        require_session(scope)
        now = self._scribe.given.now()

        async def write() -> Progress:
            await self._scribe.database.lock(owner_id)
            session = await open_session(self._scribe.transcripts, owner_id, scope, now)
            entries = [draft.entry("complete") for draft in self._drafts(messages)]
            turn, _ = await self._scribe.transcripts.append(session, entries, state="open", now=now)
            return Progress(turn_id=turn.turn_id, state="open", seq=turn.last_seq)

        return await self._scribe.database.atomically(write)

    async def checkpoint(self, owner_id: int, turn_id: str, messages: Sequence[Message]) -> Progress:
        """Add what has happened since; these messages are partial until the turn closes.

        Raises `NotFound` when the owner has no such open turn.
        """

        async def write() -> Progress:
            await self._scribe.database.lock(owner_id)
            _, session = await self._open_turn(owner_id, turn_id)
            await self._extend(turn_id, session, messages, "partial")
            return Progress(turn_id=turn_id, state="open", seq=session.head_seq + len(messages))

        return await self._scribe.database.atomically(write)

    async def close(
        self, owner_id: int, scope: Scope, turn_id: str, *, state: TurnState, messages: Sequence[Message] = ()
    ) -> Progress:
        """End a turn with its last messages and write its records.

        Only a complete turn is learned from.  Raises `NotFound` when the turn is not open, which is
        also what a second close says.
        """

        async def write() -> Progress:
            await self._scribe.database.lock(owner_id)
            turn, session = await self._open_turn(owner_id, turn_id)
            await self._extend(turn_id, session, messages, "partial")
            records = await self._finish(scope, session, turn, state)
            return Progress(turn_id=turn_id, state=state, seq=session.head_seq + len(messages), records=tuple(records))

        return await self._scribe.database.atomically(write)

    async def append(
        self, owner_id: int, scope: Scope, messages: Sequence[Message], expected_seq: int, *, distillable: bool = True
    ) -> Progress:
        """Append a whole turn to a session that stands at *expected_seq* (0 when new).

        Raises `SequenceConflict` when it stands elsewhere; nothing is stored then.
        """
        require_session(scope)
        now = self._scribe.given.now()

        async def write() -> Progress:
            await self._scribe.database.lock(owner_id)
            session = await open_session(self._scribe.transcripts, owner_id, scope, now)
            if session.head_seq != expected_seq:
                raise SequenceConflict(
                    f"session {scope.session_key!r} stands at message {session.head_seq}, not {expected_seq}",
                    expected_seq=expected_seq,
                    actual_seq=session.head_seq,
                )
            drafts = self._drafts(messages)
            entries = [draft.entry("complete") for draft in drafts]
            turn, stored = await self._scribe.transcripts.append(session, entries, state="complete", now=now)
            heading = self._scribe.heading(scope, now, distillable=distillable)
            records = await self._scribe.file(session, drafts, stored, heading)
            return Progress(turn_id=turn.turn_id, state="complete", seq=turn.last_seq, records=tuple(records))

        return await self._scribe.database.atomically(write)

    async def recover(self, owner_id: int, scope: Scope, turn_id: str) -> list[Record]:
        """Close one turn that its process left open, and record what was said, marked as not to be learned from."""

        async def write() -> list[Record]:
            await self._scribe.database.lock(owner_id)
            turn, session = await self._open_turn(owner_id, turn_id)
            within = Scope(
                team=scope.team,
                user=scope.user,
                agent=scope.agent,
                session_key=session.session_key,
                session_id=session.session_id,
                task=session.task_id,
            )
            return await self._finish(within, session, turn, "failed")

        return await self._scribe.database.atomically(write)

    async def _finish(self, scope: Scope, session: Session, turn: Turn, state: TurnState) -> list[Record]:
        now = self._scribe.given.now()
        note = "" if state == "complete" else state
        await self._scribe.transcripts.close(turn.turn_id, state, now=now, error=note)
        stored = await self._scribe.transcripts.messages(session.session_ref, after=turn.first_seq - 1)
        own = [message for message in stored if message.turn_id == turn.turn_id]
        drafts = self._drafts([message.message for message in own])
        heading = self._scribe.heading(scope, now, distillable=state == "complete")
        return await self._scribe.file(session, drafts, own, heading)

    async def _open_turn(self, owner_id: int, turn_id: str) -> tuple[Turn, Session]:
        turn = await self._scribe.transcripts.turn(owner_id, turn_id)
        if turn is None or turn.state != "open":
            raise NotFound(f"there is no open turn {turn_id}", turn_id=turn_id)
        session = await self._scribe.transcripts.get(owner_id, turn.session_ref)
        if session is None:
            raise NotFound(f"the session of turn {turn_id} was deleted", turn_id=turn_id)
        return turn, session

    async def _extend(
        self, turn_id: str, session: Session, messages: Sequence[Message], status: MessageStatus
    ) -> list[StoredMessage]:
        entries = [draft.entry(status) for draft in self._drafts(messages)]
        if not entries:
            return []
        return await self._scribe.transcripts.extend(turn_id, session, entries, now=self._scribe.given.now())

    def _drafts(self, messages: Sequence[Message]) -> list[Draft]:
        told = map(sound, messages)
        return [self._scribe.draft(index, message, alignment_digest(message)) for index, message in enumerate(told)]
