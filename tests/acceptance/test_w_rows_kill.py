# ruff: noqa: N802  # the rows keep the names that the specification gives them
"""Kill -9 at every step of every stage (W1, W3, W4, W12-W14, W17, C20): nothing is lost and nothing is done twice.

`killed_worker.py` tells one owner's story for each step and dies at it.  Then one ordinary worker comes, and
whatever the moment of death was, every owner must stand where the one stands to whom nothing happened.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from killed_worker import HABITS, NEWS, ONE_TOPIC, SHORT, STAGES, STORY, scope, settings_of, think
from reader import atoms, rows
from stage import DAY

from stenolith import Memory, NotFound
from stenolith.settings import Settings
from stenolith.testing.clock import START_MS, FrozenClock
from stenolith.testing.embedder import HashEmbedder
from stenolith.testing.model import ScriptedModel

SCRIPT = Path(__file__).with_name("killed_worker.py")
SOURCE = Path(__file__).parents[2] / "src"
_ID = re.compile(r"\b(?:atm|rec|scn|lin|job)_[0-9a-zA-Z]+")
COUNTED = ("sessions", "messages", "records", "scenes", "persona_lines", "vectors", "atoms", "atoms_by_kind")
OF_DAYS = tuple(text for day in HABITS for text in day)
OF_ONE_TOPIC = tuple(text for day in ONE_TOPIC for text in day)
STORIES = {"distill": (*STORY, *NEWS), "portrait": OF_DAYS, "shelf": OF_ONE_TOPIC}
PLACES = {
    "capture": {"before commit", "after commit", "open .jsonl"},
    "distill": {"before commit", "after commit", "asked extract", "asked arbiter"},
    "scenes": {"before commit", "after commit", "os.rename .tmp"},
    "dossier": {"before commit", "after commit", "asked dossier"},
    "shelf": {"before commit", "after commit", "asked shelf"},
    "persona": {"before commit", "after commit", "os.rename .tmp"},
    "portrait": {"before commit", "after commit", "asked portrait"},
    "embed": {"before commit", "after commit", "embedded"},
    "journal": {"before commit", "after commit", "open .jsonl"},
}


async def let_them_die(given: dict[str, Any]) -> dict[str, list[str]]:
    """Run the processes that die, and return the places of death by stage; the last one of each lived."""
    pipe = asyncio.subprocess.PIPE
    path = f"{SOURCE}:{SCRIPT.parent}"
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(SCRIPT), json.dumps(given), env={"PYTHONPATH": path}, stdout=pipe, stderr=pipe
    )
    out, err = await process.communicate()
    assert (process.returncode, err.decode()) == (0, "")
    told = sorted(
        (stage, int(number), place) for stage, number, place in (x.split("\t") for x in out.decode().splitlines())
    )
    return {stage: [place for one, _, place in told if one == stage] for stage in given["stages"]}


async def standing(memory: Memory, home: Path, stage: str, number: int) -> dict[str, Any]:
    """Return everything an owner has, without the ids that differ from owner to owner."""
    mine = scope(stage, number)
    found: dict[str, Any] = {"atoms": [], "scenes": []}
    for status in ("active", "superseded", "withdrawn"):
        for atom in await atoms(memory, mine, status):
            told = [source["quote"] for source in atom["sources"]]
            found["atoms"].append((atom["text"], status, atom["version"], atom["superseded_by"] is None, told))
    for scene in (await memory.list("scenes", scope=mine))["items"]:
        page = await memory.scene(scene["name"], scope=mine)
        found["scenes"].append((scene["name"], scene["version"], _ID.sub("ID", page["markdown"])))
    for told in found.values():
        told.sort()
    persona = await memory.persona(scope=mine)
    found["persona"] = (persona["version"], [line["text"] for line in persona["lines"]])
    counted = await memory.stats(scope=mine)
    found["totals"] = {name: counted[name] for name in COUNTED}
    folder = home / "owners" / "default" / mine.user / "default"
    found["files"] = {
        str(file.relative_to(folder)): _ID.sub("ID", file.read_text(encoding="utf-8"))
        for file in sorted(folder.rglob("*.md"))
    }
    owner = await memory._house.owners.intern(mine)
    many = "SELECT layer, COUNT(*) AS n FROM search_rows WHERE owner_id = :owner GROUP BY layer ORDER BY layer"
    found["rows"] = {row["layer"]: row["n"] for row in await rows(memory, many, owner=owner)}
    return found


async def heal(settings: Settings, clock: FrozenClock) -> None:
    """Let one ordinary worker do what is left when the leases of the dead have ended."""
    async with Memory.open(settings=settings, model=ScriptedModel(think), now=clock) as memory:
        await memory.work(kinds=["distill"])  # first, so that no scene is written in between, and versions compare
        report = await memory.work()
        assert (report.failed, report.dead, report.pending) == ({}, {}, 0)
    async with Memory.open(settings=settings, embedder=HashEmbedder(16), now=clock) as memory:
        await memory.work(kinds=["embed"])


async def test_W_a_worker_killed_at_every_step_of_every_stage_loses_nothing_and_does_nothing_twice(
    settings: Settings,
) -> None:
    stages = list(STAGES)
    given = {"home": str(settings.home), "database": settings.database, "stages": stages}
    deaths = await let_them_die(given)
    for stage in stages:
        assert PLACES[stage] <= set(deaths[stage]), stage
        assert deaths[stage][-1] == "end"
    chosen = settings_of(given)
    assert age_litter(settings.home), "who dies while a file is written leaves its half"
    later = FrozenClock(START_MS + 30 * DAY)
    await heal(chosen, later)
    async with Memory.open(settings=chosen, embedder=HashEmbedder(16), now=later) as memory:
        for stage, places in deaths.items():
            unharmed = await standing(memory, settings.home, stage, len(places))
            expect_story(stage, unharmed)
            for number, place in enumerate(places, 1):
                if stage == "capture" and places[:number].count("after commit") < 2:
                    await expect_nothing(memory, number)
                    continue
                told = await standing(memory, settings.home, stage, number)
                assert comparable(stage, told) == comparable(stage, unharmed), f"{stage}: killed at {number}, {place}"
        await expect_order(memory, settings.home)


def comparable(stage: str, found: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what must be the same for every owner; which of two dossiers of one moment stays is drawn by their ids."""
    if stage != "shelf":
        return found
    pages = [line.partition("[^")[0].strip() for _, _, page in found["scenes"] for line in page.split("\n")]
    said = sorted(line for line in pages if line.startswith("- "))
    one = {"scenes": (len(found["scenes"]), said), "persona": found["persona"][1]}  # judged once more by who takes over
    return {**found, **one, "files": sorted(map(bool, found["files"].values()))}


