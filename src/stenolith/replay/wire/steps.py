"""Canonical messages as the steps that every wire is built from."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from json.encoder import encode_basestring as _quote
from typing import Any, Final, TypeGuard

from stenolith.model.message import Image, Message, Part, Role, Text, Thinking, ToolCall, ToolResult
from stenolith.replay.plan import EMPTY, is_blank, wording
from stenolith.replay.policy import Policy, Reasoning, Target
from stenolith.replay.report import Change
from stenolith.replay.roles import ASSISTANT, SYSTEM, TOOL, USER
from stenolith.replay.signature import is_signature
from stenolith.replay.wire.encoding import Cleaner
from stenolith.replay.wire.labels import Labels

IMAGE_BELOW: Final = "(see attached image)"
_RULE: Final = "wire"
_ENCODE: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_HOME: Final[dict[Role, frozenset[type]]] = {
    SYSTEM: frozenset((Text,)),
    USER: frozenset((Text, Image)),
    ASSISTANT: frozenset((Text, Thinking, ToolCall)),
    TOOL: frozenset((ToolResult,)),
}


@dataclass(slots=True, eq=False)
class Step:
    """What one role says at one place: neighbouring tool results are one step. *at* is the first message's index.

    Not frozen, like `Line`: a long transcript has as many of them.
    """

    at: int
    role: Role
    parts: Sequence[Part]


@dataclass(slots=True, kw_only=True)
class Conversion:
    """One conversion under way: where it goes, its labels, and what it had to change.

    *carries* tells which thinking the wire can carry.
    """

    target: Target
    policy: Policy
    ids: Labels
    names: Labels
    cleaner: Cleaner
    carries: Callable[[Thinking], bool]
    called: dict[str, str] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)

    def note(self, index: int, action: str, detail: str) -> None:
        """Write a line of the report."""
        self.changes.append(Change(rule=_RULE, index=index, action=action, detail=detail))

    def cleaned(self, index: int, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        """Return *parts* without text that the wire refuses; the report has what was cleaned."""
        found = tuple([self.cleaner.part(part) for part in parts])
        for text in self.cleaner.lost:
            self.note(index, "cleaned", text)
        self.cleaner.lost.clear()
        return found

    def name(self, index: int, call: ToolCall) -> str:
        """Return the call's tool name inside the wire's limits, and remember it for the result."""
        name = call.name
        found = self.names[name]
        if found != name:
            self.note(index, "replaced", f"tool name {name!r} by {found!r}")
        self.called[call.id] = found
        return found

    def result_name(self, result: ToolResult) -> str:
        """Return the name of the tool that answered: the call's, else the result's own."""
        return self.called.get(result.id) or self.names[result.name]

    def thinking(self, index: int, parts: Sequence[Part]) -> list[Thinking]:
        """Return the thinking among *parts* that this wire can carry; the report has the rest."""
        kept: list[Thinking] = []
        for part in parts:
            if type(part) is Thinking:
                if self.carries(part):
                    kept.append(part)
                else:
                    self.note(index, "dropped", part.text)
        return kept


def _carries_signed(part: Thinking) -> bool:
    return _is_data(part.signature) if part.redacted else is_signature(part.signature)


def _carries_words(part: Thinking) -> bool:
    return not part.redacted and not is_blank(part.text)


def _carries_thought(part: Thinking) -> bool:
    return not part.redacted and (not is_blank(part.text) or is_signature(part.signature))


def _carries_nothing(_: Thinking) -> bool:
    return False


_CARRIES: Final[Mapping[Reasoning, Callable[[Thinking], bool]]] = {
    Reasoning.NONE: _carries_nothing,
    Reasoning.ITEMS: _carries_nothing,
    Reasoning.SIGNED: _carries_signed,
    Reasoning.FIELD: _carries_words,
    Reasoning.CHUNKS: _carries_words,
    Reasoning.THOUGHTS: _carries_thought,
}


def _is_data(signature: str | None) -> bool:
    return signature is not None and signature.isascii() and not is_blank(signature)


def start(target: Target, policy: Policy, *, halves: bool = False) -> Conversion:
    """Return a conversion with the id and name limits of *policy*."""
    fallback = "call_" if policy.id_max > len("call_") + 20 else ""
    ids = Labels(pattern=policy.id_pattern, longest=policy.id_max, fallback=fallback, halves=halves)
    names = Labels(pattern=policy.name_pattern, longest=64, fallback="tool_")
    return Conversion(
        target=target,
        policy=policy,
        ids=ids,
        names=names,
        cleaner=Cleaner(policy.api),
        carries=_CARRIES[policy.reasoning],
    )


def steps(messages: Sequence[Message], conversion: Conversion) -> list[Step]:
    """Return *messages* as steps; parts that their role cannot hold are moved or reported."""
    found: list[Step] = []
    told: list[Part] | None = None  # the parts of the last step while that is one of tool results
    for index, message in enumerate(messages):
        role, parts = message.role, message.parts
        if not conversion.cleaner.are_clean(parts):
            parts = conversion.cleaned(index, parts)
        fits = parts and _HOME[role].issuperset(map(type, parts))
        if fits and role is not TOOL:  # as most
            found.append(Step(index, role, parts))
            told = None
            continue
        for step in (Step(index, role, parts),) if fits else _split(index, role, parts, conversion):
            if step.role is not TOOL:
                told = None
            elif told is None:
                step.parts = told = list(step.parts)
            else:
                told += step.parts
                continue
            found.append(step)
    return found


def _split(index: int, role: Role, parts: tuple[Part, ...], conversion: Conversion) -> list[Step]:
    results = tuple(part for part in parts if type(part) is ToolResult)
    spoken = USER if role is TOOL else role
    words = tuple(part for part in parts if type(part) in _HOME[spoken])
    for part in parts:
        if type(part) is not ToolResult and type(part) not in _HOME[spoken]:
            conversion.note(index, "dropped", wording(part))
    answered = [Step(index, TOOL, results)] if results else []
    said = [Step(index, spoken, words)] if words or (role is not TOOL and not results) else []
    return said + answered if role is ASSISTANT else answered + said


def system_text(found: Sequence[Step]) -> str:
    """Return all system words as one text."""
    words = [part.text for step in found if step.role is SYSTEM for part in step.parts if type(part) is Text]
    return "\n\n".join(word for word in words if not is_blank(word))


def shows(part: Part) -> TypeGuard[Text]:
    """Say whether *part* is a text that is not blank."""
    return type(part) is Text and not is_blank(part.text)


def texts(parts: Sequence[Part]) -> list[Text]:
    """Return the texts among *parts* that show something."""
    return [part for part in parts if shows(part)]


def images(parts: Sequence[Part]) -> list[Image]:
    """Return the pictures among *parts*."""
    return [part for part in parts if type(part) is Image]


def result_words(result: ToolResult) -> str:
    """Return a result as one text; a placeholder stands for a picture or for nothing."""
    content = result.content
    if len(content) == 1 and shows(content[0]):  # most results are one text
        return content[0].text
    words = "\n".join([part.text for part in texts(content)])
    return words or (IMAGE_BELOW if images(content) else EMPTY)


def arguments(call: ToolCall) -> dict[str, Any]:
    """Return a call's arguments as the object that every wire wants."""
    value = call.arguments
    if isinstance(value, dict):
        return value
    return {} if value is None else {"input": value}


