"""What no person typed stays in the transcript and never becomes a record."""

from __future__ import annotations

from dataclasses import replace

import pytest
from saying import said

from stenolith import Memory, Scope
from stenolith.model.message import message_from_dict
from stenolith.model.provenance import Provenance, ProvenanceKind

T0 = 1_785_657_600_000


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"extra": {"summary": "compaction"}}, "a summary"),
        ({"extra": {"bash": {"command": "ls"}}}, "a command's output"),
        ({"extra": {"custom_type": "openclaw.runtime-context"}}, "a host's own entry"),
        ({"provenance": Provenance(kind=ProvenanceKind.INTER_SESSION, session="agent:b")}, "another session"),
        ({"provenance": Provenance(kind=ProvenanceKind.INTERNAL_SYSTEM)}, "the system"),
    ],
)
async def test_a_message_that_nobody_typed_makes_no_record(memory: Memory, change, reason: str) -> None:
    scope = Scope(session_key="s")
    message = replace(said("user", "I prefer to be recorded as a person", T0), **change)
    report = await memory.capture([message], scope=scope)
    assert (report.recorded, report.new_messages) == ((), 1)
    assert reason in report.skipped[0][1]
    assert await memory.sessions.raw(scope) == (message,)


@pytest.mark.parametrize("role", [["user"], {}, 3, None, "narrator"])
def test_a_message_with_an_impossible_role_is_a_value_error(role) -> None:
    with pytest.raises(ValueError, match="role must be one of"):
        message_from_dict({"role": role, "parts": []})


def test_impossible_reasons_and_provenance_mean_nothing_known() -> None:
    message = message_from_dict({"role": "user", "stop_reason": [], "provenance": {"kind": {}}, "parts": []})
    assert (message.stop_reason, message.provenance) == (None, None)
