"""A worker that is killed while its model is asked for the n-th time: ``killed_learner.py <home> <n>``."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from homes import open_home

from stenolith.llm.port import Completion, Prompt
from stenolith.testing.model import Said, ScriptedModel


def answer(prompt: Prompt) -> Said:
    """Learn every sentence word for word, put two lines of a dossier together, and repeat statements."""
    if prompt.name == "extract":
        body = prompt.user.split("<conversation>\n")[1].split("\n</conversation>")[0]
        said = [line for line in map(json.loads, body.split("\n")) if line["role"] == "user"]
        return {"memories": [{"text": line["text"], "sources": [line["id"]]} for line in said]}
    return {"decisions": [], "edits": [], "lines": []}


class Killing(ScriptedModel):
    """Kills its own process, without a goodbye, instead of giving the n-th answer."""

    def __init__(self, at: int) -> None:
        super().__init__(answer)
        self._at = at

    async def complete(self, prompt: Prompt, /) -> Completion:
        if len(self.asked) + 1 == self._at:
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().complete(prompt)


async def main(folder: Path, at: int) -> None:
    """Work until killed."""
    async with open_home(folder) as home:
        home.clock.advance(int(os.environ["CLOCK_MS"]))
        await home.work(Killing(at))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
