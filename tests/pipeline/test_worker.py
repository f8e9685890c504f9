from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from stenolith.errors import ModelUnavailable
from stenolith.model.identity import Scope
from stenolith.pipeline.stages import STAGES
from stenolith.pipeline.worker import Handler, Lease, Worker, WorkerOptions, WorkReport, describe
from stenolith.store.cursors import Cursor, Cursors
from stenolith.store.database import Database
from stenolith.store.jobs import Claim, Job, JobRequest, Jobs, LeaseLost
from stenolith.store.owners import Owners
from stenolith.testing.clock import FrozenClock

QUICK = WorkerOptions(name="w", lease_ms=30_000, poll_ms=20, drain_ms=100)


@pytest.fixture
async def owner(database: Database) -> int:
    return await Owners(database).intern(Scope(user="ana"))


def request(key: str, kind: str = "distill", **given: object) -> JobRequest:
    return JobRequest(kind=kind, key=key, **given)


def writer(database: Database, seen: list[str]) -> Handler:
    """A handler that adds one to its key's cursor, so that doing it twice shows."""
    cursors = Cursors(database)

    async def handle(lease: Lease) -> None:
        job = lease.job
        async with lease.commit({"key": job.key}):
            at = await cursors.get(job.owner_id, job.kind, job.key)
            await cursors.advance(job.owner_id, job.kind, job.key, Cursor(position=at.position + 1))
        seen.append(job.key)

    return handle


async def positions(database: Database, owner: int, kind: str = "distill") -> dict[str, int]:
    return {key: cursor.position for key, cursor in (await Cursors(database).of_stage(owner, kind)).items()}


async def test_until_idle_does_every_job_once_and_reports(database: Database, owner: int) -> None:
    jobs = Jobs(database)
    seen: list[str] = []
    for n in range(20):
        await jobs.enqueue(owner, request(f"s{n:02}"))
    await jobs.enqueue(owner, request("vectors", "embed"))
    reports: list[WorkReport] = []
    worker = Worker(jobs, {kind: writer(database, seen) for kind in ("distill", "embed")}, QUICK)
    report = await worker.run_until_idle(on_progress=reports.append)
    assert report.to_dict() == {"done": {"distill": 20, "embed": 1}, "failed": {}, "dead": {}, "pending": 0}
    assert await positions(database, owner) == {f"s{n:02}": 1 for n in range(20)}
    totals = [sum(step.done.values()) for step in reports]
    assert totals == sorted(totals)
    assert (totals[-1], reports[-1].pending) == (21, 0)


async def test_only_the_kinds_asked_for_run(database: Database, owner: int) -> None:
    jobs = Jobs(database)
    seen: list[str] = []
    await jobs.enqueue(owner, request("s1"))
    await jobs.enqueue(owner, request("v", "embed"))
    worker = Worker(jobs, {kind: writer(database, seen) for kind in ("distill", "embed")}, QUICK)
    assert (await worker.run_until_idle(["embed", "unknown"])).to_dict()["done"] == {"embed": 1}
    assert seen == ["v"]


async def test_what_a_job_enqueues_is_done_too_and_does_not_wait_for_its_debounce(
    database: Database, owner: int
) -> None:
    clock = FrozenClock()
    jobs = Jobs(database, clock)
    seen: list[str] = []

    async def distill(lease: Lease) -> None:
        async with lease.commit():
            await jobs.enqueue(lease.job.owner_id, request("", "scenes", run_after=clock() + 10_000))

    await jobs.enqueue(owner, request("s1"))
    worker = Worker(jobs, {"distill": distill, "scenes": writer(database, seen)}, QUICK, clock)
    report = await worker.run_until_idle()
    assert report.done == {"distill": 1, "scenes": 1}


