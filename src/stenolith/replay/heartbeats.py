"""Heartbeats: a runtime asks on a clock whether anything needs attention, and nearly always nothing does.

Such a turn tells a model nothing and costs its context, so it is left out of what people see and of what is replayed
(``spec/replay.md`` sections 3.0 and 3.15). A heartbeat that found something is a turn like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from stenolith.model.message import Message
from stenolith.replay.plan import Plan, is_blank, is_generated, is_runtime_context, last_user, spoken
from stenolith.replay.report import Change, Line, Passed
from stenolith.replay.roles import ASSISTANT, USER

_NOTHING: Final = "HEARTBEAT_OK"
_PROMPTS: Final = ("Read HEARTBEAT.md", "[OpenClaw heartbeat poll]")
_MARKUP: Final = " \t\n\r*_`'\".!<>/b"


def drop_heartbeats(lines: Sequence[Line], _: Plan) -> Passed:
    """Leave out the finished turns in which a heartbeat found nothing; the turn that is being answered stays."""
    end = last_user(lines)
    if not any(_asks(line.message) for line in lines[: max(end, 0)] if line.message.role is USER):
        return lines, ()
    idle = idle_heartbeats([line.message for line in lines[:end]])
    changes = [
        Change(rule="heartbeat", index=lines[at].at, action="dropped", detail=spoken(lines[at].message))
        for at in sorted(idle)
    ]
    return ([line for at, line in enumerate(lines) if at not in idle] if idle else lines), changes


def idle_heartbeats(messages: Sequence[Message]) -> frozenset[int]:
    """Return the positions of the turns that begin with a heartbeat and say only that there is nothing."""
    found: list[int] = []
    for turn in _turns(messages):
        if _asks(messages[turn[0]]) and _is_idle([messages[at] for at in turn]):
            found += turn
    return frozenset(found)


def _turns(messages: Sequence[Message]) -> Iterator[range]:
    """Yield the positions of each turn; what stands before the first user begins none."""
    starts = [at for at, message in enumerate(messages) if message.role is USER]
    yield from (range(start, end) for start, end in pairwise([*starts, len(messages)]))


def _asks(message: Message) -> bool:
    if message.role is not USER or is_generated(message) or is_runtime_context(message):
        return False
    asked = message.text()
    return _NOTHING in asked or asked.lstrip().startswith(_PROMPTS)


def _is_idle(turn: Sequence[Message]) -> bool:
    words = [message.text() for message in turn[1:] if message.role is ASSISTANT and not is_blank(message.text())]
    return bool(words) and all(word.strip(_MARKUP) == _NOTHING for word in words)
