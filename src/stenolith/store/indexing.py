"""Write the full-text index: terms of each row, and the words of its neighbours as context.

A record is also found through the turns around it: an answer seldom repeats the words of the
question before it.  Two neighbours each side of the same session brought ten points of recall on
LoCoMo (``spec/retrieval.md`` section 3), so a new turn re-indexes the two rows before it.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from itertools import chain
from typing import Final

from stenolith.model.text import terms
from stenolith.store.database import Database, Row, statements
from stenolith.store.search import Layer, indexed_words, scoped

REACH: Final = 2
"""Neighbours on each side whose words count as context; one gave 4 points less recall, three 1 less."""
LENGTH_SHARES: Final = (0.8, 1.5, 1.0, 0.6)
"""How much of a neighbour's length counts, in the order of the context's four parts."""
WHOLE_TERMS: Final = 4000
"""Terms of a row that are kept in their order: the first and the last of a longer text, half each."""
MOST_TERMS: Final = 12_000
"""Terms that are kept of a row: of what stands between those, each new word once.  So a pasted file of megabytes
is found by its words, and scoring a hundred of them takes milliseconds."""
CONTEXT_TERMS: Final = 1000
"""Terms of a neighbour that count as context, the first and the last of a longer one; a turn rarely has so many."""
_PIECE: Final = 20_000
"""Characters of a long text that are read at a time."""
_BEGINNING: Final = 50_000
"""Characters of a text with questions that show whether it also states something."""
_FULL_STATEMENT: Final = math.log(13)
"""Twelve declarative terms make a full statement: more did not help on either tuning set."""
_SENTENCE: Final = re.compile(r"[^.!?。！？\n]*(?:[?？]+|[.!。！\n]|$)")
_MONTHS: Final = (
    "January February March April May June July August September October November December".split()  # noqa: SIM905  # reads best so
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Something to be found: an atom, a scene, or a record with its place in a session.

    *speaker* is who said it (a name, else the role).  *label* holds words that describe the row
    but are not its text (a name, a date: see `day_words`): they are searched, and left out of the
    neighbours' context.
    """

    owner_id: int
    layer: Layer
    ref_id: str
    text: str
    label: str = ""
    speaker: str = ""
    occurred_ms: int | None = None
    session_ref: int | None = None
    seq: int | None = None


def day_words(at_ms: int, zone: tzinfo) -> str:
    """Return the day of *at_ms* in words that questions use (``8 May 2023``)."""
    try:
        day = datetime.fromtimestamp(at_ms / 1000, zone)
    except (OverflowError, ValueError, OSError):
        return ""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


class SearchWriter:
    """Keeps the index in step with its rows; every method joins an open transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements(database.dialect)

    async def index(self, documents: Sequence[Document]) -> None:
        """Add *documents*, or replace those already there."""
        if not documents:
            return
        async with self._database.transaction():
            for owner_id in sorted({document.owner_id for document in documents}):
                await self._database.lock(owner_id)
            rows = await self._numbered([_prepare(document) for document in documents])
            await self._database.execute_many(self._sql["put_search_row"], rows)
            await self.put_text([(row, "") for row in rows if row["session_ref"] is None])
            touched = _spans((row["session_ref"], row["seq"]) for row in rows)
            fresh = {row["row_id"] for row in rows}
            for session_ref, (low, high) in touched.items():
                await self._refresh(session_ref, low, high, fresh)

    async def remove(self, owner_id: int, layer: Layer, refs: Sequence[str]) -> None:
        """Take rows out of the index, and their words out of their neighbours' context."""
        async with self._database.transaction():
            await self._database.lock(owner_id)
            gone = await self._database.fetch(
                self._sql["drop_search_rows"], owner_id=owner_id, layer=layer.value, refs=json.dumps(list(refs))
            )
            await self._database.execute_many(
                self._sql["drop_search_text"], [{"row_id": row["row_id"]} for row in gone]
            )
            for session_ref, (low, high) in _spans((row["session_ref"], row["seq"]) for row in gone).items():
                await self._refresh(session_ref, low, high, frozenset())

    async def compact(self) -> None:
        """Merge the index, so that the terms of deleted rows leave its pages too."""
        await self._database.fetch(self._sql["compact_search_text"])

    async def clear(self) -> None:
        """Empty the index of the whole home, before a rebuild."""
        async with self._database.transaction():
            await self._database.fetch(self._sql["clear_search_rows"])
            await self._database.fetch(self._sql["clear_search_text"])

    async def _numbered(self, rows: list[Row]) -> list[Row]:
        """Give each row its number: the one it has in the index, or a new one."""
        known: dict[tuple[str, str], int] = {}
        for layer in {row["layer"] for row in rows}:
            refs = json.dumps([row["ref_id"] for row in rows if row["layer"] == layer])
            found = await self._database.fetch(self._sql["search_rows_known"], layer=layer, refs=refs)
            known |= {(layer, row["ref_id"]): int(row["row_id"]) for row in found}
        keys = dict.fromkeys((row["layer"], row["ref_id"]) for row in rows)
        new = [key for key in keys if key not in known]
        fresh = await self._database.fetch(self._sql["search_new_rows"], count=len(new)) if new else []
        known |= {key: int(row["row_id"]) for key, row in zip(new, fresh, strict=True)}
        for row in rows:
            row["row_id"] = known[row["layer"], row["ref_id"]]
        return rows

    async def _refresh(self, session_ref: int, low: int, high: int, fresh: frozenset[int] | set[int]) -> None:
        """Recompute the context of the session's rows from *low* to *high* and of two on each side."""
        window = await self._database.fetch(self._sql["search_window"], session_ref=session_ref, low=low, high=high)
        bodies = [_ends(row["terms"].partition(" |")[0]) for row in window]
        lengths = [body.count(" ") + 1 if body else 0 for body in bodies]
        first = next((at for at, row in enumerate(window) if row["seq"] >= low), len(window))
        last = max((at for at, row in enumerate(window) if row["seq"] <= high), default=-1)
        changed: list[tuple[Row, str]] = []
        for at in range(max(first - REACH, 0), min(last + REACH + 1, len(window))):
            context, length = _context(bodies, lengths, at)
            if context != window[at]["context"] or window[at]["row_id"] in fresh:
                changed.append(({**window[at], "layer": Layer.RECORD.value, "context_length": length}, context))
        marks = [
            {"row_id": row["row_id"], "context": context, "context_length": row["context_length"]}
            for row, context in changed
        ]
        await self._database.execute_many(self._sql["set_search_context"], marks)
        await self.put_text(changed)

    async def put_text(self, rows: Sequence[tuple[Row, str]]) -> None:
        """Write the words of rows of the index, each with its context, into the full-text table."""
        texts = []
        for row, context in rows:
            before = scoped(row["owner_id"], Layer(row["layer"]))
            texts.append(
                {"row_id": row["row_id"], "terms": _laid(before, row["terms"]), "context": _laid(before, context)}
            )
        await self._database.execute_many(self._sql["put_search_text"], texts)


