"""Measure capture, import, recall, search, start-up and memory, as ratios within one run where it matters.

python bench/speed.py                    everything but the home of a million (about two minutes)
python bench/speed.py recall --atoms 1000000
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import psutil

from stenolith import Memory, Message, Role, Scope, Text
from stenolith.engine import documents
from stenolith.engine.wiring import House, open_house
from stenolith.model.atom import AtomDraft, Kind, Source
from stenolith.settings import load
from stenolith.store.atom_rows import AtomNotes, Filing, atom_to_row, lay_out, source_rows
from stenolith.store.database import statements

SEED = 20261130
EN = [
    "gateway",
    "login",
    "token",
    "service",
    "deploy",
    "rollback",
    "cache",
    "index",
    "query",
    "schema",
    "release",
    "editor",
    "branch",
    "review",
    "pipeline",
    "timer",
    "worker",
    "queue",
    "lease",
    "cluster",
    "metric",
    "alert",
    "budget",
    "travel",
    "hotel",
    "kyoto",
    "recipe",
    "garden",
    "piano",
    "violin",
    "running",
    "marathon",
    "coffee",
    "tea",
    "bread",
    "museum",
    "sister",
    "cousin",
    "birthday",
    "invoice",
    "contract",
    "office",
    "window",
    "battery",
    "charger",
    "camera",
    "lens",
    "tripod",
    "novel",
    "poem",
    "chapter",
    "lecture",
    "exam",
    "grant",
    "thesis",
    "kernel",
    "driver",
    "socket",
    "buffer",
    "parser",
    "grammar",
    "token",
    "lexer",
    "compiler",
]
ZH = [
    "网关",
    "鉴权",
    "登录",
    "缓存",
    "索引",
    "查询",
    "发布",
    "回滚",
    "部署",
    "定时器",
    "队列",
    "租约",
    "集群",
    "告警",
    "预算",
    "旅行",
    "酒店",
    "京都",
    "食谱",
    "花园",
    "钢琴",
    "跑步",
    "咖啡",
    "面包",
    "生日",
    "发票",
    "合同",
    "相机",
    "小说",
    "讲座",
    "论文",
    "内核",
    "驱动",
    "解析",
    "语法",
]


def sentence(dice: random.Random) -> str:
    """Return a mixed sentence of common and rare words."""
    common = [EN[min(int(dice.expovariate(0.12)), len(EN) - 1)] for _ in range(dice.randint(4, 9))]
    rare = f"item-{dice.randint(0, 99_999)}"
    chinese = "".join(dice.choice(ZH) for _ in range(dice.randint(0, 4)))
    return f"{' '.join(common)} {rare} {chinese}".strip()


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which *share* of *values* lie."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


def said(role: Role, text: str, at: int | None = None) -> Message:
    """Return a message of one text."""
    return Message(role=role, parts=(Text(text=text),), timestamp=at)


async def timed(run: Callable[[], Awaitable[object]]) -> float:
    """Return how many milliseconds *run* takes."""
    started = time.perf_counter()
    await run()
    return (time.perf_counter() - started) * 1000


def settings(folder: Path, embedder: str = "none"):
    """Return the settings of a bench home."""
    return load(home=folder, timezone="UTC", embedder={"kind": embedder})


async def bench_capture(sessions: int) -> None:
    """Measure capture with few and with many sessions in the home."""
    few, many = await median_capture(20), await median_capture(sessions)
    print(f"capture ratio {sessions} / 20 sessions: {many / few:.2f} (target <= 1.3)")


async def median_capture(count: int) -> float:
    """Return the median of a capture of two new messages, in a home of *count* sessions."""
    dice = random.Random(SEED)
    taken = []
    with tempfile.TemporaryDirectory() as folder:
        async with Memory.open(settings=settings(Path(folder))) as memory:
            for number in range(count):
                await memory.capture([said(Role.USER, sentence(dice))], scope=Scope(session_key=f"s{number}"))
            for turn in range(400):
                scope = Scope(session_key=f"s{dice.randrange(count)}")
                at = 1_785_657_600_000 + turn * 60_000
                new = [said(Role.USER, sentence(dice), at), said(Role.ASSISTANT, sentence(dice), at + 900)]
                taken.append(await timed(lambda new=new, scope=scope: memory.capture(new, scope=scope)))
    p50 = statistics.median(taken)
    print(f"capture, {count} sessions: p50 {p50:.2f} ms, p95 {percentile(taken, 0.95):.2f} ms (target p50 < 3)")
    return p50


async def bench_import(messages: int) -> None:
    """Measure the import of a seed file without vectors."""
    dice = random.Random(SEED)
    rounds = [
        [
            {"role": "user", "content": sentence(dice), "timestamp": 1_785_657_600_000 + number * 60_000},
            {"role": "assistant", "content": sentence(dice), "timestamp": 1_785_657_601_000 + number * 60_000},
        ]
        for number in range(messages // 2)
    ]
    size = 20
    seed = [
        {"sessionKey": f"k{start}", "conversations": rounds[start : start + size]}
        for start in range(0, len(rounds), size)
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "seed.json"
        file.write_text(json.dumps({"sessions": seed}), encoding="utf-8")
        async with Memory.open(settings=settings(Path(folder) / "home")) as memory:
            first = await timed(lambda: memory.import_files([file], scope=Scope()))
            second = await timed(lambda: memory.import_files([file], scope=Scope()))
    print(
        f"import: {messages / first * 1000:,.0f} messages/s (target >= 1,500); again: {messages / second * 1000:,.0f}"
    )


async def fill(house: House, owner: Scope, count: int, dice: random.Random) -> None:
    """Write *count* atoms of one owner straight into the stores."""
    owner_id = await house.owners.intern(owner)
    sql = statements(house.database.dialect)
    for start in range(0, count, 2000):
        atoms = []
        for number in range(start, min(start + 2000, count)):
            text = sentence(dice)
            source = Source(record_id=f"rec_{owner_id}_{number}", quote=text, timestamp=1_785_657_600_000 + number)
            kind = dice.choice((Kind.FACT, Kind.DECISION, Kind.PREFERENCE, Kind.EVENT))
            draft = AtomDraft(kind=kind, text=text, sources=(source,))
            atom_id = f"atm_{owner_id:08d}{number:018d}"
            atoms.append((lay_out(draft, Filing(normal_form=text), atom_id=atom_id, now=house.now()), text))
        async with house.database.transaction():
            rows = [atom_to_row(owner_id, atom, AtomNotes(normal_form=text), house.now()) for atom, text in atoms]
            await house.database.execute_many(sql["insert_atom"], rows)
            pairs = [row for atom, _ in atoms for row in source_rows(atom.id, atom.sources)]
            await house.database.execute_many(sql["insert_atom_source"], pairs)
            await house.index.index(documents.of_atoms(owner_id, [atom for atom, _ in atoms], house.settings.zone))


async def bench_recall(atoms: int) -> None:
    """Measure recall without query embedding for owners of 10,000 and 100,000 in a home of *atoms*."""
    dice = random.Random(SEED)
    owners = {Scope(user="ten"): min(10_000, atoms // 10), Scope(user="hundred"): min(100_000, atoms // 2)}
    rest = atoms - sum(owners.values())
    owners |= {Scope(user=f"u{number}"): 1000 for number in range(rest // 1000)}
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        async with open_house(settings(Path(folder))) as house:
            for owner, count in owners.items():
                await fill(house, owner, count, dice)
        print(f"home of {atoms:,} atoms written in {time.perf_counter() - started:.0f} s")
        async with Memory.open(settings=settings(Path(folder))) as memory:
            for user, target in (("ten", 15), ("hundred", 40)):
                size = owners[Scope(user=user)]
                print(
                    f"recall, owner of {size:,} in {atoms:,}: {await ask(memory, user, dice)} (target p95 < {target})"
                )


async def ask(memory: Memory, user: str, dice: random.Random) -> str:
    """Ask two hundred questions of one owner, after twenty that fill the caches, and say how long they took."""
    scope = Scope(user=user)
    questions = [sentence(dice) for _ in range(220)]
    taken = [await timed(lambda text=text: memory.recall(text, scope=scope, deadline_ms=5000)) for text in questions]
    return f"p50 {statistics.median(taken[20:]):.1f} ms, p95 {percentile(taken[20:], 0.95):.1f} ms"


def bench_start() -> None:
    """Measure how long the command line takes to say its help, beside a bare interpreter."""
    env = {**os.environ, "PYTHONUTF8": "1"}
    times = {}
    for name, words in {"python": ["-c", "pass"], "stenolith --help": ["-m", "stenolith", "--help"]}.items():
        runs = []
        for _ in range(7):
            started = time.perf_counter()
            subprocess.run([sys.executable, *words], stdout=subprocess.DEVNULL, env=env, check=True)
            runs.append(time.perf_counter() - started)
        times[name] = statistics.median(runs)
    print(", ".join(f"{name}: {value * 1000:.0f} ms" for name, value in times.items()), "(target < 400)")


async def bench_memory(records: int) -> None:
    """Measure the resident memory of a process that serves a home of many records without an embedder."""
    dice = random.Random(SEED)
    with tempfile.TemporaryDirectory() as folder:
        async with Memory.open(settings=settings(Path(folder))) as memory:
            for number in range(records // 200):
                turn = [said(Role.USER, sentence(dice), 1_785_657_600_000 + index) for index in range(200)]
                await memory.capture(turn, scope=Scope(session_key=f"s{number}"))
        code = (
            "import asyncio, psutil, sys; from stenolith import Memory, Scope, Message, Role, Text\n"
            "async def main():\n"
            "    async with Memory.open(sys.argv[1]) as memory:\n"
            "        for text in ('gateway login', '网关 缓存', 'kyoto hotel'):\n"
            "            await memory.search('conversations', text, scope=Scope(), limit=20)\n"
            "            await memory.recall(text, scope=Scope())\n"
            "        await memory.capture([Message(role=Role.USER, parts=(Text(text='hi there'),))],"
            " scope=Scope(session_key='x'))\n"
            "        print(psutil.Process().memory_info().rss / 2**20)\n"
            "asyncio.run(main())\n"
        )
        env = {**os.environ, "STENOLITH_EMBEDDER__KIND": "none"}
        done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True, env=env)
    print(f"resident memory at {records:,} records: {float(done.stdout):.0f} MB (target <= 120)")


async def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", default=["capture", "import", "recall", "start", "memory"])
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--atoms", type=int, default=200_000)
    parser.add_argument("--records", type=int, default=100_000)
    asked = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f} on {psutil.cpu_count()} cores")
    if "capture" in asked.what:
        await bench_capture(asked.sessions)
    if "import" in asked.what:
        await bench_import(asked.messages)
    if "start" in asked.what:
        bench_start()
    if "memory" in asked.what:
        await bench_memory(asked.records)
    if "recall" in asked.what:
        await bench_recall(asked.atoms)


if __name__ == "__main__":
    asyncio.run(main())
