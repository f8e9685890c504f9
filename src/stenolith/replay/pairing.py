"""Calls and results as pairs: each result directly behind the call it answers.

Ids repeat (issue 109443), so a result belongs to an *occurrence* of a call. A frame is a
tool-calling assistant up to the next one; inside it results are taken first in, first out. A result
that stands in a later frame moves back only when it can answer one occurrence alone, or when as many
are open as there are results (``spec/replay.md`` section 3.9.3).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from stenolith.model.message import Message, Part, Text, ToolCall, ToolResult
from stenolith.replay.plan import CALLS_OMITTED, Plan, has_calls, result_text, with_parts
from stenolith.replay.report import Change, Line, Passed
from stenolith.replay.roles import TOOL

RULE: Final = "pairing"


class _Slot:
    """One occurrence of a call and the result it holds so far."""

    __slots__ = ("call", "frame", "held")

    def __init__(self, frame: int, call: ToolCall) -> None:
        self.frame, self.call = frame, call
        self.held: int | None = None  # the position of the result's line


class _Stray:
    """A result that its own frame could not take."""

    __slots__ = ("at", "frame", "id")

    def __init__(self, at: int, frame: int, name: str) -> None:
        self.at, self.frame, self.id = at, frame, name


def adopt_results(lines: Sequence[Line], plan: Plan) -> Passed:
    """Put every result behind its call, in call order; a result without a call leaves with its text."""
    if not plan.policy.repair_tool_use_result_pairing:
        return lines, ()
    ledger = _Ledger(lines)
    ledger.read()
    ledger.place_strays()
    return ledger.emit()


class _Ledger:
    """Who answers whom, built in one walk and settled in a second one over what is left."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = lines
        self.slots: dict[int, list[_Slot]] = {}
        self.by_id: dict[str, list[_Slot]] = {}
        self.strays: list[_Stray] = []
        self.fresh: list[_Stray] = []  # of the frame that is being read
        self.nameless: list[int] = []
        self.loose: list[int] = []  # the results that stand in no frame that is as it should be
        self.frame = -1
        self.waiting: dict[str, deque[_Slot]] = {}
        self.stopgaps: dict[str, deque[_Slot]] = {}  # slots of the frame that hold a synthetic result

    def read(self) -> None:
        """Assign results inside their frames."""
        settled = -1
        for at, line in enumerate(self.lines):
            message = line.message
            if message.role is TOOL:
                if at > settled:
                    self._take(at)
            elif has_calls(message):
                self._close()
                self.frame, self.waiting, self.stopgaps = at, {}, {}
                settled = at + self._count_whole(at, message)
                if settled == at:
                    self._open(at, message)
        self._close()

    def _count_whole(self, at: int, message: Message) -> int:
        """Return how many results follow the calls of a frame that needs no repair; 0 for all others."""
        names = [part.id for part in message.parts if type(part) is ToolCall]
        behind = self.lines[at + 1 : at + 1 + len(names)]
        if len(behind) != len(names) or (len(names) > 1 and len(set(names)) != len(names)):
            return 0
        for name, line in zip(names, behind, strict=True):
            if line.message.role is not TOOL or not _is_exact(line.message.parts[0], name):
                return 0
        return len(names)

    def _open(self, at: int, message: Message) -> None:
        slots = [_Slot(at, part) for part in message.parts if type(part) is ToolCall]
        self.slots[at] = slots
        for slot in slots:
            name = slot.call.id.strip()
            if name:
                self.waiting.setdefault(name, deque()).append(slot)
                self.by_id.setdefault(name, []).append(slot)

    def _take(self, at: int) -> None:
        self.loose.append(at)
        result = self.result(at)
        name = result.id.strip()
        if not name:
            self.nameless.append(at)
            return
        queue = self.waiting.get(name) or (None if result.synthetic else self.stopgaps.get(name))
        if not queue:
            self.fresh.append(_Stray(at, self.frame, name))
            return
        slot = queue.popleft()
        slot.held = at
        if result.synthetic:
            self.stopgaps.setdefault(name, deque()).append(slot)

    def _is_replaceable(self, slot: _Slot) -> bool:
        return slot.held is not None and self.result(slot.held).synthetic

    def result(self, at: int) -> ToolResult:
        """Return the result on the line at *at*; `shapes.settle_parts` left exactly one there."""
        part = self.lines[at].message.parts[0]
        return part if isinstance(part, ToolResult) else ToolResult(id="")

    def _close(self) -> None:
        """End a frame: match by the first half of ``call|item`` ids, then adopt results without id."""
        if not self.fresh and not self.nameless:
            return
        slots = self.slots.get(self.frame, [])
        if self.fresh:
            self._match_halves([slot for slot in slots if slot.held is None and slot.call.id.strip()])
        vacant = [slot for slot in slots if slot.held is None] if self.nameless else []
        for at in self.nameless:
            if len(vacant) == 1 and self.result(at).name.strip() in {"", vacant[0].call.name.strip()}:
                vacant.pop().held = at
        self.nameless, self.fresh = [], []

    def _match_halves(self, vacant: list[_Slot]) -> None:
        halves: dict[str, list[_Slot]] = {}
        for slot in vacant:
            halves.setdefault(_half(slot.call.id), []).append(slot)
        for stray in self.fresh:
            mine = halves.get(_half(stray.id), [])
            if len(mine) == 1 and mine[0].held is None:
                mine[0].held = stray.at
            else:
                self.strays.append(stray)

    def place_strays(self) -> None:
        """Give displaced results back to the one earlier occurrence that can own them."""
        groups: dict[str, list[_Stray]] = {}
        for stray in self.strays:
            if not self.result(stray.at).synthetic:
                groups.setdefault(stray.id, []).append(stray)
        for name, strays in groups.items():
            last = strays[-1]
            vacant = [
                slot
                for slot in self.by_id.get(name, ())
                if slot.frame < last.frame and (slot.held is None or self._is_replaceable(slot))
            ]
            in_order = all(slot.frame < stray.frame for slot, stray in zip(vacant, strays, strict=False))
            if len(vacant) == 1:
                owner = next(stray for stray in strays if vacant[0].frame < stray.frame)
                vacant[0].held = owner.at
            elif len(vacant) == len(strays) and in_order:
                for slot, stray in zip(vacant, strays, strict=True):
                    slot.held = stray.at

    def emit(self) -> Passed:
        """Return the lines in their new order, and what moved or left."""
        kept: list[Line] = []
        changes: list[Change] = []
        used: set[int] = set()
        done = 0
        for at in sorted({*self.slots, *self.loose}):  # all that stands between them is as it should be
            kept += self.lines[done:at]
            done = at + 1
            if at not in self.slots:
                continue
            kept.append(_trimmed(self.lines[at]))
            for offset, slot in enumerate((slot for slot in self.slots[at] if slot.held is not None), start=1):
                held = slot.held if slot.held is not None else at
                used.add(held)
                kept.append(_answer(self.lines[held], self.result(held), slot.call))
                if held != at + offset:
                    changes.append(Change(rule=RULE, index=self.lines[held].at, action="moved", detail=slot.call.id))
        kept += self.lines[done:]
        changes += self._orphans(used)
        return kept, changes

    def _orphans(self, used: set[int]) -> Iterator[Change]:
        for at in self.loose:
            if at not in used:
                result = self.result(at)
                action = "dropped synthetic" if result.synthetic else "dropped"
                yield Change(rule=RULE, index=self.lines[at].at, action=action, detail=result_text(result))


