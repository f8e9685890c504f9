"""Vectors beside their rows, one model at a time, and the matrices that are scanned."""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from stenolith.errors import InvalidInput
from stenolith.store.database import Database, Halves, Row, statements
from stenolith.store.matrix import EXACT_ROWS, Floats, Matrix, Nearness, Place, build
from stenolith.store.search import Layer

MEAN_ROWS: Final = 50
"""Rows whose mean is frozen as an owner's typical vector; 20, 50 and all rows centre equally well."""
_PAGE: Final = 4000
RELOADED_ROWS: Final = 2000
"""A changed matrix of at most this many rows is read anew; a larger one takes only what is new."""
_CACHE_BYTES: Final = 256 * 1024 * 1024
_ANCHOR: Final = "anchor"
_NOBODY: Final = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """Whose vectors, of what, made by which model."""

    owner_id: int
    layer: Layer
    model_id: str

    def parameters(self) -> Row:
        """Return the parameters that every statement takes."""
        return {"owner_id": self.owner_id, "layer": self.layer.value, "model_id": self.model_id}


Asking = Callable[[], Awaitable[Sequence[str]]]
"""Gives the ids of rows on request."""


class IndexedShelves(Protocol):
    """A database's own search for the nearest rows (`stenolith.store.postgres_nearest`)."""

    async def nearest(self, shelf: Shelf, unit: Floats, anchors: Floats | None, also: Asking | None) -> Nearness | None:
        """Return how near rows are to *unit*, or None where scanning all of them is as well."""

    async def tend(self) -> None:
        """Make the indexes that are missing."""