async def test_one_poison_job_does_not_block_its_neighbours(database: Database, owner: int) -> None:
    """It is tried five times, then lies among the dead where a person sees it; the others are done at once."""
    clock = FrozenClock()
    jobs = Jobs(database, clock)
    seen: list[str] = []
    good = writer(database, seen)

    async def handle(lease: Lease) -> None:
        if lease.job.key == "poison":
            raise ValueError("a secret that was said")
        await good(lease)

    for key in ("a", "poison", "b"):
        await jobs.enqueue(owner, request(key))
    worker = Worker(jobs, {"distill": handle}, QUICK, clock)
    first = await worker.run_until_idle()
    assert (first.done, first.failed, first.pending) == ({"distill": 2}, {"distill": 1}, 1)
    for wait in (5_000, 15_000, 45_000, 135_000):
        assert (await worker.run_until_idle()).pending == 1
        clock.advance(wait)
        last = await worker.run_until_idle()
    assert (last.dead, last.pending) == ({"distill": 1}, 0)
    dead = await jobs.listing(owner, "dead")
    assert [(job.key, job.attempts) for job in dead] == [("poison", 5)]
    assert dead[0].error.startswith("ValueError in test_worker.py:")
    assert "secret" not in dead[0].error


async def test_an_outage_of_any_length_loses_no_job(database: Database, owner: int) -> None:
    clock = FrozenClock()
    jobs = Jobs(database, clock)
    seen: list[str] = []
    good = writer(database, seen)
    up = False

    async def handle(lease: Lease) -> None:
        if not up:
            raise ModelUnavailable
        await good(lease)

    for n in range(5):
        await jobs.enqueue(owner, request(f"s{n}"))
    worker = Worker(jobs, {"distill": handle}, QUICK, clock)
    for _ in range(12):
        assert (await worker.run_until_idle()).pending == 5
        clock.advance(30_000)
    up = True
    assert (await worker.run_until_idle()).done == {"distill": 5}
    assert await positions(database, owner) == {f"s{n}": 1 for n in range(5)}


async def test_work_of_one_key_never_overlaps_and_keeps_its_order(database: Database, owner: int) -> None:
    jobs = Jobs(database)
    log: list[tuple[str, str]] = []

    async def handle(lease: Lease) -> None:
        log.append((lease.job.key, "begin"))
        if len(log) < 20:
            await jobs.enqueue(owner, request(lease.job.key))
        await asyncio.sleep(0.005)
        log.append((lease.job.key, "end"))

    for key in ("a", "b"):
        await jobs.enqueue(owner, request(key))
    workers = [Worker(jobs, {"distill": handle}, replace(QUICK, name=f"w{n}")) for n in range(2)]
    await asyncio.gather(*(worker.run_until_idle() for worker in workers))
    for key in ("a", "b"):
        steps = [step for name, step in log if name == key]
        assert steps == ["begin", "end"] * (len(steps) // 2)
        assert len(steps) > 2


async def test_a_stage_runs_as_many_at_once_as_it_may(database: Database, owner: int) -> None:
    jobs = Jobs(database)
    now = most = 0

    async def handle(lease: Lease) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.005)
        now -= 1

    for n in range(12):
        await jobs.enqueue(owner, request(f"s{n}"))
    stages = {**STAGES, "distill": replace(STAGES["distill"], concurrency=3)}
    await Worker(jobs, {"distill": handle}, replace(QUICK, stages=stages)).run_until_idle()
    assert most == 3


async def test_a_job_over_its_ceiling_is_stopped_and_tried_again_later(database: Database, owner: int) -> None:
    jobs = Jobs(database)
    stopped = []

    async def handle(lease: Lease) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            stopped.append(lease.job.key)

    await jobs.enqueue(owner, request("slow"))
    stages = {**STAGES, "distill": replace(STAGES["distill"], ceiling_ms=30)}
    report = await Worker(jobs, {"distill": handle}, replace(QUICK, stages=stages)).run_until_idle()
    assert (report.failed, report.pending, stopped) == ({"distill": 1}, 1, ["slow"])
    waiting = (await jobs.listing(owner, "pending"))[0]
    assert waiting.error == "CeilingReached: The job took longer than its kind may."


