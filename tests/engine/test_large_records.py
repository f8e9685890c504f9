"""Megabytes in one record, or in one question: recall and search do the same work as with a page of text."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import pytest

from stenolith import Memory, Refused
from stenolith.model.identity import Scope
from stenolith.model.message import Message, Role, Text

SCOPE = Scope(session_key="pasted")
PAGE, MEGABYTES = 60_000, 3_000_000
ENDING = " The staging gateway listens on port 8443."


def _words(chars: int) -> str:
    """Return English-looking text with as many different words as a large log file."""
    return " ".join(f"entry{at % 9973} carried value{at % 7919}" for at in range(chars // 28))[:chars]


PASTED: dict[str, Callable[[int], str]] = {
    "english": _words,
    "chinese": lambda chars: "".join(chr(0x4E00 + (at * 7919) % 20000) for at in range(chars // 3)),
    "one line without blanks": lambda chars: "abcdef0123456789" * (chars // 16),
    "one word again and again": lambda chars: "gateway port " * (chars // 13),
    "empty lines": lambda chars: "\n" * chars,
}


def _said(text: str, at: int) -> Message:
    return Message(role=Role.USER, parts=(Text(text=text),), timestamp=1_750_000_000_000 + at)


async def _busy(ask: Callable[[], Awaitable[object]]) -> float:
    """Return the processor seconds that *ask* takes of the loop's own thread, the best of three."""
    spent = []
    for _ in range(3):
        before = time.thread_time()
        await ask()
        spent.append(time.thread_time() - before)
    return min(spent)


@pytest.mark.parametrize("kind", PASTED)
async def test_a_record_of_megabytes_takes_no_more_of_the_loop_than_a_page(memory: Memory, kind: str) -> None:
    taken = {}
    for size in (PAGE, MEGABYTES):
        scope = Scope(user=f"u{size}", session_key="pasted")
        turn = [_said("Where is the staging gateway?", 0), _said(PASTED[kind](size) + ENDING, 1), _said("Noted.", 2)]
        assert (await memory.capture(turn, scope=scope)).new_messages == 3

        async def ask(scope: Scope = scope) -> None:
            context = await memory.recall("which port does the staging gateway listen on?", scope=scope)
            found = await memory.search("conversations", "which port does the gateway use?", scope=scope)
            assert not context.report.degraded
            assert not found["degraded"]

        taken[size] = await _busy(ask)
    # Fifty times the text; before, one such recall took seconds and its search did not come back in time.
    assert taken[MEGABYTES] < 4 * max(taken[PAGE], 0.02)


@pytest.mark.parametrize("kind", ["english", "chinese"])
async def test_what_is_said_at_the_end_of_megabytes_is_found(memory: Memory, kind: str) -> None:
    await memory.capture([_said(PASTED[kind](MEGABYTES) + ENDING, 1)], scope=SCOPE)
    found = await memory.search("conversations", "8443", scope=SCOPE)
    assert [item["layer"] for item in found["items"]] == ["record"]
    assert len(found["items"][0]["text"]) <= 10_000
    shown = await memory.show(found["items"][0]["id"], scope=SCOPE)
    assert shown["text"].endswith("port 8443.")


@pytest.mark.parametrize(
    "question",
    [
        "gateway " * 250_000,
        "".join(chr(0x4E00 + (at * 7919) % 20000) for at in range(700_000)),
        " ".join(chr(0x4E00 + (at * 7919) % 20000) for at in range(700_000)),
        "1" * 2_000_000,
        "a." * 1_000_000,
        "\n" * 2_000_000,
    ],
    ids=["words", "chinese", "single characters", "digits", "dots", "lines"],
)
async def test_a_question_of_megabytes_takes_no_more_of_the_loop_than_a_page(memory: Memory, question: str) -> None:
    await memory.capture([_said("The staging gateway listens on port 8443." + _words(5000), 1)], scope=SCOPE)
    page = await _busy(lambda: memory.recall(question[:4000], scope=SCOPE))
    whole = await _busy(lambda: memory.recall(question, scope=SCOPE))
    assert whole < 4 * max(page, 0.02)
    assert not (await memory.recall(question, scope=SCOPE)).report.degraded


@pytest.mark.parametrize("kind", ["english", "one line without blanks"])
async def test_a_statement_of_megabytes_is_refused_before_it_is_read(memory: Memory, kind: str) -> None:
    taken = {}
    for size in (2001, MEGABYTES):
        text = PASTED[kind](size).ljust(size, "b")

        async def put(text: str = text) -> None:
            with pytest.raises(Refused, match=f"2000 characters at most, this has {len(text)}"):
                await memory.remember(text, scope=SCOPE)

        taken[size] = await _busy(put)
    assert taken[MEGABYTES] < 4 * max(taken[2001], 0.01)
    assert (await memory.list("records", scope=SCOPE))["items"] == []


async def test_of_a_long_text_both_ends_and_every_word_between_them_are_found(memory: Memory) -> None:
    middle = " ".join(f"filler{at % 700}" for at in range(30_000))
    text = f"zebra {middle} okapi {middle} quagga"
    await memory.capture([_said(text, 1)], scope=SCOPE)
    for word in ("zebra", "okapi", "quagga", "filler699"):
        assert (await memory.search("conversations", word, scope=SCOPE))["total"] == 1, word
