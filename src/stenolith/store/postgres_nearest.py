"""Nearest rows of large shelves by pgvector's HNSW index, so that no process reads all of an owner's vectors.

The index finds candidates by inner product with the centred question; their cosines, with those of
their neighbours, are then computed as for a shelf that is scanned.  What is typical of the owner's
rows is taken from a sample of them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from stenolith.store.database import Database, Halves, statements
from stenolith.store.matrix import Floats, Matrix, Nearness, Part, build
from stenolith.store.vectors import Asking, Shelf, place_of, read_rows

CANDIDATES: Final = 400
"""Rows taken from the index; 200 are wanted (`search.POOL`), and the order of inner products is not quite theirs."""
SAMPLE: Final = 2000
"""Rows that stand for all of a shelf: its mean cosine and their spread are then known to some per cent."""
MOST_NUMBERS: Final = 4000
"""The longest vectors that pgvector indexes as halfvec."""
_GROWN: Final = 1.1
"""By how much a shelf may change before its sample is taken anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """A shelf at the time of so many *changes*: its number of rows, and every so many-th of them."""

    changes: int
    rows: int
    refs: Sequence[str]
    sample: Matrix


class PostgresShelves:
    """Searches shelves of more than *indexed_rows* rows; smaller ones are scanned."""

    def __init__(self, database: Database, indexed_rows: int) -> None:
        self._database = database
        self._sql = statements(database.dialect)
        self._rows = indexed_rows
        self._shapes: dict[Shelf, _Shape] = {}

    async def nearest(self, shelf: Shelf, unit: Floats, anchors: Floats | None, also: Asking | None) -> Nearness | None:
        """Return how near the nearest rows, and those that *also* names, are to *unit*.

        None when the shelf is small, holds vectors of another length, or has no index yet (see `tend`).
        """
        known = await self._database.fetch(self._sql["vector_mean"], **shelf.parameters())
        if not known or known[0]["n"] <= self._rows or known[0]["mean"] is None:
            return None
        mean = np.frombuffer(known[0]["mean"], np.float32)
        if mean.shape != unit.shape or not await self._is_indexed(len(mean)):
            return None
        shape = await self._shape(shelf, int(known[0]["n"]), mean)
        if shape.rows <= self._rows:
            return None
        typical = await asyncio.to_thread(Nearness, shape.sample, unit, None, Part(refs=shape.refs))
        refs = await self._candidates(shelf, typical.direction) + list(await also() if also else ())
        middle, spread = typical.scale
        part = Part(refs=refs, middle=middle, spread=spread)
        return await asyncio.to_thread(Nearness, await self._around(shelf, refs, mean), unit, anchors, part)

    async def tend(self) -> None:
        """Make the index of each dimension that a large shelf has; rows can be written meanwhile."""
        for row in await self._database.fetch(self._sql["large_dimensions"], rows=self._rows):
            dim, name = int(row["dim"]), _name(row["dim"])
            state = await self._database.fetch(self._sql["vector_index_state"], name=name)
            if dim > MOST_NUMBERS or (state and state[0]["valid"]):
                continue
            if state:  # a build that was interrupted leaves an index that nobody may use
                await self._database.fetch(f"DROP INDEX {name}")
            cast = f"CAST(vector AS HALFVEC({dim}))"
            index = (
                f"CREATE INDEX CONCURRENTLY {name} ON vectors USING hnsw (({cast}) halfvec_ip_ops) WHERE dim = {dim}"
            )
            await self._database.fetch(index)
            # Without statistics the planner believes the shelf to be small and sorts all of it.
            await self._database.fetch("ANALYZE vectors")

    async def _is_indexed(self, dim: int) -> bool:
        state = await self._database.fetch(self._sql["vector_index_state"], name=_name(dim))
        return bool(state and state[0]["valid"])

    async def _shape(self, shelf: Shelf, changes: int, mean: Floats) -> _Shape:
        known = self._shapes.get(shelf)
        if known is None or not known.changes <= changes < known.changes * _GROWN:
            (size,) = await self._database.fetch(self._sql["shelf_size"], **shelf.parameters())
            step = max(size["n"] // SAMPLE, 1)
            rows = await self._database.fetch(self._sql["every_nth_vector"], **shelf.parameters(), step=step)
            refs = [row["ref_id"] for row in rows]
            sample = await self._around(shelf, refs, mean)
            known = self._shapes[shelf] = _Shape(changes=changes, rows=size["n"], refs=refs, sample=sample)
        return known

    async def _candidates(self, shelf: Shelf, direction: Floats) -> list[str]:
        query = Halves(direction.astype(np.float16).tobytes())
        rows = await self._database.fetch(
            self._sql["nearest_vectors"], **shelf.parameters(), query=query, wanted=CANDIDATES
        )
        return [row["ref_id"] for row in rows]

    async def _around(self, shelf: Shelf, refs: Sequence[str], mean: Floats) -> Matrix:
        """Return the matrix of *refs* and their neighbours."""
        named = json.dumps(list(refs))
        rows = await self._database.fetch(self._sql["vectors_around"], **shelf.parameters(), refs=named)
        return await asyncio.to_thread(build, [place_of(row) for row in rows], read_rows(rows), mean)


def _name(dim: int) -> str:
    return f"vectors_hnsw_{dim}"
