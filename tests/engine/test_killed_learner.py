"""kill -9 at every call of every stage that asks a model: nothing is lost and nothing is learned twice."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest
from homes import MINUTE, Home, open_home
from killed_learner import answer

from stenolith.testing.clock import START_MS
from stenolith.testing.model import ScriptedModel

SAID = [f"The Orion gateway has rule number {number} about word{number}." for number in range(30)]
SCRIPT = Path(__file__).with_name("killed_learner.py")


async def _killed(folder: Path, at: int, clock_ms: int) -> int:
    """Run a worker in a process of its own until it is killed at its n-th call; return how it ended."""
    environment = {**os.environ, "CLOCK_MS": str(clock_ms), "PYTHONPATH": os.pathsep.join(sys.path)}
    process = await asyncio.create_subprocess_exec(sys.executable, SCRIPT, folder, str(at), env=environment)
    return await process.wait()


async def _said(folder: Path) -> int:
    async with open_home(folder) as home:
        for text in SAID:
            await home.say(text, "Noted.")
        return home.clock() - START_MS


async def _check(home: Home) -> None:
    assert await home.texts() == sorted(SAID)
    assert len(await home.atoms()) == len(SAID)
    assert await home.position() == 2 * len(SAID)
    assert await home.jobs("dead") == []
    scenes = await home.house.scenes.listing(await home.owner())
    cited = [atom for scene in scenes for line in scene.lines for atom in line.atoms]
    assert sorted(cited) == sorted(atom.id for atom in await home.atoms())


@pytest.mark.parametrize("at", [1, 2, 3, 4, 6])
async def test_a_worker_that_is_killed_at_any_call_loses_nothing_and_doubles_nothing(tmp_path: Path, at: int) -> None:
    elapsed = await _said(tmp_path)
    assert await _killed(tmp_path, at, elapsed) == -9
    async with open_home(tmp_path) as home:
        home.clock.advance(elapsed + 5 * MINUTE)
        model = ScriptedModel(answer)
        await home.work(model)
        await _check(home)


async def test_a_worker_that_is_killed_again_and_again_comes_to_an_end(tmp_path: Path) -> None:
    elapsed = await _said(tmp_path)
    for _ in range(3):
        assert await _killed(tmp_path, 2, elapsed) == -9
        elapsed += 5 * MINUTE
    async with open_home(tmp_path) as home:
        home.clock.advance(elapsed)
        await home.work(ScriptedModel(answer))
        await _check(home)
