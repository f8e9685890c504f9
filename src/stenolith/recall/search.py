"""Search: one layer, on purpose. Everything that matches is shown, best first, however weakly."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from functools import partial
from typing import Final

from stenolith.recall.context import SearchResult
from stenolith.recall.fuse import Hit, put_past_behind, put_whole_first, rank_apart, redirect
from stenolith.recall.ports import Sources
from stenolith.recall.query import Question, read_question
from stenolith.recall.race import Arm, Finish, Found, Race
from stenolith.recall.readback import Reader, Wanted, heirs_of
from stenolith.store.search import Filter, Layer

_WORDS_SHARE: Final = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """A search of one layer; ``Filter.now_ms`` is when it is asked."""

    layer: Layer
    query: str
    conditions: Filter
    limit: int = 10
    deadline_ms: int


class Search:
    """Looks through one layer by words and by meaning. Close it."""

    def __init__(self, sources: Sources, zone: tzinfo, race: Race | None = None) -> None:
        self._from = sources
        self._zone = zone
        self._race = race or Race()

    async def close(self) -> None:
        """Stop what was left behind."""
        await self._race.close()

    async def search(self, owner_id: int, inquiry: Inquiry) -> SearchResult:
        """Return what matches. Nothing found and not degraded means that there is nothing."""
        started = time.monotonic()
        until = started + inquiry.deadline_ms / 1000
        finishes = await self._race.run(self._arms(owner_id, inquiry), started + _WORDS_SHARE * (until - started))
        reading = {"items": partial(self._read, owner_id, inquiry, finishes)}
        finishes |= await self._race.run(reading, until)
        degraded = [f"{finish.report.name}: {finish.report.reason}" for finish in finishes.values() if finish.degrades]
        found = finishes["items"].value
        items, total = found or ((), 0)
        return SearchResult(items=items, total=total, degraded=tuple(degraded))

    def _arms(self, owner_id: int, inquiry: Inquiry) -> dict[str, Arm]:
        question = read_question(inquiry.query, inquiry.conditions.now_ms, self._zone)
        find, layer, conditions = self._from.finder, inquiry.layer, inquiry.conditions
        arms: dict[str, Arm] = {
            "words": partial(find.by_words, owner_id, layer, question, conditions),
            "meaning": partial(find.by_meaning, owner_id, layer, question, conditions),
        }
        if layer is Layer.ATOM and conditions.as_of_ms is None:
            arms["superseded"] = partial(find.by_old_words, owner_id, question)
        return arms

    async def _read(self, owner_id: int, inquiry: Inquiry, finishes: dict[str, Finish]) -> Found:
        question = read_question(inquiry.query, inquiry.conditions.now_ms, self._zone)
        hits = await rank_apart(question, inquiry.layer, finishes["words"].value, finishes["meaning"].value)
        if "superseded" in finishes:
            past = await rank_apart(question, inquiry.layer, finishes["superseded"].value, None)
            hits = redirect(past, await self._heirs(owner_id, past, inquiry.conditions), hits)
        if question.plain and len(question.whole.words) + len(question.whole.starts) > 1:
            hits = put_whole_first(hits)
        if inquiry.layer is Layer.ATOM and inquiry.conditions.include_history:
            known = await self._from.atoms.get(owner_id, [hit.ref_id for hit in hits])
            hits = put_past_behind(hits, {atom.id: atom.superseded_by or "" for atom in known})
        matching = [hit for hit in hits if _matches(hit, question)]
        wanted = Wanted(limit=inquiry.limit, allowed=inquiry.conditions, volunteered=False)
        selection = (await Reader(self._from).read(owner_id, matching, wanted)).value
        return Found(value=(selection.items, len(matching)), hits=len(selection.items))

    async def _heirs(self, owner_id: int, past: Sequence[Hit], conditions: Filter) -> dict[str, str]:
        """Return what replaced each superseded atom, where the search's own conditions allow it too."""
        heirs = await heirs_of(self._from.atoms, owner_id, [hit.ref_id for hit in past])
        narrow = (conditions.kinds, conditions.since_ms, conditions.until_ms, conditions.session_key, conditions.scene)
        if not any(narrow):
            return heirs
        allowed = await self._from.finder.allowed(owner_id, Layer.ATOM, list(heirs.values()), conditions)
        return {old: heir for old, heir in heirs.items() if heir in allowed}


def _matches(hit: Hit, question: Question) -> bool:
    """Say whether a row is shown. A question is also answered by the turns around its words, a plain word is not."""
    if question.plain:
        return hit.held > 0 or hit.near
    return hit.relevant or hit.coverage > 0
