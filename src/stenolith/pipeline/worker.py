"""The worker: claim, heartbeat, run under a ceiling, finish. Any number of them may serve one home."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from stenolith.errors import StenolithError, StoreUnavailable
from stenolith.model.clock import Clock, wall_ms
from stenolith.pipeline.stages import STAGES, StageSpec
from stenolith.store.jobs import Claim, Job, Jobs, LeaseLost, Waiting

PROGRESS_S = 0.1
"""How often progress is told: counting what is left costs more than a small job."""
LOOK_AGAIN_S = 0.05
"""Between two looks at a key on which nobody seems to work; longer than a claim takes."""
_log = logging.getLogger(__name__)


class CeilingReached(StenolithError):
    """The job took longer than its kind may."""


class WorkerDied(StenolithError):
    """Too many workers died or stalled while they held this job."""


class Outcome(StrEnum):
    """How an attempt ended; a *lost* one was taken over by another worker and counts nowhere."""

    DONE = "done"
    FAILED = "failed"
    DEAD = "dead"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkReport:
    """What a run did, by kind: jobs done, attempts failed that will be retried, jobs given up.

    *pending* is how many jobs of the kinds still wait or run elsewhere.
    """

    done: Mapping[str, int] = field(default_factory=dict)
    failed: Mapping[str, int] = field(default_factory=dict)
    dead: Mapping[str, int] = field(default_factory=dict)
    pending: int = 0

    def plus(self, other: WorkReport) -> WorkReport:
        """Return both reports as one."""
        names = ("done", "failed", "dead")
        sums = {name: dict(Counter(getattr(self, name)) + Counter(getattr(other, name))) for name in names}
        return WorkReport(**sums, pending=self.pending + other.pending)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of ``stenolith work --json``."""
        counts = {"done": dict(self.done), "failed": dict(self.failed), "dead": dict(self.dead)}
        return {**counts, "pending": self.pending}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """How a worker behaves; times in milliseconds.

    A lease lasts *lease_ms* and is extended three times in that span; a crash delays a job by at most
    that long.  *poll_ms* is how often an idle worker looks for work that other processes enqueued.
    *drain_ms* is how long running jobs may go on after a stop before they are handed back.
    """

    name: str = ""
    lease_ms: int = 30_000
    poll_ms: int = 1_000
    drain_ms: int = 5_000
    stages: Mapping[str, StageSpec] = field(default_factory=lambda: STAGES)


class Lease:
    """What a handler holds: the job, and the two ways to write results that no other worker can double."""

    def __init__(self, jobs: Jobs, job: Job, lease_ms: int) -> None:
        self.job = job
        self.finished = False
        self._jobs = jobs
        self._lease_ms = lease_ms

    @asynccontextmanager
    async def commit(self, result: Mapping[str, Any] | None = None) -> AsyncIterator[None]:
        """Write the results and end the job in one transaction. Raises `LeaseLost`; enter it once."""
        async with self._jobs.finishing(self.job, result):
            yield
        self.finished = True

    @asynccontextmanager
    async def step(self) -> AsyncIterator[None]:
        """Write part of the results, with the cursor that says so, in one transaction. Raises `LeaseLost`."""
        async with self._jobs.holding(self.job, self._lease_ms):
            yield


Handler = Callable[[Lease], Awaitable[None]]
"""Does one job.  It writes inside ``lease.step()`` and ``lease.commit()`` only; a handler that returns
without a commit had nothing to write, and its job ends well."""


