"""A worker process for the crash tests: `crashing_worker.py BACKEND FOLDER POINT`.

It adds one to its key's cursor, once per job.  At POINT it says so on its output and sits still for
jobs whose key begins with "trap", so that it can be killed there.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

from stenolith.pipeline.stages import STAGES
from stenolith.pipeline.worker import Lease, Worker, WorkerOptions
from stenolith.store.cursors import Cursor, Cursors
from stenolith.store.jobs import Jobs
from stenolith.testing.backends import BACKENDS

LEASE_MS = 400


async def main(backend: str, folder: str, point: str) -> None:
    async with BACKENDS[backend](Path(folder)) as database:
        cursors = Cursors(database)

        async def at(here: str, lease: Lease) -> None:
            if here == point and lease.job.key.startswith("trap"):
                print(lease.job.key, flush=True)
                await asyncio.sleep(60)

        async def handle(lease: Lease) -> None:
            job = lease.job
            await at("before the commit", lease)
            async with lease.commit():
                position = (await cursors.get(job.owner_id, job.kind, job.key)).position
                await cursors.advance(job.owner_id, job.kind, job.key, Cursor(position=position + 1))
                await at("inside the transaction", lease)
            await at("after the commit", lease)

        stages = {**STAGES, "distill": replace(STAGES["distill"], concurrency=3)}
        options = WorkerOptions(lease_ms=LEASE_MS, poll_ms=20, stages=stages)
        await Worker(Jobs(database), {"distill": handle}, options).run_until_idle()


asyncio.run(main(*sys.argv[1:]))
