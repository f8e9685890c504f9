"""When a session is distilled: at once by rules; with a model in ever larger groups of turns, or when it rests.

A model costs money by the call, so a session is read after its first turn, then after two more, then
four, until the usual number; a session that falls silent is read after a while, and one that ends at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from stenolith.engine.wiring import House
from stenolith.pipeline.stages import DISTILL
from stenolith.store.cursors import Cursor
from stenolith.store.jobs import JobRequest
from stenolith.store.records import Record
from stenolith.store.transcripts import Session

STAGE: Final = "schedule"


class Schedule:
    """Asks for the distillation of sessions; every method joins the transaction of what it serves."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def turn_recorded(self, session: Session, records: Sequence[Record]) -> None:
        """Ask for what a recorded turn calls for: now, or when the session has rested."""
        if not any(record.distillable for record in records):
            return
        delay = 0 if self._house.settings.llm.kind == "none" else await self._delay(session)
        request = JobRequest(
            kind=DISTILL, key=str(session.session_ref), run_after=self._house.now() + delay, hurry=delay == 0
        )
        await self._house.jobs.enqueue(session.owner_id, request)

    async def _delay(self, session: Session) -> int:
        """Count the turn and return how many milliseconds its distillation waits; 0 when the group is full."""
        usual = self._house.settings.pipeline
        owner_id, key = session.owner_id, str(session.session_ref)
        known = await self._house.cursors.get(owner_id, STAGE, key)
        group = int(known.state.get("group", 1 if usual.warm_up else usual.every_turns))
        turns = int(known.state.get("turns", 0)) + 1
        full = turns >= group
        state = {"turns": 0, "group": min(group * 2, usual.every_turns)} if full else {"turns": turns, "group": group}
        await self._house.cursors.advance(owner_id, STAGE, key, Cursor(position=known.position + 1, state=state))
        return 0 if full else usual.idle_seconds * 1000
