"""Full text: find candidates among the terms of one owner, exactly scored later by ``recall.score``.

Every indexed term carries its owner and layer (``12r_refactor``), so another owner's rows can
neither slow a search nor leak into its statistics.  The database ranks only roughly; it returns
the rows with their terms, and the same Python scoring then runs on every backend.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from typing import Final

import numpy as np

from stenolith.model.text import QueryTerms
from stenolith.store.database import Database, Row, statements

POOL: Final = 128
"""Rows that are scored exactly, whatever the limit: so a smaller limit is a prefix of a larger one.
300 of them found nothing more on LoCoMo than 100."""
POSTINGS_BUDGET: Final = 10_000
LEAST_BUDGET: Final = 2_500
"""Index entries read for one question, rarest words first: a tenth of the owner's rows within these
bounds.  At 100,000 rows that kept 99.7 % of the top ten of twice the budget, at 10,000 all of it."""
_TYPICAL_ROWS: Final = 100_000
"""Stands for an owner's rows where only the order of rare and common words matters."""
MOST_PIECES: Final = 200
"""Terms whose rows are read, rarest first; a question of 4,000 characters has some 700 words."""
MOST_STARTS: Final = 32
"""Single characters that are looked for; each is a search of its own."""
_TRIED_PAIRS: Final = 16
_FALLBACK_PAIRS: Final = 4
_RANKED_AT_ONCE: Final = 200_000
"""Characters of row numbers that are ranked without a thread: some 30,000 of them."""
_STATISTICS_SECONDS: Final = 20.0
_COUNTED_ANEW: Final = 2000
_INDEXED_WHOLE: Final = "0-9a-z_.\\-々〇ぁ-ゖァ-ヺー㐀-䶵一-鿌가-힣"
"""Characters that SQLite's tokenizer (Unicode 6.1) is known to keep inside a token."""
_FOREIGN: Final = re.compile(f"[^{_INDEXED_WHOLE} ]")


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
    archived scenes; withdrawn atoms are never found.  A *scene* is named by id, name or a part of
    its title.  With a *task_session*, what holds for one task only is found in that session alone.
    Conditions that a layer does not have (a scene's kind) do not apply to it.
    """

    now_ms: int
    kinds: tuple[str, ...] = ()
    since_ms: int | None = None
    until_ms: int | None = None
    session_key: str = ""
    scene: str = ""
    as_of_ms: int | None = None
    include_history: bool = False
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


def indexed_words(before: str, words: Sequence[str]) -> str:
    """Return many terms as the full-text table stores them, each with *before* (see `scoped`) in front."""
    spelled = _FOREIGN.sub(lambda match: f"_{ord(match.group()):x}", " ".join(words))
    return before + spelled.replace(" ", f" {before}") if spelled else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """One expression whose rows are read: *words* of a *column*, and what a row of it is worth."""

    words: str
    column: str
    worth: float


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
        asked, statistics, pieces = await self._read(owner_id, layer, query)
        places = await self._ranked(pieces)
        found: list[Candidate] = []
        for start, end in _chunks(len(places), pool):
            found += await self._rows(f"rows_{layer}", owner_id, places[start:end], conditions.parameters(layer))
            if len(found) >= pool:
                break
        return Matches(asked=asked, statistics=statistics, candidates=tuple(found[:pool]))

    async def look_up_past(self, owner_id: int, query: QueryTerms, pool: int = 2 * POOL) -> Matches:
        """Return the superseded ones among the *pool* atoms that hold most of *query*, replaced or not.

        Only so many rows are looked at: a question that copies old words finds them on top.
        """
        if not await self._database.fetch(self._sql["search_has_past"], owner_id=owner_id):
            return Matches(asked=query, statistics=Statistics(), candidates=())
        asked, statistics, pieces = await self._read(owner_id, Layer.ATOM, query)
        found = await self._rows("rows_past", owner_id, (await self._ranked(pieces))[:pool], {})
        return Matches(asked=asked, statistics=statistics, candidates=tuple(found))

    async def rows(self, owner_id: int, layer: Layer, refs: Sequence[str], conditions: Filter) -> list[Candidate]:
        """Return the rows of *refs* that *conditions* allow, in the order of *refs*."""
        known = await self._database.fetch(
            self._sql["search_rows_known"], layer=layer.value, refs=json.dumps(list(refs))
        )
        places = {row["ref_id"]: int(row["row_id"]) for row in known}
        wanted = [places[ref] for ref in refs if ref in places]
        return await self._rows(f"rows_{layer}", owner_id, wanted, conditions.parameters(layer))

    async def _read(
        self, owner_id: int, layer: Layer, query: QueryTerms
    ) -> tuple[QueryTerms, Statistics, list[_Piece]]:
        """Return the terms to look for, how common they are, and the index entries to read."""
        query = replace(query, starts=query.starts[:MOST_STARTS], fallback=query.fallback[:_TRIED_PAIRS])
        rows, mean = await self._size(owner_id, layer)
        if rows == 0:
            return query, Statistics(), []
        before = scoped(owner_id, layer)
        counts = await self._count(before, query)
        asked, pieces = query, _pieces(before, layer, counts, min(POSTINGS_BUDGET, max(LEAST_BUDGET, rows // 10)))
        if query.fallback and not pieces:
            asked = QueryTerms(words=query.words, starts=tuple(dict.fromkeys("".join(query.fallback))))
            counts |= await self._count(before, QueryTerms(words=(), starts=asked.starts))
            pieces = _pair_pieces(before, layer, query.fallback, counts)
        return asked, Statistics(rows=rows, mean_length=mean, counts=counts), pieces

    async def _ranked(self, pieces: Sequence[_Piece]) -> list[int]:
        """Return the rows that hold a piece, those with the rarest words first, the newest first among equals.

        The database's own ranking would read the rows of every word twice; this takes a third of it.
        """
        if not pieces:
            return []
        asked = json.dumps([{"words": piece.words, "column": piece.column} for piece in pieces])
        rows = await self._database.fetch(self._sql["search_postings"], pieces=asked)
        texts = [row["numbers"] or "" for row in rows]
        worth = [pieces[row["piece"]].worth for row in rows]
        if sum(map(len, texts)) <= _RANKED_AT_ONCE:
            return _worthiest(texts, worth)
        return await asyncio.to_thread(_worthiest, texts, worth)

    async def _rows(self, statement: str, owner_id: int, places: Sequence[int], parameters: Row) -> list[Candidate]:
        if not places:
            return []
        rows = json.dumps(places)
        found = await self._database.fetch(self._sql[statement], owner_id=owner_id, rows=rows, **parameters)
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
            count = int((await self._database.fetch(sql["search_row_count"], **scope))[0]["n"])
            mean = (await self._database.fetch(sql["search_mean_length"], **scope))[0]["mean"] if count else 1.0
            known = self._sizes[key] = (now, count, float(mean) or 1.0)
        return known[1], known[2]


def _worthiest(texts: Sequence[str], worth: Sequence[float]) -> list[int]:
    """Return the row numbers that *texts* list, those of the greatest summed worth first, then the newest."""
    numbers = [np.fromstring(text, np.int64, sep=",") for text in texts]
    each = [np.full(len(found), value) for value, found in zip(worth, numbers, strict=True)]
    places, which = np.unique(np.concatenate(numbers), return_inverse=True)
    weights = np.bincount(which, weights=np.concatenate(each), minlength=len(places))
    ranked: list[int] = places[np.lexsort((-places, -weights))].tolist()
    return ranked


def _pieces(before: str, layer: Layer, counts: Mapping[str, int], budget: int) -> list[_Piece]:
    """Return the rarest terms that fit the budget; a rare one is worth more, in a neighbour half."""
    spent = 0
    found: list[_Piece] = []
    rarest = sorted(((term, count) for term, count in counts.items() if count), key=lambda item: (item[1], item[0]))
    for term, count in rarest[:MOST_PIECES]:
        if not found or spent + count <= budget:
            spent += count
            words = _begins(before, term[0]) if term.endswith("*") else f'"{before}{indexed(term)}"'
            found += _columns(layer, words, math.log(1 + _TYPICAL_ROWS / count))
    return found


def _pair_pieces(before: str, layer: Layer, pairs: Sequence[str], counts: Mapping[str, int]) -> list[_Piece]:
    """Return pieces for rows that hold both characters of a pair, rarest pairs first."""
    usable = [(min(counts[f"{char}*"] for char in pair), pair) for pair in pairs]
    kept = [(count, pair) for count, pair in sorted(usable) if count][:_FALLBACK_PAIRS]
    found: list[_Piece] = []
    for count, pair in kept:
        both = f"{_begins(before, pair[0])} AND {_begins(before, pair[1])}"
        found += _columns(layer, both, math.log(1 + _TYPICAL_ROWS / count))
    return found


def _columns(layer: Layer, words: str, worth: float) -> list[_Piece]:
    own = _Piece(words=words, column="terms", worth=worth)
    return [own, _Piece(words=words, column="context", worth=worth / 2)] if layer is Layer.RECORD else [own]


def _begins(before: str, char: str) -> str:
    return f'"{before}{indexed(char)}" *'


def _chunks(count: int, size: int) -> Iterator[tuple[int, int]]:
    """Cut *count* places into chunks, the first of *size* and each next one four times as large."""
    start = 0
    while start < count:
        yield start, min(start + size, count)
        start, size = start + size, 4 * size
