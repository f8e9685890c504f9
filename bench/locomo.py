"""Put LoCoMo through the public API and write a ranking for its scorer.

python bench/locomo.py --data ../shared/data/locomo10.json --out /tmp/locomo.json
python ../shared/eval/locomo_eval.py /tmp/locomo.json --cats

All conversations lie in one home, one user each.  A turn is captured as its speaker said it, with a
shared picture's caption as text; vectors and background work run as in any home.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ranking import Asked, Bench, arguments, finish, learn, opened
from stenolith import Message, Role, Scope, Text

STEP_MS = 1000


def sessions(conversation: Mapping[str, Any]) -> list[tuple[str, str, Sequence[Mapping[str, Any]]]]:
    """Return the sessions in order: key, date as written, turns."""
    numbers = sorted(int(key.split("_")[1]) for key in conversation if re.fullmatch(r"session_\d+", key))
    return [
        (f"session_{number}", conversation[f"session_{number}_date_time"], conversation[f"session_{number}"])
        for number in numbers
    ]


def message(turn: Mapping[str, Any], at_ms: int) -> Message:
    """Return a turn as a message."""
    caption = turn.get("blip_caption")
    text = turn["text"] + (f"\n(shared a picture: {caption})" if caption else "")
    return Message(role=Role.USER, parts=(Text(text=text),), speaker=turn["speaker"], timestamp=at_ms)


async def tell(bench: Bench, sample: Mapping[str, Any]) -> None:
    """Capture one conversation, session by session."""
    for key, date, turns in sessions(sample["conversation"]):
        start = datetime.strptime(date, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        first = int(start.timestamp() * 1000)
        messages = [message(turn, first + at * STEP_MS) for at, turn in enumerate(turns)]
        scope = Scope(user=sample["sample_id"], session_key=key)
        await bench.tell(scope, messages, [turn["dia_id"] for turn in turns])


async def run(options: argparse.Namespace) -> None:
    """Fill, learn, ask, write."""
    samples = json.loads(options.data.read_text(encoding="utf-8"))
    wanted = set(filter(None, options.conversations.split(",")))
    samples = [sample for sample in samples if not wanted or sample["sample_id"] in wanted]
    async with opened(options) as bench:
        for sample in samples:
            await tell(bench, sample)
        await learn(bench)
        rankings: dict[str, dict[str, list[list[str]]]] = {}
        for sample in samples:
            scope = Scope(user=sample["sample_id"])
            rankings[sample["sample_id"]] = {
                str(at): await bench.rank(Asked(scope=scope, query=item["question"]))
                for at, item in enumerate(sample["qa"])
            }
        finish(bench, rankings, options)


def main() -> None:
    """Read the options and run."""
    parser = arguments("LoCoMo through the public API.", "locomo10.json")
    parser.add_argument("--conversations", default="", help="only these sample ids, separated by commas")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