def _prepare(document: Document) -> Row:
    body = _kept_terms(document.text)
    label = terms(document.label)
    stated = terms(_statements(document.text)) if "?" in document.text or "？" in document.text else body
    return {
        "owner_id": document.owner_id,
        "layer": document.layer.value,
        "ref_id": document.ref_id,
        "terms": " ".join([*body, "|", *label]),
        "length": len(body) + len(label),
        "occurred_ms": document.occurred_ms,
        "speaker": document.speaker,
        "session_ref": document.session_ref if document.seq is not None else None,
        "seq": document.seq,
        "declarative": min(1.0, math.log1p(len(stated)) / _FULL_STATEMENT),
    }


def _statements(text: str) -> str:
    """Return what a text says beside its questions; its beginning shows whether it says something."""
    sentences = _SENTENCE.findall(text[:_BEGINNING])
    return "".join(" " if sentence.endswith(("?", "？")) else sentence for sentence in sentences)


def _kept_terms(text: str) -> list[str]:
    """Return at most `MOST_TERMS` terms of *text*: both ends as they are, and what else is said between them.

    A long text is read in pieces, and no further than there is room: stemming new words is what takes time.
    """
    half = WHOLE_TERMS // 2
    if len(text) <= 2 * _PIECE:
        words = terms(text)
        if len(words) <= WHOLE_TERMS:
            return words
        first, last, rest = words[:half], words[-half:], iter(words[half:-half])
    else:
        start, end = terms(text[:_PIECE]), terms(text[-_PIECE:])
        first, last, rest = start[:half], end[-half:], chain(start[half:], end[:-half], _between(text))
    said, fresh = {*first, *last}, list[str]()
    for word in rest:
        if word not in said:
            said.add(word)
            fresh.append(word)
        if len(fresh) == MOST_TERMS - WHOLE_TERMS:
            break
    return [*first, *fresh, *last]


def _between(text: str) -> Iterator[str]:
    """Yield the terms between the first and the last piece of a long text, made as they are asked for."""
    for start in range(_PIECE, len(text) - _PIECE, _PIECE):
        yield from terms(text[start : start + _PIECE])


def _ends(body: str) -> str:
    """Return the words of a neighbour that count as context."""
    words = body.split(" ")
    half = CONTEXT_TERMS // 2
    return body if len(words) <= CONTEXT_TERMS else " ".join([*words[:half], *words[-half:]])


def _context(bodies: Sequence[str], lengths: Sequence[int], at: int) -> tuple[str, int]:
    """Return the words of the four neighbours of one row, and their weighted length."""
    places = (at - 2, at - 1, at + 1, at + 2)
    inside = [place if 0 <= place < len(bodies) else None for place in places]
    parts = ["" if place is None else bodies[place] for place in inside]
    length = sum(
        share * lengths[place] for share, place in zip(LENGTH_SHARES, inside, strict=True) if place is not None
    )
    return " | ".join(parts), round(length)


def _spans(places: Iterable[tuple[int | None, int | None]]) -> Mapping[int, tuple[int, int]]:
    """Return the lowest and highest position of each session."""
    found: dict[int, list[int]] = defaultdict(list)
    for session_ref, seq in places:
        if session_ref is not None and seq is not None:
            found[session_ref].append(seq)
    return {session_ref: (min(seqs), max(seqs)) for session_ref, seqs in found.items()}


def _laid(before: str, words: str) -> str:
    return indexed_words(before, [word for word in words.split() if word != "|"])
