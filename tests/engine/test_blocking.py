"""The memory for programs without an event loop."""

import inspect
import threading
from pathlib import Path

import pytest

from stenolith import Memory, Message, Role, Scope, Text
from stenolith.engine.blocking import BlockingMemory, BlockingSessions
from stenolith.engine.sessions import Sessions
from stenolith.errors import NotFound

ASYNC_ONLY = {"open", "open_sync", "serve"}
"""How each kind of memory is opened, and the worker that runs until an event of a loop is set."""


def public(kind: type) -> set[str]:
    return {name for name, value in vars(kind).items() if not name.startswith("_") and callable(value)}


def test_every_method_has_a_twin_that_waits() -> None:
    openers = {name for name, value in vars(Memory).items() if isinstance(value, classmethod)}
    assert public(BlockingMemory) >= public(Memory) - ASYNC_ONLY - openers
    assert public(BlockingSessions) >= public(Sessions)
    assert not any(inspect.iscoroutinefunction(getattr(BlockingMemory, name)) for name in public(BlockingMemory))


def test_a_turn_is_durable_and_told_from_any_thread(tmp_path: Path) -> None:
    said = Message(role=Role.USER, parts=(Text(text="Deploy it."),))
    scope = Scope(session_key="live")
    with Memory.open_sync(tmp_path) as memory:
        begun = memory.sessions.begin_turn([said], scope=scope)
        found: list[str] = []
        other = threading.Thread(target=lambda: found.extend(one.text() for one in memory.sessions.raw(scope)))
        other.start()
        other.join()
        assert found == ["Deploy it."]
        assert memory.sessions.complete_turn(begun.turn_id, scope=scope).state == "complete"
        with pytest.raises(NotFound):
            memory.sessions.complete_turn(begun.turn_id, scope=scope)
        assert memory.end_session(scope=scope).dead == {}