class Worker:
    """Runs jobs for whatever kinds it has handlers."""

    def __init__(
        self,
        jobs: Jobs,
        handlers: Mapping[str, Handler],
        options: WorkerOptions | None = None,
        now_ms: Clock = wall_ms,
    ) -> None:
        self._jobs = jobs
        self._handlers = handlers
        self._options = options or WorkerOptions()
        self._now = now_ms
        self._name = self._options.name or f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """Say that work was enqueued, so that an idle worker of this process does not wait for its poll."""
        self._wake.set()

    async def run_until_idle(
        self,
        kinds: Sequence[str] | None = None,
        on_progress: Callable[[WorkReport], None] | None = None,
        *,
        eager: bool = True,
    ) -> WorkReport:
        """Run jobs of *kinds* (default: all) until none is left that could run now, and report.

        With *eager*, jobs that were never tried run at once, debounced or not; those that wait after a
        failure are left and counted as pending.  Jobs that run elsewhere are waited for, at most until their
        lease ends.  A handler must not enqueue its own successor for ever: this would run with it.
        *on_progress* gets the report so far, several times a second at most, and the last one.
        Raises `StoreUnavailable`.
        """
        crew = _Crew(self._jobs, self._pick(kinds), self._name, self._options.lease_ms)
        clock = asyncio.get_running_loop().time
        told = clock()
        try:
            while await self._fill(crew, eager=eager) or crew.running or await self._can_go_on(kinds, eager=eager):
                if await self._pause(crew) and on_progress and clock() - told > PROGRESS_S:
                    told = clock()
                    on_progress(crew.report(await self._pending(kinds)))
            report = crew.report(await self._pending(kinds))
        finally:
            await crew.dismiss()
        if on_progress:
            on_progress(report)
        return report

    async def run_key(self, kind: str, owner_id: int, key: str) -> WorkReport:
        """Do what is asked for one key, due or not, and wait for whoever else works on it, or for their lease to end.

        What waits after a failure is left and counted as pending; other keys are not touched.
        """
        crew = _Crew(self._jobs, self._pick([kind]), self._name, self._options.lease_ms)
        claim = Claim(
            worker=self._name,
            rooms={kind: 1},
            lease_ms=self._options.lease_ms,
            eager=True,
            only=(owner_id, key),
        )
        idle = 0
        try:
            # Two looks, a breath apart: who was busy may have ended, and what is being claimed is neither.
            # A job of ours that the queue counts as done may still be at what comes after its commit.
            while crew.running or (idle < 2 and await self._jobs.outstanding(owner_id, kind, key)):
                for job in [] if crew.running else await self._jobs.claim(claim):
                    crew.start(job)
                if crew.running or await self._jobs.is_running(owner_id, kind, key):
                    idle = 0
                    await self._pause(crew)
                else:
                    idle += 1
                    await asyncio.sleep(LOOK_AGAIN_S)
            return crew.report(await self._jobs.outstanding(owner_id, kind, key))
        finally:
            await crew.dismiss()

    async def run_forever(self, stop: asyncio.Event) -> WorkReport:
        """Run jobs as they become due until *stop* is set, then let the running ones end or hand them back."""
        crew = _Crew(self._jobs, self._pick(None), self._name, self._options.lease_ms)
        stopping = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                await self._fill_when_due(crew)
                await self._pause(crew, stopping)
            await crew.drain(self._options.drain_ms)
            return crew.report(await self._pending(None))
        finally:
            stopping.cancel()
            await crew.dismiss()

    def _pick(self, kinds: Sequence[str] | None) -> dict[str, tuple[StageSpec, Handler]]:
        wanted = self._handlers if kinds is None else [kind for kind in kinds if kind in self._handlers]
        return {kind: (self._options.stages[kind], self._handlers[kind]) for kind in wanted}

    async def _fill(self, crew: _Crew, *, eager: bool) -> int:
        rooms = crew.rooms()
        if not rooms:
            return 0
        steal = await crew.may_steal(self._now(), self._options.poll_ms)
        claim = Claim(worker=self._name, rooms=rooms, lease_ms=self._options.lease_ms, eager=eager, steal=steal)
        jobs = await self._jobs.claim(claim)
        for job in jobs:
            crew.start(job)
        return len(jobs)

    async def _fill_when_due(self, crew: _Crew) -> None:
        """Claim only when a look says that something is due: an idle worker writes nothing."""
        try:
            if crew.running or any(item.at <= self._now() for item in await self._waiting(None)):
                await self._fill(crew, eager=False)
        except StoreUnavailable as error:
            _log.warning("the queue cannot be read: %s", error)

    async def _waiting(self, kinds: Sequence[str] | None) -> list[Waiting]:
        wanted = self._pick(kinds)
        return [item for item in await self._jobs.waiting() if item.kind in wanted]

    async def _pending(self, kinds: Sequence[str] | None) -> int:
        return sum(item.count for item in await self._waiting(kinds))

    async def _can_go_on(self, kinds: Sequence[str] | None, *, eager: bool) -> bool:
        return any(_can_run(item, self._now(), eager=eager) for item in await self._waiting(kinds))

    async def _pause(self, crew: _Crew, *others: asyncio.Task[Any]) -> int:
        """Wait until a job ends, somebody wakes us, or the poll is due; return how many jobs ended."""
        waker = asyncio.create_task(self._wake.wait())
        watched = {waker, *crew.running, *others}
        await asyncio.wait(watched, timeout=self._options.poll_ms / 1000, return_when=asyncio.FIRST_COMPLETED)
        waker.cancel()
        self._wake.clear()
        return crew.reap()


