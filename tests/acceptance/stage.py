"""What the cases of the specification are played on: one memory, one clock, and short words for what a host does."""

from __future__ import annotations

from contextlib import AsyncExitStack
from datetime import datetime
from typing import Any, Self

from stenolith import Memory, Message, Role, Scope, Text, Turn
from stenolith.llm.port import Embedder
from stenolith.settings import Settings
from stenolith.testing.clock import FrozenClock

MINUTE = 60_000
DAY = 86_400_000


def ms(text: str) -> int:
    """Return an ISO time with an offset as epoch milliseconds."""
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def said(role: str, text: str, at: int | None = None, **more: Any) -> Message:
    return Message(role=Role(role), parts=(Text(text=text),), timestamp=at, **more)


class Stage:
    """A memory that can be closed and opened again (``restart``) on the same files."""

    def __init__(self, settings: Settings, embedder: Embedder | None = None, clock: FrozenClock | None = None) -> None:
        self.settings = settings
        self.embedder = embedder
        self.clock = clock or FrozenClock()
        self.memory: Memory
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        opening = Memory.open(settings=self.settings, embedder=self.embedder, now=self.clock)
        self.memory = await self._stack.enter_async_context(opening)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def restart(self, embedder: Embedder | None = None) -> None:
        await self._stack.aclose()
        self._stack = AsyncExitStack()
        self.embedder = embedder or self.embedder
        await self.__aenter__()

    async def say(self, user: str, assistant: str = "", *, scope: Scope, at: int | None = None, **more: Any) -> Any:
        """Record one exchange as a turn; without a time the clock moves on by a minute."""
        when = self.clock.advance(MINUTE) if at is None else at
        messages = [said("user", user, when, **more)]
        messages += [said("assistant", assistant, when + 1000)] if assistant else []
        return await self.memory.capture(Turn(messages=tuple(messages), mark=0), scope=scope)

    async def work(self) -> None:
        """Run every job, those that wait for a quiet moment too."""
        await self.memory.work()
        self.clock.advance(MINUTE)
        await self.memory.work()

    async def atoms(self, scope: Scope, status: str | None = None) -> list[dict[str, Any]]:
        return (await self.memory.list("atoms", scope=scope, limit=10_000, status=status))["items"]

    async def records(self, scope: Scope) -> list[dict[str, Any]]:
        return (await self.memory.list("records", scope=scope, limit=10_000))["items"]

    async def texts(self, scope: Scope) -> list[str]:
        return sorted(atom["text"] for atom in await self.atoms(scope))

    async def rows(self, sql: str, **values: Any) -> list[dict[str, Any]]:
        """Look into the database, past every door."""
        return [dict(row) for row in await self.memory._house.database.fetch(sql, **values)]

    async def count(self, table: str) -> int:
        return int((await self.rows(f"SELECT COUNT(*) AS n FROM {table}"))[0]["n"])

    async def export(self, scope: Scope, name: str) -> bytes:
        path = self.settings.home.parent / name
        await self.memory.export(path, scope=scope)
        return path.read_bytes()
