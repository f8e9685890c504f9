"""Measure the queue with several workers, and writers that share one home, on either database.

python bench/workers.py                             both databases, small (under a minute)
python bench/workers.py --jobs 800 --turns 1000     the sizes that are promised

Workers hold each job for 50 ms, as if a model answered.  Writers and readers are processes of their
own; one writer is killed halfway.  What a writer was told is stored must be stored.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC
from pathlib import Path

from stenolith.capture.record import Recorder, Scribe, Surroundings
from stenolith.capture.turn import Turn
from stenolith.engine import documents
from stenolith.model.identity import Scope
from stenolith.model.message import Message, Role, Text
from stenolith.model.text import query_terms
from stenolith.pipeline.stages import STAGES
from stenolith.pipeline.worker import Lease, Worker, WorkerOptions
from stenolith.store.cursors import Cursor, Cursors
from stenolith.store.database import Database
from stenolith.store.indexing import SearchWriter
from stenolith.store.inspection import Inspection
from stenolith.store.jobs import JobRequest, Jobs
from stenolith.store.migrations import migrate
from stenolith.store.owners import Owners
from stenolith.store.search import Filter, Layer, SearchIndex
from stenolith.store.sqlite import open_sqlite

HELD_S = 0.05
OWNERS = 8
QUESTIONS = ("records_without_row", "rows_without_source", "records_without_message", "gaps_in_sessions")
Process = asyncio.subprocess.Process


@asynccontextmanager
async def opened(target: str) -> AsyncIterator[Database]:
    """Open a home by URL or by the path of its file."""
    if target.startswith("postgres"):
        from stenolith.store.postgres import open_postgres

        database: Database = await open_postgres(target)
    else:
        database = await open_sqlite(Path(target))
    try:
        await migrate(database)
        yield database
    finally:
        await database.close()


# --- the processes ---------------------------------------------------------------------------------------------------


async def work(target: str) -> None:
    """Do jobs one at a time until none is left, once a line on the input says so."""
    async with opened(target) as database:
        cursors = Cursors(database)

        async def handle(lease: Lease) -> None:
            await asyncio.sleep(HELD_S)
            job = lease.job
            async with lease.commit():
                at = (await cursors.get(job.owner_id, job.kind, job.key)).position
                await cursors.advance(job.owner_id, job.kind, job.key, Cursor(position=at + 1))

        stages = {**STAGES, "distill": replace(STAGES["distill"], concurrency=1)}
        worker = Worker(Jobs(database), {"distill": handle}, WorkerOptions(poll_ms=20, stages=stages))
        await _wait_for_the_word()
        await worker.run_until_idle()


async def write(target: str, session: str, turns: int) -> None:
    """Capture turns and print the number of each when it is durable."""
    async with opened(target) as database:
        owner = await Owners(database).intern(Scope(user="ana"))
        recorder = Recorder(Scribe(database, _surroundings(database)))
        scope = Scope(user="ana", session_key=session)
        await _wait_for_the_word()
        said: list[Message] = []
        for number in range(turns):
            for role in (Role.USER, Role.ASSISTANT):
                text = f"In turn {number} of {session} the {role.value} speaks of the gateway"
                said.append(Message(role=role, parts=(Text(text=text),), timestamp=1_785_657_600_000 + number))
            await recorder.record(owner, scope, Turn(messages=tuple(said[-20:])))
            print(number, flush=True)


async def read(target: str) -> None:
    """Search in a loop until killed."""
    async with opened(target) as database:
        owner = await Owners(database).intern(Scope(user="ana"))
        await _wait_for_the_word()
        for number in itertools.count():
            query = query_terms(f"gateway turn {number % 50}")
            await SearchIndex(database).look_up(owner, Layer.RECORD, query, Filter(now_ms=0))
            print(number, flush=True)


def _surroundings(database: Database) -> Surroundings:
    index, jobs = SearchWriter(database), Jobs(database)

    async def note(records) -> None:
        await index.index(documents.of_records(records, UTC))

    async def enqueue(session, _records) -> None:
        await jobs.enqueue(session.owner_id, JobRequest(kind="distill", key=str(session.session_ref)))

    return Surroundings(
        redact=lambda value: value, index=note, enqueue=enqueue, now=lambda: int(time.time() * 1000), zone=UTC
    )


async def _wait_for_the_word() -> None:
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)


# --- who starts and counts them ----------------------------------------------------------------------------------------


async def start(role: str, *given: str) -> Process:
    """Start one process and wait until it is ready."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, __file__, role, *given, stdin=pipe, stdout=pipe)
    assert process.stdout is not None
    await process.stdout.readline()
    return process


