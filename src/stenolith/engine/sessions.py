"""The session store as hosts use it: live turns, projections, compaction marks, recovery."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from stenolith.capture.live import LiveTurns, Progress
from stenolith.engine.wiring import House
from stenolith.errors import InvalidInput, NotFound
from stenolith.model.identity import Scope
from stenolith.model.message import Message, Role, StopReason, Text
from stenolith.replay.display import display
from stenolith.replay.reasoning import WITHHELD
from stenolith.store.transcripts import Mark, Session, StoredMessage, Turn

COMPACTION = "compaction"
WITHHOLDING = "withholding"


class Sessions:
    """Authority 1 at the surface. Projections read; only turns and marks write."""

    def __init__(self, house: House, live: LiveTurns) -> None:
        self._house = house
        self._live = live

    async def begin_turn(self, messages: Sequence[Message], *, scope: Scope) -> Progress:
        """Make the user's words durable before the model is called, and return the open turn."""
        return await self._live.begin(await self._house.owners.intern(scope), scope, messages)

    async def checkpoint(self, turn_id: str, messages: Sequence[Message], *, scope: Scope) -> Progress:
        """Add progress to an open turn; a crash after this keeps it. Raises `NotFound`."""
        return await self._live.checkpoint(await self._house.owners.find(scope), turn_id, messages)

    async def complete_turn(self, turn_id: str, messages: Sequence[Message] = (), *, scope: Scope) -> Progress:
        """Close a turn that went well; from now on it is searched and learned from. Raises `NotFound`."""
        return await self._close(scope, turn_id, "complete", messages)

    async def fail_turn(self, turn_id: str, messages: Sequence[Message] = (), *, scope: Scope) -> Progress:
        """Close a turn that failed; its words are kept and never learned from. Raises `NotFound`."""
        return await self._close(scope, turn_id, "failed", messages)

    async def cancel_turn(self, turn_id: str, messages: Sequence[Message] = (), *, scope: Scope) -> Progress:
        """Close a turn that somebody stopped. Raises `NotFound`."""
        return await self._close(scope, turn_id, "cancelled", messages)

    async def append_turn(self, messages: Sequence[Message], *, scope: Scope, expected_seq: int) -> Progress:
        """Append a whole turn in one transaction and return the new position.

        Raises `SequenceConflict` when the session does not stand at *expected_seq*; nothing is stored.
        """
        owner_id = await self._house.owners.intern(scope)
        progress = await self._live.append(owner_id, scope, messages, expected_seq)
        await self._house.journal.append(progress.records)
        return progress

    async def _close(self, scope: Scope, turn_id: str, state: Any, messages: Sequence[Message]) -> Progress:
        owner_id = await self._house.owners.find(scope)
        progress = await self._live.close(owner_id, scope, turn_id, state=state, messages=messages)
        await self._house.journal.append(progress.records)
        return progress

    async def recover(self, before: int) -> list[str]:
        """Close every turn left open since before *before* (epoch ms), each exactly once; no tool runs again."""
        closed: list[str] = []
        for owner_id, turn_id in await self._house.transcripts.abandoned(before):
            owner = await self._house.owners.scope_of(owner_id)
            try:
                records = await self._live.recover(owner_id, owner, turn_id)
            except NotFound:
                continue  # another process closed it between the look and the lock
            await self._house.journal.append(records)
            closed.append(turn_id)
        return closed

    async def compact(self, summary: str, first_kept_seq: int, *, scope: Scope) -> str:
        """Mark that what stands before position *first_kept_seq* is replaced by *summary* in the replay view.

        No message changes.  Raises `InvalidInput` for a position that the session does not have.
        """
        session = await self._session(scope)
        if not 1 <= first_kept_seq <= session.head_seq + 1:
            raise InvalidInput(f"position {first_kept_seq} is outside 1 to {session.head_seq + 1}")
        body = {"summary": self._house.redact(summary)}
        return await self._house.transcripts.mark(
            session.session_ref, COMPACTION, first_kept_seq, body, self._house.now()
        )

    async def withhold_thinking(self, *, scope: Scope) -> str:
        """Mark that the thinking stored so far is not replayed again: its provider refused it, and took the retry.

        No message changes.  Raises `NotFound`.
        """
        session = await self._session(scope)
        return await self._house.transcripts.mark(
            session.session_ref, WITHHOLDING, session.head_seq + 1, {}, self._house.now()
        )

    async def raw(self, scope: Scope) -> tuple[Message, ...]:
        """Return every message as it came, in order. Raises `NotFound`."""
        session = await self._session(scope)
        return tuple(stored.message for stored in await self._house.transcripts.messages(session.session_ref))

    async def display(self, scope: Scope) -> tuple[Message, ...]:
        """Return what a person may see, failures included. Raises `NotFound`."""
        return display([one.message for one in await self._told(await self._session(scope))])

    async def view(self, scope: Scope) -> tuple[Message, ...]:
        """Return what a model is shown: the latest compaction's summary, then what it kept. Raises `NotFound`."""
        session = await self._session(scope)
        marks = await self._house.transcripts.marks(session.session_ref)
        stored = _withheld(await self._told(session), marks)
        compactions = [mark for mark in marks if mark.kind == COMPACTION]
        return _compacted(stored, compactions[-1]) if compactions else tuple(one.message for one in stored)

    async def _told(self, session: Session) -> list[StoredMessage]:
        """Return the messages with the end of every turn that did not go well: a projection, nothing is stored."""
        stored = await self._house.transcripts.messages(session.session_ref)
        return _ended(stored, await self._house.transcripts.turns(session.session_ref))

    async def of(self, scope: Scope) -> list[Session]:
        """Return the instances of a session key, oldest first, or the one that is named. Raises `NotFound`."""
        owner_id = await self._house.owners.find(scope)
        every = await self._house.transcripts.of_key(owner_id, scope.session_key)
        found = [session for session in every if scope.session_id in {"", session.session_id}]
        if not found:
            raise NotFound(f"there is no session {scope.session_key!r} under this scope")
        return found

    async def _session(self, scope: Scope) -> Session:
        """Return the newest instance. Raises `NotFound`."""
        return (await self.of(scope))[-1]


