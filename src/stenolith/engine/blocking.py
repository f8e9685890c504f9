"""The same memory for programs without an event loop: one façade over one loop in one thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from stenolith.engine.memory import Memory
from stenolith.settings import Settings

P = ParamSpec("P")
R = TypeVar("R")


def _blocking(
    method: Callable[Concatenate[Memory, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[BlockingMemory, P], R]:
    """Return a method that runs *method* on the façade's loop and waits for it."""

    def run(self: BlockingMemory, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.run(method(self.memory, *args, **kwargs))

    run.__name__, run.__doc__ = method.__name__, method.__doc__
    return run


class BlockingMemory:
    """`Memory` with methods that wait. Get one from `Memory.open_sync`; it may be used from any thread."""

    def __init__(self, memory: Memory, loop: asyncio.AbstractEventLoop) -> None:
        self.memory = memory
        self._loop = loop

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        """Run a coroutine of the memory on its loop and wait for the result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    capture = _blocking(Memory.capture)
    work = _blocking(Memory.work)
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
