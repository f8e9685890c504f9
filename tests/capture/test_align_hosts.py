"""Whole sessions of hosts with one bad habit each: every message is stored once, in order."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from stenolith.capture.align import Known, align, alignment_digest
from stenolith.model.message import Message, Role, Text

HOUR = 3_600_000
Habit = Callable[[list[Message], int], list[Message]]


def stamped(held: list[Message], when: Callable[[int, int | None], int | None]) -> list[Message]:
    return [replace(message, timestamp=when(place, message.timestamp)) for place, message in enumerate(held)]


def sent_now(held: list[Message], _: int) -> list[Message]:
    return stamped(held, lambda *_: held[-1].timestamp)


HABITS: dict[str, Habit] = {
    "sends all, each time as it was": lambda held, _: held,
    "knows no times": lambda held, _: stamped(held, lambda *_: None),
    "gives every message the time of sending": sent_now,
    "does so every other turn": lambda held, turn: sent_now(held, turn) if turn % 2 else held,
    "does so and keeps ten messages": lambda held, turn: sent_now(held, turn)[-10:],
    "gives every message the time 0": lambda held, _: stamped(held, lambda *_: 0),
    "times every second message": lambda held, _: stamped(held, lambda place, time: time if place % 2 else None),
    "reads times in another zone every other turn": lambda held, turn: stamped(
        held, lambda _, time: (time or 0) + 8 * HOUR * (turn % 2)
    ),
    "moves its clock by 20 s a turn": lambda held, turn: stamped(held, lambda _, time: (time or 0) + 20_000 * turn),
    "keeps thirty messages": lambda held, _: held[-30:],
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("marked", [False, True], ids=["no mark", "mark"])
@pytest.mark.parametrize("habit", HABITS)
def test_each_message_is_new_once_and_in_order(habit: str, marked: bool, seed: int) -> None:
    chance = random.Random(seed)
    said: list[Message] = []
    stored: list[Message] = []
    for turn in range(60):
        words = chance.choice(["ok", "继续", "yes", "go on", f"question {turn}", f"第{turn}个问题"])
        answer = chance.choice(["Done.", "好的。", f"answer {turn}"])
        start = 1_785_722_400_000 + turn * 60_000
        said.append(Message(role=Role.USER, parts=(Text(text=words),), timestamp=start))
        said.append(Message(role=Role.ASSISTANT, parts=(Text(text=answer),), timestamp=start + 5000))
        held = HABITS[habit](said, turn)
        known = [Known(digest=alignment_digest(one), timestamp=one.timestamp) for one in stored[-400:]]
        clock = max((one.timestamp or 0 for one in stored), default=None)
        found = align(held, known, mark=len(held) - 2 if marked else None, clock=clock)
        stored += [held[index] for index in found.new]
    assert [one.text() for one in stored] == [one.text() for one in said]
