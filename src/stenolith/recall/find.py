"""Two ways to find rows of one layer: by their words and by their meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from stenolith.llm.port import Embedder
from stenolith.recall.query import Question
from stenolith.recall.race import UNAVAILABLE, Found, Skipped
from stenolith.store.matrix import Nearness
from stenolith.store.search import POOL, Candidate, Filter, Layer, SearchIndex
from stenolith.store.vectors import Shelf, Vectors

_EMBEDDED_CHARS = 1000
"""Characters of a question that are embedded, its last ones: an answer follows the end."""
_STEPS = (POOL, 4 * POOL, 16 * POOL)
"""How far down the nearest rows are tried until enough of them pass the filter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """How near rows are to the question, and the nearest ones that may show."""

    nearness: Nearness
    candidates: tuple[Candidate, ...]


class Finder:
    """Looks for candidates, always under one owner. *embedder* may be None: then only words count."""

    def __init__(self, index: SearchIndex, vectors: Vectors, embedder: Embedder | None) -> None:
        self._index = index
        self._vectors = vectors
        self._embedder = embedder

    async def by_words(self, owner_id: int, layer: Layer, question: Question, conditions: Filter) -> Found:
        """Find rows that hold words of the question: `Matches`."""
        matches = await self._index.look_up(owner_id, layer, question.whole, conditions)
        return Found(value=matches, hits=len(matches.candidates))

    async def by_old_words(self, owner_id: int, question: Question) -> Found:
        """Find superseded atoms that hold words of the question: `Matches`."""
        matches = await self._index.look_up_past(owner_id, question.whole)
        return Found(value=matches, hits=len(matches.candidates))

    async def allowed(self, owner_id: int, layer: Layer, refs: Sequence[str], conditions: Filter) -> frozenset[str]:
        """Return those of *refs* that *conditions* allow."""
        rows = await self._index.rows(owner_id, layer, refs, conditions)
        return frozenset(row.ref_id for row in rows)

    async def by_meaning(self, owner_id: int, layer: Layer, question: Question, conditions: Filter) -> Found:
        """Find rows that are near the question: `Meaning`. Raises `Skipped` with the reason when it cannot."""
        if self._embedder is None:
            raise Skipped("no embedder is configured")
        if not question.text.strip():
            raise Skipped("the question is empty")
        shelf = Shelf(owner_id=owner_id, layer=layer, model_id=self._embedder.model_id)
        held, other = await self._vectors.state(shelf)
        if not held:
            raise Skipped(_why_bare(shelf, other))
        (vector,) = await self._embedder.embed([question.text[-_EMBEDDED_CHARS:]], "query")
        nearness = await self._vectors.nearest(shelf, vector, partial(self._worded, shelf, question, conditions))
        if nearness is None:
            raise Skipped(await self._why_far(shelf, len(vector), other))
        candidates = await self._allowed(shelf, nearness, conditions)
        missing = f"vectors of {other} still wait to be replaced by those of {shelf.model_id}" if other else ""
        found = Meaning(nearness=nearness, candidates=candidates)
        return Found(value=found, hits=len(candidates), missing=missing)

    async def _worded(self, shelf: Shelf, question: Question, conditions: Filter) -> list[str]:
        """Return the rows whose nearness will be asked because of their words."""
        matches = await self._index.look_up(shelf.owner_id, shelf.layer, question.whole, conditions)
        return [candidate.ref_id for candidate in matches.candidates]

    async def _why_far(self, shelf: Shelf, asked: int, other: str) -> str:
        held = await self._vectors.length(shelf)
        if held in {0, asked}:
            return _why_bare(shelf, other)
        return f"{UNAVAILABLE}: {shelf.model_id} now gives {asked} numbers, the vectors have {held} and are made anew"

    async def _allowed(self, shelf: Shelf, nearness: Nearness, conditions: Filter) -> tuple[Candidate, ...]:
        """Return the nearest rows that *conditions* allow: filters must not eat the slots of live rows."""
        found: list[Candidate] = []
        tried = 0
        for reach in _STEPS:
            refs = nearness.best(reach)[tried:]
            found += await self._index.rows(shelf.owner_id, shelf.layer, refs, conditions)
            tried += len(refs)
            if len(found) >= POOL or tried < reach:
                break
        return tuple(found[:POOL])


def _why_bare(shelf: Shelf, other: str) -> str:
    if not other:
        return "no vectors yet"
    return (
        f"{UNAVAILABLE}: the vectors are of {other}, the embedder is {shelf.model_id};"
        " `stenolith rebuild indexes` makes them anew"
    )
