"""The contract of the queue, as test classes: see `stenolith.testing.stores` for how to use them."""
# ruff: noqa: S101, PT012  # a contract asserts, and a transaction that fails is a block

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from stenolith.errors import NotFound
from stenolith.store.cursors import Cursor, Cursors
from stenolith.store.database import Database
from stenolith.store.jobs import Claim, Job, JobRequest, Jobs, LeaseLost, RetryDecision
from stenolith.testing.clock import START_MS, FrozenClock
from stenolith.testing.stores import two_owners

LEASE_MS = 1_000


def request(key: str = "s1", **given: object) -> JobRequest:
    """Return a request to distil a session."""
    return JobRequest(**{"kind": "distill", "key": key, **given})  # type: ignore[arg-type]  # a test names fields


async def claim(jobs: Jobs, worker: str = "w1", limit: int = 1, *, eager: bool = False) -> list[Job]:
    """Claim jobs of the kind that `request` makes."""
    return await jobs.claim(Claim(worker=worker, rooms={"distill": limit}, lease_ms=LEASE_MS, eager=eager))


class QueueContract:
    """What `Jobs` promises to those who enqueue and to those who look."""

    async def test_a_pending_job_absorbs_its_duplicate(self, database: Database) -> None:
        """One job waits for a kind, owner and key; the weightier priority counts."""
        owner, other = await two_owners(database)
        jobs = Jobs(database, FrozenClock())
        first = await jobs.enqueue(owner, request(payload={"n": 1}))
        assert await jobs.enqueue(owner, request(payload={"n": 2}, priority=5)) == first
        assert await jobs.enqueue(other, request()) != first
        assert await jobs.enqueue(owner, request("s2")) != first
        assert await jobs.enqueue(owner, request(kind="embed")) != first
        kept = await jobs.get(owner, first)
        assert kept
        assert (kept.payload, kept.priority, kept.state, kept.attempts) == ({"n": 1}, 5, "pending", 0)

    async def test_only_a_request_in_a_hurry_pulls_the_time_earlier(self, database: Database) -> None:
        """An absorbed request moves the waiting job forward when it says so, and never back."""
        owner, _ = await two_owners(database)
        jobs = Jobs(database, FrozenClock())
        first = await jobs.enqueue(owner, request(run_after=START_MS + 500))
        for given, expected in (
            ({"run_after": START_MS + 100}, 500),
            ({"run_after": START_MS + 900, "hurry": True}, 500),
            ({"run_after": START_MS + 100, "hurry": True}, 100),
            ({"hurry": True}, 0),
        ):
            await jobs.enqueue(owner, request(**given))
            kept = await jobs.get(owner, first)
            assert kept
            assert kept.run_after - START_MS == expected

    async def test_a_running_job_may_have_one_more_waiting_that_runs_after_it(self, database: Database) -> None:
        """Work of one key happens in order; other keys do not wait for it."""
        owner, other = await two_owners(database)
        jobs = Jobs(database)
        first = await jobs.enqueue(owner, request())
        running = (await claim(jobs))[0]
        second = await jobs.enqueue(owner, request())
        assert second == await jobs.enqueue(owner, request()) != first
        theirs = await jobs.enqueue(other, request())
        assert [job.id for job in await claim(jobs, "w2", 9)] == [theirs]
        assert await jobs.outstanding(owner, "distill", "s1") == 2
        assert await jobs.finish(running)
        assert [job.id for job in await claim(jobs, "w2", 9)] == [second]

    async def test_due_jobs_come_by_priority_then_time(self, database: Database) -> None:
        """What is not due stays, unless somebody waits for what was never tried."""
        owner, _ = await two_owners(database)
        clock = FrozenClock()
        jobs = Jobs(database, clock)
        later = await jobs.enqueue(owner, request("later", run_after=START_MS + 10, priority=9))
        old = await jobs.enqueue(owner, request("old", run_after=START_MS - 10))
        young = await jobs.enqueue(owner, request("young"))
        weighty = await jobs.enqueue(owner, request("weighty", priority=1))
        taken = await claim(jobs, limit=9)
        assert [job.id for job in taken] == [weighty, old, young]
        await jobs.fail(taken[2], "x", RetryDecision(after_ms=10))
        assert [job.id for job in await claim(jobs, limit=9, eager=True)] == [later]
        clock.advance(10)
        assert [job.id for job in await claim(jobs, limit=9)] == [young]

    async def test_the_dead_are_listed_and_can_be_retried(self, database: Database) -> None:
        """A dead job shows its error; a retry gives it all its attempts again."""
        owner, other = await two_owners(database)
        jobs = Jobs(database)
        name = await jobs.enqueue(owner, request())
        await jobs.fail((await claim(jobs))[0], "ValueError in rules.py:7", None)
        dead = await jobs.listing(owner, "dead")
        assert [(job.id, job.error, job.attempts) for job in dead] == [(name, "ValueError in rules.py:7", 1)]
        assert [job.id for job in await jobs.listing_of_home("dead")] == [name]
        assert await claim(jobs) == []
        with pytest.raises(NotFound):
            await jobs.retry(other, name)
        assert await jobs.retry(owner, name) == name
        assert (await claim(jobs))[0].attempts == 1
        with pytest.raises(NotFound):
            await jobs.retry(owner, name)

    async def test_a_job_that_waits_after_a_failure_can_be_made_due(self, database: Database) -> None:
        """Who has mended what was wrong need not wait; what is due already, or runs, is left alone."""
        owner, other = await two_owners(database)
        jobs = Jobs(database)
        name = await jobs.enqueue(owner, request())
        await jobs.fail((await claim(jobs))[0], "the key is refused", RetryDecision(after_ms=300_000))
        assert await claim(jobs) == []
        with pytest.raises(NotFound):
            await jobs.retry(other, name)
        assert await jobs.retry(owner, name) == name
        with pytest.raises(NotFound):
            await jobs.retry(owner, name)
        assert [(job.id, job.attempts) for job in await claim(jobs)] == [(name, 1)]

    async def test_a_retry_joins_the_job_that_already_waits(self, database: Database) -> None:
        """The dead one is closed and names the one that does its work."""
        owner, _ = await two_owners(database)
        jobs = Jobs(database)
        dead = await jobs.enqueue(owner, request())
        await jobs.fail((await claim(jobs))[0], "x", None)
        waiting = await jobs.enqueue(owner, request())
        assert await jobs.retry(owner, dead) == waiting
        closed = await jobs.get(owner, dead)
        assert closed
        assert (closed.state, closed.result) == ("done", {"absorbed_by": waiting})

    async def test_old_done_jobs_can_be_pruned(self, database: Database) -> None:
        """Only what is done, and only what is old."""
        owner, _ = await two_owners(database)
        clock = FrozenClock()
        jobs = Jobs(database, clock)
        for key in ("done", "dead", "waiting"):
            await jobs.enqueue(owner, request(key))
        done, dead = await claim(jobs, limit=2)
        await jobs.finish(done, {"atoms": 3})
        await jobs.fail(dead, "x", None)
        assert await jobs.prune_home(START_MS) == 0
        assert await jobs.prune_home(START_MS + 1) == 1
        assert await jobs.counts_of_home() == {"distill": {"dead": 1, "pending": 1}}

    async def test_the_work_of_a_deleted_key_is_dropped(self, database: Database) -> None:
        """What waits, runs or died goes; who runs it cannot finish; what is done stays for the record."""
        owner, other = await two_owners(database)
        jobs = Jobs(database)
        for number in (owner, other):
            await jobs.enqueue(number, request())
        for held in await claim(jobs, limit=2):
            await jobs.finish(held)
        await jobs.enqueue(owner, request())
        running = (await claim(jobs))[0]
        await jobs.enqueue(owner, request())
        await jobs.enqueue(owner, request("s2"))
        assert await jobs.drop(owner, "distill", "s1") == 2
        assert not await jobs.finish(running)
        assert await jobs.counts_of_home() == {"distill": {"done": 2, "pending": 1}}

    async def test_a_foreign_owner_sees_no_job(self, database: Database) -> None:
        """C14 for the queue."""
        owner, other = await two_owners(database)
        jobs = Jobs(database)
        name = await jobs.enqueue(owner, request())
        assert await jobs.get(other, name) is None
        assert await jobs.listing(other, "pending") == []
        assert await jobs.counts(other) == {}
        assert await jobs.outstanding(other, "distill", "s1") == 0
        assert await jobs.delete_all(other) == await jobs.drop(other, "distill", "s1") == 0
        assert await jobs.delete_all(owner) == 1