def arguments_text(call: ToolCall) -> str:
    """Return a call's arguments as the JSON text that OpenAI's wires want."""
    value = arguments(call)
    for key, item in value.items():
        if type(key) is not str or type(item) is not str:
            return _ENCODE(value)
    # Most arguments are a flat object of texts, and setting up an encoder takes longer than writing one.
    return "{" + ",".join([f"{_quote(key)}:{_quote(item)}" for key, item in value.items()]) + "}"


def data_url(image: Image) -> str:
    """Return a picture as a data URL."""
    return f"data:{image.mime};base64,{image.data}"


def as_text(found: Sequence[Step], conversion: Conversion) -> list[Step]:
    """Return the steps with calls and results worded, for a request that offers no tools (section 3.13.4)."""
    worded: list[Step] = []
    names: dict[str, str] = {}
    for step in found:
        names.update({part.id: part.name for part in step.parts if isinstance(part, ToolCall)})
        parts = tuple(piece for part in step.parts for piece in _worded(part, names))
        if any(isinstance(part, ToolCall | ToolResult) for part in step.parts):
            conversion.note(step.at, "replaced", "tool calls and results by text: no tools are offered")
        worded.append(Step(step.at, USER if step.role is TOOL else step.role, parts))
    return worded


def _worded(part: Part, names: Mapping[str, str]) -> list[Part]:
    if isinstance(part, ToolCall):
        return [Text(text=f"[Assistant tool call]: {part.name}({arguments_text(part)})")]
    if isinstance(part, ToolResult):
        name = names.get(part.id) or part.name or "unknown"
        return [Text(text=f"[Tool result: {name}]: {result_words(part)}"), *images(part.content)]
    return [part]
