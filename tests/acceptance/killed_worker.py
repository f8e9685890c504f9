"""A worker that dies at every step in turn: `killed_worker.py '{"home": …, "database": …, "stages": […]}'`.

For n = 1, 2, … a child process tells the story of an owner of its own, runs a stage, and kills itself with
signal 9 at its n-th step: before a transaction, before and after its commit, around a question to the model
or the embedder, before a file is opened, renamed or removed.  The first child that lives to the end is the
stage's last, so that the last owner is the one to whom nothing happened.  It prints a line a child.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reader import LLM, learned, shown
from stage import DAY, MINUTE, said

from stenolith import Memory, Scope, Turn
from stenolith.engine.wiring import _furnish, open_database
from stenolith.llm.port import Prompt
from stenolith.settings import Settings, load
from stenolith.store.jobs import JobRequest
from stenolith.store.migrations import migrate
from stenolith.testing.clock import FrozenClock
from stenolith.testing.embedder import HashEmbedder
from stenolith.testing.model import Said, ScriptedModel

MOST = 200
AT_ONCE = 3
"""Children that live at the same time; they have different owners."""
ALONE = frozenset({"capture", "journal"})
"""Stages whose steps include waiting for each other, at the lock of the daily files."""
CITY = {"attribute": "home city", "subject": "user"}
STORY = ("I live in Graz.", "Always answer in metric units.", "My cat is called Milo.")
NEWS = ("I moved, I live in Linz now.", "My bicycle is red.")
SHORT = (*STORY[1:], NEWS[1])
HABITS = tuple(
    (f"I prefer small commits in the {topic}, number {day} of them.", f"The {topic} keeps its tests in folder {day}.")
    for day, topic in enumerate(("Orion gateway", "Vega billing", "Orion gateway", "Vega billing"))
)
"""What is said on four days: enough for a line of the persona."""
ONE_TOPIC = tuple(tuple(text.replace("small", "harbour") for text in day) for day in HABITS)
"""The same in other words: what a model takes for one topic."""
Run = Callable[["Life"], Awaitable[Any]]


def think(prompt: Prompt) -> Said:
    """Answer as a good model would: word for word, but where somebody lives is one property."""
    match prompt.name:
        case "extract":
            lines = [line for line in shown(prompt) if line["role"] == "user"]
            return learned(*({"text": line["text"], "sources": [line["id"]], **_about(line["text"])} for line in lines))
        case "arbiter":
            known = [line["id"] for line in _lines(prompt, "known") if "Graz" in line["text"]]
            new = [line["memory"] for line in _lines(prompt, "new") if "Linz" in line["text"]]
            return {"decisions": [{"memory": one, "action": "supersede", "known": known} for one in new]}
        case "shelf":
            about = [line["dossier"] for line in _lines(prompt, "dossiers") if "harbour" in str(line)]
            return {"merges": [{"dossiers": about}] if len(about) > 1 else []}
        case _:
            return {"edits": [], "lines": []}


def _about(text: str) -> Mapping[str, Any]:
    if "live in" in text:
        return {**CITY, "changes": "moved" in text}
    if text.startswith("I prefer"):
        return {"kind": "preference"}
    return {"kind": "instruction"} if text.startswith("Always") else {}


def _lines(prompt: Prompt, part: str) -> list[dict[str, Any]]:
    body = prompt.user.split(f"<{part}>")[1].split(f"</{part}>")[0]
    return [json.loads(line) for line in body.split("\n") if line.strip()]


def settings_of(given: Mapping[str, Any]) -> Settings:
    home = Path(given["home"])
    return load(home=home, database=given["database"], timezone="UTC", embedder={"kind": "none"}, llm=LLM)


def scope(stage: str, number: int) -> Scope:
    return Scope(user=f"{stage}{number:03}", session_key="chat")


class Trap:
    """Counts steps once it is armed, and kills the process at the last one."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.left = 0

    def step(self, name: str) -> None:
        self.left -= 1
        if self.left == 0:
            os.write(1, f"{self.label}\t{name}\n".encode())
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True, kw_only=True)
class Life:
    """One child: its memory, and whose story it tells."""

    memory: Memory
    mine: Scope
    clock: FrozenClock

    async def tell(self, *words: str) -> None:
        at = self.clock.advance(1000)
        messages = [said("user", text, at + place) for place, text in enumerate(words)]
        await self.memory.capture(Turn(messages=tuple(messages), mark=0), scope=self.mine)

    async def owner(self) -> int:
        return await self.memory._house.owners.intern(self.mine)

    async def do(self, kind: str, key: str = "") -> None:
        """Run one job."""
        await self.memory._worker.run_key(kind, await self.owner(), key)

    async def distill(self) -> None:
        (session,) = await self.memory.sessions.of(self.mine)
        await self.do("distill", str(session.session_ref))


class TrappedDatabase:
    """A database with a step before every transaction, before its commit, and after it."""

    def __init__(self, inner: Any, trap: Trap) -> None:
        self._inner = inner
        self._trap = trap
        self._inside: ContextVar[bool] = ContextVar("inside", default=False)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        if self._inside.get():
            yield
            return
        self._trap.step("begin")
        token = self._inside.set(True)
        try:
            async with self._inner.transaction():
                yield
                self._trap.step("before commit")
        finally:
            self._inside.reset(token)
        self._trap.step("after commit")

    async def atomically(self, work: Callable[[], Any], /) -> Any:
        if self._inside.get():
            return await self._inner.atomically(work)

        async def whole() -> Any:
            token = self._inside.set(True)  # SQLite runs this in the writer's thread, with a context of its own
            try:
                found = await work()
                self._trap.step("before commit")
                return found
            finally:
                self._inside.reset(token)

        self._trap.step("begin")
        found = await self._inner.atomically(whole)
        self._trap.step("after commit")
        return found

    async def fetch(self, sql: str, /, **params: Any) -> Any:
        if self._inside.get() or sql.lstrip()[:6].upper() == "SELECT":
            return await self._inner.fetch(sql, **params)
        async with self.transaction():
            return await self._inner.fetch(sql, **params)


