# ruff: noqa: N802  # the rows keep the names that the specification gives them
"""W1-W7, W19, W24: no turn is lost between capture and extraction, whatever the model, the clock or the process does."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from functools import partial
from typing import Any

import pytest
from reader import ME, model, offered, parrot, rows, sentence, shown, texts, turns, waiting, with_model
from stage import DAY, MINUTE, said

from stenolith import Memory, Scope, Turn
from stenolith.llm.port import Prompt
from stenolith.settings import Settings
from stenolith.testing.clock import FrozenClock
from stenolith.testing.model import Said, TroubledModel

OTHER = Scope(user="ana", session_key="other")


async def test_W01_a_model_down_for_a_thousand_turns_loses_none_and_repeats_none(settings: Settings) -> None:
    clock, scripted = FrozenClock(), model(partial(parrot, every=4))
    troubled = TroubledModel(scripted, broken=True)
    async with Memory.open(settings=with_model(settings), model=troubled, now=clock) as memory:
        for start in range(0, 1000, 20):
            await memory.capture(turns(range(start, start + 20), clock.advance(MINUTE)), scope=ME)
            if start % 100 == 0:
                report = await memory.work(kinds=["distill"])
                assert (report.done, report.dead, report.pending) == ({}, {}, 1)
        assert troubled.refused >= 10
        assert (await memory.health())["status"] == "degraded"
        troubled.broken = False
        clock.advance(60 * MINUTE)
        await memory.work(kinds=["distill"])
        assert offered(scripted) == Counter({sentence(number): 1 for number in range(1000)})
        assert await texts(memory) == sorted(map(sentence, range(0, 1000, 4)))
        assert await waiting(memory) == []
        assert (await memory.health())["jobs"]["distill"].keys() == {"done"}


async def test_W01_an_answer_that_cannot_be_read_moves_no_cursor(settings: Settings) -> None:
    clock = FrozenClock()
    answers = ["You have reached your monthly limit."] * 30

    def moody(prompt: Prompt) -> Said:
        return answers.pop() if answers else parrot(prompt)

    scripted = model(moody)
    async with Memory.open(settings=with_model(settings), model=scripted, now=clock) as memory:
        for start in range(0, 60, 20):
            await memory.capture(turns(range(start, start + 20), clock.advance(MINUTE)), scope=ME)
        while answers:
            report = await memory.work(kinds=["distill"])
            assert (report.dead, await texts(memory) == [] or not answers) == ({}, True)
            assert "You have reached" not in str(await memory.jobs()), "a reason quotes nobody"
            clock.advance(2 * 60 * MINUTE)
        await memory.work(kinds=["distill"])
        assert await texts(memory) == sorted(map(sentence, range(60)))


async def test_W02_forty_turns_in_a_second_are_all_offered_to_a_slow_model(settings: Settings) -> None:
    """The reference made one call and lost thirty-six facts; here the turns that come while it reads are read next."""
    scripted, stop, began = model(delay_s=0.15), asyncio.Event(), int(time.time() * 1000)
    async with Memory.open(settings=with_model(settings, every_turns=5), model=scripted) as memory:
        serving = asyncio.create_task(memory.serve(stop))
        for number in range(40):
            await memory.capture(turns([number], began + 25 * number, step=20), scope=ME)
        await memory.end_session(scope=ME)
        stop.set()
        await serving
        assert offered(scripted) == Counter({sentence(number): 1 for number in range(40)})
        assert await texts(memory) == sorted(map(sentence, range(40)))
        assert await waiting(memory) == []


async def test_W03_the_end_of_a_session_returns_when_it_is_extracted_and_touches_no_other(settings: Settings) -> None:
    clock, scripted = FrozenClock(), model()
    async with Memory.open(settings=with_model(settings), model=scripted, now=clock) as memory:
        await memory.capture(turns([1], clock()), scope=ME)
        await memory.work(kinds=["distill"])
        await memory.capture(turns([2], clock.advance(MINUTE)), scope=ME)
        await memory.capture(turns([3], clock()), scope=OTHER)
        (mine,) = [job for job in await waiting(memory) if job["run_after"] > clock()]
        report = await memory.end_session(scope=ME)
        assert (report.done, report.failed, report.pending) == ({"distill": 1}, {}, 0)
        assert await texts(memory) == [sentence(1), sentence(2)]
        (left,) = await waiting(memory)
        assert left["key"] != mine["key"]
        assert offered(scripted)[sentence(3)] == 0


async def test_W03_an_end_that_meets_a_broken_model_says_so_and_loses_nothing(settings: Settings) -> None:
    clock, troubled = FrozenClock(), TroubledModel(model(), broken=True)
    async with Memory.open(settings=with_model(settings), model=troubled, now=clock) as memory:
        await memory.capture(turns([1], clock()), scope=ME)
        report = await memory.end_session(scope=ME)
        assert (report.done, report.failed, report.pending) == ({}, {"distill": 1}, 1)
        troubled.broken = False
        clock.advance(MINUTE)
        report = await memory.end_session(scope=ME)
        assert (report.done, report.pending) == ({"distill": 1}, 0)
        assert await texts(memory) == [sentence(1)]


async def test_W03_an_end_waits_for_the_worker_that_reads_the_session_already(settings: Settings) -> None:
    scripted, stop = model(delay_s=0.15), asyncio.Event()
    async with Memory.open(settings=with_model(settings, every_turns=1), model=scripted) as memory:
        serving = asyncio.create_task(memory.serve(stop))
        await memory.capture(turns([1], int(time.time() * 1000)), scope=ME)
        while not scripted.asked:  # noqa: ASYNC110  # the model has no event to wait for
            await asyncio.sleep(0.01)
        report = await memory.end_session(scope=ME)
        assert report.pending == 0
        assert await texts(memory) == [sentence(1)]
        assert offered(scripted) == {sentence(1): 1}
        stop.set()
        await serving


async def test_W03_a_worker_that_is_cut_off_hands_back_what_it_was_reading(settings: Settings) -> None:
    slow = model(delay_s=30)
    async with Memory.open(settings=with_model(settings, every_turns=1), model=slow) as memory:
        serving = asyncio.create_task(memory.serve(asyncio.Event()))
        await memory.capture(turns([1], int(time.time() * 1000)), scope=ME)
        while not slow.asked:  # noqa: ASYNC110  # as above
            await asyncio.sleep(0.01)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        (job,) = await waiting(memory)
        assert (job["state"], job["attempts"]) == ("pending", 0)
    async with Memory.open(settings=with_model(settings), model=model()) as memory:
        await memory.work(kinds=["distill"])
        assert await texts(memory) == [sentence(1)]


async def test_W04_a_restart_resumes_the_turns_that_waited(settings: Settings) -> None:
    """No new turn has to come: the last turns of a session are read when it has rested."""
    clock, scripted = FrozenClock(), model()
    chosen = with_model(settings, idle_seconds=600)
    async with Memory.open(settings=chosen, model=scripted, now=clock) as memory:
        for number in range(3):
            await memory.capture(turns([number], clock.advance(1000)), scope=ME)
        await memory.work(kinds=["distill"], until_idle=False)
        await memory.capture(turns([3], clock.advance(1000)), scope=ME)
        await memory.capture(turns([4], clock.advance(1000)), scope=ME)
        assert await texts(memory) == sorted(map(sentence, range(3)))
    async with Memory.open(settings=chosen, model=scripted, now=clock) as memory:
        await memory.work(kinds=["distill"], until_idle=False)
        assert len(await texts(memory)) == 3, "it has not rested yet"
        clock.advance(600_000)
        await memory.work(kinds=["distill"], until_idle=False)
        assert await texts(memory) == sorted(map(sentence, range(5)))
        assert offered(scripted) == Counter({sentence(number): 1 for number in range(5)})


async def test_W05_messages_of_the_same_millisecond_and_older_ones_are_recorded(settings: Settings) -> None:
    clock = FrozenClock()
    async with Memory.open(settings=settings, now=clock) as memory:
        now = clock()
        whole = [said("user", "The gate code changed.", now), said("assistant", "Since when?", now)]
        first = await memory.capture(Turn(messages=tuple(whole), mark=0), scope=ME)
        assert len(first.recorded) == 2
        old = [said("user", "In March we moved to Graz.", now - 90 * DAY)]
        second = await memory.capture(Turn(messages=tuple(old), mark=0), scope=ME)
        assert [record.message_text for record in second.recorded] == ["In March we moved to Graz."]
        assert second.recorded[0].timestamp == now - 90 * DAY


async def test_W06_equal_and_backward_times_inside_a_session_drop_nothing(settings: Settings) -> None:
    clock = FrozenClock()
    offsets = [0, 0, -5000, 3000, 3000, -1, 0, 86_400_000, 2]
    async with Memory.open(settings=settings, now=clock) as memory:
        history: list[Any] = []
        for number, offset in enumerate(offsets):
            history.append(said("user", f"Step {number} is about part{number}.", clock() + offset))
            await memory.capture(Turn(messages=tuple(history), mark=number), scope=ME)
        told = (await memory.list("records", scope=ME, limit=100))["items"]
        assert [record["text"] for record in sorted(told, key=lambda one: one["seq"])] == [
            message.text() for message in history
        ]
        again = await memory.capture(Turn(messages=tuple(history)), scope=ME)
        assert again.recorded == ()


async def test_W07_what_was_said_in_a_failed_turn_is_kept_and_the_next_turn_too(settings: Settings) -> None:
    clock, scripted = FrozenClock(), model()
    async with Memory.open(settings=with_model(settings), model=scripted, now=clock) as memory:
        history = [said("user", "Please compare both drafts.", clock.advance(MINUTE))]
        await memory.capture(Turn(messages=tuple(history), mark=0, failed=True), scope=ME)
        history += [
            said("user", "I keep bees on the roof.", clock.advance(MINUTE)),
            said("assistant", "How many hives?", clock()),
        ]
        report = await memory.capture(Turn(messages=tuple(history), mark=1), scope=ME)
        assert len(report.recorded) == 2
        told = (await memory.list("records", scope=ME))["items"]
        assert {record["text"] for record in told} >= {"Please compare both drafts.", "I keep bees on the roof."}
        await memory.work(kinds=["distill"])
        assert await texts(memory) == ["I keep bees on the roof."]
        assert (await memory.search("conversations", "compare drafts", scope=ME))["items"]


async def test_W19_a_session_that_slept_for_months_is_read_on_from_where_it_was(settings: Settings) -> None:
    clock, scripted = FrozenClock(), model()
    chosen = with_model(settings, every_turns=5)
    async with Memory.open(settings=chosen, model=scripted, now=clock) as memory:
        for number in range(12):
            await memory.capture(turns([number], clock.advance(MINUTE)), scope=ME)
            await memory.work(kinds=["distill"], until_idle=False)
        await memory.work(kinds=["distill"])
    clock.advance(100 * DAY)
    async with Memory.open(settings=chosen, model=scripted, now=clock) as memory:
        for number in range(12, 16):
            await memory.capture(turns([number], clock.advance(MINUTE)), scope=ME)
            await memory.work(kinds=["distill"], until_idle=False)
            assert offered(scripted)[sentence(number)] == 0, "it is warm: five turns are read together"
        await memory.capture(turns([16], clock.advance(MINUTE)), scope=ME)
        await memory.work(kinds=["distill"], until_idle=False)
        assert offered(scripted) == Counter({sentence(number): 1 for number in range(17)})


@pytest.mark.parametrize(
    "messages",
    [(), (said("user", "   "),), (said("system", "You are helpful."), said("tool", "42")), (said("user", "/help"),)],
    ids=["no messages", "blank", "no person", "a command"],
)
async def test_W24_a_capture_of_nothing_wakes_nothing(settings: Settings, messages: tuple[Any, ...]) -> None:
    scripted = model()
    async with Memory.open(settings=with_model(settings), model=scripted, now=FrozenClock()) as memory:
        report = await memory.capture(Turn(messages=messages, mark=0), scope=ME)
        assert report.recorded == ()
        assert (await memory.jobs())["items"] == []
        assert await rows(memory, "SELECT * FROM cursors") == []
        await memory.work()
        assert scripted.asked == []


async def test_W24_a_capture_of_what_is_known_wakes_nothing(settings: Settings) -> None:
    clock, scripted = FrozenClock(), model()
    async with Memory.open(settings=with_model(settings), model=scripted, now=clock) as memory:
        turn = turns([1], clock())
        await memory.capture(turn, scope=ME)
        await memory.work()
        asked = len(scripted.asked)
        assert (await memory.capture(Turn(messages=turn.messages), scope=ME)).recorded == ()
        assert (await memory.jobs())["items"] == []
        await memory.work()
        assert len(scripted.asked) == asked


async def test_W24_an_assistant_who_speaks_alone_costs_no_call(settings: Settings) -> None:
    scripted = model()
    async with Memory.open(settings=with_model(settings), model=scripted, now=FrozenClock()) as memory:
        await memory.capture([said("assistant", "Good morning, I am ready.")], scope=ME)
        await memory.work()
        assert [prompt for prompt in scripted.prompts("extract") if shown(prompt)] == []


async def test_C20_a_job_that_fails_five_times_is_given_up_in_the_open(settings: Settings) -> None:
    clock, ill = FrozenClock(), model(lambda _: ValueError("a bug of ours"))
    async with Memory.open(settings=with_model(settings), model=ill, now=clock) as memory:
        await memory.capture(turns([1], clock()), scope=ME)
        for attempt in range(1, 6):
            report = await memory.work(kinds=["distill"])
            assert (report.failed, report.dead) == (({"distill": 1}, {}) if attempt < 5 else ({}, {"distill": 1}))
            clock.advance(60 * MINUTE)
        assert (await memory.work(kinds=["distill"])).done == {}
        (dead,) = (await memory.jobs(dead=True))["items"]
        assert dead["attempts"] == 5
        assert "ValueError" in dead["error"]
        health = await memory.health()
        assert health["status"] == "degraded"
        assert "distill: 1 given up" in " ".join(health["reasons"])
    async with Memory.open(settings=with_model(settings), model=model(), now=clock) as memory:
        await memory.retry_job(dead["id"])
        assert (await memory.work(kinds=["distill"])).done == {"distill": 1}
        assert await texts(memory) == [sentence(1)]
