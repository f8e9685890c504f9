"""Run arms side by side under one deadline; name those that are late or fail, and never wait for them.

An arm that keeps failing is left out at once (its breaker is open).  Meanwhile it runs unwatched,
one try at a time, and the first try that succeeds in time lets it back in: recovery needs no
timer and costs no caller anything.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from stenolith.recall.context import ArmReport, ArmStatus

BREAKS_AFTER: Final = 3
"""Times in a row that an arm may be late or fail before it is left out."""
TIMEOUT: Final = "timeout"
UNAVAILABLE: Final = "backend_unavailable"
PARTIAL: Final = "partial"
"""How the reason of an arm begins that answered from a part of what there is."""


class Skipped(Exception):  # not an error: an arm that has nothing to do says why
    """There is nothing for this arm to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What an arm brings home: a *value* that its reader knows, and how many *hits* to report.

    *missing* says what it could not look at, when it could not look everywhere.
    """

    value: Any
    hits: int
    missing: str = ""


Arm = Callable[[], Awaitable[Found]]
_Timed = tuple[Found, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """How an arm ended; *value* is None unless its status is ok."""

    report: ArmReport
    value: Any = None

    @property
    def degrades(self) -> bool:
        """Say whether something was not looked at because of this arm."""
        troubled = self.report.status in {ArmStatus.LATE, ArmStatus.FAILED}
        return troubled or self.report.reason.startswith((UNAVAILABLE, PARTIAL))


class Race:
    """Holds the breakers of all arms and the tasks that were left behind. Close it."""

    def __init__(self, breaks_after: int = BREAKS_AFTER) -> None:
        self._breaks_after = breaks_after
        self._troubles: Counter[str] = Counter()
        self._reasons: dict[str, str] = {}
        self._behind: dict[asyncio.Task[_Timed], str] = {}

    async def run(self, arms: Mapping[str, Arm], until: float) -> dict[str, Finish]:
        """Run *arms* until all have ended or the monotonic clock reads *until*; return how each ended."""
        started = time.monotonic()
        finished: dict[str, Finish] = {}
        running: dict[asyncio.Task[_Timed], str] = {}
        for name, arm in arms.items():
            if self._troubles[name] >= self._breaks_after:
                self._probe(name, arm, until - started)
                times, last = self._troubles[name], self._reasons.get(name, "")
                finished[name] = _skip(name, f"{UNAVAILABLE}: left out after {times} failures in a row ({last})")
            else:
                running[asyncio.ensure_future(_timed(arm))] = name
        if running:
            await self._wait(running, max(until - started, 0))
        for task, name in running.items():
            finished[name] = self._judge(name, task, time.monotonic() - started)
        return {name: finished[name] for name in arms}

    async def _wait(self, running: Mapping[asyncio.Task[_Timed], str], seconds: float) -> None:
        try:
            await asyncio.wait(running, timeout=seconds)
        except asyncio.CancelledError:
            for task, name in running.items():
                self._leave(task, name)
            raise

    def _judge(self, name: str, task: asyncio.Task[_Timed], elapsed: float) -> Finish:
        if not task.done():
            self._leave(task, name)
            return self._trouble(name, ArmStatus.LATE, TIMEOUT, elapsed)
        if task.cancelled():
            return self._trouble(name, ArmStatus.FAILED, f"{UNAVAILABLE}: cancelled", elapsed)
        error = task.exception()
        if isinstance(error, Skipped):
            return _skip(name, str(error))
        if error is not None:
            return self._trouble(name, ArmStatus.FAILED, f"{UNAVAILABLE}: {_sentence(error)}", elapsed)
        self._troubles[name] = 0
        found, seconds = task.result()
        reason = f"{PARTIAL}: {found.missing}" if found.missing else ""
        report = ArmReport(name=name, status=ArmStatus.OK, ms=seconds * 1000, hits=found.hits, reason=reason)
        return Finish(report=report, value=found.value)

    def _trouble(self, name: str, status: ArmStatus, reason: str, elapsed: float) -> Finish:
        self._troubles[name] += 1
        self._reasons[name] = reason
        return Finish(report=ArmReport(name=name, status=status, ms=elapsed * 1000, reason=reason))

    def _probe(self, name: str, arm: Arm, allowed: float) -> None:
        """Try a broken arm unwatched, unless a try is under way."""
        if name in self._behind.values():
            return
        started = time.monotonic()

        def judge(task: asyncio.Task[_Timed]) -> None:
            healthy = not task.cancelled() and task.exception() is None
            if healthy and time.monotonic() - started <= allowed:
                self._troubles[name] = 0

        task = asyncio.ensure_future(_timed(arm))
        self._leave(task, name)
        task.add_done_callback(judge)

    def _leave(self, task: asyncio.Task[_Timed], name: str) -> None:
        self._behind[task] = name
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[_Timed]) -> None:
        self._behind.pop(task, None)
        if not task.cancelled():
            task.exception()  # Reading it says that nobody else will.

    async def close(self) -> None:
        """Cancel what was left behind and wait until it has stopped."""
        left = list(self._behind)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


async def _timed(arm: Arm) -> _Timed:
    started = time.monotonic()
    found = await arm()
    return found, time.monotonic() - started


def _skip(name: str, reason: str) -> Finish:
    return Finish(report=ArmReport(name=name, status=ArmStatus.SKIPPED, ms=0.0, reason=reason))


def _sentence(error: BaseException) -> str:
    return str(error) or type(error).__name__
