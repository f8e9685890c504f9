"""Records (L0): the cleaned words of user and assistant, one per message, under the seed's column names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from stenolith.store.database import Database, Row, statements


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One stored record.

    *timestamp* is when it was said (epoch ms) and *timestamp_source* how we know: ``host``,
    ``assumed`` (a time without a zone), ``neighbour`` or ``recorded`` (the moment of writing).
    *distillable* is False for words of failed and unattended turns: they are kept, nothing is learned
    from them.  *recorded_at* is ISO 8601 in UTC with milliseconds, *journal_day* the day file it belongs to.
    """

    record_id: str
    session_key: str
    session_id: str
    team_id: str
    user_id: str
    agent_id: str
    task_id: str
    role: str
    message_text: str
    recorded_at: str
    timestamp: int
    owner_id: int
    session_ref: int
    seq: int
    message_id: str
    speaker: str
    timestamp_source: str
    distillable: bool
    journal_day: str

    def row(self) -> Row:
        """Return the parameters of the insert statement."""
        return {name: getattr(self, name) for name in self.__slots__} | {"distillable": int(self.distillable)}


def _in_order(rows: Sequence[Row], ids: Sequence[str]) -> list[Record]:
    found = {row["record_id"]: record_from_row(row) for row in rows}
    return [found[one] for one in ids if one in found]


def record_from_row(row: Row) -> Record:
    """Read a database row."""
    return Record(
        **{name: row[name] for name in Record.__slots__ if name != "distillable"}, distillable=bool(row["distillable"])
    )


class Records:
    """Reads and appends records, always under an owner."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements(database.dialect)

    async def append(self, records: Sequence[Record]) -> None:
        """Insert *records*; inside a transaction they commit with it."""
        await self._database.execute_many(self._sql["insert_record"], [record.row() for record in records])

    async def get(self, owner_id: int, ids: Sequence[str]) -> list[Record]:
        """Return the owner's records with these ids, in the order asked; unknown or foreign ids are left out."""
        rows = await self._database.fetch(self._sql["records_by_id"], owner_id=owner_id, ids=json.dumps(list(ids)))
        return _in_order(rows, ids)

    async def beginnings(self, owner_id: int, ids: Sequence[str], chars: int) -> list[Record]:
        """Return what `get` does, but of each text only the first *chars* characters."""
        rows = await self._database.fetch(
            self._sql["record_beginnings"], owner_id=owner_id, ids=json.dumps(list(ids)), chars=chars
        )
        return _in_order(rows, ids)

    async def of_session(self, session_ref: int, after: int = 0, limit: int = 1000) -> list[Record]:
        """Return a session's records with a position greater than *after*, in order."""
        rows = await self._database.fetch(
            self._sql["records_of_session"], session_ref=session_ref, after=after, limit=limit
        )
        return [record_from_row(row) for row in rows]

    async def before(self, session_ref: int, seq: int, limit: int) -> list[Record]:
        """Return up to *limit* records at or before position *seq*, in order."""
        rows = await self._database.fetch(self._sql["records_before"], session_ref=session_ref, seq=seq, limit=limit)
        return [record_from_row(row) for row in reversed(rows)]

    async def page(self, owner_id: int, after: str, limit: int, session_key: str = "") -> list[Record]:
        """Return a page of the owner's records in the order they were written."""
        name = "page_session_records" if session_key else "page_records"
        extra = {"session_key": session_key} if session_key else {}
        rows = await self._database.fetch(self._sql[name], owner_id=owner_id, after=after, limit=limit, **extra)
        return [record_from_row(row) for row in rows]

    async def page_of_home(self, after: str, limit: int) -> list[Record]:
        """Return a page of everybody's records.  For upkeep (rebuild, doctor) only."""
        rows = await self._database.fetch(self._sql["all_records"], after=after, limit=limit)
        return [record_from_row(row) for row in rows]

    async def delete(self, owner_id: int, ids: Sequence[str]) -> list[str]:
        """Delete the owner's records with these ids and return the ids that were there."""
        rows = await self._database.fetch(self._sql["delete_records"], owner_id=owner_id, ids=json.dumps(list(ids)))
        return [row["record_id"] for row in rows]

    async def delete_session(self, session_ref: int) -> list[tuple[str, str]]:
        """Delete a session's records and return their ids with the day file each stands in."""
        rows = await self._database.fetch(self._sql["delete_session_records"], session_ref=session_ref)
        return [(row["record_id"], row["journal_day"]) for row in rows]

    async def count(self, owner_id: int) -> int:
        """Return how many records the owner has."""
        rows = await self._database.fetch(self._sql["count_records"], owner_id=owner_id)
        return int(rows[0]["n"])
