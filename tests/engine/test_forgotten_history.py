"""Hosts send their whole history again after it was forgotten: no forgotten word comes back, no new one is lost."""

from __future__ import annotations

import pytest

from stenolith import Memory, Message, Role, Scope, Text
from stenolith.capture.turn import Turn

CHAT = Scope(session_key="chat")
START = 1_785_000_000_000
COUNT = 6
STAMPED, BARE = "with times", "without times"


def _history(times: str, first: int = 1, last: int = COUNT) -> list[Message]:
    return [_said(f"I live in town {number}.", number, times) for number in range(first, last + 1)]


def _said(text: str, number: int, times: str) -> Message:
    role = Role.USER if number % 2 else Role.ASSISTANT
    return Message(role=role, parts=(Text(text=text),), timestamp=START + number * 60_000 if times == STAMPED else None)


async def _texts(memory: Memory) -> list[str]:
    return [item["text"] for item in (await memory.list("records", scope=CHAT))["items"]]


@pytest.mark.parametrize("times", [STAMPED, BARE])
@pytest.mark.parametrize("marked", [False, True], ids=["no mark", "mark"])
@pytest.mark.parametrize(
    "alone",
    [(0,), (2,), (5,), (0, 1), (4, 5), (2, 3), (1, 4), (0, 1, 2, 3, 4, 5)],
    ids=lambda places: ",".join(map(str, places)),
)
async def test_a_session_with_single_forgotten_records_stays_forgotten(
    memory: Memory, alone: tuple[int, ...], times: str, marked: bool
) -> None:
    report = await memory.capture(_history(times), scope=CHAT)
    for place in alone:
        await memory.forget([report.recorded[place].record_id], scope=CHAT)
    await memory.forget([], scope=CHAT)
    again = Turn(messages=tuple(_history(times)), mark=COUNT if marked else None)
    await memory.capture(again, scope=CHAT)
    assert await _texts(memory) == []
    for number in (7, 8, 9, 10):
        # The host goes on, each time with everything it ever held.
        held = [*_history(times), *(_said(f"New words {at}.", at, times) for at in range(7, number + 1))]
        report = await memory.capture(Turn(messages=tuple(held), mark=len(held) - 1 if marked else None), scope=CHAT)
        assert [record.message_text for record in report.recorded] == [f"New words {number}."]
    assert await _texts(memory) == [f"New words {at}." for at in range(7, 11)]


@pytest.mark.parametrize("times", [STAMPED, BARE])
@pytest.mark.parametrize(
    "alone", [(0,), (2,), (5,), (4, 5), (0, 1, 2, 3, 4, 5)], ids=lambda places: ",".join(map(str, places))
)
async def test_single_forgotten_records_stay_forgotten_while_their_session_goes_on(
    memory: Memory, alone: tuple[int, ...], times: str
) -> None:
    report = await memory.capture(_history(times), scope=CHAT)
    for place in alone:
        await memory.forget([report.recorded[place].record_id], scope=CHAT)
    kept = [f"I live in town {number}." for number in range(1, COUNT + 1) if number - 1 not in alone]
    assert (await memory.capture(_history(times), scope=CHAT)).new_messages == 0
    for number in (7, 8):
        held = [*_history(times), *(_said(f"New words {at}.", at, times) for at in range(7, number + 1))]
        assert (await memory.capture(held, scope=CHAT)).new_messages == 1
    assert await _texts(memory) == [*kept, "New words 7.", "New words 8."]
    await memory.forget([], scope=CHAT)
    report = await memory.capture([*held, _said("The newest.", 9, times)], scope=CHAT)
    assert [record.message_text for record in report.recorded] == ["The newest."]


@pytest.mark.parametrize("place", [0, 2, 5])
async def test_words_said_after_a_record_was_forgotten_are_part_of_the_history_that_is(
    memory: Memory, place: int
) -> None:
    report = await memory.capture(_history(BARE), scope=CHAT)
    await memory.forget([report.recorded[place].record_id], scope=CHAT)
    await memory.capture(_history(BARE, 7, 8), scope=CHAT)
    await memory.forget([], scope=CHAT)
    report = await memory.capture([*_history(BARE, 1, 8), _said("New words.", 9, BARE)], scope=CHAT)
    assert [record.message_text for record in report.recorded] == ["New words."]


@pytest.mark.parametrize("first", [1, 2, 4])
async def test_a_host_that_kept_only_the_end_of_its_history_brings_nothing_back(memory: Memory, first: int) -> None:
    report = await memory.capture(_history(BARE), scope=CHAT)
    await memory.forget([report.recorded[3].record_id], scope=CHAT)
    await memory.forget([], scope=CHAT)
    report = await memory.capture([*_history(BARE, first), _said("New words.", 7, BARE)], scope=CHAT)
    assert [record.message_text for record in report.recorded] == ["New words."]


async def test_a_session_of_one_message_is_told_by_its_time(memory: Memory) -> None:
    await memory.capture(_history(STAMPED, 1, 1), scope=CHAT)
    await memory.forget([], scope=CHAT)
    report = await memory.capture([*_history(STAMPED, 1, 1), _said("New words.", 2, STAMPED)], scope=CHAT)
    assert [record.message_text for record in report.recorded] == ["New words."]
    later = _said("I live in town 1.", 3, STAMPED)
    report = await memory.capture([*_history(STAMPED, 1, 1), _said("New words.", 2, STAMPED), later], scope=CHAT)
    assert [record.message_text for record in report.recorded] == ["I live in town 1."], "said anew, at another time"


@pytest.mark.parametrize("times", [STAMPED, BARE])
async def test_a_session_may_be_forgotten_again_and_again(memory: Memory, times: str) -> None:
    for last in (2, 4, 6):
        report = await memory.capture(_history(times, 1, last), scope=CHAT)
        assert [record.message_text for record in report.recorded] == [
            f"I live in town {number}." for number in (last - 1, last)
        ]
        await memory.forget([], scope=CHAT)
    assert await _texts(memory) == []


async def test_what_a_forgotten_record_leaves_does_not_tell_what_it_said(memory: Memory) -> None:
    report = await memory.capture(_history(BARE), scope=CHAT)
    rows = "SELECT digest FROM messages ORDER BY seq"
    before = [row["digest"] for row in await memory._house.database.fetch(rows)]
    await memory.forget([report.recorded[2].record_id], scope=CHAT)
    after = [row["digest"] for row in await memory._house.database.fetch(rows)]
    assert before[2] not in "".join(after)
    assert [one == other for one, other in zip(before, after, strict=True)] == [True, True, False, True, True, True]
