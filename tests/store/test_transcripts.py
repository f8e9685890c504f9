"""Authority 1: positions without gaps, turns that close once, messages as they came."""

from __future__ import annotations

import pytest

from stenolith.errors import NotFound, SequenceConflict
from stenolith.model.identity import Scope
from stenolith.model.message import Message, Opaque, Role, Text, ToolCall
from stenolith.store.owners import Owners
from stenolith.store.transcripts import Entry, Transcripts

NOW = 1_785_657_600_000


def _entry(text: str, status: str = "complete", **fields) -> Entry:
    message = Message(role=Role.USER, parts=(Text(text=text),), **fields)
    return Entry(message=message, digest=text, status=status)


async def _open(database, key: str = "s"):
    owner = await Owners(database).intern(Scope())
    store = Transcripts(database)
    return owner, store, await store.open(owner, key, key, task="", now=NOW)


async def test_positions_start_at_one_and_have_no_gaps(database) -> None:
    owner, store, session = await _open(database)
    await store.append(session, [_entry("a"), _entry("b")], state="complete", now=NOW)
    session = await store.find(owner, "s", "s")
    await store.append(session, [_entry("c")], state="failed", now=NOW)
    found = await store.messages(session.session_ref)
    assert [(item.seq, item.message.text()) for item in found] == [(1, "a"), (2, "b"), (3, "c")]
    assert [(turn.state, turn.first_seq, turn.last_seq) for turn in await store.turns(session.session_ref)] == [
        ("complete", 1, 2),
        ("failed", 3, 3),
    ]


async def test_an_append_to_a_session_that_moved_on_is_refused_whole(database) -> None:
    _, store, session = await _open(database)
    await store.append(session, [_entry("a")], state="complete", now=NOW)
    with pytest.raises(SequenceConflict) as caught:
        await store.append(session, [_entry("b")], state="complete", now=NOW)
    assert caught.value.facts["expected_seq"] == 0
    assert [item.message.text() for item in await store.messages(session.session_ref)] == ["a"]
    assert len(await store.turns(session.session_ref)) == 1


async def test_a_message_comes_back_as_it_went_in(database) -> None:
    _, store, session = await _open(database)
    parts = (
        Text(text="half a surrogate \ud83d and 中文"),
        ToolCall(id="call|fc", name="b", arguments={"z": 1, "a": [2**70, None]}),
        Opaque(kind="weird", value={"deep": [{"er": 1.5}]}),
    )
    message = Message(role=Role.ASSISTANT, parts=parts, id="m1", timestamp=NOW, speaker="ana", extra={"k": "v"})
    await store.append(session, [Entry(message=message, digest="d")], state="complete", now=NOW)
    assert (await store.messages(session.session_ref))[0].message == message


async def test_an_open_turn_grows_and_closes_exactly_once(database) -> None:
    owner, store, session = await _open(database)
    turn, _ = await store.append(session, [_entry("q")], state="open", now=NOW)
    session = await store.find(owner, "s", "s")
    await store.extend(turn.turn_id, session, [_entry("half", status="partial")], now=NOW)
    assert await store.close(turn.turn_id, "complete", now=NOW + 5)
    assert not await store.close(turn.turn_id, "failed", now=NOW + 6)
    closed = await store.turn(owner, turn.turn_id)
    assert (closed.state, closed.first_seq, closed.last_seq, closed.closed_at) == ("complete", 1, 2, NOW + 5)
    assert [item.status for item in await store.messages(session.session_ref)] == ["complete", "complete"]
    session = await store.find(owner, "s", "s")
    with pytest.raises(NotFound):
        await store.extend(turn.turn_id, session, [_entry("late")], now=NOW)


async def test_an_abandoned_turn_is_found_by_its_age(database) -> None:
    owner, store, session = await _open(database)
    turn, _ = await store.append(session, [_entry("q")], state="open", now=NOW)
    assert await store.abandoned(NOW - 1) == []
    assert await store.abandoned(NOW) == [(owner, turn.turn_id)]
    await store.close(turn.turn_id, "failed", now=NOW + 1)
    assert await store.abandoned(NOW) == []


async def test_keys_that_look_alike_stay_apart(database) -> None:
    owner, store, _ = await _open(database)
    refs = {(await store.open(owner, key, key, task="", now=NOW)).session_ref for key in ("a.b", "a b", "a_b", "A_B")}
    assert len(refs) == 4


async def test_another_owner_sees_nothing(database) -> None:
    _, store, session = await _open(database)
    turn, stored = await store.append(session, [_entry("a")], state="complete", now=NOW)
    other = await Owners(database).intern(Scope(user="eve"))
    assert await store.find(other, "s", "s") is None
    assert await store.get(other, session.session_ref) is None
    assert await store.of_key(other, "s") == []
    assert await store.page(other, 0, 10) == []
    assert await store.turn(other, turn.turn_id) is None
    assert await store.message(other, stored[0].message_id) is None
    assert not await store.delete(other, session.session_ref)


async def test_deleting_a_session_leaves_no_row_of_it(database) -> None:
    owner, store, session = await _open(database)
    await store.append(session, [_entry("a")], state="complete", now=NOW)
    await store.mark(session.session_ref, "compaction", 2, {"summary": "x"}, NOW)
    assert await store.delete(owner, session.session_ref)
    for table in ("sessions", "turns", "messages", "session_marks"):
        assert await database.fetch(f"SELECT COUNT(*) AS n FROM {table}") == [{"n": 0}], table
