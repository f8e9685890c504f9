"""Rows that only repeat what was already said: mirrors of sent messages and exact duplicates.

A mirror copies what a tool or a channel delivered into the transcript for people to see
(``spec/replay.md`` section 3.4.6). A model must not see it twice, but must see it once (issue 141187).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from stenolith.model.message import Message, StopReason, Text, ToolCall
from stenolith.replay.plan import Plan, has_calls, holding, is_blank, spoken
from stenolith.replay.report import Change, Line, Passed
from stenolith.replay.roles import ASSISTANT, USER

_INJECTED: Final = "gateway-injected"
_MODELS: Final = frozenset({"delivery-mirror", _INJECTED})


def is_mirror(message: Message) -> bool:
    """Return whether the row exists for people only, by flag or by OpenClaw's origin."""
    if message.role is not ASSISTANT:
        return False
    if message.extra.get("mirror") is True:
        return True
    origin = message.origin
    return origin is not None and origin.provider == "openclaw" and origin.model in _MODELS


def drop_mirrors(lines: Sequence[Line], plan: Plan) -> Passed:
    """Drop mirrors; one with words that stand nowhere else in its turn becomes an assistant's text."""
    if not any(is_mirror(line.message) for line in lines if line.message.role is ASSISTANT):
        return lines, ()
    kept: list[Line] = []
    changes: list[Change] = []
    said: set[str] = set()
    for line in lines:
        message = line.message
        if message.role is USER and "custom_type" not in message.extra:
            said.clear()
        elif message.role is ASSISTANT and is_mirror(message):
            unique = _unique(message, said, plan)
            kept += [Line(line.at, _plain(message))] if unique else []
            action = "kept" if unique else "dropped"
            changes.append(Change(rule="mirror", index=line.at, action=action, detail=spoken(message)))
            continue
        elif message.role is ASSISTANT:
            said.update(_folded(text) for text in _sayings(message))
        kept.append(line)
    return kept, changes


def _unique(message: Message, said: set[str], plan: Plan) -> bool:
    words = message.text()
    injected = message.origin is not None and message.origin.model == _INJECTED
    allowed = plan.policy.replay_unique_mirrors and not plan.policy.owned_thinking
    return allowed and not injected and not is_blank(words) and _folded(words) not in said


def _plain(message: Message) -> Message:
    extra = {key: value for key, value in message.extra.items() if key != "mirror"}
    parts = tuple(part for part in message.parts if type(part) is Text)
    return holding(message, parts, origin=None, extra=extra)


def _sayings(message: Message) -> Iterator[str]:
    yield message.text()
    for part in message.parts:
        if type(part) is Text:
            yield part.text
        elif type(part) is ToolCall:
            yield from _leaves(part.arguments)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)


def _folded(text: str) -> str:
    return " ".join(text.split())


def drop_repeats(lines: Sequence[Line], _: Plan) -> Passed:
    """Drop an unmarked copy of the assistant before it: same words, no usage, a finished turn (9.6)."""
    kept: list[Line] = []
    changes: list[Change] = []
    for line in lines:
        if line.message.usage and kept and _repeats(line.message, kept[-1].message):
            changes.append(Change(rule="repeat", index=line.at, action="dropped", detail=line.message.text()))
        else:
            kept.append(line)
    return kept, changes


def _repeats(message: Message, before: Message) -> bool:
    if message.role is not ASSISTANT or before.role is not ASSISTANT or not is_unpaid(message):
        return False
    if message.stop_reason is not StopReason.STOP or has_calls(message) or has_calls(before):
        return False
    return bool(message.text()) and message.text() == before.text()


def is_unpaid(message: Message) -> bool:
    """Return whether the usage is known and every number in it is 0."""
    return bool(message.usage) and not any(_numbers(message.usage))


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, int | float):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _numbers(item)
