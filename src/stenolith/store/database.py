"""The port that both databases implement, and the named statements they run.

A store class takes a `Database` and the `Statements` of its dialect; SQL text stands in
``store/sql`` only.  A statement is written once in ``common.sql``; a dialect file overrides or
adds what differs (claims, full text).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

Row = dict[str, Any]
T = TypeVar("T")
Dialect = Literal["sqlite", "postgres"]
_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)


class Database(Protocol):
    """What a store needs of a database.

    Obligations:
    * ``transaction`` opens a write transaction; statements awaited inside it see their own writes
      and are committed together when the block ends, or not at all when it raises or the process
      dies.  A transaction inside a transaction joins the outer one.
    * ``fetch`` outside a transaction sees the last committed state and never waits for a writer.
    * Parameters are named ``:name`` in every dialect.
    """

    @property
    def dialect(self) -> Dialect:
        """Which dialect file applies."""

    @property
    def read_only(self) -> bool:
        """Whether this user may only read it: then every write raises `StoreUnavailable`."""

    def transaction(self) -> AbstractAsyncContextManager[None]:
        """Open, or join, the write transaction of the current task."""

    async def atomically(self, work: Callable[[], Coroutine[Any, Any, T]], /) -> T:
        """Run *work* in a write transaction, or in the one that is open, and return its result.

        *work* awaits nothing but this database: SQLite runs all of it in the writer's thread, so that a
        transaction of many statements costs one change of threads, and raises RuntimeError for any
        other wait.  A task that is cancelled meanwhile ends when the transaction has.
        """

    async def lock(self, owner_id: int, /) -> None:
        """Stand alone among the writers of an owner until the transaction ends.

        Take it first in a transaction that writes what it decided from rows it read: SQLite has one
        writer anyway, PostgreSQL many.  Several owners are locked in the order of their numbers.
        Outside a transaction it is a mistake and raises RuntimeError.
        """

    async def fetch(self, sql: str, /, **params: Any) -> list[Row]:
        """Run one statement and return its rows."""

    async def execute_many(self, sql: str, rows: Sequence[Mapping[str, Any]], /) -> None:
        """Run one statement for each of *rows*."""

    async def script(self, sql: str, /) -> None:
        """Run several statements that take no parameters."""

    async def copy_to(self, path: Path, /) -> None:
        """Write a whole, consistent copy to the new file *path* (0600) while the store is in use."""

    def notifications(self) -> AsyncIterator[None]:
        """Yield whenever another process may have given the queue something to do; never ends by itself.

        SQLite never yields: there a worker finds such work at its next poll.
        """

    async def close(self) -> None:
        """Let go of every connection."""


class Halves(bytes):
    """Numbers of 16 bits (IEEE 754, little end first) on their way into a vector's column."""

    __slots__ = ()


async def to_its_end(step: Awaitable[T]) -> T:
    """Await *step* to its end even when this task is cancelled meanwhile."""
    running = asyncio.ensure_future(step)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.gather(running, return_exceptions=True)
        raise


@cache
def statements(dialect: Dialect) -> Mapping[str, str]:
    """Return the named statements of *dialect*: the common ones, overridden by its own."""
    folder = resources.files("stenolith.store") / "sql"
    found: dict[str, str] = {}
    for name in ("common", dialect):
        for file in sorted(folder.iterdir(), key=lambda item: item.name):
            if file.name.startswith(name) and file.name.endswith(".sql"):
                found.update(_parse((folder / file.name).read_text(encoding="utf-8")))
    return found


def _parse(text: str) -> dict[str, str]:
    pieces = _NAME.split(text)
    return {name: body.strip().rstrip(";") for name, body in zip(pieces[1::2], pieces[2::2], strict=True)}
