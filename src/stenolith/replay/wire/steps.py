"""Canonical messages as the steps that every wire is built from."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from stenolith.model.message import Image, Message, Part, Role, Text, Thinking, ToolCall, ToolResult
from stenolith.replay.plan import EMPTY, is_blank, wording
from stenolith.replay.policy import Policy, Reasoning, Target
from stenolith.replay.report import Change
from stenolith.replay.signature import is_signature
from stenolith.replay.wire.labels import Labels

IMAGE_BELOW: Final = "(see attached image)"
_RULE: Final = "wire"
_LONE: Final = re.compile(r"[\ud800-\udfff]")
_HOME: Final[Mapping[Role, tuple[type, ...]]] = {
    Role.SYSTEM: (Text,),
    Role.USER: (Text, Image),
    Role.ASSISTANT: (Text, Thinking, ToolCall),
    Role.TOOL: (ToolResult,),
}


class Step(NamedTuple):
    """What one role says at one place: neighbouring tool results are one step. *at* is the first message's index."""

    at: int
    role: Role
    parts: tuple[Part, ...]


@dataclass(slots=True, kw_only=True)
class Conversion:
    """One conversion under way: where it goes, its labels, and what it had to change."""

    target: Target
    policy: Policy
    ids: Labels
    names: Labels
    called: dict[str, str] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)

    def note(self, index: int, action: str, detail: str) -> None:
        """Write a line of the report."""
        self.changes.append(Change(rule=_RULE, index=index, action=action, detail=detail))

    def name(self, index: int, call: ToolCall) -> str:
        """Return the call's tool name inside the wire's limits, and remember it for the result."""
        found = self.names[call.name]
        if found != call.name:
            self.note(index, "replaced", f"tool name {call.name!r} by {found!r}")
        self.called[call.id] = found
        return found

    def result_name(self, result: ToolResult) -> str:
        """Return the name of the tool that answered: the call's, else the result's own."""
        return self.called.get(result.id) or self.names[result.name]

    def thinking(self, index: int, parts: Sequence[Part]) -> list[Thinking]:
        """Return the thinking among *parts* that this wire can carry; the report has the rest."""
        found = [part for part in parts if isinstance(part, Thinking)]
        kept = [part for part in found if self._carries(part)]
        for part in found:
            if part not in kept:
                self.note(index, "dropped", part.text)
        return kept

    def _carries(self, part: Thinking) -> bool:
        match self.policy.reasoning:
            case Reasoning.NONE | Reasoning.ITEMS:
                return False
            case Reasoning.SIGNED:
                return not is_blank(part.signature or "") if part.redacted else is_signature(part.signature)
            case Reasoning.FIELD | Reasoning.CHUNKS:
                return not part.redacted and not is_blank(part.text)
            case Reasoning.THOUGHTS:
                return not part.redacted and (not is_blank(part.text) or is_signature(part.signature))


def start(target: Target, policy: Policy, *, halves: bool = False) -> Conversion:
    """Return a conversion with the id and name limits of *policy*."""
    fallback = "call_" if policy.id_max > len("call_") + 20 else ""
    ids = Labels(pattern=policy.id_pattern, longest=policy.id_max, fallback=fallback, halves=halves)
    names = Labels(pattern=policy.name_pattern, longest=64, fallback="tool_")
    return Conversion(target=target, policy=policy, ids=ids, names=names)


def steps(messages: Sequence[Message], conversion: Conversion) -> list[Step]:
    """Return *messages* as steps; parts that their role cannot hold are moved or reported."""
    found: list[Step] = []
    for index, message in enumerate(messages):
        for step in _split(index, message, conversion):
            if step.role is Role.TOOL and found and found[-1].role is Role.TOOL:
                found[-1] = found[-1]._replace(parts=found[-1].parts + step.parts)
            else:
                found.append(step)
    return found


def _split(index: int, message: Message, conversion: Conversion) -> Iterator[Step]:
    role, parts = message.role, message.parts
    if all(isinstance(part, _HOME[role]) for part in parts):
        yield Step(index, role, parts)
        return
    results = tuple(part for part in parts if isinstance(part, ToolResult))
    spoken = Role.USER if role is Role.TOOL else role
    words = tuple(part for part in parts if isinstance(part, _HOME[spoken]) and not isinstance(part, ToolResult))
    for part in parts:
        if not isinstance(part, (ToolResult, *_HOME[spoken])):
            conversion.note(index, "dropped", wording(part))
    answered = [Step(index, Role.TOOL, results)] if results else []
    said = [Step(index, spoken, words)] if words or not results else []
    yield from said + answered if role is Role.ASSISTANT else answered + said


def system_text(found: Sequence[Step]) -> str:
    """Return all system words as one text."""
    words = [part.text for step in found if step.role is Role.SYSTEM for part in step.parts if isinstance(part, Text)]
    return "\n\n".join(word for word in words if not is_blank(word))


def texts(parts: Sequence[Part]) -> list[Text]:
    """Return the texts among *parts* that show something."""
    return [part for part in parts if isinstance(part, Text) and not is_blank(_LONE.sub("", part.text))]


def images(parts: Sequence[Part]) -> list[Image]:
    """Return the pictures among *parts*."""
    return [part for part in parts if isinstance(part, Image)]


def result_words(result: ToolResult) -> str:
    """Return a result as one text; a placeholder stands for a picture or for nothing."""
    words = "\n".join(part.text for part in texts(result.content))
    return words or (IMAGE_BELOW if images(result.content) else EMPTY)


def arguments(call: ToolCall) -> dict[str, Any]:
    """Return a call's arguments as the JSON object that every wire wants."""
    value = call.arguments
    try:
        found = finite(_parsed(value) if isinstance(value, str) else value)
    except RecursionError:
        return {"input": "[arguments omitted: nested too deeply]"}
    if isinstance(found, dict):
        return found
    return {} if value is None else {"input": found}


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def arguments_text(call: ToolCall) -> str:
    """Return a call's arguments as the JSON text that OpenAI's wires want."""
    return json.dumps(arguments(call), ensure_ascii=False, separators=(",", ":"), default=str)


def finite(value: Any) -> Any:
    """Return *value* with text in place of the numbers that JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    return [finite(item) for item in value] if isinstance(value, list | tuple) else value


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
        worded.append(Step(step.at, Role.USER if step.role is Role.TOOL else step.role, parts))
    return worded


def _worded(part: Part, names: Mapping[str, str]) -> list[Part]:
    if isinstance(part, ToolCall):
        return [Text(text=f"[Assistant tool call]: {part.name}({arguments_text(part)})")]
    if isinstance(part, ToolResult):
        name = names.get(part.id) or part.name or "unknown"
        return [Text(text=f"[Tool result: {name}]: {result_words(part)}"), *images(part.content)]
    return [part]
