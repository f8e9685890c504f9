"""The journal: ``conversations/YYYY-MM-DD.jsonl``, a projection of the records that a person can grep.

The database is the authority.  A line is written after its record is committed; a record whose line
could not be written keeps ``journaled = 0`` and is caught up later, so a crash between the two loses
nothing and writes nothing twice.  One lock file serves all processes of the home, and is taken before
a transaction begins: never call these methods inside one, a writer that waits for the lock would keep
every other writer waiting.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from filelock import AsyncFileLock

from stenolith.store.database import Database, Row, statements
from stenolith.store.files import make_private, open_atomic
from stenolith.store.journal_file import DamagedLine, DayFile, JournalLine, day_files, line_of
from stenolith.store.records import Record

LOCK_S = 5.0
"""How long an append waits for another process before it leaves its lines to be caught up."""
_PAGE = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class CatchUp:
    """What was caught up: lines *written*, records whose line stood there *already*, warnings."""

    written: int = 0
    already: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DayReport:
    """How the file and the database compare for one day; ids where they differ.

    *differing* says other words than its record, *repeated* stands more than once.
    """

    day: str
    records: int = 0
    lines: int = 0
    missing_in_file: tuple[str, ...] = ()
    missing_in_database: tuple[str, ...] = ()
    differing: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    damaged: tuple[DamagedLine, ...] = ()

    @property
    def agrees(self) -> bool:
        """Say whether both sides hold the same."""
        faults = (self.missing_in_file, self.missing_in_database, self.differing, self.repeated, self.damaged)
        return not any(faults)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """What a rebuild wrote. *dropped* lines had no record, *set_aside* ones could not be read."""

    days: int = 0
    lines: int = 0
    dropped: int = 0
    set_aside: int = 0


class Journal:
    """The day files in *folder*."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self._sql = statements(database.dialect)
        self._folder = folder
        self._turn = asyncio.Lock()
        self._lock = AsyncFileLock(folder / ".lock", timeout=LOCK_S, mode=0o600, run_in_executor=False)

    async def append(self, records: Sequence[Record]) -> list[str]:
        """Write the lines of committed *records* and return warnings; it never raises.

        It does not wait for the disk: the database is what survives a power cut.
        """
        try:
            async with self._locked():
                return await self._database.atomically(partial(self._append, records))
        except Exception as error:  # noqa: BLE001  # a projection never makes a write fail
            return [f"the day file was not written and will be caught up: {error or type(error).__name__}"]

    async def _append(self, records: Sequence[Record]) -> list[str]:
        # Lines that stand although the transaction failed are recognised when they are caught up.
        missing = await self._unwritten([record.record_id for record in records])
        warnings = []
        for day, group in _by_day(records, missing).items():
            warnings += DayFile(self._folder, day).append([line_of(one) for one in group], durable=False)
            await self._mark([record.record_id for record in group])
        return warnings

    async def catch_up(self) -> CatchUp:
        """Write the lines of all records that have none yet, each once, and wait for the disk."""
        written, already = 0, 0
        warnings: list[str] = []
        for row in await self._database.fetch(self._sql["unjournaled_days"]):
            async with self._locked():
                done = await self._catch_up_day(DayFile(self._folder, row["journal_day"]))
            written, already = written + done.written, already + done.already
            warnings += done.warnings
        return CatchUp(written=written, already=already, warnings=tuple(warnings))

    async def _catch_up_day(self, file: DayFile) -> CatchUp:
        standing = await asyncio.to_thread(_ids_in, file)
        written, already = 0, 0
        warnings: list[str] = []
        while rows := await self._database.fetch(self._sql["unjournaled_lines"], day=file.day, limit=_PAGE):
            lines = [line_of(row) for row in rows if row["record_id"] not in standing]
            warnings += await asyncio.to_thread(file.append, lines, durable=True)
            await self._mark([row["record_id"] for row in rows])
            written, already = written + len(lines), already + len(rows) - len(lines)
        return CatchUp(written=written, already=already, warnings=tuple(warnings))

    async def behind(self) -> dict[int, int]:
        """Return how many records have no line yet, by owner. For upkeep."""
        rows = await self._database.fetch(self._sql["unjournaled_owners"])
        return {row["owner_id"]: int(row["n"]) for row in rows}

    async def verify(self) -> list[DayReport]:
        """Compare every day on both sides, and return a report for each day that either side knows."""
        days = {row["journal_day"] for row in await self._database.fetch(self._sql["journal_days"])}
        reports = []
        for day in sorted(days | {file.day for file in day_files(self._folder)}):
            async with self._locked():
                reports.append(await self._verify_day(DayFile(self._folder, day)))
        return reports

    async def _verify_day(self, file: DayFile) -> DayReport:
        said, repeated, damaged = await asyncio.to_thread(_read_day, file)
        lines = len(said)
        missing, differing, records = [], [], 0
        async for row in self._rows_of_day(file.day):
            records += 1
            found = said.pop(row["record_id"], None)
            if found is None:
                missing.append(row["record_id"])
            elif found != hash(line_of(row)):
                differing.append(row["record_id"])
        return DayReport(
            day=file.day,
            records=records,
            lines=lines,
            missing_in_file=tuple(missing),
            missing_in_database=tuple(said),
            differing=tuple(differing),
            repeated=tuple(repeated),
            damaged=tuple(damaged),
        )

    async def rebuild_files(self, days: Sequence[str] | None = None, *, erase: bool = False) -> Rebuilt:
        """Write day files anew from the database: all of them, or *days*.

        Lines without a record are dropped, because the database is the authority: read them with
        `read_lines` before, when records were lost.  Damaged lines are set aside; with *erase*, for
        words that were deleted, they are not kept, nor what was set aside before.
        """
        known = {row["journal_day"] for row in await self._database.fetch(self._sql["journal_days"])}
        wanted = sorted(known | {file.day for file in day_files(self._folder)}) if days is None else sorted(set(days))
        total = Rebuilt()
        for day in wanted:
            async with self._locked():
                done = await self._rebuild_day(DayFile(self._folder, day), erase=erase)
            total = Rebuilt(
                days=total.days + 1,
                lines=total.lines + done.lines,
                dropped=total.dropped + done.dropped,
                set_aside=total.set_aside + done.set_aside,
            )
        return total

    async def _rebuild_day(self, file: DayFile, *, erase: bool) -> Rebuilt:
        said, _, damaged = await asyncio.to_thread(_read_day, file)
        fresh: list[str] = []
        lines = 0
        with open_atomic(file.path) as handle:
            async for row in self._rows_of_day(file.day):
                handle.write(line_of(row).to_bytes())
                said.pop(row["record_id"], None)
                lines += 1
                if not row["journaled"]:
                    fresh.append(row["record_id"])
            if not erase:
                file.set_aside([line.raw for line in damaged])
        if erase:
            file.drop_aside()
        if not lines:
            file.path.unlink(missing_ok=True)
        await self._mark(fresh)
        return Rebuilt(lines=lines, dropped=len(said), set_aside=0 if erase else len(damaged))

    def read_lines(self) -> Iterator[tuple[str, JournalLine | DamagedLine]]:
        """Yield every line of every day file with its day, so that records can be rebuilt from them.

        A damaged line is yielded in its place; nothing is changed on disk.
        """
        for file in day_files(self._folder):
            for line in file.lines():
                yield file.day, line

    @asynccontextmanager
    async def _locked(self) -> AsyncIterator[None]:
        """Let one task of one process at a time touch the files."""
        async with self._turn:
            make_private(self._folder)
            async with self._lock:
                yield

    async def _unwritten(self, ids: Sequence[str]) -> frozenset[str]:
        rows = await self._database.fetch(self._sql["still_unjournaled"], ids=json.dumps(list(ids)))
        return frozenset(row["record_id"] for row in rows)

    async def _mark(self, ids: Sequence[str]) -> None:
        if ids:
            await self._database.fetch(self._sql["mark_journaled"], ids=json.dumps(list(ids)))

    async def _rows_of_day(self, day: str) -> AsyncIterator[Row]:
        after = ""
        while rows := await self._database.fetch(self._sql["lines_of_day"], day=day, after=after, limit=_PAGE):
            for row in rows:
                yield row
            after = rows[-1]["record_id"]


def _by_day(records: Sequence[Record], missing: frozenset[str]) -> dict[str, list[Record]]:
    days: dict[str, list[Record]] = {}
    for record in records:
        if record.record_id in missing:
            days.setdefault(record.journal_day, []).append(record)
    return days


def _ids_in(file: DayFile) -> set[str]:
    return {line.record_id for line in file.lines() if isinstance(line, JournalLine)}


def _read_day(file: DayFile) -> tuple[dict[str, int], list[str], list[DamagedLine]]:
    """Return what the file says (id to a hash of its line), ids that stand twice, damaged lines."""
    said: dict[str, int] = {}
    repeated: list[str] = []
    damaged: list[DamagedLine] = []
    for line in file.lines():
        if isinstance(line, DamagedLine):
            damaged.append(line)
        elif line.record_id in said:
            repeated.append(line.record_id)
        else:
            said[line.record_id] = hash(line)
    return said, repeated, damaged
