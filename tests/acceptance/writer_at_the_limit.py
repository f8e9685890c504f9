"""Capture turns while no file may grow beyond a limit: ``HOME BYTES TURNS``.

Prints the number of each turn that was stored, then the error that ended it, as it is told to a caller.
"""

from __future__ import annotations

import asyncio
import resource
import sys

from stage import said

from stenolith import Memory, Scope, StenolithError
from stenolith.settings import load


async def main(home: str, limit: str, turns: str) -> None:
    async with Memory.open(settings=load(home=home, timezone="UTC", embedder={"kind": "none"})) as memory:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
        for number in range(int(turns)):
            try:
                text = f"Turn {number} is about " + " ".join(f"thing{number}x{at}" for at in range(60))
                report = await memory.capture(
                    [said("user", text, 1_785_657_600_000 + number)], scope=Scope(session_key="s")
                )
            except StenolithError as error:
                print(f"{type(error).__name__}: {error}", flush=True)
                return
            assert report.new_messages == 1
            print(number, flush=True)


asyncio.run(main(*sys.argv[1:]))
