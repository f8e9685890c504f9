"""Arms race under a deadline; nobody waits for a late one, and a broken one comes back by itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from stenolith.recall.context import ArmStatus
from stenolith.recall.race import Arm, Found, Race, Skipped


@pytest.fixture
async def race() -> AsyncIterator[Race]:
    opened = Race(breaks_after=3)
    yield opened
    await opened.close()


def _after(seconds: float, value: object = "found") -> Arm:
    async def arm() -> Found:
        await asyncio.sleep(seconds)
        return Found(value=value, hits=1)

    return arm


def _raising(error: Exception) -> Arm:
    async def arm() -> Found:
        raise error

    return arm


async def test_arms_run_side_by_side_and_report_how_they_ended(race: Race) -> None:
    arms = {
        "good": _after(0.02),
        "slow": _after(5),
        "broken": _raising(OSError("disk on fire")),
        "idle": _raising(Skipped("nothing to do")),
    }
    started = time.monotonic()
    finished = await race.run(arms, started + 0.1)
    assert time.monotonic() - started < 4  # the slow arm was not waited for
    assert list(finished) == list(arms)
    shown = {
        name: (one.report.status, one.report.reason, one.report.hits, one.degrades) for name, one in finished.items()
    }
    assert shown == {
        "good": (ArmStatus.OK, "", 1, False),
        "slow": (ArmStatus.LATE, "timeout", 0, True),
        "broken": (ArmStatus.FAILED, "backend_unavailable: disk on fire", 0, True),
        "idle": (ArmStatus.SKIPPED, "nothing to do", 0, False),
    }
    assert finished["good"].value == "found"
    assert finished["slow"].value is None


async def test_a_race_ends_when_the_last_arm_has_ended(race: Race) -> None:
    started = time.monotonic()
    await race.run({"good": _after(0.01)}, started + 10)
    assert time.monotonic() - started < 1


async def test_an_arm_that_keeps_failing_is_left_out_at_once_and_comes_back(race: Race) -> None:
    for _ in range(3):
        await race.run({"arm": _after(0.15)}, time.monotonic() + 0.01)
    started = time.monotonic()
    finished = (await race.run({"arm": _after(0.15)}, started + 30))["arm"]
    assert finished.report.status is ArmStatus.SKIPPED
    assert finished.report.reason.startswith("backend_unavailable: left out after 3 failures")
    assert finished.degrades
    await asyncio.sleep(0.19)
    await race.run({"arm": _after(0)}, time.monotonic() + 1)  # left out still, but tried unwatched
    await asyncio.sleep(0.01)
    finished = (await race.run({"arm": _after(0)}, time.monotonic() + 1))["arm"]
    assert finished.report.status is ArmStatus.OK


async def test_a_slow_try_of_a_broken_arm_does_not_let_it_back_in(race: Race) -> None:
    for _ in range(3):
        await race.run({"arm": _raising(OSError("no"))}, time.monotonic() + 1)
    await race.run({"arm": _after(0.05)}, time.monotonic() + 0.01)
    await asyncio.sleep(0.1)
    assert (await race.run({"arm": _after(0)}, time.monotonic() + 1))["arm"].report.status is ArmStatus.SKIPPED


async def test_one_success_forgives_earlier_failures(race: Race) -> None:
    for _ in range(4):
        await race.run({"arm": _raising(OSError("no"))}, time.monotonic() + 1)
        await race.run({"arm": _raising(OSError("no"))}, time.monotonic() + 1)
        finished = (await race.run({"arm": _after(0)}, time.monotonic() + 1))["arm"]
        assert finished.report.status is ArmStatus.OK


async def test_closing_stops_what_was_left_behind() -> None:
    race = Race()
    stopped = asyncio.Event()

    async def arm() -> Found:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            stopped.set()
            raise
        return Found(value=None, hits=0)

    await race.run({"arm": arm}, time.monotonic() + 0.01)
    await race.close()
    assert stopped.is_set()


async def test_a_caller_who_gives_up_leaves_nothing_running() -> None:
    race = Race()
    stopped = asyncio.Event()

    async def arm() -> Found:
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()
        return Found(value=None, hits=0)

    caller = asyncio.create_task(race.run({"arm": arm}, time.monotonic() + 30))
    await asyncio.sleep(0.01)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    await race.close()
    assert stopped.is_set()
