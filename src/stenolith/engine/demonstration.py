"""The main job on the example conversations: a few weeks of a developer with an agent, in a home of their own."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path
from typing import Any, Final

from stenolith.capture.record import CaptureReport
from stenolith.capture.turn import Turn
from stenolith.demo import handed_over, sessions
from stenolith.engine.memory import Memory
from stenolith.interop import read_messages
from stenolith.model.atom import Kind
from stenolith.model.identity import Scope
from stenolith.model.message import Message
from stenolith.recall.context import Context
from stenolith.settings import load

ZONE: Final = "Asia/Shanghai"
"""Where the developer of the examples lives."""
SEED_WORDS: Final = "旧的鉴权模块先不要重构"
"""The sentence that the walk follows from the mouth to the answer."""
View = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A message that was cleaned or refused: what came, what was kept, and why."""

    before: str
    after: str
    reason: str


@dataclass(slots=True, kw_only=True)
class Walk:
    """Everything the demo shows."""

    question: str
    zone: tzinfo
    sessions: int = 0
    offered: int = 0
    records: list[View] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    examples: list[Example] = field(default_factory=list)
    atoms: list[View] = field(default_factory=list)
    superseded: int = 0
    atom: View = field(default_factory=dict)
    scenes: list[View] = field(default_factory=list)
    scene: View = field(default_factory=dict)
    persona: View = field(default_factory=dict)
    context: Context | None = None
    seconds: float = 0.0

    def to_dict(self) -> View:
        """Return the JSON of ``stenolith demo --json``."""
        return {
            "records": self.records,
            "atoms": self.atoms,
            "scenes": self.scenes,
            "persona": self.persona,
            "recall": self.context.to_dict() if self.context else None,
            "refused": dict(self.refused),
            "seconds": round(self.seconds, 2),
        }


async def walk(home: Path, question: str) -> Walk:
    """Live through the example conversations in *home*, then ask *question*."""
    started = time.monotonic()
    settings = load(home=home, timezone=ZONE)
    found = Walk(question=question, zone=settings.zone)
    async with Memory.open(settings=settings) as memory:
        for session in sessions():
            found.sessions += 1
            await _live(memory, session, found)
        await memory.work()
        await _look_around(memory, found)
        found.context = await memory.recall(question, scope=Scope(session_key="agent:dev:today"), deadline_ms=2000)
    found.seconds = time.monotonic() - started
    return found


async def _live(memory: Memory, session: View, found: Walk) -> None:
    """Hand over a session turn by turn, as its host does: the new messages, or its whole history each time."""
    scope = Scope(session_key=session["session_key"], session_id=session["session_id"])
    for turn in handed_over(session):
        held = read_messages(json.dumps(turn.messages).encode(), dialect="openai-chat").messages
        mark = turn.began if session["resends"] else None
        report = await memory.capture(Turn(messages=held, mark=mark, failed=turn.failed), scope=scope)
        found.offered += len(held)
        _note(report, held, found)


def _note(report: CaptureReport, held: tuple[Message, ...], found: Walk) -> None:
    found.records += report.to_dict()["recorded"]
    found.refused.update(reason for _, reason in report.skipped)
    kept = {record.message_text for record in report.recorded}
    skipped = {index for index, reason in report.skipped if reason == "already stored"}
    for index, message in enumerate(held):
        said = message.text()
        if index in skipped or said in kept or "memor" not in said or "<" not in said:
            continue
        after = next((words for words in kept if words in said), "")
        found.examples.append(Example(before=said, after=after, reason="a recalled block came back in the message"))


async def _look_around(memory: Memory, found: Walk) -> None:
    scope = Scope()
    found.atoms = (await memory.list("atoms", scope=scope, limit=1000))["items"]
    found.superseded = len((await memory.list("atoms", scope=scope, limit=1000, status="superseded"))["items"])
    followed = [atom for atom in found.atoms if atom["kind"] == Kind.CONSTRAINT and SEED_WORDS in atom["text"]]
    found.atom = await memory.show((followed or found.atoms)[0]["id"], scope=scope)
    found.scenes = (await memory.list("scenes", scope=scope))["items"]
    found.scene = await memory.scene(found.atom["scene"], scope=scope)
    found.persona = await memory.persona(scope=scope)
