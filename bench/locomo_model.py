"""Distil one LoCoMo conversation with a scripted model and report what happened.

python bench/locomo_model.py --data ../shared/data/locomo10.json --conversation conv-26

The model is a stand-in that answers at once: it repeats what people state, and it is as careless as real
ones are, at rates fixed by a hash of what it is asked: invented sources, foreign ids, prose, cut-off answers.
So the figures are of the house (calls, refusals, time), not of anybody's intelligence.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

from locomo import message, sessions
from stenolith import Scope
from stenolith.engine.learning import Learning
from stenolith.engine.memory import Memory
from stenolith.engine.projections import Projections
from stenolith.engine.wiring import open_house
from stenolith.llm.port import Completion, Prompt
from stenolith.model.text import cut
from stenolith.pipeline.worker import Worker
from stenolith.settings import load
from stenolith.store.usage import ModelUsage
from stenolith.testing.model import Said, ScriptedModel

REFUSAL = "refused: "


def chance(seed: str, percent: int) -> bool:
    """Say yes to *percent* of all seeds, always the same ones."""
    return int.from_bytes(blake2b(seed.encode(), digest_size=2).digest()) % 100 < percent


def lines_of(prompt: Prompt, tag: str) -> list[dict[str, Any]]:
    """Read the data of a prompt."""
    body = prompt.user.split(f"<{tag}>\n")[1].split(f"\n</{tag}>")[0]
    return [json.loads(line) for line in body.split("\n") if line]


def extract(prompt: Prompt) -> Said:
    """Repeat statements of at least eight words, each as a memory of its speaker."""
    memories = []
    for line in lines_of(prompt, "conversation"):
        text = line["text"]
        if line["role"] != "user" or len(text.split()) < 8 or text.rstrip().endswith("?"):
            continue
        source = 900 + line["id"] if chance(text + "source", 5) else line["id"]
        kind = "event" if any(word in text for word in ("yesterday", "last ", "ago", "went")) else "fact"
        said = {"kind": kind, "text": cut(f"{line.get('speaker', 'The user')}: {text}", 400)}
        memories.append({**said, "sources": [source], "subject": line.get("speaker", "user"), "priority": 60})
    answer = json.dumps({"scenes": [{"name": "Talk", "memories": memories}]})
    if chance(prompt.user + "prose", 8):
        return "Here is what I would remember about these two."
    if chance(prompt.user + "cut", 8):
        return Completion(text=answer[: len(answer) // 2], model="scripted", truncated=True)
    return answer


def arbiter(prompt: Prompt) -> Said:
    """Skip what shares most of its words with a known memory; name a foreign one now and then."""
    known = {line["id"]: set(line["text"].lower().split()) for line in lines_of(prompt, "known")}
    decisions = []
    for line in lines_of(prompt, "new"):
        words = set(line["text"].lower().split())
        twin = next((at for at in line["near"] if len(words & known[at]) * 5 >= len(words) * 4), None)
        action, target = ("add", []) if twin is None else ("skip", [twin])
        if chance(line["text"] + "foreign", 5):
            action, target = "supersede", [len(known) + 7]
        decisions.append({"memory": line["memory"], "action": action, "known": target, "text": "", "reason": ""})
    return {"decisions": decisions}


def dossier(prompt: Prompt) -> Said:
    """Join the first two lines; cite nothing now and then."""
    lines = lines_of(prompt, "dossier")[1:]
    if len(lines) < 2:
        return {"title": "", "summary": "", "edits": []}
    one, two = lines[:2]
    cites = [] if chance(one["text"], 20) else one["cites"] + two["cites"]
    text = cut(f"{one['text']} {two['text']}", 480)
    joined = {"op": "replace", "line": 1, "section": one["section"], "text": text, "cites": cites}
    return {"title": "", "summary": cut(one["text"], 150), "edits": [joined, {"op": "remove", "line": 2, "cites": []}]}


def portrait(prompt: Prompt) -> Said:
    """Repeat the latest statement of each group."""
    return {"lines": [{"group": one["group"], "text": cut(one["said"][-1], 150)} for one in lines_of(prompt, "groups")]}


def quiet(_: Prompt) -> Said:
    """Propose no merge of dossiers."""
    return {"merges": []}


async def run(options: argparse.Namespace) -> dict[str, Any]:
    """Tell the conversation, distil it, and count."""
    samples = json.loads(options.data.read_text(encoding="utf-8"))
    sample = next(one for one in samples if one["sample_id"] == options.conversation)
    model = ScriptedModel(
        {"extract": extract, "arbiter": arbiter, "dossier": dossier, "portrait": portrait, "*": quiet}
    )
    with tempfile.TemporaryDirectory() as folder:
        settings = load(home=Path(folder), timezone="UTC", embedder={"kind": "none"})
        async with open_house(settings) as house:
            memory = Memory(house)
            owner = Scope(user=sample["sample_id"])
            turns = 0
            for key, date, said in sessions(sample["conversation"]):
                first = int(datetime.strptime(date, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC).timestamp() * 1000)
                messages = [message(turn, first + at * 1000) for at, turn in enumerate(said)]
                await memory.capture(messages, scope=owner.narrowed(key))
                turns += len(messages)
            started = time.monotonic()
            learning = Learning(house, Projections(house), model)
            work = await Worker(house.jobs, learning.handlers(), now_ms=house.now).run_until_idle()
            seconds = time.monotonic() - started
            owner_id = await house.owners.intern(owner)
            spent = (await ModelUsage(house.database).of_home())["scripted"]
            counts: Counter[str] = Counter()
            for job in await house.jobs.listing_of_home("done", limit=10_000):
                counts.update({name: value for name, value in job.result.items() if isinstance(value, int)})
            return {
                "conversation": options.conversation,
                "turns": turns,
                "calls": dict(Counter(prompt.name for prompt in model.asked)),
                "tokens": {"read": spent.tokens_in, "written": spent.tokens_out},
                "atoms": await house.atoms.counts(owner_id),
                "refusals": {name.removeprefix(REFUSAL): n for name, n in counts.items() if name.startswith(REFUSAL)},
                "outcomes": {name: n for name, n in counts.items() if not name.startswith(REFUSAL)},
                "scenes": len(await house.scenes.listing(owner_id)),
                "persona_lines": len((await house.personas.current(owner_id)).lines),
                "jobs": work.to_dict(),
                "seconds": round(seconds, 2),
            }


def main() -> None:
    """Read the options, run, print the report."""
    parser = argparse.ArgumentParser(description="Distil one LoCoMo conversation with a scripted model.")
    parser.add_argument("--data", type=Path, default=Path("../shared/data/locomo10.json"))
    parser.add_argument("--conversation", default="conv-26")
    print(json.dumps(asyncio.run(run(parser.parse_args())), indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
