"""Records become atoms with a model: read a window, gate, reconcile, commit; then the next window.

Each window is committed with its cursor in one transaction, so a killed worker reads again what it had
not committed and nothing else.  A window without a usable answer is halved; a record that has none
even alone goes to a job of its own, which fails visibly, and its neighbours go on.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Final

from stenolith.distill.extract import Harvest, extract
from stenolith.distill.windows import Speech, fit, readings
from stenolith.engine.projections import Projections
from stenolith.engine.reconciling import Reconciling
from stenolith.engine.wiring import House
from stenolith.errors import ModelUnavailable
from stenolith.llm.budget import Meter
from stenolith.llm.port import LanguageModel, Obstacle, Unanswerable
from stenolith.pipeline.stages import DISTILL, STAGES
from stenolith.pipeline.worker import Lease
from stenolith.store.cursors import Cursor
from stenolith.store.jobs import Job, JobRequest
from stenolith.store.records import Record

WIDEST: Final = 24
"""Records that one call reads at most."""
BACKGROUND: Final = 5
"""Earlier records that are shown for reference, after the layered reference."""
SUSPECTS: Final = 3
"""Records without a readable answer, one after the other, after which the model itself is taken for ill."""
_SHORTEST_REST_MS: Final = 60_000
_LONGEST_REST_MS: Final = 3_600_000


@dataclass(slots=True, kw_only=True)
class _Run:
    """How far one job has come.

    *width* is how many records the next window may have.  *suspects* had no readable answer alone; they are
    condemned once the model has *answered* about something else.  *seen* is the last position looked at.
    """

    job: Job
    until: float
    seen: int = 0
    width: int = WIDEST
    answered: bool = False
    suspects: list[Record] = field(default_factory=list)
    tally: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    """Some records in a row, those of them that are offered, and what stood before."""

    records: tuple[Record, ...]
    offered: tuple[Speech, ...]
    background: tuple[Speech, ...] = ()
    scene: str = ""


class Study:
    """The distillation of sessions by a model."""

    def __init__(self, house: House, projections: Projections, meter: Meter) -> None:
        self._house = house
        self._meter = meter
        self._reconciling = Reconciling(house, projections)

    async def distill(self, lease: Lease) -> None:
        """Read what a session said since the cursor; a key ``session/record`` reads that record alone."""
        job = lease.job
        model = self._meter.for_job(job.owner_id, DISTILL)
        if "/" in job.key:
            await self._reread(lease, model)
            return
        clock = asyncio.get_running_loop().time
        run = _Run(job=job, until=clock() + STAGES[DISTILL].ceiling_ms / 2000)
        while window := await self._next(run):
            if clock() > run.until:
                # Half of the time a job may take is over: another one goes on, in its turn.
                async with lease.commit(dict(run.tally)):
                    await self._house.jobs.enqueue(job.owner_id, JobRequest(kind=DISTILL, key=job.key))
                return
            await self._window(lease, run, window, model)
        if run.suspects and not run.answered:
            raise self._ill(job)
        async with lease.commit(dict(run.tally)):
            return

    async def _next(self, run: _Run) -> _Window | None:
        key, session_ref = run.job.key, int(run.job.key)
        cursor = await self._house.cursors.get(run.job.owner_id, DISTILL, key)
        after = max(cursor.position, run.seen)
        records = await self._house.records.of_session(session_ref, after=after, limit=WIDEST)
        if not records:
            return None
        offered = [record for record in records if record.distillable][: run.width]
        speeches = [_speech(record) for record in offered]
        count = fit(speeches, self._house.settings.llm.window_tokens)
        last = offered[count - 1] if count < len([one for one in records if one.distillable]) else records[-1]
        earlier = await self._house.records.before(session_ref, records[0].seq - 1, BACKGROUND)
        return _Window(
            records=tuple(record for record in records if record.seq <= last.seq),
            offered=tuple(speeches[:count]),
            background=tuple(_speech(record) for record in earlier if record.distillable),
            scene=str(cursor.state.get("scene", "")),
        )

    async def _window(self, lease: Lease, run: _Run, window: _Window, model: LanguageModel) -> None:
        """Read one window and commit it, or make the next one smaller."""
        try:
            harvest = await self._read(model, window)
        except Unanswerable as obstacle:
            await self._narrow(lease, run, window, obstacle)
            return
        if harvest.truncated and len(window.offered) > 1:
            run.width = max(1, len(window.offered) // 2)
            return
        run.answered = run.answered or harvest.calls > 0
        run.width = min(WIDEST, run.width * 2)
        run.seen = window.records[-1].seq
        if run.suspects and not run.answered:
            return  # nothing was asked here; whether the suspects or the model are at fault is still open
        plans = await self._reconciling.plan(run.job.owner_id, harvest, run.tally, model)
        async with lease.step():
            await self._house.database.lock(run.job.owner_id)
            await self._condemn(run)
            await self._reconciling.commit(run.job.owner_id, plans, window.records, run.tally)
            await self._advance(run.job, window.records[-1], harvest.scene or window.scene)

    async def _read(self, model: LanguageModel, window: _Window) -> Harvest:
        """Ask about a window, in several calls when a turn is long; without a person's words nothing is asked."""
        wanted, zone = self._house.settings.llm, self._house.settings.zone
        sheets, left_out = readings(window.offered, window.background, wanted.window_tokens)
        total = Harvest(scene=window.scene, tally={"parts left out": left_out} if left_out else {})
        for sheet in sheets:
            if sheet.anybody_speaks:
                found = await extract(model, sheet, total.scene, zone, wanted.deadline_ms)
                total += replace(found, tally={**found.tally, "answers cut off": 1}) if found.truncated else found
        return total

    async def _narrow(self, lease: Lease, run: _Run, window: _Window, obstacle: Unanswerable) -> None:
        if len(window.offered) > 1:
            run.width = max(1, len(window.offered) // 2)
            return
        run.suspects += [one for one in window.records if one.record_id == window.offered[0].record_id]
        run.seen = window.records[-1].seq
        if obstacle.obstacle is Obstacle.UNREADABLE and not run.answered:
            if len(run.suspects) >= SUSPECTS:
                raise self._ill(run.job)
            return
        async with lease.step():
            await self._house.database.lock(run.job.owner_id)
            await self._condemn(run)
            await self._advance(run.job, window.records[-1], window.scene)

    def _ill(self, job: Job) -> ModelUnavailable:
        """Return the error of a model that answers everything with something else; the queue waits ever longer."""
        rest = min(max((self._house.now() - job.created_at) // 4, _SHORTEST_REST_MS), _LONGEST_REST_MS)
        return ModelUnavailable(
            f"{self._meter.model_id} answers, but nothing that can be read; the words wait", retry_after_ms=rest
        )

    async def _condemn(self, run: _Run) -> None:
        """Give each suspect a job of its own, where its failure can be seen and tried again."""
        for record in run.suspects:
            key = f"{record.session_ref}/{record.record_id}"
            await self._house.jobs.enqueue(run.job.owner_id, JobRequest(kind=DISTILL, key=key))
            run.tally["set aside"] += 1
        run.suspects.clear()

    async def _advance(self, job: Job, last: Record, scene: str) -> None:
        cursor = Cursor(position=last.seq, state={"scene": scene} if scene else {})
        await self._house.cursors.advance(job.owner_id, DISTILL, job.key, cursor)

    async def _reread(self, lease: Lease, model: LanguageModel) -> None:
        """Try one record that had no usable answer; `Unanswerable` then buries the job, and a person may retry it."""
        job = lease.job
        records = await self._house.records.get(job.owner_id, [job.key.partition("/")[2]])
        if not records:
            async with lease.commit({"gone": 1}):
                return
        run = _Run(job=job, until=0)
        window = _Window(records=tuple(records), offered=tuple(map(_speech, records)))
        harvest = await self._read(model, window)
        plans = await self._reconciling.plan(job.owner_id, harvest, run.tally, model)
        async with lease.step():
            await self._house.database.lock(job.owner_id)
            await self._reconciling.commit(job.owner_id, plans, records, run.tally)
        async with lease.commit(dict(run.tally)):
            return


def _speech(record: Record) -> Speech:
    return Speech(
        record_id=record.record_id,
        role=record.role,
        text=record.message_text,
        timestamp=record.timestamp,
        speaker=record.speaker,
    )
