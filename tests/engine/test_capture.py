"""Capture through the library: each message once, in order, whatever the host does."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
from saying import said

from stenolith import InvalidInput, Memory, Role, Scope, SequenceConflict, Text, Turn
from stenolith.settings import Settings

T0 = 1_785_657_600_000
SOURCE = str(Path(__file__).parents[2] / "src")


async def _texts(memory: Memory, scope: Scope) -> list[str]:
    items = (await memory.list("records", scope=scope, limit=10_000))["items"]
    return [item["text"] for item in items]


async def test_a_host_that_resends_restarts_and_moves_clocks_adds_nothing(settings: Settings) -> None:
    """Two hundred turns: whole history each time, a new process now and then, clocks off by 20 s, blocks to strings."""
    dice = random.Random(7)
    scope = Scope(session_key="agent:main:t")
    held, expected = [], []
    turn = 0
    while turn < 200:
        async with Memory.open(settings=settings) as memory:
            for _ in range(dice.randint(5, 40)):
                words = dice.choice(["ok", "继续", f"question {turn}", f"第{turn}个问题：网关的超时是多少"])
                mark = len(held)
                at = T0 + turn * 60_000
                held += [said("user", words, at), said("assistant", f"answer {turn}", at + 900)]
                expected += [words, f"answer {turn}"]
                drift = dice.choice([0, 0, 20_000, -20_000])
                shown = [replace(message, timestamp=message.timestamp + drift) for message in held[:mark]] + held[mark:]
                known = mark if dice.random() < 0.7 else None
                report = await memory.capture(Turn(messages=tuple(shown), mark=known), scope=scope)
                assert report.new_messages == 2, (turn, report.aligned_by)
                turn += 1
            held = [_as_string(message) for message in held]
    async with Memory.open(settings=settings) as memory:
        assert await _texts(memory, scope) == expected
        assert (await memory.doctor())["healthy"]


def _as_string(message):
    """Give back what a host gives after a restart: several text blocks as one string."""
    return replace(message, parts=(Text(text=message.text()),), id="")


async def test_resent_histories_and_a_repeated_text_later(settings: Settings) -> None:
    """C09: [1..6], [1..8], restart, [1..8], then a ninth turn that repeats the text of the first."""
    scope = Scope(session_key="s")
    turns = [said("user" if n % 2 else "assistant", f"message {n}", T0 + n * 1000) for n in range(1, 9)]
    async with Memory.open(settings=settings) as memory:
        await memory.capture(turns[:6], scope=scope)
        await memory.capture(turns, scope=scope)
        await memory.work()
    async with Memory.open(settings=settings) as memory:
        assert (await memory.capture(turns, scope=scope)).new_messages == 0
        ninth = said("user", "message 1", T0 + 3_600_000)
        assert (await memory.capture([*turns, ninth], scope=scope)).new_messages == 1
        assert await _texts(memory, scope) == [f"message {n}" for n in range(1, 9)] + ["message 1"]


async def test_a_recalled_block_that_comes_back_twenty_times_adds_no_record_and_no_atom(memory: Memory) -> None:
    """C08: the loop recall, paste, answer, again and again."""
    scope = Scope(session_key="coffee")
    await memory.remember("Prefers dark roast", scope=Scope())
    await memory.work()
    for turn in range(20):
        context = await memory.recall("which coffee beans dark roast", scope=Scope())
        assert "Prefers dark roast" in context.dynamic
        asked = said("user", f"{context.dynamic}\nWhich beans should I buy, take {turn}?", T0 + turn * 60_000)
        answered = said("assistant", "You prefer dark roast, so take the Sumatra.", T0 + turn * 60_000 + 500)
        report = await memory.capture([asked, answered], scope=scope)
        assert report.recorded[0].message_text == f"Which beans should I buy, take {turn}?"
        await memory.work()
    only_block = (await memory.recall("dark roast", scope=Scope())).dynamic
    report = await memory.capture([said("user", only_block, T0 + 9_000_000)], scope=scope)
    assert report.recorded == ()
    atoms = (await memory.list("atoms", scope=scope))["items"]
    assert [atom["text"] for atom in atoms] == ["Prefers dark roast"]


async def test_words_as_typed_stand_in_the_record_and_the_polluted_prompt_in_the_transcript(memory: Memory) -> None:
    scope = Scope(session_key="s")
    polluted = "SYSTEM PREAMBLE the host composed\n\nwhat is the gateway port?"
    turn = Turn(messages=(said("user", polluted, T0),), mark=0, original="what is the gateway port?")
    report = await memory.capture(turn, scope=scope)
    assert [record.message_text for record in report.recorded] == ["what is the gateway port?"]
    assert (await memory.sessions.raw(scope))[0].text() == polluted


async def test_secrets_never_reach_the_disk(memory: Memory, settings: Settings) -> None:
    """C26: neither database nor journal holds the four values; the sentence survives."""
    key, password = "sk-test-4f9aKQ7vB2nM8xR3tY6w", "Tr0ub4dor&3"
    text = f"Use key {key} and password '{password}' for the staging API; commit {'ab12' * 10}"
    scope = Scope(session_key="s")
    await memory.capture([said("user", text, T0)], scope=scope)
    await memory.work()
    (kept,) = await _texts(memory, scope)
    assert "staging API" in kept
    assert "ab12" * 10 in kept
    for file in settings.home.rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            assert key.encode() not in data, file
            assert password.encode() not in data, file


@pytest.mark.parametrize("times", [True, False])
async def test_regression_issue_30574_a_message_sent_again_after_a_provider_error_is_one_turn(
    memory: Memory, times: bool
) -> None:
    scope = Scope(session_key="s")
    asked = said("user", "Deploy the gateway to staging, please.", T0 if times else None)
    for _ in range(3):
        await memory.capture(Turn(messages=(asked,), failed=True), scope=scope)
    done = said("assistant", "Deployed.", T0 + 60_000 if times else None)
    await memory.capture([asked, done], scope=scope)
    assert [one.text() for one in await memory.sessions.raw(scope)] == [asked.text(), "Deployed."]


async def test_a_failed_turn_is_recorded_and_never_learned_from(memory: Memory) -> None:
    scope = Scope(session_key="s")
    turn = Turn(messages=(said("user", "以后都用简体中文回答我", T0),), failed=True)
    assert len((await memory.capture(turn, scope=scope)).recorded) == 1
    await memory.work()
    assert (await memory.list("atoms", scope=scope))["items"] == []


async def test_times_that_are_equal_missing_or_old_lose_nothing(memory: Memory) -> None:
    scope = Scope(session_key="s")
    messages = [
        said("user", "first of the same millisecond", T0),
        said("assistant", "second of the same millisecond", T0),
        said("user", "no time at all"),
        said("user", "an old import", T0 - 10**10),
    ]
    report = await memory.capture(messages, scope=scope)
    assert len(report.recorded) == 4
    assert [record.timestamp_source for record in report.recorded] == ["host", "host", "neighbour", "host"]
    assert report.recorded[2].timestamp == T0


async def test_a_capture_without_a_session_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="session key"):
        await memory.capture([said("user", "hello")], scope=Scope())


async def test_many_captures_at_once_into_one_session_keep_every_message(memory: Memory) -> None:
    scope = Scope(session_key="room")
    jobs = [memory.capture([said("user", f"voice {n} says hello there", T0 + n)], scope=scope) for n in range(40)]
    await asyncio.gather(*jobs)
    assert sorted(await _texts(memory, scope)) == sorted(f"voice {n} says hello there" for n in range(40))
    assert (await memory.doctor())["healthy"]


WRITER = """
import asyncio, sys
from stenolith import Memory, Message, Role, Scope, Text
async def main():
    async with Memory.open(sys.argv[1]) as memory:
        turn = 0
        while True:
            text = f"{sys.argv[2]} says {turn}"
            message = Message(role=Role.USER, parts=(Text(text=text),), timestamp=1785657600000 + turn)
            await memory.capture([message], scope=Scope(session_key=sys.argv[2]))
            print(text, flush=True)
            turn += 1
