"""The same memory for programs without an event loop: one façade over one loop in one thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from stenolith.engine.memory import Memory
from stenolith.engine.sessions import Sessions
from stenolith.settings import Settings
from stenolith.store.search import Filter

S = TypeVar("S")
P = ParamSpec("P")
R = TypeVar("R")


class _Facade(Generic[S]):
    """What stands before *subject*, whose coroutines run on *loop*."""

    def __init__(self, subject: S, loop: asyncio.AbstractEventLoop) -> None:
        self._subject = subject
        self._loop = loop

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        """Run a coroutine of the memory on its loop and wait for the result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def _blocking(
    method: Callable[Concatenate[S, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[_Facade[S], P], R]:
    """Return a method that runs *method* on the façade's loop and waits for it."""

    def run(self: _Facade[S], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.run(method(self._subject, *args, **kwargs))

    run.__name__, run.__doc__ = method.__name__, method.__doc__
    return run


class BlockingSessions(_Facade[Sessions]):
    """`Sessions` with methods that wait."""

    begin_turn = _blocking(Sessions.begin_turn)
    checkpoint = _blocking(Sessions.checkpoint)
    complete_turn = _blocking(Sessions.complete_turn)
    fail_turn = _blocking(Sessions.fail_turn)
    cancel_turn = _blocking(Sessions.cancel_turn)
    append_turn = _blocking(Sessions.append_turn)
    recover = _blocking(Sessions.recover)
    compact = _blocking(Sessions.compact)
    withhold_thinking = _blocking(Sessions.withhold_thinking)
    raw = _blocking(Sessions.raw)
    display = _blocking(Sessions.display)
    view = _blocking(Sessions.view)
    of = _blocking(Sessions.of)


class BlockingMemory(_Facade[Memory]):
    """`Memory` with methods that wait. Get one from `Memory.open_sync`; it may be used from any thread."""

    def __init__(self, memory: Memory, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(memory, loop)
        self.sessions = BlockingSessions(memory.sessions, loop)

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._subject.settings

    def moment(self, text: str) -> int:
        """Read a date or time as epoch milliseconds in the configured zone. Raises `InvalidInput`."""
        return self._subject.moment(text)

    def filters(self, **narrowing: Any) -> Filter:
        """Make the filter of a search from ``kind since until scene include_history as_of session``."""
        return self._subject.filters(**narrowing)

    capture = _blocking(Memory.capture)
    work = _blocking(Memory.work)
    end_session = _blocking(Memory.end_session)
    recall = _blocking(Memory.recall)
    search = _blocking(Memory.search)
    remember = _blocking(Memory.remember)
    correct = _blocking(Memory.correct)
    forget = _blocking(Memory.forget)
    history = _blocking(Memory.history)
    show = _blocking(Memory.show)
    list = _blocking(Memory.list)
    scene = _blocking(Memory.scene)
    edit_scene = _blocking(Memory.edit_scene)
    persona = _blocking(Memory.persona)
    replay = _blocking(Memory.replay)
    import_files = _blocking(Memory.import_files)
    export = _blocking(Memory.export)
    health = _blocking(Memory.health)
    jobs = _blocking(Memory.jobs)
    retry_job = _blocking(Memory.retry_job)
    doctor = _blocking(Memory.doctor)
    rebuild = _blocking(Memory.rebuild)
    stats = _blocking(Memory.stats)
    backup = _blocking(Memory.backup)


@contextmanager
def open_blocking(home: Path | str | None, settings: Settings | None) -> Iterator[BlockingMemory]:
    """Open a memory on a loop in a thread of its own, and close both at the end."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="stenolith", daemon=True)
    thread.start()
    try:
        opened = Memory.open(home, settings=settings)
        memory = asyncio.run_coroutine_threadsafe(opened.__aenter__(), loop).result()
        try:
            yield BlockingMemory(memory, loop)
        finally:
            asyncio.run_coroutine_threadsafe(opened.__aexit__(None, None, None), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