class Vectors:
    """Keeps vectors as float16 blobs of unit length and answers which rows are near.

    A row has one vector, of one model.  Matrices are built from the database when first asked for,
    and brought up to date when any process has changed the shelf since.
    """

    def __init__(
        self, database: Database, *, reloaded_rows: int = RELOADED_ROWS, indexed_rows: int = EXACT_ROWS
    ) -> None:
        self._database = database
        self._reloaded = reloaded_rows
        self._sql = statements(database.dialect)
        self._matrices: OrderedDict[Shelf, tuple[int, Matrix]] = OrderedDict()
        self._anchors: dict[str, Floats] = {}
        self._building: dict[Shelf, asyncio.Lock] = {}
        self._indexed: IndexedShelves | None = None
        if database.dialect == "postgres":
            from stenolith.store.postgres_nearest import PostgresShelves

            self._indexed = PostgresShelves(database, indexed_rows)

    async def put(self, shelf: Shelf, vectors: Mapping[str, Floats]) -> None:
        """Store the vectors of rows by their ids, replacing earlier ones.

        Raises `InvalidInput` for a vector that is zero, holds no number, or has another length than
        the rest: nothing is stored then.
        """
        if not vectors:
            return
        rows = _unit(vectors)
        common = {**shelf.parameters(), "dim": rows.shape[1]}
        blobs = [
            {**common, "ref_id": ref, "vector": Halves(row.astype(np.float16).tobytes())}
            for ref, row in zip(vectors, rows, strict=True)
        ]
        async with self._database.transaction():
            await self._database.lock(shelf.owner_id)
            await self._count_in(shelf, rows)
            await self._database.execute_many(self._sql["put_vector"], blobs)

    async def _count_in(self, shelf: Shelf, rows: Floats) -> None:
        """Add *rows* to the owner's sum until its mean is frozen, and count the change.

        Each vector is summed with a 1 behind it, so the sum knows of how many it is.
        """
        known = await self._database.fetch(self._sql["vector_mean"], **shelf.parameters())
        changes, mean = (int(known[0]["n"]), known[0]["mean"]) if known else (0, None)
        total = np.frombuffer(known[0]["sum"], np.float32) if known else np.zeros(rows.shape[1] + 1, np.float32)
        if total.shape[0] != rows.shape[1] + 1:
            raise InvalidInput(
                f"model {shelf.model_id} gave vectors of {rows.shape[1]} numbers, before {total.shape[0] - 1}"
            )
        if mean is None:
            space = max(MEAN_ROWS - int(total[-1]), 0)
            total = total + np.append(rows[:space].sum(axis=0), min(space, len(rows))).astype(np.float32)
            mean = (total[:-1] / total[-1]).astype(np.float32).tobytes() if total[-1] >= MEAN_ROWS else None
        values = {"n": changes + len(rows), "sum": total.astype(np.float32).tobytes(), "mean": mean}
        await self._database.fetch(self._sql["put_vector_mean"], **shelf.parameters(), **values)

    async def remove(self, owner_id: int, layer: Layer, refs: Sequence[str]) -> None:
        """Delete the vectors of rows, whatever model made them."""
        scope = {"owner_id": owner_id, "layer": layer.value}
        async with self._database.transaction():
            await self._database.lock(owner_id)
            gone = await self._database.fetch(self._sql["drop_vectors"], **scope, refs=json.dumps(list(refs)))
            if gone:
                await self._database.fetch(self._sql["vectors_changed"], **scope)

    async def clear(self) -> None:
        """Delete every vector of the home, before another model makes them anew."""
        async with self._database.transaction():
            await self._database.fetch(self._sql["clear_vectors"])
            await self._database.fetch(self._sql["clear_vector_means"])
        self._matrices.clear()
        self._anchors.clear()

    async def missing(self, shelf: Shelf, limit: int) -> list[str]:
        """Return ids of searchable rows that have no vector of this model, oldest first."""
        rows = await self._database.fetch(self._sql["missing_vectors"], **shelf.parameters(), limit=limit)
        return [row["ref_id"] for row in rows]

    async def behind(self, model_id: str, dim: int) -> list[tuple[int, Layer]]:
        """Return the owners and layers with rows that have no vector of this model and length (0: any). For upkeep."""
        rows = await self._database.fetch(self._sql["shelves_behind"], model_id=model_id, dim=dim)
        return [(row["owner_id"], Layer(row["layer"])) for row in rows]

    async def length(self, shelf: Shelf) -> int:
        """Return how many numbers the shelf's vectors have, 0 when it never held one."""
        known = await self._database.fetch(self._sql["vector_mean"], **shelf.parameters())
        return len(known[0]["sum"]) // 4 - 1 if known else 0

    async def start_anew(self, shelf: Shelf, dim: int) -> None:
        """Make room for vectors of *dim* numbers, when a model of the same name gives others than before.

        Those of before count as another model's (see `state`) until they are replaced.
        The count of changes goes on, so that other processes see that what they hold is old.
        """
        async with self._database.transaction():
            await self._database.lock(shelf.owner_id)
            await self._database.fetch(self._sql["put_shelf_aside"], **shelf.parameters())
            known = await self._database.fetch(self._sql["vector_mean"], **shelf.parameters())
            changes = int(known[0]["n"]) + 1 if known else 0
            nothing = {"n": changes, "sum": np.zeros(dim + 1, np.float32).tobytes(), "mean": None}
            await self._database.fetch(self._sql["put_vector_mean"], **shelf.parameters(), **nothing)

    async def holds(self, shelf: Shelf) -> bool:
        """Say whether the shelf ever held a vector."""
        return (await self.state(shelf))[0]

    async def state(self, shelf: Shelf) -> tuple[bool, str]:
        """Say whether the shelf ever held a vector, and which other model's vectors still wait to be replaced by its.

        The second is an empty text when none do.
        """
        (row,) = await self._database.fetch(self._sql["shelf_state"], **shelf.parameters())
        return bool(row["held"]), str(row["other"])

    async def get(self, shelf: Shelf, refs: Sequence[str]) -> dict[str, Floats]:
        """Return the vectors of *refs* by id; rows without one are left out."""
        rows = await self._database.fetch(
            self._sql["vectors_by_ref"], **shelf.parameters(), refs=json.dumps(list(refs))
        )
        return dict(zip((row["ref_id"] for row in rows), read_rows(rows), strict=False)) if rows else {}

    async def models(self) -> list[str]:
        """Return the models whose vectors the home holds, the most used first."""
        return [row["model_id"] for row in await self._database.fetch(self._sql["vector_models"])]

    async def put_anchors(self, model_id: str, vectors: Sequence[Floats]) -> None:
        """Store the vectors of sentences about nothing in particular: see `Nearness.affinity`."""
        rows = _unit({str(at): vector for at, vector in enumerate(vectors)})
        shape = {"owner_id": _NOBODY, "layer": _ANCHOR, "model_id": model_id, "dim": rows.shape[1]}
        blobs = [
            {**shape, "ref_id": f"{model_id} {at:02d}", "vector": Halves(row.astype(np.float16).tobytes())}
            for at, row in enumerate(rows)
        ]
        await self._database.execute_many(self._sql["put_vector"], blobs)
        self._anchors.pop(model_id, None)

    async def anchors(self, model_id: str) -> Floats | None:
        """Return the anchors of a model, or None when it has none yet."""
        if model_id not in self._anchors:
            shape = {"owner_id": _NOBODY, "layer": _ANCHOR, "model_id": model_id}
            rows = await self._database.fetch(self._sql["page_vectors"], **shape, after="", limit=_PAGE)
            if not rows:
                return None
            self._anchors[model_id] = read_rows(rows).astype(np.float32)
        return self._anchors[model_id]

    async def nearest(self, shelf: Shelf, query: Floats, also: Asking | None = None) -> Nearness | None:
        """Return how near the shelf's rows are to *query*, or None when it holds none.

        Where the database itself finds the nearest of many rows, only those are known, and the rows
        that *also* names, which is asked in this case alone.
        """
        unit = query / max(float(np.linalg.norm(query)), 1e-6)
        anchors = await self.anchors(shelf.model_id)
        if anchors is not None and anchors.shape[1] != unit.shape[0]:
            anchors = None  # of a model of the same name that gave vectors of another length
        if self._indexed and (found := await self._indexed.nearest(shelf, unit, anchors, also)):
            return found
        matrix = await self._matrix(shelf)
        if matrix is None or matrix.rows.shape[1] != query.shape[0]:
            return None
        return await asyncio.to_thread(Nearness, matrix, unit, anchors)

    async def tend(self) -> None:
        """Give large shelves the index they are searched with, where the database has one. For upkeep."""
        if self._indexed:
            await self._indexed.tend()

    async def _matrix(self, shelf: Shelf) -> Matrix | None:
        async with self._building.setdefault(shelf, asyncio.Lock()):
            known = await self._database.fetch(self._sql["vector_mean"], **shelf.parameters())
            if not known:
                self._matrices.pop(shelf, None)
                return None
            changes, cached = int(known[0]["n"]), self._matrices.get(shelf)
            if cached is None or cached[0] != changes:
                mean = known[0]["mean"]
                middle = None if mean is None else np.frombuffer(mean, np.float32)
                old = cached[1] if cached else None
                self._matrices[shelf] = (changes, await self._built(shelf, old, middle))
            self._matrices.move_to_end(shelf)
            self._trim()
            return self._matrices[shelf][1] if self._matrices[shelf][1].refs else None

    async def _built(self, shelf: Shelf, old: Matrix | None, mean: Floats | None) -> Matrix:
        if old is None or len(old.refs) <= self._reloaded or shelf.layer is Layer.SCENE:
            rows = await self._pages(shelf)
            places, vectors = [place_of(row) for row in rows], read_rows(rows)
        else:
            places, vectors = await self._brought_up(shelf, old)
        return await asyncio.to_thread(build, places, vectors, mean)

    async def _pages(self, shelf: Shelf) -> list[Row]:
        found: list[Row] = []
        after = ""
        while True:
            page = await self._database.fetch(self._sql["page_vectors"], **shelf.parameters(), after=after, limit=_PAGE)
            found += page
            if len(page) < _PAGE:
                return found
            after = page[-1]["ref_id"]

    async def _brought_up(self, shelf: Shelf, old: Matrix) -> tuple[list[Place], Floats]:
        """Return the places and rows of *old* without what is gone and with what is new."""
        now = [row["ref_id"] for row in await self._database.fetch(self._sql["vector_refs"], **shelf.parameters())]
        wanted = set(now)
        kept = [at for at, ref in enumerate(old.refs) if ref in wanted]
        new = json.dumps([ref for ref in now if ref not in old.index])
        rows = await self._database.fetch(self._sql["vectors_by_ref"], **shelf.parameters(), refs=new)
        places = [old.places[at] for at in kept] + [place_of(row) for row in rows]
        parts = [old.rows[kept], read_rows(rows)] if rows else [old.rows[kept]]
        return places, np.concatenate(parts)

    def _trim(self) -> None:
        """Let go of the matrices that were asked for longest ago."""
        while len(self._matrices) > 1 and sum(kept.bytes for _, kept in self._matrices.values()) > _CACHE_BYTES:
            self._matrices.popitem(last=False)


def _unit(vectors: Mapping[str, Floats]) -> Floats:
    """Return the vectors as rows of unit length; refuse what has no direction."""
    if len({len(vector) for vector in vectors.values()}) != 1:
        raise InvalidInput("vectors of different lengths cannot be stored together")
    rows = np.asarray(list(vectors.values()), np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths < 1e-9).any():
        raise InvalidInput("a vector without a direction (zero, or not numbers) is not stored")
    unit: Floats = rows / lengths
    return unit


def read_rows(rows: Sequence[Row]) -> Floats:
    """Return the vectors of database rows as one array of float16."""
    if not rows:
        return np.zeros((0, 0), np.float16)
    return np.frombuffer(b"".join(row["vector"] for row in rows), np.float16).reshape(len(rows), -1)


def place_of(row: Row) -> Place:
    """Return where a database row stands."""
    return Place(ref_id=row["ref_id"], session=row["session_ref"], seq=row["seq"] or 0, speaker=row["speaker"] or "")