def go(process: Process) -> None:
    assert process.stdin is not None
    process.stdin.write(b"go\n")


async def lines(process: Process, until: int | None = None) -> list[int]:
    """Return what a process prints, until it ends or *until* lines came: then it is killed."""
    assert process.stdout is not None
    found: list[int] = []
    async for line in process.stdout:
        found.append(int(line))
        if until is not None and len(found) == until:
            process.kill()
    await process.wait()
    return found


async def throughput(target: str, jobs: int, workers: int) -> float:
    """Return jobs a second with so many workers."""
    async with opened(target) as database:
        owners = [await Owners(database).intern(Scope(user=f"u{n}")) for n in range(OWNERS)]
        processes = [await start("work", target) for _ in range(workers)]
        async with database.transaction():
            for owner in owners:
                await database.lock(owner)
            for number in range(jobs):
                await Jobs(database).enqueue(owners[number % OWNERS], JobRequest(kind="distill", key=f"s{number}"))
        began = time.time()
        for process in processes:
            go(process)
        await asyncio.gather(*(process.wait() for process in processes))
        done = (await Jobs(database).counts_of_home())["distill"]
        assert done == {"done": jobs}, done
        ended = await database.fetch("SELECT MAX(updated_at) AS at, SUM(attempts) AS attempts FROM jobs")
        assert ended[0]["attempts"] == jobs, "a job was done twice"
        positions = await database.fetch("SELECT position, COUNT(*) AS n FROM cursors GROUP BY position")
        assert [row["position"] for row in positions] == [1]
    return jobs / (ended[0]["at"] / 1000 - began)


async def writers(target: str, turns: int) -> dict[str, float]:
    """Let four write and two read, kill one of the four halfway, and compare what was told with what is stored."""
    async with opened(target) as database:
        pens = [await start("write", target, f"session {n}", str(turns)) for n in range(4)]
        eyes = [await start("read", target) for _ in range(2)]
        began = time.perf_counter()
        for process in (*pens, *eyes):
            go(process)
        seen = [asyncio.create_task(lines(process)) for process in eyes]
        told = await asyncio.gather(*(lines(pen, turns // 2 if n == 0 else None) for n, pen in enumerate(pens)))
        seconds = time.perf_counter() - began
        for process in eyes:
            process.kill()
        searches = sum(len(found) for found in await asyncio.gather(*seen))
        rows = await database.fetch("SELECT session_key, head_seq FROM sessions ORDER BY session_key")
        stored = [row["head_seq"] // 2 for row in rows]
        acknowledged = [len(found) for found in told]
        assert stored[1:] == acknowledged[1:] == [turns] * 3, (stored, acknowledged)
        assert acknowledged[0] <= stored[0] <= acknowledged[0] + 1, "what was told must be stored"
        inspection = Inspection(database)
        faults = [fault for question in QUESTIONS for fault in await inspection.disagreements(question)]
        assert (faults, await inspection.damage()) == ([], [])
    return {"turns a second": round(sum(stored) / seconds, 1), "searches a second": round(searches / seconds, 1)}


async def measure(homes: list[str], given: argparse.Namespace) -> dict[str, float]:
    """Run the three measurements, each in an empty home of its own."""
    one = await throughput(homes[0], max(given.jobs // 8, 20), 1)
    many = await throughput(homes[1], given.jobs, 8)
    found = {"jobs a second, one worker": round(one, 1), "eight workers": round(many, 1), "times": round(many / one, 2)}
    return {**found, **await writers(homes[2], given.turns)}


async def postgres_homes(count: int) -> list[str]:
    """Return databases on the server that the tests use, which here waits for its disk as a real one does."""
    import psycopg

    from stenolith.testing.postgres import create_database

    homes = [await create_database() for _ in range(count)]
    async with await psycopg.AsyncConnection.connect(homes[0], autocommit=True) as connection:
        await connection.execute("ALTER SYSTEM RESET ALL")
        await connection.execute("SELECT pg_reload_conf()")
    return homes


async def main(given: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder) / f"{n}.db") for n in range(3)]
        print(json.dumps({"sqlite": await measure(files, given)}, indent=1))
    print(json.dumps({"postgres": await measure(await postgres_homes(3), given)}, indent=1))


if __name__ == "__main__":
    roles = {"work": work, "write": lambda home, name, turns: write(home, name, int(turns)), "read": read}
    if len(sys.argv) > 1 and sys.argv[1] in roles:
        asyncio.run(roles[sys.argv[1]](*sys.argv[2:]))
    else:
        reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
        reader.add_argument("--jobs", type=int, default=320)
        reader.add_argument("--turns", type=int, default=100)
        asyncio.run(main(reader.parse_args()))