class _Crew:
    """The jobs that one run of a worker has in hand."""

    def __init__(self, jobs: Jobs, stages: Mapping[str, tuple[StageSpec, Handler]], name: str, lease_ms: int) -> None:
        self._jobs = jobs
        self._stages = stages
        self._name = name
        self._lease_ms = lease_ms
        self._counts: Counter[tuple[Outcome, str]] = Counter()
        self._looked_at = 0
        self.running: dict[asyncio.Task[Outcome], Job] = {}

    def rooms(self) -> dict[str, int]:
        """Return how many more jobs of each kind may start."""
        busy = Counter(job.kind for job in self.running.values())
        rooms = {kind: spec.concurrency - busy[kind] for kind, (spec, _) in self._stages.items()}
        return {kind: room for kind, room in rooms.items() if room > 0}

    async def may_steal(self, now: int, poll_ms: int) -> bool:
        """Say whether to look for lost leases: once a poll while busy, always when there is nothing else to do."""
        due = not self.running or now >= self._looked_at + poll_ms
        if due and now >= self._looked_at + self._lease_ms // 3:
            for job in list(self.running.values()):  # else a machine that slept would take its own jobs away
                await self._jobs.heartbeat(job, self._lease_ms)
        self._looked_at = now if due else self._looked_at
        return due

    def start(self, job: Job) -> None:
        """Begin an attempt."""
        spec, handler = self._stages[job.kind]
        self.running[asyncio.create_task(self._attempt(job, spec, handler))] = job

    def reap(self) -> int:
        """Count the attempts that have ended and return how many there were."""
        ended = [task for task in self.running if task.done()]
        for task in ended:
            self._counts[task.result(), self.running.pop(task).kind] += 1
        return len(ended)

    def report(self, pending: int) -> WorkReport:
        """Return the counts so far."""
        by = {
            outcome: {kind: n for (ended, kind), n in sorted(self._counts.items()) if ended is outcome}
            for outcome in Outcome
        }
        return WorkReport(done=by[Outcome.DONE], failed=by[Outcome.FAILED], dead=by[Outcome.DEAD], pending=pending)

    async def drain(self, ms: int) -> None:
        """Let running jobs end for *ms* milliseconds, then hand the rest back."""
        if self.running:
            await asyncio.wait(self.running, timeout=ms / 1000)
        self.reap()
        await self.dismiss()

    async def dismiss(self) -> None:
        """Stop what still runs; each such job is handed back as if it had not been tried."""
        for task in self.running:
            task.cancel()
        await asyncio.gather(*self.running, return_exceptions=True)
        self.running.clear()

    async def _attempt(self, job: Job, spec: StageSpec, handler: Handler) -> Outcome:
        lease = Lease(self._jobs, job, self._lease_ms)
        try:
            if job.stolen and job.attempts > spec.max_attempts:
                return await self._give_up(job, WorkerDied())
            await self._run(lease, spec, handler)
            return await self._close(lease)
        except asyncio.CancelledError:
            if not lease.finished:
                await self._jobs.release(job)
            raise
        except LeaseLost:
            _log.warning("job lost to another worker", extra={"job": job.id, "kind": job.kind})
            return Outcome.LOST
        except Exception as error:  # noqa: BLE001  # whatever a handler raises is one job's failure
            return Outcome.DONE if lease.finished else await self._fail(job, spec, error)

    async def _close(self, lease: Lease) -> Outcome:
        """End the job of a handler that had nothing to write."""
        ended = lease.finished or await self._jobs.finish(lease.job)
        return Outcome.DONE if ended else Outcome.LOST

    async def _run(self, lease: Lease, spec: StageSpec, handler: Handler) -> None:
        """Run the handler until it ends, its ceiling is reached, or the heartbeat finds the lease lost."""
        work = asyncio.ensure_future(handler(lease))
        beat = asyncio.create_task(self._beat(lease.job))
        try:
            await asyncio.wait({work, beat}, timeout=spec.ceiling_ms / 1000, return_when=asyncio.FIRST_COMPLETED)
            if work.done() and not work.cancelled():
                work.result()
                return
        finally:
            for task in (work, beat):
                task.cancel()
            await asyncio.gather(work, beat, return_exceptions=True)
        if lease.finished:
            return
        raise LeaseLost if beat.done() and not beat.cancelled() else CeilingReached

    async def _beat(self, job: Job) -> None:
        """Extend the lease again and again; return when it is lost."""
        while True:
            await asyncio.sleep(self._lease_ms / 3000)
            try:
                if not await self._jobs.heartbeat(job, self._lease_ms):
                    return
            except Exception as error:  # noqa: BLE001  # a job ends when its lease is lost, not when a message is
                _log.warning("no heartbeat: %s", describe(error), extra={"job": job.id})

    async def _fail(self, job: Job, spec: StageSpec, error: Exception) -> Outcome:
        decision = spec.retry(job.attempts, error)
        if decision is None:
            return await self._give_up(job, error)
        kept = await self._tell(job, self._jobs.fail(job, describe(error), decision))
        return Outcome.FAILED if kept else Outcome.LOST

    async def _give_up(self, job: Job, error: Exception) -> Outcome:
        kept = await self._tell(job, self._jobs.fail(job, describe(error), None))
        _log.error("job given up: %s", type(error).__name__, extra={"job": job.id, "kind": job.kind})
        return Outcome.DEAD if kept else Outcome.LOST

    async def _tell(self, job: Job, report: Awaitable[bool]) -> bool:
        """Report a failure to the queue; a queue that cannot be written learns of it when the lease ends."""
        try:
            return await report
        except StoreUnavailable as error:
            _log.warning("failure not recorded: %s", error, extra={"job": job.id})
            return False


def _can_run(item: Waiting, now: int, *, eager: bool) -> bool:
    """Say whether somebody can, or does, work on these jobs now."""
    return item.state == "running" or (eager and item.fresh) or item.at <= now


def describe(error: BaseException) -> str:
    """Return what the queue may keep of an error.

    Our own errors say what happened without a memory's words.  Of others only the type and the place
    are kept, because their messages may quote what they choked on.
    """
    name = type(error).__name__
    if isinstance(error, StenolithError):
        return f"{name}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    return f"{name} in {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else name
