"""Put MemDaily through the public API and write a ranking for its scorer.

python bench/memdaily.py --data ../shared/data/memdaily_dev.json --out /tmp/memdaily.json
python ../shared/eval/memdaily_eval.py /tmp/memdaily.json

Trajectory number k belongs to owner k % 30; each is a session of its own, all owners lie in one home.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ranking import Asked, Bench, arguments, finish, learn, opened
from stenolith import Message, Role, Scope, Text

OWNERS = 30


def moment(text: str) -> int:
    """Return the epoch milliseconds of a time such as 2024年04月01日 周一 08:30."""
    plain = re.sub(r" 周. ", " ", text)
    return int(datetime.strptime(plain, "%Y年%m月%d日 %H:%M").replace(tzinfo=UTC).timestamp() * 1000)


async def tell(bench: Bench, owner: Scope, trajectory: Mapping[str, Any]) -> None:
    """Capture one trajectory as one session."""
    messages = [
        Message(role=Role.USER, parts=(Text(text=item["text"]),), timestamp=moment(item["time"]))
        for item in trajectory["messages"]
    ]
    names = [item["id"] for item in trajectory["messages"]]
    await bench.tell(owner.narrowed(trajectory["id"]), messages, names)


async def run(options: argparse.Namespace) -> None:
    """Fill, learn, ask, write."""
    trajectories = json.loads(options.data.read_text(encoding="utf-8"))
    owners = {at: Scope(user=f"owner-{at % OWNERS}") for at in range(len(trajectories))}
    async with opened(options) as bench:
        for at, trajectory in enumerate(trajectories):
            await tell(bench, owners[at], trajectory)
        await learn(bench)
        rankings: dict[str, list[list[str]]] = {}
        for at, trajectory in enumerate(trajectories):
            for item in trajectory["questions"]:
                rankings[item["id"]] = await bench.rank(Asked(scope=owners[at], query=item["question"]))
        finish(bench, rankings, options)


def main() -> None:
    """Read the options and run."""
    asyncio.run(run(arguments("MemDaily through the public API.", "memdaily_dev.json").parse_args()))


if __name__ == "__main__":
    main()
