# ruff: noqa: N802  # the cases keep the names that the specification gives them
"""Several processes in one home: four write, two recall, one is killed; what was told to be stored is stored, once.

STENOLITH_LONG=1 runs the sizes that are promised: 1,000 turns a writer.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import Counter
from pathlib import Path

from crowded_home import scope, settings_of, words
from reader import rows

from stenolith import Memory
from stenolith.settings import Settings

TURNS = 1000 if os.environ.get("STENOLITH_LONG") else 60
WRITERS = [f"writer{number}" for number in range(4)]
SCRIPT = Path(__file__).with_name("crowded_home.py")
PATH = f"{Path(__file__).parents[2] / 'src'}:{SCRIPT.parent}"
Process = asyncio.subprocess.Process


async def start(given: str, role: str, name: str) -> Process:
    """Start a process and wait until it stands before the door."""
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, str(SCRIPT), given, role, name, str(TURNS))
    process = await asyncio.create_subprocess_exec(
        *command, env={"PYTHONPATH": PATH}, stdin=pipe, stdout=pipe, stderr=pipe
    )
    assert process.stdout
    assert await process.stdout.readline() == b"ready\n", (await process.communicate())[1].decode()
    return process


def let_in(process: Process) -> None:
    assert process.stdin
    process.stdin.write(b"go\n")


async def told(process: Process, until: int | None = None) -> list[int]:
    """Return what a process prints; *until* so many lines came, then it is killed."""
    assert process.stdout
    found: list[int] = []
    async for line in process.stdout:
        found.append(int(line))
        if len(found) == until:
            process.kill()
    assert process.stderr
    trouble = (await process.stderr.read()).decode()
    await process.wait()
    assert (trouble, process.returncode) == ("", 0 if until is None else -9)
    return found


async def test_C21_four_writers_two_readers_and_a_kill_lose_nothing_and_lock_nobody_out(settings: Settings) -> None:
    """All six come to a home that is not there yet, at the same moment."""
    given = json.dumps({"home": str(settings.home), "database": settings.database})
    pens = await asyncio.gather(*(start(given, "write", name) for name in WRITERS))
    eyes = await asyncio.gather(*(start(given, "recall", name) for name in WRITERS[:2]))
    for process in (*pens, *eyes):
        let_in(process)
    watching = [asyncio.create_task(told(process)) for process in eyes]
    acknowledged = await asyncio.gather(*(told(pen, TURNS // 2 if at == 3 else None) for at, pen in enumerate(pens)))
    for process in eyes:
        let_in(process)
    recalls = [count for counts in await asyncio.gather(*watching) for count in counts]
    assert min(recalls) > 0
    assert [len(numbers) for numbers in acknowledged[:3]] == [TURNS] * 3
    async with Memory.open(settings=settings_of(json.loads(given))) as memory:
        for name, numbers in zip(WRITERS, acknowledged, strict=True):
            await expect_stored(memory, name, numbers)
        await memory.work()
        await expect_agreement(memory, settings.home)
    await expect_size(settings)


async def expect_stored(memory: Memory, name: str, numbers: list[int]) -> None:
    """Check that each acknowledged turn is there once, and at most one more: that which the kill cut off."""
    page = await memory.list("records", scope=scope(name), limit=10_000)
    stored = Counter(record["text"] for record in page["items"])
    for number in numbers:
        assert [stored.pop(text) for text in words(name, number)] == [1, 1]
    assert stored in (Counter(), Counter(dict.fromkeys(words(name, len(numbers)), 1)))


async def expect_agreement(memory: Memory, home: Path) -> None:
    """Check that whatever is derived agrees with the records, and that the database is sound."""
    (counts,) = await rows(
        memory,
        "SELECT (SELECT COUNT(*) FROM l0_conversations) AS records, (SELECT COUNT(*) FROM search_rows WHERE layer = 'record') AS found,"
        " (SELECT COUNT(*) FROM messages) AS messages, (SELECT COUNT(*) FROM search_rows) AS every, (SELECT COUNT(*) FROM search_fts) AS text",
    )
    assert counts["records"] == counts["found"] == counts["messages"]
    assert counts["every"] == counts["text"]
    lines = [line for file in (home / "conversations").glob("*.jsonl") for line in file.read_text().splitlines()]
    assert len(lines) == len({json.loads(line)["id"] for line in lines}) == counts["records"]
    assert (await memory.health())["status"] == "ok"
    assert [check for check in (await memory.doctor())["checks"] if check["problems"]] == []


async def expect_size(settings: Settings) -> None:
    """Check that the file did not grow to three times its content (SQLite; a server keeps its own house)."""
    if settings.database:
        return
    size = sum(file.stat().st_size for file in settings.home.glob("memory.db*"))
    async with Memory.open(settings=settings) as memory:
        copy = settings.home.parent / "compact.db"
        await memory._house.database.copy_to(copy)
    assert size < 3 * copy.stat().st_size
