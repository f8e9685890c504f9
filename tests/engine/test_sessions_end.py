"""A session that ends is distilled before the call returns, and only that session."""

from __future__ import annotations

import asyncio

import pytest
from saying import said

from stenolith import Memory, NotFound, Scope
from stenolith.settings import load

T0 = 1_785_657_600_000
WISH = "以后都用简体中文回答我"


async def _pending(memory: Memory) -> list[str]:
    return [job["kind"] for job in (await memory.jobs())["items"] if job["kind"] == "distill"]


async def test_ending_a_session_distils_that_session_alone(memory: Memory) -> None:
    await memory.capture([said("user", WISH, T0)], scope=Scope(session_key="a"))
    await memory.capture([said("user", "I prefer small pull requests.", T0)], scope=Scope(session_key="b"))
    report = await memory.end_session(scope=Scope(session_key="a"))
    assert (report.done, report.pending) == ({"distill": 1}, 0)
    assert [atom["text"] for atom in (await memory.list("atoms", scope=Scope()))["items"]] == [WISH]
    assert await _pending(memory) == ["distill"]
    with pytest.raises(NotFound):
        await memory.end_session(scope=Scope(session_key="nobody"))


async def test_with_a_model_a_session_is_read_after_1_2_4_and_then_every_n_turns(tmp_path) -> None:
    """The job of a group that is not full waits for the idle time; the turn that fills it makes it due now."""
    settings = load(
        home=tmp_path / "home",
        timezone="UTC",
        embedder={"kind": "none"},
        llm={"kind": "openai", "model": "scripted", "url": "http://127.0.0.1:1/v1"},
        pipeline={"every_turns": 5, "idle_seconds": 600},
    )
    now = [T0]
    due_after = []
    async with Memory.open(settings=settings, now=lambda: now[0]) as memory:
        for turn in range(1, 19):
            now[0] += 1000
            await memory.capture(
                [said("user", f"turn number {turn} about gateways", now[0])], scope=Scope(session_key="s")
            )
            (job,) = [job for job in (await memory.jobs())["items"] if job["kind"] == "distill"]
            if job["run_after"] <= now[0]:
                due_after.append(turn)
                await memory._house.jobs.drop(1, "distill", job["key"])  # stands for the worker that takes it
            else:
                assert job["run_after"] - now[0] <= 600_000
    assert due_after == [1, 3, 7, 12, 17]


async def test_a_worker_serves_until_it_is_told_to_stop(memory: Memory) -> None:
    stop = asyncio.Event()
    serving = asyncio.create_task(memory.serve(stop))
    await memory.capture([said("user", WISH, T0)], scope=Scope(session_key="a"))
    for _ in range(200):
        if (await memory.list("atoms", scope=Scope()))["items"]:
            break
        await asyncio.sleep(0.02)
    stop.set()
    report = await serving
    assert report.done["distill"] == 1
    assert (await memory.health())["status"] == "ok"
