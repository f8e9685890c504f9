"""Copies of frozen values with a little changed, at a third of the usual price.

Calling a frozen dataclass packs its keywords into a dict and sets every field through `object.__setattr__`.
A replay gives most messages of a transcript another tool call id, so the values that this makes are written
slot by slot: the short ones through the writers of their slots, a message while it is still a draft.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from stenolith.model.message import Message, Part, ToolCall, ToolResult
from stenolith.replay.report import Change

_new: Final = object.__new__


def _writers(kind: type, names: str) -> list[Any]:
    """Return what writes each of the named slots."""
    return [vars(kind)[name].__set__ for name in names.split()]


(_c_id, _c_name, _c_arguments, _c_signature, _c_partial) = _writers(ToolCall, "id name arguments signature partial")
(_r_id, _r_name, _r_content, _r_is_error, _r_synthetic, _r_details) = _writers(
    ToolResult, "id name content is_error synthetic details"
)
(_n_rule, _n_index, _n_action, _n_detail) = _writers(Change, "rule index action detail")


class _Draft:
    """A message that can still be written to: it has the slots of one, and becomes one when it is whole."""

    __slots__: Any = Message.__slots__

    def __init__(self, old: Message, parts: tuple[Part, ...], extra: Mapping[str, Any]) -> None:
        self.role = old.role
        self.parts = parts
        self.id = old.id
        self.timestamp = old.timestamp
        self.origin = old.origin
        self.stop_reason = old.stop_reason
        self.error = old.error
        self.provenance = old.provenance
        self.usage = old.usage
        self.speaker = old.speaker
        self.display = old.display
        self.extra = extra


def message_with(old: Message, parts: tuple[Part, ...], extra: Mapping[str, Any]) -> Message:
    """Return *old* with other *parts* and *extra*."""
    new: Any = _Draft(old, parts, extra)
    new.__class__ = Message
    made: Message = new
    return made


def call_with(old: ToolCall, name: str) -> ToolCall:
    """Return the call under another id; itself when it has that one."""
    if old.id == name:
        return old
    new = _new(ToolCall)
    _c_id(new, name)
    _c_name(new, old.name)
    _c_arguments(new, old.arguments)
    _c_signature(new, old.signature)
    _c_partial(new, old.partial)
    return new


def result_with(old: ToolResult, name: str) -> ToolResult:
    """Return the result under another id."""
    new = _new(ToolResult)
    _r_id(new, name)
    _r_name(new, old.name)
    _r_content(new, old.content)
    _r_is_error(new, old.is_error)
    _r_synthetic(new, old.synthetic)
    _r_details(new, old.details)
    return new


def noted(rule: str, index: int, action: str, detail: str) -> Change:
    """Return a line of the report."""
    new = _new(Change)
    _n_rule(new, rule)
    _n_index(new, index)
    _n_action(new, action)
    _n_detail(new, detail)
    return new