asyncio.run(main())
"""


def _writer(settings: Settings, name: str) -> subprocess.Popen[str]:
    quiet = {"STENOLITH_EMBEDDER__KIND": "none", "STENOLITH_TIMEZONE": "UTC", "STENOLITH_DATABASE": settings.database}
    env = {**os.environ, "PYTHONPATH": SOURCE, **quiet}
    command = [sys.executable, "-c", textwrap.dedent(WRITER), str(settings.home), name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)


async def test_kill_9_loses_nothing_acknowledged_and_doubles_nothing(settings: Settings) -> None:
    dice = random.Random(11)
    acknowledged: list[str] = []
    for life in range(4):
        process = _writer(settings, f"writer{life}")
        assert process.stdout is not None
        lines = [process.stdout.readline().strip() for _ in range(dice.randint(5, 60))]
        process.send_signal(signal.SIGKILL)
        rest = process.communicate()[0].splitlines()
        acknowledged += [line for line in [*lines, *rest] if line]
    async with Memory.open(settings=settings) as memory:
        await memory.doctor(fix=True)
        assert (await memory.doctor())["healthy"]
        stored = await _texts(memory, Scope())
    assert len(stored) == len(set(stored))
    assert set(acknowledged) <= set(stored)
    assert len(stored) - len(acknowledged) <= 4
    written = [
        json.loads(line)["content"]
        for file in sorted((settings.home / "conversations").glob("*.jsonl"))
        for line in file.read_text("utf-8").splitlines()
    ]
    assert sorted(written) == sorted(stored)


async def test_a_live_turn_is_durable_before_the_model_and_closes_once(memory: Memory) -> None:
    scope = Scope(session_key="live")
    begun = await memory.sessions.begin_turn([said("user", "Deploy the gateway please", T0)], scope=scope)
    assert (await memory.sessions.raw(scope))[0].text() == "Deploy the gateway please"
    assert await _texts(memory, scope) == []
    await memory.sessions.checkpoint(begun.turn_id, [said("assistant", "Working on it", T0 + 1)], scope=scope)
    done = await memory.sessions.complete_turn(begun.turn_id, [said("assistant", "Deployed.", T0 + 2)], scope=scope)
    assert [record.message_text for record in done.records] == [
        "Deploy the gateway please",
        "Working on it",
        "Deployed.",
    ]
    assert done.seq == 3
    assert (await memory.doctor())["healthy"]


async def test_recovery_closes_a_turn_that_a_dead_process_left_open(memory: Memory) -> None:
    scope = Scope(session_key="live")
    begun = await memory.sessions.begin_turn([said("user", "以后都用简体中文回答我", T0)], scope=scope)
    assert await memory.sessions.recover(before=2**62) == [begun.turn_id]
    assert await memory.sessions.recover(before=2**62) == []
    await memory.work()
    assert await _texts(memory, scope) == ["以后都用简体中文回答我"]
    assert (await memory.list("atoms", scope=scope))["items"] == []


async def test_append_turn_refuses_a_session_that_moved_on(memory: Memory) -> None:
    scope = Scope(session_key="s")
    first = await memory.sessions.append_turn([said("user", "one thing", T0)], scope=scope, expected_seq=0)
    assert first.seq == 1
    with pytest.raises(SequenceConflict):
        await memory.sessions.append_turn([said("user", "another thing", T0)], scope=scope, expected_seq=0)
    assert await _texts(memory, scope) == ["one thing"]


async def test_a_compaction_is_a_view_and_changes_no_message(memory: Memory) -> None:
    scope = Scope(session_key="s")
    await memory.capture([said("user", f"question {n}", T0 + n) for n in range(4)], scope=scope)
    before = await memory.sessions.raw(scope)
    await memory.sessions.compact("Two questions were asked.", 3, scope=scope)
    view = await memory.sessions.view(scope)
    assert [message.text() for message in view] == ["Two questions were asked.", "question 2", "question 3"]
    assert view[0].extra == {"summary": "compaction"}
    assert await memory.sessions.raw(scope) == before
    assert all(message.role is Role.USER for message in view)
