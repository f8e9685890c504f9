"""What the two retrieval benchmarks share: fill a home through the public API, ask, write a ranking."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stenolith import Memory, Message, Scope
from stenolith.pipeline.worker import WorkReport
from stenolith.settings import load

DEPTH = 50
"""Items ranked for each question: the scorers look at up to 50."""
PATIENCE_MS = 60_000
SEARCHED = {"records": "conversations", "atoms": "memories"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question: who asks, and the words."""

    scope: Scope
    query: str


@dataclass(slots=True)
class Bench:
    """A home being filled; *names* maps each record to the name that its data set gives the message.

    *degraded* counts the questions that an arm was too late for: on a busy machine a ranking is not the best one.
    """

    memory: Memory
    layer: str
    names: dict[str, str] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    degraded: int = 0

    async def tell(self, scope: Scope, messages: Sequence[Message], names: Sequence[str]) -> None:
        """Capture one session; skipped messages have no record and cannot be found."""
        report = await self.memory.capture(messages, scope=scope)
        skipped = {index for index, _ in report.skipped}
        kept = [name for index, name in enumerate(names) if index not in skipped]
        self.names |= {record.record_id: name for record, name in zip(report.recorded, kept, strict=True)}

    async def rank(self, asked: Asked) -> list[list[str]]:
        """Return the names of the messages behind each item, best item first."""
        started = time.perf_counter()
        if self.layer == "recall":
            context = await self.memory.recall(asked.query, scope=asked.scope, limit=DEPTH, budget=1_000_000)
            items, degraded = context.to_dict()["items"], context.report.degraded
        else:
            found = await self.memory.search(SEARCHED[self.layer], asked.query, scope=asked.scope, limit=DEPTH)
            items, degraded = found["items"], found["degraded"]
        self.seconds.append(time.perf_counter() - started)
        self.degraded += bool(degraded)
        return [named for item in items if (named := self._names_of(item))]

    def _names_of(self, item: Mapping[str, Any]) -> list[str]:
        sources = [item["id"]] if item["layer"] == "record" else [source["id"] for source in item["sources"]]
        return [self.names[source] for source in sources if source in self.names]


def arguments(description: str, data: str) -> argparse.ArgumentParser:
    """Return the options that both benchmarks have."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", type=Path, required=True, help=f"path of {data}")
    parser.add_argument("--out", type=Path, required=True, help="where to write the ranking (JSON)")
    parser.add_argument("--no-vectors", action="store_true", help="words only")
    parser.add_argument("--layer", choices=["records", "atoms", "recall"], default="records")
    parser.add_argument("--threads", type=int, default=2, help="processor threads of the embedded model")
    return parser


@contextmanager
def _home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="stenolith-bench-") as folder:
        yield Path(folder)


@asynccontextmanager
async def opened(options: argparse.Namespace) -> AsyncIterator[Bench]:
    """Open an empty home with or without vectors."""
    model = {"kind": "none" if options.no_vectors else "auto", "threads": options.threads}
    # Quality is measured here: no arm is left out because the machine is busy.
    patience = {"search_deadline_ms": PATIENCE_MS, "deadline_ms": PATIENCE_MS}
    with _home() as folder:
        settings = load(home=folder, timezone="UTC", embedder=model, recall=patience)
        async with Memory.open(settings=settings) as memory:
            yield Bench(memory, options.layer)


async def learn(bench: Bench) -> None:
    """Run the background work that the asked layer needs."""
    started = time.perf_counter()
    kinds = ["embed"] if bench.layer == "records" else None
    report = await bench.memory.work(kinds=kinds, on_progress=_say)
    print(f"\nwork took {time.perf_counter() - started:.0f} s: {report.to_dict()}", file=sys.stderr)


def _say(report: WorkReport) -> None:
    print(f"\r{report.to_dict()['done']}", end="", file=sys.stderr, flush=True)


def finish(bench: Bench, rankings: Any, options: argparse.Namespace) -> None:
    """Write the ranking and say how fast it was."""
    options.out.write_text(json.dumps(rankings, ensure_ascii=False), encoding="utf-8")
    ordered = sorted(bench.seconds)
    middle, high = ordered[len(ordered) // 2] * 1000, ordered[int(len(ordered) * 0.95)] * 1000
    late = f", {bench.degraded} answered without all arms" if bench.degraded else ""
    print(f"{len(ordered)} questions, p50 {middle:.1f} ms, p95 {high:.1f} ms{late} -> {options.out}", file=sys.stderr)
