"""Copies of frozen values with a little changed, at a third of the usual price.

Calling a frozen dataclass packs its keywords into a dict and sets every field through `object.__setattr__`.
A replay gives most messages of a transcript another tool call id, so the three values that hold one
are copied by writing their slots directly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from stenolith.model.message import Message, Part, ToolCall, ToolResult

_new: Final = object.__new__


def _writers(kind: type, names: str) -> list[Any]:
    """Return what writes each of the named slots."""
    return [vars(kind)[name].__set__ for name in names.split()]


(_m_role, _m_parts, _m_id, _m_timestamp, _m_origin, _m_stop, _m_error, _m_provenance, _m_usage, _m_speaker) = _writers(
    Message, "role parts id timestamp origin stop_reason error provenance usage speaker"
)
(_m_display, _m_extra) = _writers(Message, "display extra")
(_c_id, _c_name, _c_arguments, _c_signature, _c_partial) = _writers(ToolCall, "id name arguments signature partial")
(_r_id, _r_name, _r_content, _r_is_error, _r_synthetic, _r_details) = _writers(
    ToolResult, "id name content is_error synthetic details"
)


def message_with(old: Message, parts: tuple[Part, ...], extra: Mapping[str, Any]) -> Message:
    """Return *old* with other *parts* and *extra*."""
    new = _new(Message)
    _m_role(new, old.role)
    _m_parts(new, parts)
    _m_id(new, old.id)
    _m_timestamp(new, old.timestamp)
    _m_origin(new, old.origin)
    _m_stop(new, old.stop_reason)
    _m_error(new, old.error)
    _m_provenance(new, old.provenance)
    _m_usage(new, old.usage)
    _m_speaker(new, old.speaker)
    _m_display(new, old.display)
    _m_extra(new, extra)
    return new


def call_with(old: ToolCall, name: str) -> ToolCall:
    """Return the call under another id."""
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
