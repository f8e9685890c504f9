"""A quick copy is what `dataclasses.replace` gives: no field may be forgotten, whatever the values hold."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import pytest

from stenolith.model.message import Message, Origin, Role, StopReason, Text, ToolCall, ToolResult
from stenolith.model.provenance import Provenance, ProvenanceKind
from stenolith.replay.copies import call_with, message_with, noted, result_with
from stenolith.replay.report import Change

CALL = ToolCall(id="a", name="read", arguments={"path": "x"}, signature="s", partial="{")
RESULT = ToolResult(id="a", name="read", content=(Text(text="x"),), is_error=True, synthetic=True, details={"exit": 1})
MESSAGE = Message(
    role=Role.ASSISTANT,
    parts=(CALL,),
    id="m1",
    timestamp=5,
    origin=Origin(provider="p", api="a", model="m"),
    stop_reason=StopReason.TOOL_USE,
    error="e",
    provenance=Provenance(kind=ProvenanceKind.INTER_SESSION),
    usage={"input": 1},
    speaker="Ann",
    display=False,
    extra={"k": 1},
)


@pytest.mark.parametrize("value", [CALL, RESULT, MESSAGE])
def test_the_examples_leave_no_field_at_its_default(value: Any) -> None:
    assert not [field.name for field in fields(value) if getattr(value, field.name) == field.default]


def test_a_copied_call_differs_in_its_id_alone() -> None:
    assert call_with(CALL, "b") == replace(CALL, id="b")


def test_a_call_that_has_the_id_is_no_copy() -> None:
    assert call_with(CALL, "a") is CALL


def test_a_copied_result_differs_in_its_id_alone() -> None:
    assert result_with(RESULT, "b") == replace(RESULT, id="b")


def test_a_copied_message_differs_in_parts_and_extra_alone() -> None:
    assert message_with(MESSAGE, (RESULT,), {}) == replace(MESSAGE, parts=(RESULT,), extra={})
    assert MESSAGE.parts == (CALL,)


def test_a_quick_report_line_is_the_usual_one() -> None:
    assert noted("pairing", 3, "moved", "c1") == Change(rule="pairing", index=3, action="moved", detail="c1")


@pytest.mark.parametrize(
    "value", [call_with(CALL, "b"), result_with(RESULT, "b"), message_with(MESSAGE, (), {}), noted("r", 0, "a", "")]
)
def test_a_copy_is_as_frozen_as_what_it_copies(value: Any) -> None:
    assert type(value).__module__ in {"stenolith.model.message", "stenolith.replay.report"}
    with pytest.raises(FrozenInstanceError):
        setattr(value, fields(value)[0].name, None)
