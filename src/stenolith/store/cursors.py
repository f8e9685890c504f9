"""How far a stage has come with a key: a position that only moves forward."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stenolith.model.clock import Clock, wall_ms
from stenolith.store.database import Database, statements


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """Everything up to *position* was really processed; *state* is the stage's own note."""

    position: int = 0
    state: Mapping[str, Any] = field(default_factory=dict)


class Cursors:
    """The cursors of every stage, under an owner."""

    def __init__(self, database: Database, now_ms: Clock = wall_ms) -> None:
        self._database = database
        self._sql = statements(database.dialect)
        self._now = now_ms

    async def get(self, owner_id: int, stage: str, key: str) -> Cursor:
        """Return the cursor, or one at position 0 when the stage never touched this key."""
        rows = await self._database.fetch(self._sql["get_cursor"], owner_id=owner_id, stage=stage, key=key)
        return Cursor(position=rows[0]["position"], state=json.loads(rows[0]["state"])) if rows else Cursor()

    async def advance(self, owner_id: int, stage: str, key: str, cursor: Cursor) -> bool:
        """Move to *cursor*; False says that somebody had already come further and nothing was changed.

        Call it in the transaction that writes the results, so that a crash leaves neither.
        """
        rows = await self._database.fetch(
            self._sql["advance_cursor"],
            owner_id=owner_id,
            stage=stage,
            key=key,
            position=cursor.position,
            state=json.dumps(dict(cursor.state), ensure_ascii=False),
            now=self._now(),
        )
        return bool(rows)

    async def reset(self, owner_id: int, stage: str, key: str) -> None:
        """Forget the cursor, so that the stage begins again."""
        await self._database.fetch(self._sql["reset_cursor"], owner_id=owner_id, stage=stage, key=key)

    async def of_stage(self, owner_id: int, stage: str) -> dict[str, Cursor]:
        """Return the owner's cursors of one stage by key."""
        rows = await self._database.fetch(self._sql["cursors_of_stage"], owner_id=owner_id, stage=stage)
        return {row["key"]: Cursor(position=row["position"], state=json.loads(row["state"])) for row in rows}