def _is_exact(part: Part, name: str) -> bool:
    """Return whether a result answers the call *name* just as it should, with nothing to repair."""
    if type(part) is not ToolResult or part.id != name or part.synthetic:
        return False
    return bool(name) and name == name.strip() and bool(part.name.strip())


def _half(name: str) -> str:
    return name.strip().partition("|")[0]


def _trimmed(line: Line) -> Line:
    parts = line.message.parts
    if all(type(part) is not ToolCall or part.id == part.id.strip() for part in parts):
        return line
    return with_parts(line, (replace(p, id=p.id.strip()) if type(p) is ToolCall else p for p in parts))


def _answer(line: Line, result: ToolResult, call: ToolCall) -> Line:
    name = result.name.strip() or call.name.strip() or "unknown"
    if result.id == call.id.strip() and result.name == name:
        return line
    return with_parts(line, (replace(result, id=call.id.strip(), name=name),))


def answers(lines: Sequence[Line], at: int) -> list[ToolResult | None]:
    """Return the result of each call of the assistant at *at*, in call order; None where there is none.

    Results stand directly behind their assistant once `adopt_results` has run.
    """
    waiting: dict[str, list[ToolResult]] = {}
    for line in _behind(lines, at):
        result = line.message.parts[0]
        if isinstance(result, ToolResult):
            waiting.setdefault(result.id, []).append(result)
    calls = [part for part in lines[at].message.parts if type(part) is ToolCall]
    return [found.pop(0) if (found := waiting.get(call.id)) else None for call in calls]