class TrappedModel(ScriptedModel):
    def __init__(self, trap: Trap) -> None:
        super().__init__(think)
        self._trap = trap

    async def complete(self, prompt: Prompt, /) -> Any:
        self._trap.step(f"asks {prompt.name}")
        answer = await super().complete(prompt)
        self._trap.step(f"asked {prompt.name}")
        return answer


class TrappedEmbedder(HashEmbedder):
    def __init__(self, trap: Trap) -> None:
        super().__init__(16)
        self._trap = trap

    async def embed(self, texts: Sequence[str], purpose: Any, /) -> Any:
        self._trap.step("embeds")
        found = await super().embed(texts, purpose)
        self._trap.step("embedded")
        return found


async def _before_distill(life: Life) -> None:
    await life.tell(*STORY)
    await life.distill()
    await life.tell(*NEWS)


async def _before_scenes(life: Life) -> None:
    await life.tell(*SHORT)
    await life.distill()


async def _before_dossier(life: Life) -> None:
    await _before_scenes(life)
    await life.do("scenes")


async def _before_persona(life: Life) -> None:
    await _before_dossier(life)
    await life.do("scenes", "model")


async def _before_shelf(life: Life) -> None:
    await _on_days(life, ONE_TOPIC)


async def _before_portrait(life: Life) -> None:
    await _on_days(life, HABITS)
    await life.do("persona")


async def _on_days(life: Life, days: Sequence[Sequence[str]]) -> None:
    for words in days:
        life.clock.advance(DAY)
        await life.tell(*words)
    await life.distill()
    await life.do("scenes")


async def _before_journal(life: Life) -> None:
    """Record without the daily lines, as a crash between the two does."""
    turn = Turn(messages=tuple(said("user", text, life.clock()) for text in SHORT), mark=0)
    await life.memory._recorder.record(await life.owner(), life.mine, turn)
    await life.memory._house.jobs.enqueue(await life.owner(), JobRequest(kind="journal", key=""))


async def _nothing(_life: Life) -> None:
    return


STAGES: Mapping[str, tuple[Run, Run]] = {
    "capture": (_nothing, lambda life: life.tell(*SHORT)),
    "distill": (_before_distill, Life.distill),
    "scenes": (_before_scenes, lambda life: life.do("scenes")),
    "dossier": (_before_dossier, lambda life: life.do("scenes", "model")),
    "shelf": (_before_shelf, lambda life: life.do("scenes", "model")),
    "persona": (_before_persona, lambda life: life.do("persona")),
    "portrait": (_before_portrait, lambda life: life.do("persona", "model")),
    "embed": (_before_scenes, lambda life: life.do("embed", "record")),
    "journal": (_before_journal, lambda life: life.do("journal")),
}
"""By name: what comes before, and the stage in which the worker dies."""


def _listen(home: Path, trap: Trap) -> Callable[[str, tuple[Any, ...]], None]:
    """Return an audit hook that takes what happens to files of the home, but those of the database, as steps."""

    def listen(event: str, args: tuple[Any, ...]) -> None:
        if (
            event in {"open", "os.rename", "os.remove"}
            and str(home) in str(args[0])
            and "memory.db" not in str(args[0])
        ):
            trap.step(f"{event} {Path(str(args[0])).suffix}")

    return listen


async def live_or_die(given: Mapping[str, Any], stage: str, number: int) -> None:
    trap, clock, chosen = Trap(f"{stage}\t{number}"), FrozenClock(), settings_of(given)
    before, run = STAGES[stage]
    sys.addaudithook(_listen(chosen.home, trap))
    database = await open_database(chosen.database, chosen.home)
    await migrate(database)
    trapped: Any = TrappedDatabase(database, trap)
    embedder = TrappedEmbedder(trap) if stage == "embed" else None
    memory = Memory(_furnish(chosen, trapped, embedder, clock), TrappedModel(trap))
    life = Life(memory=memory, mine=scope(stage, number), clock=clock)
    await before(life)
    clock.advance(MINUTE)
    trap.left = number
    await run(life)
    trap.left = 0
    await memory._asking.close()
    await database.close()


def _fork(given: Mapping[str, Any], stage: str, number: int) -> int:
    child = os.fork()
    if child == 0:
        asyncio.run(live_or_die(given, stage, number))
        os.write(1, f"{stage}\t{number}\tend\n".encode())
        os._exit(0)
    return child


def main(given: Mapping[str, Any]) -> None:
    for stage in given["stages"]:
        many = 1 if stage in ALONE else AT_ONCE
        for first in range(1, MOST, many):
            children = [_fork(given, stage, first + place) for place in range(many)]
            ends = [os.waitpid(child, 0)[1] for child in children]
            if strange := [end for end in ends if end not in {0, signal.SIGKILL}]:
                sys.exit(f"{stage}: children {first} and following ended with {strange}")
            if 0 in ends:
                break


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
