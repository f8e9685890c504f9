"""Tool call ids that a wire accepts: unique, deterministic, and never changed by what comes later.

``spec/replay.md`` section 3.7. Ids are given in order of appearance and depend only on what stands
before, so the ids of a history are a prefix of the ids of any longer one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Final, assert_never

from stenolith.model.message import Message, ToolCall, ToolResult
from stenolith.replay.copies import call_with, noted, result_with
from stenolith.replay.plan import Plan, with_parts
from stenolith.replay.policy import Api, DuplicateStyle, IdMode, Policy
from stenolith.replay.report import Change, Line, Passed
from stenolith.replay.roles import ASSISTANT, TOOL

_OTHER: Final = re.compile(r"[^A-Za-z0-9]")
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]")
_KIMI: Final = r"functions\.[A-Za-z0-9_-]+:\d+"
_TOOLU: Final = r"toolu_[A-Za-z0-9_]+"
_STRICT_MAX: Final = 40
_HALF_MAX: Final = 64
_CALL: Final = re.compile(r"call_[A-Za-z0-9_-]{1,59}")
_ITEM: Final = re.compile(r"fc_[A-Za-z0-9_-]{1,61}")

Namer = Callable[[Message, list[str]], list[str]]


def rename_calls(lines: Sequence[Line], namer: Namer) -> Passed:
    """Give every call the id that *namer* returns for it, and its result the same.

    *namer* is asked with each message that calls and the ids of its calls.
    """
    kept: list[Line] = []
    changes: list[Change] = []
    waiting: dict[str, list[str]] = {}
    for line in lines:
        message = line.message
        if message.role is TOOL:
            kept.append(_renamed_result(line, waiting) if waiting else line)
            continue
        old = [part.id for part in message.parts if type(part) is ToolCall] if message.role is ASSISTANT else ()
        if not old:
            kept.append(line)
            continue
        new = namer(message, old)
        if new == old:
            waiting = {}
            kept.append(line)
            continue
        waiting = _queues(old, new)
        names = iter(new)
        parts = [call_with(part, next(names)) if type(part) is ToolCall else part for part in message.parts]
        kept.append(with_parts(line, parts))
        changes.append(noted("tool-call-id", line.at, "renamed", _told(old, new)))
    return kept, changes


def _told(old: list[str], new: list[str]) -> str:
    if len(old) == 1:
        return f"{old[0]} -> {new[0]}"
    return ", ".join([f"{was} -> {now}" for was, now in zip(old, new, strict=True) if was != now])


def _queues(old: list[str], new: list[str]) -> dict[str, list[str]]:
    """Return the new ids of each old one, first in, first out."""
    if len(old) == 1:
        return {old[0]: list(new)}
    found: dict[str, list[str]] = {}
    for was, now in zip(old, new, strict=True):
        found.setdefault(was, []).append(now)
    return found


def _renamed_result(line: Line, waiting: dict[str, list[str]]) -> Line:
    result = line.message.parts[0]
    mine = waiting.get(result.id) if type(result) is ToolResult else None
    if type(result) is not ToolResult or not mine:
        return line
    name = mine.pop(0)
    return line if name == result.id else with_parts(line, (result_with(result, name),))


def assign_ids(lines: Sequence[Line], plan: Plan) -> Passed:
    """Rewrite ids in the mode of the policy; whatever the mode, no two calls of a request share one."""
    given = _Given(plan.policy)
    return rename_calls(lines, lambda _, ids: [given.give(raw) for raw in ids])


class _Given:
    """The ids handed out so far, and how often each raw one was met."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._used: set[str] = set()
        self._items: set[str] = set()
        self._met: dict[str, int] = {}
        self._pattern = re.compile(policy.id_pattern) if policy.id_pattern else None
        self._native = _native_form(policy.native_id_pattern, policy.preserve_native_anthropic_tool_use_ids)
        self._room = min(_STRICT_MAX, policy.id_max)
        self._form = self._choose()

    def _choose(self) -> Callable[[str, int], str]:
        if self._policy.api is Api.OPENAI_RESPONSES:
            return self._responses
        match self._policy.tool_call_id_mode:
            case IdMode.STRICT:
                return self._strict
            case IdMode.STRICT9:
                return self._strict9
            case IdMode.NONE:
                return self._plain
            case _ as never:
                assert_never(never)

    def give(self, raw: str) -> str:
        """Return the final id for the next occurrence of *raw*."""
        count = self._met[raw] = self._met.get(raw, 0) + 1
        found = self._form(raw, count)
        self._used.add(found)
        return found

    def _strict(self, raw: str, count: int) -> str:
        if count > 1:
            raw = f"{raw}:{count}"
        elif self._native.fullmatch(raw) and self._fits(raw) and raw not in self._used:
            return raw
        found = _OTHER.sub("", raw)[: self._room] or ("sanitizedtoolid" if raw.strip() else "defaulttoolid")
        return found if found not in self._used else self._suffixed(found, raw, self._room)

    def _fits(self, name: str) -> bool:
        """Return whether the wire takes *name* as it is."""
        return 0 < len(name) <= self._policy.id_max and (not self._pattern or self._pattern.fullmatch(name) is not None)

    def _suffixed(self, found: str, raw: str, room: int) -> str:
        tail = _hash(raw)[:8]
        name = found[: room - len(tail)] + tail
        number = 2
        while name in self._used:
            tail = f"{_hash(raw)[:8]}{number}"
            name = found[: room - len(tail)] + tail
            number += 1
        return name

    def _strict9(self, raw: str, count: int) -> str:
        raw = raw if count == 1 else f"{raw}:{count}"
        letters = _OTHER.sub("", raw)
        name = letters[:9] if len(letters) >= 9 else _hash(raw)[:9]
        number = 1
        while name in self._used:
            name = _hash(f"{raw}:{number}")[:9]
            number += 1
        return name

    def _plain(self, raw: str, count: int) -> str:
        """Keep an id that fits the wire; else make it fit (section 3.7.3 e)."""
        own = raw.partition("|")[0] if self._policy.api is Api.OPENAI_CHAT else raw
        room = self._policy.id_max
        name = own if self._fits(own) else self._suffixed(_UNSAFE.sub("_", own), raw, room)
        if name not in self._used:
            return name
        if self._policy.duplicate_tool_call_id_style is DuplicateStyle.OPENAI:
            name = f"call_{_hash(f'{raw}:{count}')[:24]}"
        return name if name not in self._used else self._suffixed(_UNSAFE.sub("_", own), f"{raw}:{count}", room)

    def _responses(self, raw: str, count: int) -> str:
        """Bring both halves of ``call|item`` into canonical form, each unique in the request (3.11.4)."""
        call, _, item = raw.partition("|")
        name = _canonical(call, "call_", _CALL)
        number = count
        while name in self._used:
            name = _derived(call, "call_", f"{call}:{number + 1}")
            number += 1
        self._used.add(name)
        half = _canonical(item, "fc_", _ITEM) if item else ""
        if not half or half in self._items:
            return name
        self._items.add(half)
        return f"{name}|{half}"


def _canonical(half: str, prefix: str, form: re.Pattern[str]) -> str:
    return half if form.fullmatch(half) else _derived(half, prefix, half)


def _derived(half: str, prefix: str, seed: str) -> str:
    tail = f"_{_hash(seed)[:10]}"
    stem = _UNSAFE.sub("_", half.removeprefix(prefix))
    return f"{prefix}{stem[: _HALF_MAX - len(prefix) - len(tail)]}{tail}"


def _native_form(pattern: str, anthropic: bool) -> re.Pattern[str]:
    forms = [_KIMI, *([_TOOLU] if anthropic else []), *([pattern] if pattern else [])]
    return re.compile("|".join(f"(?:{form})" for form in forms))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
