"""The outbox queue: work is written in the transaction of the row it serves, and taken under a lease.

States: ``pending`` → ``running`` → ``done``, back to ``pending`` after a failure that will be
retried, ``dead`` after one that will not.  Of one kind, owner and key at most one job runs and at
most one more waits, so the work of a key happens in order.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from stenolith.errors import NotFound, StenolithError
from stenolith.model.clock import Clock, wall_ms
from stenolith.model.identity import new_id
from stenolith.store.database import Database, Row, statements

State = Literal["pending", "running", "done", "dead"]
HELD_UP: Final = 10
"""Leases by which a heartbeat may come too late; what is further ahead of it was given by a clock that ran ahead."""
LEASE_EXPIRED = "the worker that held this job stopped answering"
"""The error that a stolen job carries until it ends in another way."""
_ERROR_CHARS = 500


class LeaseLost(StenolithError):
    """Another worker has taken this job over; what this one found is not kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """Work to be done.

    *key* names the thing worked on inside the owner (a session, for example) and debounces: while a
    job of the same kind, owner and key waits, a second request is absorbed by it and its payload is
    dropped, so a payload must not carry what the key does not.  *run_after* is epoch milliseconds
    (None: now).  With *hurry* an absorbed request pulls the waiting job's *run_after* earlier.
    Higher *priority* first.
    """

    kind: str
    key: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    run_after: int | None = None
    priority: int = 0
    hurry: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One row of the queue. *attempts* counts claims; *lease* proves who holds a running job."""

    id: str
    kind: str
    key: str
    owner_id: int
    payload: Mapping[str, Any]
    state: State
    priority: int
    attempts: int
    run_after: int
    lease: str
    lease_until: int | None
    error: str
    result: Mapping[str, Any]
    created_at: int
    updated_at: int

    @property
    def stolen(self) -> bool:
        """Say whether this claim took the job from a worker whose lease had run out."""
        return self.error == LEASE_EXPIRED


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryDecision:
    """Try again in *after_ms*. An attempt that does not *count* was nobody's fault (a model was down)."""

    after_ms: int
    counts: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What a kind has left to do: *count* jobs in one *state*; *fresh* ones were never tried.

    *at* is when the first is due, or when the first lease of those running ends (epoch ms).
    """

    kind: str
    state: State
    fresh: bool
    at: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """How a worker takes jobs.

    *rooms* says of which kind how many at most, for *lease_ms*.  *eager* takes a job that was never
    tried before it is due, which is how a person who waits skips the debounce.  *steal* also looks
    for jobs whose lease ran out.  *only* narrows to one owner's key.
    """

    worker: str
    rooms: Mapping[str, int]
    lease_ms: int
    eager: bool = False
    steal: bool = True
    only: tuple[int, str] | None = None


class Jobs:
    """The queue. Methods with an owner show the owner's jobs; the worker's half serves the whole home."""

    def __init__(self, database: Database, now_ms: Clock = wall_ms) -> None:
        self._database = database
        self._sql = statements(database.dialect)
        self._now = now_ms

    async def enqueue(self, owner_id: int, request: JobRequest) -> str:
        """Add a job, or let the waiting one of the same kind and key absorb it, and return its id.

        Call it inside the transaction of the row it serves: both are committed or neither.
        """
        now = self._now()
        async with self._database.transaction():
            await self._database.lock(owner_id)
            rows = await self._database.fetch(
                self._sql["enqueue_job"],
                job_id=new_id("job", now),
                kind=request.kind,
                key=request.key,
                owner_id=owner_id,
                payload=_dump(request.payload),
                priority=request.priority,
                run_after=now if request.run_after is None else request.run_after,
                hurry=int(request.hurry),
                now=now,
            )
        return str(rows[0]["job_id"])

    async def get(self, owner_id: int, job_id: str) -> Job | None:
        """Return one of the owner's jobs."""
        rows = await self._database.fetch(self._sql["get_job"], owner_id=owner_id, job_id=job_id)
        return _job(rows[0]) if rows else None

    async def listing(self, owner_id: int, state: State, after: str = "", limit: int = 100) -> list[Job]:
        """Return the owner's jobs of one state after the job *after*, in the order they were made."""
        rows = await self._database.fetch(
            self._sql["page_jobs"], owner_id=owner_id, state=state, after=after, limit=limit
        )
        return [_job(row) for row in rows]

    async def counts(self, owner_id: int) -> dict[str, dict[str, int]]:
        """Return how many jobs the owner has, by kind and state."""
        return _counted(await self._database.fetch(self._sql["count_jobs"], owner_id=owner_id))

    async def outstanding(self, owner_id: int, kind: str, key: str) -> int:
        """Return how many jobs of this key wait or run: 0 when everything asked for has ended."""
        rows = await self._database.fetch(self._sql["outstanding_jobs"], owner_id=owner_id, kind=kind, key=key)
        return int(rows[0]["n"])

    async def is_running(self, owner_id: int, kind: str, key: str) -> bool:
        """Say whether somebody works on this key now."""
        rows = await self._database.fetch(self._sql["running_jobs_of_key"], owner_id=owner_id, kind=kind, key=key)
        return bool(rows[0]["n"])

    async def retry(self, owner_id: int, job_id: str) -> str:
        """Make a job that was given up, or that waits for its time, due now with all its attempts.

        Returns the id of the job that does the work: where a newer job of a dead one's key already waits, that
        one does, and the dead one is closed.  Raises `NotFound` when the owner has no such job.
        """
        async with self._database.transaction():
            await self._database.lock(owner_id)
            named = {"owner_id": owner_id, "job_id": job_id}
            twins = await self._database.fetch(self._sql["pending_twin"], **named)
            if twins:
                result = _dump({"absorbed_by": twins[0]["job_id"]})
                await self._database.fetch(self._sql["close_dead_job"], **named, result=result, now=self._now())
                return str(twins[0]["job_id"])
            if not await self._database.fetch(self._sql["retry_job"], **named, now=self._now()):
                raise NotFound(f"there is no job {job_id} that was given up or waits for its time")
            return job_id

    async def drop(self, owner_id: int, kind: str, key: str) -> int:
        """Delete what is left to do for a key that is deleted, and for the parts of it (``key/part``).

        Returns how many jobs that was.  A worker that runs one of them finds its lease lost, and what
        it found is discarded.
        """
        named = {"owner_id": owner_id, "kind": kind, "key": key}
        return len(await self._database.fetch(self._sql["delete_jobs_of_key"], **named))

    async def delete_all(self, owner_id: int) -> int:
        """Delete the owner's jobs, for an owner who is deleted, and return how many there were."""
        return len(await self._database.fetch(self._sql["delete_jobs_of_owner"], owner_id=owner_id))

    async def claim(self, claim: Claim) -> list[Job]:
        """Take jobs of any owner: first those whose lease ran out, then the due ones by priority.

        A job whose key is running elsewhere is not taken.  Every claimed job carries a lease that
        only this call knows.  For workers.
        """
        now = self._now()
        lease = f"{claim.worker}#{secrets.token_hex(6)}"
        given = {"lease": lease, "lease_until": now + claim.lease_ms, "now": now}
        owner, key = claim.only or (0, "")
        narrowed = {"only_owner": owner, "only_key": key}
        taken: list[Row] = []
        async with self._database.transaction():
            for kind, room in claim.rooms.items():
                where = {**given, **narrowed, "kind": kind}
                stolen: list[Row] = []
                if claim.steal:
                    stolen = await self._database.fetch(
                        self._sql["steal_jobs"], **where, limit=room, error=LEASE_EXPIRED
                    )
                left = room - len(stolen)
                taken += stolen
                eager = int(claim.eager)
                taken += await self._database.fetch(self._sql["claim_jobs"], **where, limit=left, eager=eager)
        taken.sort(key=lambda row: (-row["priority"], row["run_after"], row["job_id"]))
        return [_job(row) for row in taken]

    async def heartbeat(self, job: Job, lease_ms: int) -> bool:
        """Extend the lease by *lease_ms* from now, never back; False says that the job is no longer ours."""
        until = self._now() + lease_ms
        named = {"job_id": job.id, "lease": job.lease}
        return bool(
            await self._database.fetch(
                self._sql["beat_job"], **named, lease_until=until, longest=until + HELD_UP * lease_ms
            )
        )

    async def finish(self, job: Job, result: Mapping[str, Any] | None = None) -> bool:
        """End a job well; False says that the lease was lost and nothing was changed."""
        return await self._end("finish_job", job, result=_dump(result or {}))

    @asynccontextmanager
    async def finishing(self, job: Job, result: Mapping[str, Any] | None = None) -> AsyncIterator[None]:
        """Open the transaction that ends the job and writes what the block writes: both, or neither.

        Raises `LeaseLost` before the block when the job is no longer ours.
        """
        async with self._database.transaction():
            await self._database.lock(job.owner_id)
            if not await self.finish(job, result):
                raise LeaseLost
            yield

    @asynccontextmanager
    async def holding(self, job: Job, lease_ms: int) -> AsyncIterator[None]:
        """Open a transaction for part of the results, which extends the lease by *lease_ms* from now.

        Raises `LeaseLost` before the block when the job is no longer ours.
        """
        async with self._database.transaction():
            await self._database.lock(job.owner_id)
            if not await self.heartbeat(job, lease_ms):
                raise LeaseLost
            yield

    async def fail(self, job: Job, error: str, decision: RetryDecision | None) -> bool:
        """Put a job back as *decision* says, or among the dead; False says that the lease was lost.

        A waiting job of the same key is absorbed by the one that is put back.
        """
        short = error[:_ERROR_CHARS]
        if decision is None:
            return await self._end("bury_job", job, error=short)
        run_after = self._now() + decision.after_ms
        return await self._requeue(job, error=short, run_after=run_after, forgiven=int(not decision.counts))

    async def release(self, job: Job) -> bool:
        """Hand a job back unharmed, when a worker stops; the attempt does not count."""
        return await self._requeue(job, error="", run_after=self._now(), forgiven=1)

    async def _end(self, statement: str, job: Job, **values: Any) -> bool:
        rows = await self._database.fetch(
            self._sql[statement], job_id=job.id, lease=job.lease, now=self._now(), **values
        )
        return bool(rows)

    async def _requeue(self, job: Job, **values: Any) -> bool:
        held = {"job_id": job.id, "lease": job.lease}
        async with self._database.transaction():
            await self._database.lock(job.owner_id)
            if not await self._database.fetch(self._sql["hold_job"], **held):
                return False
            name = {"kind": job.kind, "owner_id": job.owner_id, "key": job.key}
            twins = await self._database.fetch(self._sql["absorb_pending_job"], **name)
            priority = max([job.priority, *(twin["priority"] for twin in twins)])
            return await self._end("requeue_job", job, priority=priority, **values)

    async def waiting(self) -> list[Waiting]:
        """Return what is left to do in the whole home, by kind. For workers."""
        rows = await self._database.fetch(self._sql["waiting_jobs"])
        return [
            Waiting(
                kind=row["kind"],
                state=row["state"],
                fresh=bool(row["fresh"]),
                at=row["run_after"] if row["state"] == "pending" else row["lease_until"],
                count=row["n"],
            )
            for row in rows
        ]

    async def counts_of_home(self) -> dict[str, dict[str, int]]:
        """Return how many jobs everybody has, by kind and state. For upkeep."""
        return _counted(await self._database.fetch(self._sql["count_jobs_of_home"]))

    async def listing_of_home(self, state: State, after: str = "", limit: int = 100) -> list[Job]:
        """Return everybody's jobs of one state, in the order they were made. For upkeep."""
        rows = await self._database.fetch(self._sql["page_jobs_of_home"], state=state, after=after, limit=limit)
        return [_job(row) for row in rows]

    async def prune_home(self, before: int) -> int:
        """Delete jobs that were done before *before* (epoch ms) and return how many. For upkeep."""
        return len(await self._database.fetch(self._sql["prune_done_jobs"], before=before))


def _job(row: Row) -> Job:
    same = {name: row[name] for name in ("kind", "key", "owner_id", "state", "priority", "attempts", "run_after")}
    times = {name: row[name] for name in ("lease_until", "created_at", "updated_at")}
    return Job(
        id=row["job_id"],
        payload=json.loads(row["payload"]),
        lease=row["lease_owner"] or "",
        error=row["error"],
        result=json.loads(row["result"]),
        **same,
        **times,
    )


def _counted(rows: Sequence[Row]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        found.setdefault(row["kind"], {})[row["state"]] = int(row["n"])
    return found


def _dump(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