def age_litter(home: Path) -> int:
    """Make half-written files look old, and return how many there are."""
    found = list(home.rglob(".*.tmp"))
    for file in found:
        os.utime(file, (1, 1))
    return len(found)


def expect_story(stage: str, found: dict[str, Any]) -> None:
    """Check the owner to whom nothing happened against the words of the story."""
    active = sorted(text for text, status, *_ in found["atoms"] if status == "active")
    told = list(STORIES.get(stage, SHORT))
    gone = [(text, closed) for text, status, _, closed, _ in found["atoms"] if status == "superseded"]
    assert active == sorted(set(told) - {STORY[0]})
    assert gone == ([(STORY[0], False)] if stage == "distill" else [])
    assert (found["rows"]["record"], found["rows"]["atom"]) == (len(told), len(told))
    assert found["totals"]["vectors"] == sum(found["rows"].values())
    assert {"portrait": "small commits", "shelf": "harbour commits"}.get(stage, "metric") in found["files"][
        "persona.md"
    ]
    if stage == "shelf":
        assert len(found["scenes"]) == 1, "both dossiers became one"


async def expect_nothing(memory: Memory, number: int) -> None:
    """Check that of a capture that died before its commit (the first made the owner known) nothing is there."""
    with suppress(NotFound):
        assert (await memory.list("records", scope=scope("capture", number)))["items"] == []


async def expect_order(memory: Memory, home: Path) -> None:
    """Check what all owners share: one daily line a record, no dead letters, nothing that disagrees."""
    written = Counter(
        json.loads(line)["id"]
        for file in (home / "conversations").glob("*.jsonl")
        for line in file.read_text(encoding="utf-8").splitlines()
    )
    assert written == {row["record_id"]: 1 for row in await rows(memory, "SELECT record_id FROM l0_conversations")}
    states = {state for kinds in (await memory.health())["jobs"].values() for state in kinds}
    assert states <= {"done"}
    assert age_litter(home) == 0, "whoever writes next takes it away"
    assert [check for check in (await memory.doctor())["checks"] if check["problems"]] == []