async def test_a_heartbeat_keeps_a_job_that_outlasts_its_lease(database: Database, owner: int) -> None:
    clock = FrozenClock()
    jobs = Jobs(database, clock)
    lease_ms = 30

    async def beaten(job_id: str) -> bool:
        job = await jobs.get(owner, job_id)
        return job is not None and job.lease_until == clock() + lease_ms

    async def handle(lease: Lease) -> None:
        for _ in range(4):
            clock.advance(lease_ms - 1)
            while not await beaten(lease.job.id):  # noqa: ASYNC110  # the heartbeat shows in the row only
                await asyncio.sleep(0.002)
            assert await jobs.claim(Claim(worker="thief", rooms={"distill": 1}, lease_ms=lease_ms)) == []

    await jobs.enqueue(owner, request("long"))
    async with asyncio.timeout(60):  # what another worker holds is waited for until its lease ends; this clock stands
        report = await Worker(jobs, {"distill": handle}, replace(QUICK, lease_ms=lease_ms), clock).run_until_idle()
    assert report.done == {"distill": 1}


@pytest.mark.parametrize(
    ("late_ms", "expected_ms"),
    [(0, 130_000), (20_000, 130_000), (90_000, 130_000), (3_600_000, -3_470_000)],
    ids=["in time", "held up", "longer than a lease", "after a clock was put back"],
)
async def test_a_heartbeat_that_was_held_up_does_not_shorten_the_lease(
    database: Database, owner: int, late_ms: int, expected_ms: int
) -> None:
    clock = FrozenClock()
    start, jobs = clock(), Jobs(database, clock)
    await jobs.enqueue(owner, request("long"))
    (job,) = await jobs.claim(Claim(worker="w", rooms={"distill": 1}, lease_ms=30_000))
    clock.advance(100_000)
    assert await jobs.heartbeat(job, 30_000)
    assert await Jobs(database, lambda: clock() - late_ms).heartbeat(job, 30_000)
    held = await jobs.get(owner, job.id)
    assert held is not None
    assert held.lease_until == start + expected_ms


async def test_a_heartbeat_that_fails_in_an_unknown_way_is_tried_again(database: Database, owner: int) -> None:
    class Restless(Jobs):
        beats = 0

        async def heartbeat(self, job: Job, lease_ms: int) -> bool:
            self.beats += 1
            if self.beats == 1:
                raise ZeroDivisionError
            return await super().heartbeat(job, lease_ms)

    jobs = Restless(database)

    async def handle(_: Lease) -> None:
        while jobs.beats < 3:  # noqa: ASYNC110  # the worker beats by itself
            await asyncio.sleep(0.002)

    await jobs.enqueue(owner, request("long"))
    report = await Worker(jobs, {"distill": handle}, replace(QUICK, lease_ms=300)).run_until_idle()
    assert report.done == {"distill": 1}


async def test_a_worker_that_slept_through_its_leases_does_not_take_its_own_jobs(
    database: Database, owner: int
) -> None:
    """A lid was closed: all leases have ended when the clock is seen again, and nobody else has come."""
    clock, tries = FrozenClock(), []
    jobs = Jobs(database, clock)

    async def handle(lease: Lease) -> None:
        tries.append(lease.job.attempts)
        clock.advance(10 * QUICK.lease_ms)
        await asyncio.sleep(4 * QUICK.poll_ms / 1000)
        async with lease.commit():
            return

    await jobs.enqueue(owner, request("long"))
    report = await Worker(jobs, {"distill": handle}, QUICK, clock).run_until_idle()
    assert (report.done, tries) == ({"distill": 1}, [1])


