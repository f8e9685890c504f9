"""Full text: find candidates among the terms of one owner, exactly scored later by ``recall.score``.

Every indexed term carries its owner and layer (``12r_refactor``), so another owner's rows can
neither slow a search nor leak into its statistics.  The database ranks only roughly; it returns
the rows with their terms, and the same Python scoring then runs on every backend.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Final

from stenolith.model.text import QueryTerms
from stenolith.store.database import Database, Row, statements

POOL: Final = 200
"""Rows that are scored exactly, whatever the limit: so a smaller limit is a prefix of a larger one."""
POSTINGS_BUDGET: Final = 10_000
"""Index entries read for one question, rarest words first.  99.7 % of the top ten of a budget twice
as large were kept at 100,000 rows of one owner, all of them at 10,000; half of it kept 97 %."""
_FALLBACK_PAIRS: Final = 4
_STATISTICS_SECONDS: Final = 20.0
_COUNTED_ANEW: Final = 2000
_INDEXED_WHOLE: Final = "0-9a-z_.\\-々〇ぁ-ゖァ-ヺー㐀-䶵一-鿌가-힣"
"""Characters that SQLite's tokenizer (Unicode 6.1) is known to keep inside a token."""
_FOREIGN: Final = re.compile(f"[^{_INDEXED_WHOLE}]")


