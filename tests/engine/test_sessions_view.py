"""What a model and a person see of a stored session: projections that never write (spec/authority.md section 2.6)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from saying import said

from stenolith import InvalidInput, Memory, Scope
from stenolith.capture.turn import Turn
from stenolith.engine.replaying import Wish
from stenolith.model.message import Message, Role, StopReason, Text, Thinking, ToolCall

S = Scope(session_key="live")
FAILED = "[previous turn failed before producing content]"
GROQ = Wish(provider="groq")


async def _told(memory: Memory, wish: Wish = GROQ) -> list[tuple[str, str]]:
    payload = (await memory.replay(wish, scope=S))["payload"]
    return [(message["role"], message["content"]) for message in payload["messages"]]


async def test_a_request_whose_turn_died_is_closed_before_the_next_one(memory: Memory) -> None:
    await memory.sessions.begin_turn([said("user", "delete the files")], scope=S)
    before = await memory.sessions.raw(S)
    assert await _told(memory) == [("user", "delete the files")], "the turn may be running"
    await memory.sessions.recover(before=2**62)
    assert await _told(memory) == [("user", "delete the files")], "a retry sends the request again"
    await memory.sessions.begin_turn([said("user", "what time is it?")], scope=S)
    assert await _told(memory) == [
        ("user", "delete the files"),
        ("assistant", FAILED),
        ("user", "what time is it?"),
    ]
    assert (await memory.sessions.raw(S))[:1] == before


async def test_a_turn_that_nobody_closed_is_closed_by_the_next_one(memory: Memory) -> None:
    await memory.sessions.begin_turn([said("user", "delete the files")], scope=S)
    await memory.sessions.begin_turn([said("user", "what time is it?")], scope=S)
    assert (await _told(memory))[1] == ("assistant", FAILED)


async def test_a_history_that_failed_at_its_end_keeps_its_earlier_answers(memory: Memory) -> None:
    talk = [said("user", "one"), said("assistant", "1"), said("user", "two")]
    await memory.capture(Turn(messages=tuple(talk), failed=True), scope=S)
    await memory.sessions.begin_turn([said("user", "three")], scope=S)
    assert await _told(memory) == [
        ("user", "one"),
        ("assistant", "1"),
        ("user", "two"),
        ("assistant", FAILED),
        ("user", "three"),
    ]
    assert [message.stop_reason for message in await memory.sessions.view(S)] == [
        None,
        None,
        None,
        StopReason.ERROR,
        None,
    ]


@pytest.mark.parametrize("end", ["fail_turn", "cancel_turn"])
async def test_what_a_failed_turn_said_stays_and_its_open_call_does_not(memory: Memory, end: str) -> None:
    begun = await memory.sessions.begin_turn([said("user", "go")], scope=S)
    call = ToolCall(id="c", name="deploy", arguments={"now": True})
    partial = Message(role=Role.ASSISTANT, parts=(Text(text="I begin."), call))
    await memory.sessions.checkpoint(begun.turn_id, [partial], scope=S)
    await getattr(memory.sessions, end)(begun.turn_id, scope=S)
    await memory.sessions.begin_turn([said("user", "and?")], scope=S)
    assert await _told(memory) == [("user", "go"), ("assistant", "I begin."), ("user", "and?")]
    report = (await memory.replay(GROQ, scope=S))["report"]
    assert "deploy {'now': True}" in {line["detail"] for line in report}
    assert (await memory.sessions.raw(S))[1] == partial


async def test_a_person_sees_which_turn_failed_and_not_which_was_stopped(memory: Memory) -> None:
    for end in ("fail_turn", "cancel_turn"):
        begun = await memory.sessions.begin_turn([said("user", end)], scope=S)
        await getattr(memory.sessions, end)(begun.turn_id, scope=S)
    assert [message.text() for message in await memory.sessions.display(S)] == [
        "fail_turn",
        "The agent run failed before producing a reply.",
        "cancel_turn",
    ]


async def test_a_turn_that_went_well_is_shown_as_it_is(memory: Memory) -> None:
    begun = await memory.sessions.begin_turn([said("user", "go")], scope=S)
    await memory.sessions.complete_turn(begun.turn_id, [said("assistant", "done")], scope=S)
    assert await memory.sessions.view(S) == await memory.sessions.raw(S)


async def test_thinking_that_was_refused_once_is_not_sent_again(memory: Memory) -> None:
    signature = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo="
    answer = Message(role=Role.ASSISTANT, parts=(Thinking(text="hm", signature=signature), Text(text="a")))
    await memory.capture([said("user", "q"), answer, said("user", "z")], scope=S)
    claude = Wish(provider="anthropic", model="claude-opus-4-6")
    refusal = "messages.1.content.0: Invalid `signature` in `thinking` block"
    assert "hm" in str((await memory.replay(claude, scope=S))["payload"])
    assert "hm" not in str((await memory.replay(replace(claude, refused=refusal), scope=S))["payload"])
    before = await memory.sessions.raw(S)
    await memory.sessions.withhold_thinking(scope=S)
    again = Message(role=Role.ASSISTANT, parts=(Thinking(text="new", signature=signature), Text(text="b")))
    await memory.capture([again, said("user", "more")], scope=S)
    sent = await memory.replay(claude, scope=S)
    assert "hm" not in str(sent["payload"])
    assert "new" in str(sent["payload"])
    assert "hm" in {line["detail"] for line in sent["report"]}
    assert (await memory.sessions.raw(S))[:3] == before


async def test_the_wishes_of_the_command_line_hold_here(memory: Memory) -> None:
    talk = [said("user", "one"), said("assistant", "1"), said("user", "two"), said("assistant", "2")]
    await memory.capture(talk, scope=S)
    assert await _told(memory, Wish(provider="groq", history=1)) == [("user", "two")]
    said_so = await memory.replay(provider="groq", history=1, scope=S)
    assert said_so == await memory.replay(Wish(provider="groq", history=1), scope=S)
    assert said_so == await memory.replay(Wish(provider="groq"), history=1, scope=S)
    with pytest.raises(InvalidInput, match="not modle"):
        await memory.replay(provider="groq", modle="x", scope=S)
    with pytest.raises(InvalidInput, match="needs a provider"):
        await memory.replay(scope=S)
    kept = await _told(memory, Wish(provider="groq", continuation="continue"))
    assert kept[-2:] == [("assistant", "2"), ("user", "(continue)")]
    refused = Wish(provider="openai", api="openai-chat", refused="Expected last role User or Tool", status=400)
    again = await memory.replay(refused, scope=S)
    assert again["hints"] == {"retry": "end_with_user"}
    assert again["payload"]["messages"][-1]["role"] == "user"
    for wrong in (Wish(provider="groq", history=-1), Wish(provider="groq", continuation="stop")):
        with pytest.raises(InvalidInput):
            await memory.replay(wrong, scope=S)


SIGNATURE = "ErUBCkYIBxgCIkDq9vK3" * 6 + "YWJj"


async def test_a_providers_signatures_are_kept_and_secrets_are_not(memory: Memory) -> None:
    key = "sk-proj-" + "A1b2C3d4E5f6G7h8" * 2
    item = '{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"use ' + key + '"}]}'
    answer = Message(
        role=Role.ASSISTANT,
        parts=(
            Thinking(text="plain", signature=SIGNATURE),
            Thinking(text="", signature=SIGNATURE, redacted=True),
            Thinking(text=f"the key is {key}", signature=SIGNATURE),
            Thinking(text="item", signature=item),
            Text(text=f"not {key}", signature="msg_0123456789abcdef0123456789abcdef"),
            ToolCall(id="c", name="f", arguments={"token": key}, signature=SIGNATURE),
        ),
    )
    await memory.capture([said("user", "q"), answer], scope=S)
    stored = (await memory.sessions.raw(S))[1]
    assert [getattr(part, "signature", "") for part in stored.parts[:3]] == [SIGNATURE, SIGNATURE, None]
    assert stored.parts[4].signature == "msg_0123456789abcdef0123456789abcdef"
    assert stored.parts[5].signature == SIGNATURE
    assert key not in str(stored)
    assert '"id":"rs_1"' in stored.parts[3].signature