def _behind(lines: Sequence[Line], at: int) -> Iterator[Line]:
    for next_at in range(at + 1, len(lines)):
        if lines[next_at].message.role is not TOOL:
            return
        yield lines[next_at]


def fill_missing_results(lines: Sequence[Line], plan: Plan) -> Passed:
    """Answer every call: a synthetic error result where none was recorded, without any clock.

    With pairing switched off the calls are removed instead, where the policy validates turns (3.10.2).
    """
    if not plan.policy.repair_tool_use_result_pairing:
        return _strip_unanswered(lines, plan)
    kept: list[Line] = []
    changes: list[Change] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        kept.append(line)
        at += 1
        if not has_calls(line.message):
            continue
        first = at
        while at < len(lines) and lines[at].message.role is TOOL:
            at += 1
        told = lines[first:at]
        if _answer_all(told, line.message):
            kept += told
            continue
        missing = [call for call, answer in _unanswered(lines, first - 1) if answer is None]
        changes += [Change(rule=RULE, index=line.at, action="added", detail=f"result of {call.id}") for call in missing]
        kept += _completed(line, told, plan)
    return kept, changes


def _answer_all(told: Sequence[Line], message: Message) -> bool:
    """Return whether the results answer the calls one by one, in their order."""
    found = [result.id for line in told for result in line.message.parts if type(result) is ToolResult]
    return found == [part.id for part in message.parts if type(part) is ToolCall]


def _unanswered(lines: Sequence[Line], at: int) -> Iterator[tuple[ToolCall, ToolResult | None]]:
    calls = (part for part in lines[at].message.parts if type(part) is ToolCall)
    yield from zip(calls, answers(lines, at), strict=True)


def _completed(line: Line, told: Sequence[Line], plan: Plan) -> Iterator[Line]:
    """Yield one result for each call, in call order."""
    waiting: dict[str, list[Line]] = {}
    for found in told:
        result = found.message.parts[0]
        waiting.setdefault(result.id if isinstance(result, ToolResult) else "", []).append(found)
    for part in line.message.parts:
        if type(part) is ToolCall:
            mine = waiting.get(part.id)
            yield mine.pop(0) if mine else _synthetic(line, part, plan)


def _synthetic(line: Line, call: ToolCall, plan: Plan) -> Line:
    content = (Text(text=plan.policy.missing_result_text),)
    result = ToolResult(id=call.id, name=call.name, content=content, is_error=True, synthetic=True)
    return Line(line.at, Message(role=TOOL, parts=(result,), timestamp=line.message.timestamp))


def _strip_unanswered(lines: Sequence[Line], plan: Plan) -> Passed:
    if not plan.policy.validate_anthropic_turns:
        return lines, ()
    kept: list[Line] = []
    changes: list[Change] = []
    for at, line in enumerate(lines):
        if not has_calls(line.message):
            kept.append(line)
            continue
        dangling = [call for call, answer in _unanswered(lines, at) if answer is None]
        gone = {id(call) for call in dangling}
        left = [part for part in line.message.parts if id(part) not in gone]
        kept.append(with_parts(line, left or [Text(text=CALLS_OMITTED)]) if dangling else line)
        changes += [
            Change(rule=RULE, index=line.at, action="stripped", detail=f"call {c.id} {c.name}") for c in dangling
        ]
    return kept, changes
