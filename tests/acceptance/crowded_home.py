"""One of several processes in one home: `crowded_home.py '{"home": …, "database": …}' write|recall NAME TURNS`.

A writer prints the number of each turn once it is told that the turn is stored; a reader recalls until its
input ends and prints how often.  Whatever goes wrong ends the process with its traceback.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from typing import Any

from stage import said

from stenolith import Memory, Scope, Turn
from stenolith.settings import Settings, load

START_MS = 1_785_657_600_000


def settings_of(given: Mapping[str, Any]) -> Settings:
    return load(home=given["home"], database=given["database"], timezone="UTC", embedder={"kind": "none"})


def scope(name: str) -> Scope:
    return Scope(user="ana", session_key=name)


def words(name: str, number: int) -> tuple[str, str]:
    return f"I prefer gate{number} over every other gate of {name}.", f"Gate{number} of {name} is noted."


async def write(memory: Memory, name: str, turns: int) -> None:
    for number in range(turns):
        asked, answered = words(name, number)
        at = START_MS + number * 1000
        turn = Turn(messages=(said("user", asked, at), said("assistant", answered, at + 1)), mark=0)
        report = await memory.capture(turn, scope=scope(name))
        assert len(report.recorded) == 2, report
        print(number, flush=True)


async def recall(memory: Memory, name: str, _turns: int) -> None:
    ending = asyncio.create_task(asyncio.to_thread(sys.stdin.readline))
    count = 0
    while not ending.done():
        context = await memory.recall(f"which gate do I prefer, gate{count % 50}", scope=scope(name), deadline_ms=5000)
        assert context.report.degraded == (), context.report.degraded
        count += 1
        await asyncio.sleep(0)
    print(count, flush=True)


async def main(given: Mapping[str, Any], role: str, name: str, turns: int) -> None:
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    async with Memory.open(settings=settings_of(given)) as memory:
        await {"write": write, "recall": recall}[role](memory, name, turns)


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])))
