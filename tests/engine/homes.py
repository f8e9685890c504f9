"""A home whose worker learns with a scripted model, on any backend."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from stenolith.capture.turn import Turn, from_texts
from stenolith.engine.learning import Learning
from stenolith.engine.memory import Memory
from stenolith.engine.projections import Projections
from stenolith.engine.wiring import House, open_house
from stenolith.llm.port import Embedder, LanguageModel
from stenolith.model.atom import Atom
from stenolith.model.identity import Scope
from stenolith.model.message import Message, Role, Text
from stenolith.pipeline.worker import Worker, WorkReport
from stenolith.settings import load
from stenolith.store.usage import ModelUsage
from stenolith.testing.backends import BACKENDS
from stenolith.testing.clock import FrozenClock

ME = Scope(user="u1", session_key="chat", session_id="chat")
MINUTE = 60_000


class Home:
    """A house, its memory, and a worker whose model a test can exchange."""

    def __init__(self, house: House, clock: FrozenClock) -> None:
        self.house = house
        self.clock = clock
        self.memory = Memory(house)
        self.usage = ModelUsage(house.database)
        self._projections = Projections(house)

    async def say(self, user: str, assistant: str = "", *, scope: Scope = ME, at: int | None = None) -> list[str]:
        """Record one exchange and return the ids of its records; the clock moves on by a minute."""
        started = at if at is not None else self.clock.advance(MINUTE)
        turn = from_texts(user, assistant, started=started, ended=started + 1000)
        report = await self.memory.capture(turn, scope=scope)
        return [record.record_id for record in report.recorded]

    async def send(self, messages: Sequence[Message], *, scope: Scope = ME, **turn: Any) -> list[str]:
        """Record messages as one turn."""
        report = await self.memory.capture(Turn(messages=tuple(messages), mark=0, **turn), scope=scope)
        return [record.record_id for record in report.recorded]

    async def work(self, model: LanguageModel | None, *kinds: str) -> WorkReport:
        """Run every job that can run, learning with *model*."""
        learning = Learning(self.house, self._projections, model)
        worker = Worker(self.house.jobs, learning.handlers(), now_ms=self.clock)
        return await worker.run_until_idle(list(kinds) or None)

    async def owner(self, scope: Scope = ME) -> int:
        return await self.house.owners.intern(scope)

    async def atoms(self, scope: Scope = ME) -> list[Atom]:
        """Return every atom of a scope's owner, of any status, in the order of their ids."""
        return [atom for atom, _ in await self.house.atoms.export(await self.owner(scope), "", 10_000)]

    async def active(self, scope: Scope = ME) -> list[Atom]:
        return [atom for atom in await self.atoms(scope) if atom.status == "active"]

    async def texts(self, scope: Scope = ME) -> list[str]:
        return sorted(atom.text for atom in await self.active(scope))

    async def position(self, scope: Scope = ME) -> int:
        """Return how far the session was distilled."""
        owner_id = await self.owner(scope)
        (session,) = await self.house.transcripts.of_key(owner_id, scope.session_key)
        return (await self.house.cursors.get(owner_id, "distill", str(session.session_ref))).position

    async def jobs(self, state: Any, kind: str = "distill") -> list[Any]:
        return [job for job in await self.house.jobs.listing_of_home(state) if job.kind == kind]


def person(text: str, at: int, **more: Any) -> Message:
    return Message(role=Role.USER, parts=(Text(text=text),), timestamp=at, **more)


def helper(text: str, at: int) -> Message:
    return Message(role=Role.ASSISTANT, parts=(Text(text=text),), timestamp=at)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@asynccontextmanager
async def open_home(
    folder: Path,
    *,
    backend: str = "sqlite",
    llm: Mapping[str, Any] | None = None,
    zone: str = "UTC",
    embedder: Embedder | None = None,
) -> AsyncIterator[Home]:
    """Open a home in *folder* on a *backend*, with settings of the group ``llm``."""
    clock = FrozenClock()
    async with AsyncExitStack() as stack:
        url = ""
        if backend == "postgres":
            await stack.enter_async_context(BACKENDS["postgres"](_made(folder)))
            url = (folder / "postgres.url").read_text(encoding="utf-8")
        settings = load(home=folder, timezone=zone, database=url, llm=dict(llm or {}), embedder={"kind": "none"})
        house = await stack.enter_async_context(open_house(settings, embedder=embedder, now=clock))
        yield Home(house, clock)