async def test_what_a_worker_found_after_losing_its_lease_is_discarded(database: Database, owner: int) -> None:
    clock = FrozenClock()
    jobs = Jobs(database, clock)
    seen: list[str] = []
    reached: list[str] = []
    good = writer(database, seen)

    async def overtaken(lease: Lease) -> None:
        clock.advance(QUICK.lease_ms)
        assert await Worker(jobs, {"distill": good}, QUICK, clock).run_until_idle()
        with pytest.raises(LeaseLost):
            async with lease.step():
                reached.append("step")
        await good(lease)

    await jobs.enqueue(owner, request("s1"))
    report = await Worker(jobs, {"distill": overtaken}, QUICK, clock).run_until_idle()
    assert (report.done, report.failed, report.dead) == ({}, {}, {})
    assert await positions(database, owner) == {"s1": 1}
    assert (seen, reached) == (["s1"], [])


async def test_a_job_that_kills_its_workers_is_given_up_without_another_try(database: Database, owner: int) -> None:
    clock = FrozenClock()
    jobs = Jobs(database, clock)
    seen: list[str] = []
    await jobs.enqueue(owner, request("killer"))
    for _ in range(5):
        assert await jobs.claim(Claim(worker="doomed", rooms={"distill": 1}, lease_ms=100))
        clock.advance(100)
    report = await Worker(jobs, {"distill": writer(database, seen)}, QUICK, clock).run_until_idle()
    assert (report.dead, seen) == ({"distill": 1}, [])
    assert (await jobs.listing(owner, "dead"))[0].error.startswith("WorkerDied: ")


async def test_one_key_is_waited_for_until_the_lease_of_a_dead_worker_ends(database: Database, owner: int) -> None:
    """W3: whoever awaits the end of a session does not wait for ever for a process that was killed."""
    jobs = Jobs(database)
    seen: list[str] = []
    for key in ("mine", "other"):
        await jobs.enqueue(owner, request(key))
    assert len(await jobs.claim(Claim(worker="doomed", rooms={"distill": 2}, lease_ms=100))) == 2
    worker = Worker(jobs, {"distill": writer(database, seen)}, QUICK)
    report = await asyncio.wait_for(worker.run_key("distill", owner, "mine"), 5)
    assert (report.done, report.pending, seen) == ({"distill": 1}, 0, ["mine"])


async def test_one_key_is_waited_for_until_its_handler_has_ended(database: Database, owner: int) -> None:
    """The queue counts a job as done from its commit on; what its handler does behind that is not cut off."""
    jobs = Jobs(database)
    seen: list[str] = []

    async def handle(lease: Lease) -> None:
        async with lease.commit({}):
            seen.append("written")
        await asyncio.sleep(0.15)
        seen.append("told")

    await jobs.enqueue(owner, request("mine"))
    report = await Worker(jobs, {"distill": handle}, QUICK).run_key("distill", owner, "mine")
    assert (report.done, report.pending, seen) == ({"distill": 1}, 0, ["written", "told"])


async def test_steps_survive_a_failure_that_comes_after_them(database: Database, owner: int) -> None:
    """The cursor says what was really processed, and the next attempt goes on from there."""
    clock = FrozenClock()
    jobs, cursors = Jobs(database, clock), Cursors(database)
    handled: list[int] = []

    async def handle(lease: Lease) -> None:
        while (at := (await cursors.get(owner, "embed", "records")).position) < 6:
            if at == 3 and len(handled) == 3:
                raise OSError("the embedder hung up")
            async with lease.step():
                handled.append(at)
                await cursors.advance(owner, "embed", "records", Cursor(position=at + 1))

    await jobs.enqueue(owner, request("records", "embed"))
    worker = Worker(jobs, {"embed": handle}, QUICK, clock)
    assert (await worker.run_until_idle()).failed == {"embed": 1}
    handled.append(-1)
    clock.advance(5_000)
    assert (await worker.run_until_idle()).done == {"embed": 1}
    assert handled == [0, 1, 2, -1, 3, 4, 5]


