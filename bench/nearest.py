"""Measure the search for near vectors on PostgreSQL: every row scanned in memory, and pgvector's index.

python bench/nearest.py                  30,000 vectors of 384 numbers
python bench/nearest.py --rows 100000
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time

import numpy as np

from stenolith.model.identity import Scope
from stenolith.store.matrix import Nearness
from stenolith.store.owners import Owners
from stenolith.store.postgres import open_postgres
from stenolith.store.search import Layer
from stenolith.store.vectors import Shelf, Vectors
from stenolith.testing.postgres import create_database

DIM = 384
QUESTIONS = 50


def clustered(rows: int) -> np.ndarray:
    """Vectors like those of real text: a thousand topics, what is said around them, and what all have in common."""
    generator = np.random.default_rng(4)
    topics = generator.standard_normal((1000, DIM))
    found = topics[generator.integers(0, 1000, rows)] + 0.8 * generator.standard_normal((rows, DIM)) + 1
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


async def timed(vectors: Vectors, shelf: Shelf, queries: np.ndarray) -> tuple[float, list[float], list[Nearness]]:
    """Return milliseconds of the first question and of each later one, and the answers."""
    took, found = [], []
    for query in queries:
        began = time.perf_counter()
        nearness = await vectors.nearest(shelf, query)
        assert nearness is not None
        nearness.best(200)
        took.append((time.perf_counter() - began) * 1000)
        found.append(nearness)
    return took[0], took[1:], found


async def main(count: int) -> None:
    database = await open_postgres(await create_database())
    try:
        shelf = Shelf(owner_id=await Owners(database).intern(Scope()), layer=Layer.ATOM, model_id="m")
        rows = clustered(count)
        scanned = Vectors(database, indexed_rows=10**9)
        began = time.perf_counter()
        for start in range(0, count, 2000):
            part = {f"atm_{start + at:07}": row for at, row in enumerate(rows[start : start + 2000])}
            await scanned.put(shelf, part)
        stored = time.perf_counter() - began
        indexed = Vectors(database, indexed_rows=min(20_000, count - 1))
        began = time.perf_counter()
        await indexed.tend()
        built = time.perf_counter() - began
        noise = np.random.default_rng(9).standard_normal((QUESTIONS, DIM)).astype(np.float32)
        queries = rows[:: count // QUESTIONS][:QUESTIONS] + 0.03 * noise
        result: dict[str, object] = {"rows": count, "stored s": round(stored, 1), "index built s": round(built, 1)}
        answers = []
        for name, vectors in (("scan", scanned), ("index", indexed)):
            first, later, found = await timed(vectors, shelf, queries)
            answers.append([set(nearness.best(10)) for nearness in found])
            later.sort()
            result[f"{name} first ms"] = round(first)
            result[f"{name} median ms"] = round(statistics.median(later), 1)
            result[f"{name} p95 ms"] = round(later[int(0.95 * len(later))], 1)
        shares = [len(one & other) / 10 for one, other in zip(*answers, strict=True)]
        print(json.dumps({**result, "same ten": round(statistics.mean(shares), 3)}, indent=1))
    finally:
        await database.close()


if __name__ == "__main__":
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--rows", type=int, default=30_000)
    asyncio.run(main(reader.parse_args().rows))
