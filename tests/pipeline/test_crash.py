# ruff: noqa: N802  # the cases keep the names that the specification gives them
"""Workers that are killed, and workers beside each other: nothing is lost, nothing is done twice."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from stenolith.model.identity import Scope
from stenolith.pipeline.worker import Lease, Worker, WorkerOptions
from stenolith.store.cursors import Cursor, Cursors
from stenolith.store.database import Database
from stenolith.store.jobs import JobRequest, Jobs
from stenolith.store.owners import Owners

SCRIPT = Path(__file__).with_name("crashing_worker.py")
SOURCE = Path(__file__).parents[2] / "src"


async def start(database: Database, folder: Path, point: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        str(SCRIPT),
        database.dialect,
        str(folder),
        point,
        env={"PYTHONPATH": str(SOURCE)},
        stdout=asyncio.subprocess.PIPE,
    )


async def enqueue(database: Database, keys: list[str]) -> int:
    owner = await Owners(database).intern(Scope(user="ana"))
    for key in keys:
        await Jobs(database).enqueue(owner, JobRequest(kind="distill", key=key))
    return owner


async def positions(database: Database, owner: int) -> dict[str, int]:
    return {key: cursor.position for key, cursor in (await Cursors(database).of_stage(owner, "distill")).items()}


@pytest.mark.parametrize(
    ("point", "traps", "tried_again"),
    [("before the commit", 3, 3), ("inside the transaction", 1, 1), ("after the commit", 3, 0)],
)
async def test_C20_jobs_in_flight_at_a_kill_are_taken_up_again_once(
    database: Database, tmp_path: Path, point: str, traps: int, tried_again: int
) -> None:
    """Nothing is lost and nothing is done twice, wherever the worker dies."""
    trapped = [f"trap{n}" for n in range(traps)]
    keys = [*(f"s{n:02}" for n in range(20 - traps)), *trapped]
    owner = await enqueue(database, keys)
    process = await start(database, tmp_path, point)
    assert process.stdout
    held = [await asyncio.wait_for(process.stdout.readline(), 20) for _ in trapped]
    process.kill()
    await process.wait()
    assert sorted(line.decode().strip() for line in held) == trapped

    async def handle(lease: Lease) -> None:
        job = lease.job
        async with lease.commit():
            position = (await Cursors(database).get(owner, job.kind, job.key)).position
            await Cursors(database).advance(owner, job.kind, job.key, Cursor(position=position + 1))

    worker = Worker(Jobs(database), {"distill": handle}, WorkerOptions(lease_ms=400, poll_ms=20))
    report = await asyncio.wait_for(worker.run_until_idle(), 20)
    assert (report.failed, report.dead, report.pending) == ({}, {}, 0)
    assert await positions(database, owner) == dict.fromkeys(keys, 1)
    done = await Jobs(database).listing(owner, "done")
    assert sorted(job.key for job in done) == sorted(keys)
    assert [job.attempts for job in done if job.key in trapped].count(2) == tried_again


async def test_several_worker_processes_share_the_work_without_doing_any_twice(
    database: Database, tmp_path: Path
) -> None:
    keys = [f"s{n:02}" for n in range(60)]
    owner = await enqueue(database, keys)
    processes = [await start(database, tmp_path, "nowhere") for _ in range(3)]
    for process in processes:
        await asyncio.wait_for(process.communicate(), 30)
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert await positions(database, owner) == dict.fromkeys(keys, 1)