class LeaseContract:
    """What `Jobs` promises to workers."""

    async def test_five_workers_claim_each_of_twenty_jobs_once(self, database: Database) -> None:
        """No job is taken twice while its lease lasts."""
        owner, _ = await two_owners(database)
        jobs = Jobs(database)
        names = [await jobs.enqueue(owner, request(f"s{n}")) for n in range(20)]

        async def work(worker: str) -> list[str]:
            taken: list[str] = []
            while batch := await claim(jobs, worker, 3):
                taken += [job.id for job in batch]
            return taken

        shares = await asyncio.gather(*(work(f"w{n}") for n in range(5)))
        assert Counter(name for share in shares for name in share) == Counter(names)

    async def test_an_expired_lease_is_stolen_and_its_first_owner_can_do_nothing(self, database: Database) -> None:
        """Finish, heartbeat, failure and hand-back of the loser change nothing."""
        owner, _ = await two_owners(database)
        clock = FrozenClock()
        jobs = Jobs(database, clock)
        await jobs.enqueue(owner, request())
        first = (await claim(jobs, "same name"))[0]
        clock.advance(LEASE_MS - 1)
        assert await claim(jobs, "same name") == []
        clock.advance(1)
        second = (await claim(jobs, "same name"))[0]
        assert (second.id, second.attempts, second.stolen, first.stolen) == (first.id, 2, True, False)
        assert not await jobs.heartbeat(first, LEASE_MS)
        assert not await jobs.finish(first)
        assert not await jobs.fail(first, "x", RetryDecision(after_ms=0))
        assert not await jobs.fail(first, "x", None)
        assert not await jobs.release(first)
        assert await jobs.get(owner, first.id) == second
        assert await jobs.finish(second)

    async def test_a_heartbeat_keeps_the_lease(self, database: Database) -> None:
        """Nobody steals from a worker that answers."""
        owner, _ = await two_owners(database)
        clock = FrozenClock()
        jobs = Jobs(database, clock)
        await jobs.enqueue(owner, request())
        held = (await claim(jobs))[0]
        for _ in range(3):
            clock.advance(LEASE_MS - 1)
            assert await jobs.heartbeat(held, LEASE_MS)
        clock.advance(LEASE_MS - 1)
        assert await claim(jobs, "w2") == []

    async def test_results_and_the_end_of_a_job_are_one_transaction(self, database: Database) -> None:
        """A block that raises leaves the job running and its results unwritten; a lost lease enters no block."""
        owner, _ = await two_owners(database)
        clock = FrozenClock()
        jobs, cursors = Jobs(database, clock), Cursors(database, clock)
        await jobs.enqueue(owner, request())
        held = (await claim(jobs))[0]
        with pytest.raises(LookupError):
            async with jobs.finishing(held):
                await cursors.advance(owner, "distill", "s1", Cursor(position=7))
                raise LookupError
        assert (await cursors.get(owner, "distill", "s1")).position == 0
        clock.advance(LEASE_MS)
        stolen = (await claim(jobs, "w2"))[0]
        for context in (jobs.finishing(held), jobs.holding(held, LEASE_MS)):
            with pytest.raises(LeaseLost):
                async with context:
                    await cursors.advance(owner, "distill", "s1", Cursor(position=8))
        assert (await cursors.get(owner, "distill", "s1")).position == 0
        async with jobs.finishing(stolen, {"atoms": 2}):
            await cursors.advance(owner, "distill", "s1", Cursor(position=9))
            again = await jobs.enqueue(owner, request())
        done = await jobs.get(owner, held.id)
        assert done
        assert (done.state, done.result, done.lease, done.error) == ("done", {"atoms": 2}, "", "")
        assert [job.id for job in await claim(jobs)] == [again] != [held.id]

    async def test_a_failed_job_waits_as_long_as_decided(self, database: Database) -> None:
        """An attempt that was nobody's fault does not count."""
        owner, _ = await two_owners(database)
        clock = FrozenClock()
        jobs = Jobs(database, clock)
        await jobs.enqueue(owner, request())
        for counts, attempts in ((True, 1), (False, 2), (True, 2), (True, 3)):
            held = (await claim(jobs))[0]
            assert held.attempts == attempts
            assert await jobs.fail(held, "no answer", RetryDecision(after_ms=50, counts=counts))
            assert await claim(jobs) == []
            clock.advance(50)
        assert (await claim(jobs))[0].error == "no answer"

    async def test_a_job_that_is_put_back_absorbs_the_one_that_waits(self, database: Database) -> None:
        """One job waits for the key again: the one that knows its attempts, with the weightier priority."""
        owner, _ = await two_owners(database)
        jobs = Jobs(database)
        first = await jobs.enqueue(owner, request())
        held = (await claim(jobs))[0]
        await jobs.enqueue(owner, request(priority=4))
        assert await jobs.fail(held, "x", RetryDecision(after_ms=0))
        waiting = await jobs.listing(owner, "pending")
        assert [(job.id, job.attempts, job.priority) for job in waiting] == [(first, 1, 4)]

    async def test_a_released_job_is_as_it_was(self, database: Database) -> None:
        """A worker that stops hands its work back at once, and the attempt does not count."""
        owner, _ = await two_owners(database)
        jobs = Jobs(database)
        await jobs.enqueue(owner, request())
        assert await jobs.release((await claim(jobs))[0])
        assert (await claim(jobs, "w2"))[0].attempts == 1


class CursorContract:
    """What `Cursors` promises."""

    async def test_a_cursor_only_moves_forward(self, database: Database) -> None:
        """Somebody who comes late with an older position changes nothing."""
        owner, other = await two_owners(database)
        cursors = Cursors(database)
        assert await cursors.get(owner, "distill", "s1") == Cursor()
        assert await cursors.advance(owner, "distill", "s1", Cursor(position=5, state={"turns": 2}))
        assert not await cursors.advance(owner, "distill", "s1", Cursor(position=4))
        assert await cursors.get(owner, "distill", "s1") == Cursor(position=5, state={"turns": 2})
        assert await cursors.get(other, "distill", "s1") == Cursor()
        assert await cursors.of_stage(owner, "distill") == {"s1": Cursor(position=5, state={"turns": 2})}
        await cursors.reset(owner, "distill", "s1")
        assert await cursors.get(owner, "distill", "s1") == Cursor()