class Layer(StrEnum):
    """What a row of the index stands for."""

    RECORD = "record"
    ATOM = "atom"
    SCENE = "scene"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What may be found; all conditions hold inside the database, so nothing else takes a slot.

    Times are epoch milliseconds, *until_ms* is exclusive.  *now_ms* decides what has expired.
    *as_of_ms* asks for what held then.  *include_history* adds superseded and expired atoms and
    archived scenes; withdrawn atoms are never found.  *past_only* finds nothing but superseded atoms.
    A *scene* is named by id, name or a part of its title.  With a *task_session*, what holds for one
    task only is found in that session alone.  Conditions that a layer does not have (a scene's kind)
    do not apply to it.
    """

    now_ms: int
    kinds: tuple[str, ...] = ()
    since_ms: int | None = None
    until_ms: int | None = None
    session_key: str = ""
    scene: str = ""
    as_of_ms: int | None = None
    include_history: bool = False
    past_only: bool = False
    task_session: str | None = None

    def parameters(self, layer: Layer) -> Row:
        """Return the parameters that the statements of *layer* take."""
        shared: Row = {"since_ms": self.since_ms, "until_ms": self.until_ms}
        match layer:
            case Layer.RECORD:
                return {**shared, "session_key": self.session_key, "as_of_ms": self.as_of_ms}
            case Layer.SCENE:
                return {**shared, "history": int(self.include_history)}
            case Layer.ATOM:
                return {
                    **shared,
                    "session_key": self.session_key,
                    "as_of_ms": self.as_of_ms,
                    "history": int(self.include_history),
                    "past": int(self.past_only),
                    "task_session": self.task_session,
                    "now_ms": self.now_ms,
                    "kinds": json.dumps(self.kinds),
                    "scene": self.scene,
                }


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A row that may answer, with what scoring needs.

    *terms* are its own terms, then ``|``, then its label's (speaker, date).  *context* holds the
    words of up to four neighbours of its session, nearest turns as ``two before | one before | one
    after | two after``.  *declarative* runs from 0 (a question, a nod) to 1 (a full statement).
    """

    ref_id: str
    terms: str
    context: str
    length: int
    context_length: int
    occurred_ms: int | None
    speaker: str
    declarative: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """How common words are among one owner's rows of a layer.

    *counts* maps each asked term to the number of rows that hold it; a single character that asks
    for terms beginning with it is counted under ``c*``.
    """

    rows: int = 0
    mean_length: float = 1.0
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """What the index knows about a question: the terms really looked for, their counts, the rows."""

    asked: QueryTerms
    statistics: Statistics
    candidates: tuple[Candidate, ...]


def scoped(owner_id: int, layer: Layer) -> str:
    """Return what stands before every indexed term of this owner and layer."""
    return f"{owner_id}{layer.value[0]}_"


@lru_cache(maxsize=65536)
def indexed(term: str) -> str:
    """Return *term* as the full-text table stores it: characters its tokenizer would cut at are spelled out."""
    return _FOREIGN.sub(lambda match: f"_{ord(match.group()):x}", term)


class SearchIndex:
    """Reads the full-text index, always under one owner."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements(database.dialect)
        self._sizes: dict[tuple[int, Layer], tuple[float, int, float]] = {}

    async def look_up(
        self, owner_id: int, layer: Layer, query: QueryTerms, conditions: Filter, pool: int = POOL
    ) -> Matches:
        """Return up to *pool* rows that hold a word of *query*, roughly best first, and the words' counts.

        When no word occurs anywhere, rows that hold both characters of one of its CJK pairs are
        candidates instead.
        """
        before = scoped(owner_id, layer)
        counts = await self._count(before, query)
        asked, match = query, _match(before, counts)
        if query.fallback and not match:
            asked = QueryTerms(words=query.words, starts=tuple(dict.fromkeys("".join(query.fallback))))
            counts |= await self._count(before, QueryTerms(words=(), starts=asked.starts))
            match = _match_pairs(before, query.fallback, counts)
        rows, mean = await self._size(owner_id, layer)
        statistics = Statistics(rows=rows, mean_length=mean, counts=counts)
        found = await self._rows(f"match_{layer}", owner_id, layer, conditions, match=match, pool=pool) if match else []
        return Matches(asked=asked, statistics=statistics, candidates=tuple(found))

    async def rows(self, owner_id: int, layer: Layer, refs: Sequence[str], conditions: Filter) -> list[Candidate]:
        """Return the rows of *refs* that *conditions* allow, in the order of *refs*."""
        return await self._rows(f"rows_{layer}", owner_id, layer, conditions, refs=json.dumps(list(refs)))

    async def _rows(
        self, statement: str, owner_id: int, layer: Layer, conditions: Filter, **more: str | int
    ) -> list[Candidate]:
        parameters = {**conditions.parameters(layer), **more}
        found = await self._database.fetch(self._sql[statement], owner_id=owner_id, **parameters)
        return [Candidate(**row) for row in found]

    async def _count(self, before: str, query: QueryTerms) -> dict[str, int]:
        """Return in how many rows each word, and each ``c*``, occurs."""
        names = {before + indexed(word): word for word in query.words}
        counts = dict.fromkeys(query.words, 0)
        if names:
            rows = await self._database.fetch(self._sql["search_term_counts"], terms=json.dumps(list(names)))
            counts |= {names[row["term"]]: int(row["n"]) for row in rows}
        for char in query.starts:
            low = before + indexed(char)
            rows = await self._database.fetch(self._sql["search_start_count"], low=low, high=low + "\U0010ffff")
            counts[f"{char}*"] = int(rows[0]["n"])
        return counts

    async def _size(self, owner_id: int, layer: Layer) -> tuple[int, float]:
        """Return the number of rows and their mean length; for many rows both may be some seconds old."""
        key = (owner_id, layer)
        now = time.monotonic()
        known = self._sizes.get(key)
        if known is None or known[1] < _COUNTED_ANEW or now - known[0] > _STATISTICS_SECONDS:
            sql, scope = self._sql, {"owner_id": owner_id, "layer": layer.value}
            count = await self._database.fetch(sql["search_row_count"], **scope)
            mean = await self._database.fetch(sql["search_mean_length"], **scope)
            known = self._sizes[key] = (now, int(count[0]["n"]), float(mean[0]["mean"]) or 1.0)
        return known[1], known[2]


def _match(before: str, counts: Mapping[str, int]) -> str:
    """Return the full-text expression: the rarest terms that fit the budget, joined with OR."""
    spent = 0
    pieces: list[str] = []
    for term, count in sorted(counts.items(), key=lambda item: (item[1], item[0])):
        if count and (not pieces or spent + count <= POSTINGS_BUDGET):
            spent += count
            pieces.append(_begins(before, term[0]) if term.endswith("*") else f'"{before}{indexed(term)}"')
    return " OR ".join(pieces)


def _match_pairs(before: str, pairs: Sequence[str], counts: Mapping[str, int]) -> str:
    """Return the expression for rows that hold both characters of a pair, rarest pairs first."""
    usable = [(min(counts[f"{char}*"] for char in pair), pair) for pair in pairs]
    kept = [pair for count, pair in sorted(usable) if count][:_FALLBACK_PAIRS]
    return " OR ".join(f"({_begins(before, pair[0])} AND {_begins(before, pair[1])})" for pair in kept)


def _begins(before: str, char: str) -> str:
    return f'"{before}{indexed(char)}" *'
