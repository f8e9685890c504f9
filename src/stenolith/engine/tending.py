"""Keeping a home in order beside the work: what has expired, what was abandoned, what fell behind.

Everything asked for here is asked for again until it is there, so no failure leaves a permanent hole.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from stenolith.engine.projections import Projections
from stenolith.engine.upkeep import STUCK_MS
from stenolith.engine.wiring import House
from stenolith.errors import StoreUnavailable
from stenolith.pipeline.stages import JOURNAL
from stenolith.store.jobs import JobRequest

KEPT_JOBS_MS: Final = 24 * 3_600_000
"""How long finished jobs can still be looked at."""
EVERY_S: Final = 60.0
"""How often a worker that serves tidies up."""
EXPIRED_AT_ONCE: Final = 500
_log = logging.getLogger(__name__)


class Tending:
    """Upkeep that a worker does by itself; *recover* closes turns left open since before a moment (epoch ms)."""

    def __init__(self, house: House, projections: Projections, recover: Callable[[int], Awaitable[list[str]]]) -> None:
        self._house = house
        self._projections = projections
        self._recover = recover

    async def tidy(self) -> None:
        """Close abandoned turns, end what has expired, drop old jobs, ask for what is behind, index large shelves."""
        house = self._house
        await self._recover(house.now() - STUCK_MS)
        while await self._expire() == EXPIRED_AT_ONCE:
            pass
        await house.jobs.prune_home(house.now() - KEPT_JOBS_MS)
        await self._ask_for_lines()
        await self._ask_for_vectors()
        await house.vectors.tend()

    async def keep_tidy(self, wake: Callable[[], None], every_s: float = EVERY_S) -> None:
        """Tidy up every so many seconds, and *wake* the worker for what that asked for; never ends by itself."""
        while True:
            await asyncio.sleep(every_s)
            try:
                await self.tidy()
            except StoreUnavailable as error:
                _log.warning("not tidied: %s", error)
            wake()

    async def _expire(self) -> int:
        """End some atoms whose time is up; their owners' scenes are written without them."""
        house = self._house
        async with house.database.transaction():
            expired = await house.atoms.expire_due_of_home(EXPIRED_AT_ONCE)
            for owner_id in sorted({owner_id for owner_id, _ in expired}):
                await self._projections.request_scenes(owner_id)
        return len(expired)

    async def _ask_for_lines(self) -> None:
        """Ask for the daily lines that a failed append, or a crash before it, left out; one job writes all of them."""
        if behind := await self._house.journal.behind():
            await self._house.jobs.enqueue(min(behind), JobRequest(kind=JOURNAL, key=""))

    async def _ask_for_vectors(self) -> None:
        """Ask for the vectors of rows that have none of this embedder, be it new, changed, or broken before."""
        embedder = self._house.embedder
        if embedder is not None:
            for owner_id, layer in await self._house.vectors.behind(embedder.model_id, embedder.dim):
                await self._projections.request_vectors(owner_id, layer)
