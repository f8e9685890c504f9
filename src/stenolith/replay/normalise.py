"""Blank users, silent and failed assistants, blank text: ``spec/replay.md`` sections 3.3, 3.4, 3.5.2."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from stenolith.model.message import Message, Part, StopReason, Text, Thinking, ToolResult
from stenolith.replay.plan import CONTINUE, EMPTY, Plan, is_blank, spoken, with_parts
from stenolith.replay.report import Change, Line, Passed
from stenolith.replay.roles import ASSISTANT, USER

_LENGTH: Final = StopReason.LENGTH
_SILENT: Final = re.compile(
    r"\s*(?:<(think|thinking)>.*?</\1>\s*)?(?:(?P<quote>[\"'`]?)NO_REPLY(?P=quote)|\{\s*\"action\"\s*:\s*\"NO_REPLY\"\s*\})\s*",
    re.DOTALL,
)


def drop_blank_users(lines: Sequence[Line], _: Plan) -> Passed:
    """Remove blank user text; a blank last user turn becomes ``(continue)`` so that a request remains.

    Strict servers answer "No user query found in messages." to a history without any user turn.
    """
    last = next((at for at in range(len(lines) - 1, -1, -1) if lines[at].message.role is USER), -1)
    kept: list[Line] = []
    changes: list[Change] = []
    for at, line in enumerate(lines):
        message = line.message
        if message.role is not USER or (message.parts and not _blanks(message)):
            kept.append(line)
            continue
        parts = tuple(part for part in message.parts if type(part) is not Text or not is_blank(part.text))
        filled = parts or _stand_in(message, last=at == last)
        kept += [with_parts(line, filled)] if filled else []
        action = "trimmed" if parts else "replaced" if filled else "dropped"
        changes.append(Change(rule="blank-user", index=line.at, action=action))
    return kept, changes


def _blanks(message: Message) -> bool:
    return any(map(_is_blank_text, message.parts))


def _stand_in(message: Message, *, last: bool) -> tuple[Part, ...]:
    if last:
        return (Text(text=CONTINUE),)
    return () if message.parts else (Text(text=EMPTY),)


def drop_silent_replies(lines: Sequence[Line], _: Plan) -> Passed:
    """Remove replies that say only ``NO_REPLY`` (section 3.4.3); calls and pictures beside them stay."""
    kept: list[Line] = []
    changes: list[Change] = []
    for line in lines:
        message = line.message
        if not _is_silent(message):
            kept.append(line)
            continue
        parts = [part for part in message.parts if type(part) is not Text or not _says_nothing(part)]
        if any(type(part) is not Thinking and not _is_blank_text(part) for part in parts):
            kept.append(with_parts(line, parts))
        changes.append(Change(rule="silent-reply", index=line.at, action="dropped", detail=spoken(message)))
    return kept, changes


def _is_silent(message: Message) -> bool:
    if message.role is ASSISTANT:
        for part in message.parts:
            if type(part) is Text and "NO_REPLY" in part.text and _says_nothing(part):
                return True
    return False


def _says_nothing(part: Text) -> bool:
    return _SILENT.fullmatch(part.text) is not None


def _is_blank_text(part: Part) -> bool:
    return type(part) is Text and is_blank(part.text)


def drop_incomplete_reasoning(lines: Sequence[Line], _: Plan) -> Passed:
    """Drop turns that ran out of length while still thinking (section 3.4.5)."""
    kept: list[Line] = []
    changes: list[Change] = []
    for line in lines:
        message = line.message
        if message.stop_reason is _LENGTH and _only_thinks(message):
            changes.append(Change(rule="incomplete-reasoning", index=line.at, action="dropped", detail=spoken(message)))
        else:
            kept.append(line)
    return kept, changes


def _only_thinks(message: Message) -> bool:
    shown = [part for part in message.parts if not _is_blank_text(part)]
    return bool(shown) and message.role is ASSISTANT and all(type(part) is Thinking for part in shown)


def drop_blank_text(lines: Sequence[Line], _: Plan) -> Passed:
    """Remove blank text from assistants and tool results (section 3.5.2).

    An emptied tool result says ``[empty content omitted]``. An emptied assistant stays without
    parts: whether its turn failed decides what becomes of it (`turns.close_failed_turns`).
    """
    kept: list[Line] = []
    changes: list[Change] = []
    for line in lines:
        if not _have_blanks(line.message.parts):
            kept.append(line)
            continue
        parts = [_unblanked(part) for part in line.message.parts]
        kept.append(with_parts(line, (part for part in parts if part is not None)))
        changes.append(Change(rule="blank-text", index=line.at, action="removed"))
    return kept, changes


def _have_blanks(parts: Sequence[Part]) -> bool:
    for part in parts:
        if type(part) is Text:
            if is_blank(part.text):
                return True
        elif type(part) is ToolResult and _is_blank_result(part):
            return True
    return False


def _is_blank_result(result: ToolResult) -> bool:
    for piece in result.content:
        if type(piece) is Text and is_blank(piece.text):
            return True
    return not result.content


def _unblanked(part: Part) -> Part | None:
    if not _have_blanks((part,)):
        return part
    if not isinstance(part, ToolResult):
        return None
    content = tuple(piece for piece in part.content if type(piece) is not Text or not is_blank(piece.text))
    return replace(part, content=content or (Text(text=EMPTY),))
