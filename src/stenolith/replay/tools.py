"""Which tool calls can be sent, and what becomes of the others (``spec/replay.md`` sections 3.8, 3.9.3).

Runs when results already stand behind their calls, so a call that has to go is known to take a real
result with it; that result then stays as text.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from stenolith.model.message import Message, Part, StopReason, Text, Thinking, ToolCall, ToolResult
from stenolith.replay.context import Author, strip_context
from stenolith.replay.pairing import answers
from stenolith.replay.plan import Plan, has_calls, has_words, holding, result_text, wording
from stenolith.replay.policy import Api
from stenolith.replay.report import Change, Line, Passed
from stenolith.replay.roles import TOOL
from stenolith.replay.shapes import clean_value

_NAME: Final = re.compile(r"[A-Za-z0-9_.:-]+")
_STRANGE: Final = re.compile(r"[^A-Za-z0-9_.:-]")
_NAME_MAX: Final = 64
_FAILED: Final = frozenset({StopReason.ERROR, StopReason.ABORTED})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdict:
    """What becomes of one call: sent as *call*, or left out *because*."""

    call: ToolCall
    because: str = ""


def check_calls(lines: Sequence[Line], plan: Plan) -> Passed:
    """Repair or leave out calls that no provider would take, and keep what their tools returned."""
    names = _Names()
    return _per_assistant(lines, lambda at, message: _checked(lines, at, message, plan, names))


class _Names:
    """Distinct legal names for illegal ones, in order of appearance so that earlier ones never change."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}

    def legal(self, name: str) -> str:
        """Return *name* with illegal characters replaced, unlike any name given to another."""
        found = _STRANGE.sub("_", name)
        if self._given.setdefault(found, name) == name:
            return found
        tail = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
        return f"{found[: _NAME_MAX - 9]}_{tail}"

    def seen(self, name: str) -> None:
        """Note a legal name, so that no illegal one is mapped onto it."""
        self._given.setdefault(name, name)

    def knows(self, name: str) -> bool:
        """Return whether *name* was seen as a legal one."""
        return self._given.get(name) == name


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edit:
    """New parts of an assistant, the answers that go with its calls, and what to report."""

    message: Message
    dropped: frozenset[int]
    notes: tuple[tuple[str, str], ...]


def _is_sound(message: Message, plan: Plan, names: _Names) -> bool:
    """Return whether every call can be sent as it is, which the result need not be known for."""
    for part in message.parts:
        if type(part) is ToolCall:
            if part.partial is not None or type(part.arguments) is not dict or not part.id.strip():
                return False
            legal = names.knows(part.name) or (len(part.name) <= _NAME_MAX and _NAME.fullmatch(part.name) is not None)
            if not legal or not _is_offered(part.name, plan):
                return False
            names.seen(part.name)
    return True


def _checked(lines: Sequence[Line], at: int, message: Message, plan: Plan, names: _Names) -> _Edit | None:
    if _is_sound(message, plan, names):
        return None
    told = iter(answers(lines, at))
    parts: list[Part] = []
    dropped: set[int] = set()
    notes: list[tuple[str, str]] = []
    number = -1
    for part in message.parts:
        if type(part) is not ToolCall:
            parts.append(part)
            continue
        number += 1
        answer = next(told)
        verdict = _judge(part, answer, message, plan, names)
        if verdict.because:
            dropped.add(number)
            parts += _evidence(part, answer, f"omitted: {verdict.because}", plan)
            notes.append((f"dropped: {verdict.because}", _loss(part, answer)))
        elif verdict.call is not part:
            notes.append(("repaired", f"{part.name} -> {verdict.call.name}"))
        parts += [] if verdict.because else [verdict.call]
    if not notes:
        return None
    return _edit(message, parts, dropped, notes, plan)


def _edit(message: Message, parts: list[Part], dropped: set[int], notes: list[tuple[str, str]], plan: Plan) -> _Edit:
    """Describe the edit; a signed turn whose calls change loses its thinking, never its words (section 3.8)."""
    thoughts = [part for part in parts if type(part) is Thinking] if plan.policy.owned_thinking else []
    if thoughts:
        parts = [part for part in parts if type(part) is not Thinking]
        notes.append(("thinking dropped", "\n".join(part.text for part in thoughts)))
    return _Edit(message=holding(message, parts), dropped=frozenset(dropped), notes=tuple(notes))


def _judge(call: ToolCall, answer: ToolResult | None, message: Message, plan: Plan, names: _Names) -> _Verdict:
    proven = answer is not None and not answer.synthetic
    name = call.name.strip()
    because = _objection(call, name, message, plan)
    if because:
        return _Verdict(call=call, because=because)
    if not proven and not _is_offered(name, plan):
        return _Verdict(call=call, because="the tool is not on offer")
    if _NAME.fullmatch(name):
        names.seen(name)
    elif proven and re.search("[A-Za-z0-9]", name):
        name = names.legal(name)
    else:
        return _Verdict(call=call, because="its name is not legal")
    arguments = read_arguments(call.arguments)
    if name == call.name and arguments is call.arguments and call.partial is None:
        return _Verdict(call=call)
    return _Verdict(call=replace(call, name=name, arguments=arguments, partial=None))