_ENDS: Final[dict[str, StopReason]] = {"failed": StopReason.ERROR, "cancelled": StopReason.ABORTED}


def _ended(stored: Sequence[StoredMessage], turns: Sequence[Turn]) -> list[StoredMessage]:
    """Let the last answer of each failed or cancelled turn say so, and give an unanswered one an empty failed answer.

    Without it a model would take the request for an open one and run it with the next (``spec/replay.md`` 3.4). A turn
    that is still open while a later one has begun was left by a process that died: it counts as failed, too, until
    recovery closes it.
    """
    last_of = {one.turn_id: at for at, one in enumerate(stored)}
    asked_of = {one.turn_id: at for at, one in enumerate(stored) if one.message.role is Role.USER}
    answer_of = {
        one.turn_id: at
        for at, one in enumerate(stored)
        if one.message.role is Role.ASSISTANT and at > asked_of.get(one.turn_id, -1)
    }
    changed: dict[int, list[StoredMessage]] = {}
    for turn in turns:
        at, answer = last_of.get(turn.turn_id), answer_of.get(turn.turn_id)
        left = turn.state == "open" and turn is not turns[-1]
        end = _ENDS.get(turn.state) or (StopReason.ERROR if left and answer is None else None)
        if at is None or end is None:
            continue
        if answer is None:
            empty = Message(role=Role.ASSISTANT, timestamp=stored[at].message.timestamp, stop_reason=end)
            changed[at] = [stored[at], replace(stored[at], message=empty)]
        elif stored[answer].message.stop_reason is None:
            told = replace(stored[answer].message, stop_reason=end)
            changed[answer] = [replace(stored[answer], message=told)]
    return [told for at, one in enumerate(stored) for told in changed.get(at, [one])]


def _withheld(stored: Sequence[StoredMessage], marks: Sequence[Mark]) -> Sequence[StoredMessage]:
    """Mark the messages whose thinking a provider refused."""
    end = max((mark.first_kept_seq for mark in marks if mark.kind == WITHHOLDING), default=0)
    return [
        replace(one, message=replace(one.message, extra={**one.message.extra, WITHHELD: True}))
        if one.seq < end
        else one
        for one in stored
    ]


def _compacted(stored: Sequence[StoredMessage], mark: Mark) -> tuple[Message, ...]:
    """Put the summary in front of what was kept; what was said before the mark is told apart from what came after."""
    summary = Message(
        role=Role.USER,
        parts=(Text(text=str(mark.body["summary"])),),
        timestamp=mark.created_at,
        extra={"summary": COMPACTION},
    )
    kept = [
        replace(one.message, extra={**one.message.extra, "before_compaction": True})
        if one.recorded_at <= mark.created_at
        else one.message
        for one in stored
        if one.seq >= mark.first_kept_seq
    ]
    return (summary, *kept)