async def test_a_failure_after_the_commit_does_not_undo_it(database: Database, owner: int) -> None:
    jobs = Jobs(database)
    seen: list[str] = []
    good = writer(database, seen)

    async def handle(lease: Lease) -> None:
        await good(lease)
        raise ValueError

    await jobs.enqueue(owner, request("s1"))
    assert (await Worker(jobs, {"distill": handle}, QUICK).run_until_idle()).done == {"distill": 1}
    assert await positions(database, owner) == {"s1": 1}


async def test_a_handler_that_cancels_itself_has_failed(database: Database, owner: int) -> None:
    jobs = Jobs(database)

    async def handle(lease: Lease) -> None:
        raise asyncio.CancelledError

    await jobs.enqueue(owner, request("s1"))
    report = await Worker(jobs, {"distill": handle}, QUICK).run_until_idle()
    assert (report.failed, report.pending) == ({"distill": 1}, 1)


async def test_a_worker_that_is_stopped_hands_back_what_it_holds(database: Database, owner: int) -> None:
    jobs = Jobs(database)
    began = asyncio.Event()

    async def handle(lease: Lease) -> None:
        began.set()
        await asyncio.sleep(60)

    await jobs.enqueue(owner, request("s1"))
    stop = asyncio.Event()
    running = asyncio.create_task(Worker(jobs, {"distill": handle}, QUICK).run_forever(stop))
    await asyncio.wait_for(began.wait(), 5)
    stop.set()
    assert (await asyncio.wait_for(running, 5)).pending == 1
    back = (await jobs.listing(owner, "pending"))[0]
    assert (back.attempts, back.error, back.lease) == (0, "", "")


async def test_a_worker_that_is_stopped_lets_short_work_end(database: Database, owner: int) -> None:
    jobs = Jobs(database)
    began = asyncio.Event()

    async def handle(lease: Lease) -> None:
        began.set()
        await asyncio.sleep(0.02)

    await jobs.enqueue(owner, request("s1"))
    stop = asyncio.Event()
    running = asyncio.create_task(Worker(jobs, {"distill": handle}, replace(QUICK, drain_ms=2_000)).run_forever(stop))
    await asyncio.wait_for(began.wait(), 5)
    stop.set()
    assert (await asyncio.wait_for(running, 5)).done == {"distill": 1}


@pytest.mark.parametrize("tell", [lambda worker: worker.wake(), lambda worker: None])
async def test_a_waiting_worker_takes_new_work_when_woken_or_at_its_next_poll(
    database: Database, owner: int, tell: Callable[[Worker], None]
) -> None:
    jobs = Jobs(database)
    done = asyncio.Event()

    async def handle(lease: Lease) -> None:
        done.set()

    worker = Worker(jobs, {"distill": handle}, QUICK)
    stop = asyncio.Event()
    running = asyncio.create_task(worker.run_forever(stop))
    await asyncio.sleep(0.05)
    await jobs.enqueue(owner, request("s1"))
    tell(worker)
    await asyncio.wait_for(done.wait(), 5)
    stop.set()
    assert (await asyncio.wait_for(running, 5)).done == {"distill": 1}


async def test_an_idle_worker_does_not_take_debounced_work_before_its_time(database: Database, owner: int) -> None:
    clock = FrozenClock()
    jobs = Jobs(database, clock)
    done = asyncio.Event()

    async def handle(lease: Lease) -> None:
        done.set()

    await jobs.enqueue(owner, request("", "scenes", run_after=clock() + 10_000))
    stop = asyncio.Event()
    running = asyncio.create_task(Worker(jobs, {"scenes": handle}, QUICK, clock).run_forever(stop))
    await asyncio.sleep(0.06)
    assert not done.is_set()
    clock.advance(10_000)
    await asyncio.wait_for(done.wait(), 5)
    stop.set()
    await asyncio.wait_for(running, 5)


def test_the_queue_keeps_our_own_sentences_and_of_other_errors_only_type_and_place() -> None:
    assert describe(ModelUnavailable("no answer in 3 s")) == "ModelUnavailable: no answer in 3 s"
    assert describe(KeyError("what was said")) == "KeyError"