def _objection(call: ToolCall, name: str, message: Message, plan: Plan) -> str:
    if not call.id.strip():
        return "it has no id"
    if call.partial is not None and not _is_whole(call, message, plan):
        return "it was cut off"
    if call.arguments is None:
        return "it has no arguments"
    if not name:
        return "it has no name"
    return "its name is too long" if len(name) > _NAME_MAX else ""


def _is_whole(call: ToolCall, message: Message, plan: Plan) -> bool:
    """Return whether the streaming buffer is complete: a Responses call keeps it (section 3.8)."""
    responses = plan.policy.api is Api.OPENAI_RESPONSES and "|" in call.id
    if not responses or message.stop_reason is not StopReason.TOOL_USE or not isinstance(call.arguments, dict):
        return False
    try:
        json.loads(call.partial or "")
    except (ValueError, RecursionError):
        return False
    return True


def _is_offered(name: str, plan: Plan) -> bool:
    tools = plan.target.tools
    return tools is None or name.lower() in _folded(tools)


@lru_cache(maxsize=8)
def _folded(tools: tuple[str, ...]) -> frozenset[str]:
    return frozenset(tool.strip().lower() for tool in tools)


def read_arguments(value: Any) -> Any:
    """Return arguments as the object that every wire wants; JSON text is read, other values are wrapped."""
    if isinstance(value, dict):
        return value
    if isinstance(value, str):
        try:
            found = json.loads(value) if value.strip() else {}
        except (ValueError, RecursionError):
            return {"input": value}
        return clean_value(found if isinstance(found, dict) else {"input": found})
    return {"input": value}


def _loss(call: ToolCall, answer: ToolResult | None) -> str:
    return wording(call) if answer is None else f"{wording(call)}\n{result_text(answer)}"


def _evidence(call: ToolCall, answer: ToolResult | None, what: str, plan: Plan) -> list[Part]:
    """Return the text that stands for a call whose tool really answered."""
    if answer is None or answer.synthetic or not plan.options.keep_evidence:
        return []
    words = result_text(answer)
    room = plan.options.evidence_chars
    shown = words if len(words) <= room else words[:room] + " [...]"
    name = _STRANGE.sub("_", call.name.strip())[:_NAME_MAX] or "unknown"
    return [Text(text=strip_context(f"[tool call {name} {what}]\n{shown}", Author(composed=True)))]


def settle_failed_calls(lines: Sequence[Line], plan: Plan) -> Passed:
    """Take the calls out of failed turns that said something; what their tools returned stays as text.

    A failed turn that only called keeps its calls, which then get their results, real or synthetic
    (cases.md C27), and counts as a turn that ended in tool use.
    """
    if not any(line.message.stop_reason in _FAILED for line in lines):
        return lines, ()
    return _per_assistant(lines, lambda at, message: _settled(lines, at, message, plan))


def _settled(lines: Sequence[Line], at: int, message: Message, plan: Plan) -> _Edit | None:
    if message.stop_reason not in _FAILED:
        return None
    if not has_words(message.parts):
        kept = replace(message, stop_reason=StopReason.TOOL_USE)
        return _Edit(message=kept, dropped=frozenset(), notes=(("kept", "calls of a turn that failed"),))
    told = iter(answers(lines, at))
    parts: list[Part] = []
    notes: list[tuple[str, str]] = []
    for part in message.parts:
        if type(part) is not ToolCall:
            parts.append(part)
            continue
        answer = next(told)
        parts += _evidence(part, answer, "completed before the turn failed", plan)
        notes.append(("dropped: the turn failed", _loss(part, answer)))
    return _edit(message, parts, set(range(len(notes))), notes, plan)


def _per_assistant(lines: Sequence[Line], edit: Callable[[int, Message], _Edit | None]) -> Passed:
    """Apply *edit* to every tool-calling assistant and take the answers of dropped calls along."""
    kept: list[Line] = []
    changes: list[Change] = []
    gone: set[int] = set()
    for at, line in enumerate(lines):
        if gone and at in gone:
            continue
        found = edit(at, line.message) if has_calls(line.message) else None
        if found is None:
            kept.append(line)
            continue
        kept.append(Line(line.at, found.message))
        gone |= _answer_lines(lines, at, found.dropped)
        for action, detail in found.notes:
            changes.append(Change(rule="tool-call", index=line.at, action=action, detail=detail))
    return kept, changes


def _answer_lines(lines: Sequence[Line], at: int, dropped: frozenset[int]) -> set[int]:
    """Return the positions of the results that answer the calls numbered *dropped*."""
    if not dropped:
        return set()
    told = answers(lines, at)
    gone = {id(told[number]) for number in dropped if told[number] is not None}
    found: set[int] = set()
    for next_at in range(at + 1, len(lines)):
        message = lines[next_at].message
        if message.role is not TOOL:
            break
        found |= {next_at} if id(message.parts[0]) in gone else set()
    return found
