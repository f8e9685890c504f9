"""Recall: read the question, let the arms race, bring them together, read again under the scope, write it down."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from functools import partial
from typing import Any, Final

from stenolith.model.atom import AtomStatus
from stenolith.model.clock import Clock
from stenolith.recall.assemble import STABLE_SHARE, Stable, write_dynamic, write_stable
from stenolith.recall.context import Context, Item, Report, Request
from stenolith.recall.fuse import (
    STRONG_COVERAGE,
    Hit,
    merge,
    put_corrections_before,
    put_past_behind,
    rank_apart,
    redirect,
)
from stenolith.recall.ports import Sources
from stenolith.recall.query import Question, read_question
from stenolith.recall.race import Arm, Finish, Found, Race, Skipped
from stenolith.recall.readback import Reader, Wanted, heirs_of, item_hit
from stenolith.store.search import Filter, Layer

RECENT: Final = 3
"""Atoms volunteered when a question names nothing ("go on")."""
ENOUGH_COVERAGE: Final = 0.45
ENOUGH_ATOMS: Final = 3
"""Atoms suffice when one covers this much of the question, or this many are relevant by words."""
INSTRUCTIONS: Final = 50
SCENES: Final = 100
DOUBTS: Final = 64
"""Best atoms that are looked at for a later correction; more than are ever shown."""
_FIRST_WAVE_ENDS: Final = 0.65
_SECOND_WAVE_ENDS: Final = 0.9
"""Shares of the deadline: a slow embedder must leave time for reading what the words have found."""
_GRACE_S: Final = 0.05
"""Reading a handful of rows again may take this much longer: without it everything found was in vain."""


@dataclass(slots=True)
class _Draft:
    """One recall in the making."""

    owner_id: int
    request: Request
    question: Question
    started: float
    finishes: dict[str, Finish] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)

    def moment(self, share: float) -> float:
        """Return the moment of the monotonic clock at which this share of the deadline has passed."""
        return self.started + share * self.request.deadline_ms / 1000

    def value(self, name: str) -> Any:
        """Return what an arm found, or None."""
        finish = self.finishes.get(name)
        return finish.value if finish else None

    def drop(self, reason: str, count: int) -> None:
        """Count what was left out."""
        if count:
            self.dropped[reason] = self.dropped.get(reason, 0) + count

    def report(self) -> Report:
        """Say who answered."""
        finishes = self.finishes.values()
        degraded = [f"{finish.report.name}: {finish.report.reason}" for finish in finishes if finish.degrades]
        return Report(
            arms=tuple(finish.report for finish in finishes), degraded=tuple(degraded), dropped=dict(self.dropped)
        )


class Recall:
    """Answers a question within its deadline with whatever has answered by then. Close it."""

    def __init__(self, sources: Sources, zone: tzinfo, now: Clock, race: Race | None = None) -> None:
        self._from = sources
        self._zone = zone
        self._now = now
        self._race = race or Race()
        self._last: dict[tuple[int, str], Any] = {}

    async def close(self) -> None:
        """Stop what was left behind."""
        await self._race.close()

    async def recall(self, owner_id: int, request: Request) -> Context:
        """Return the context for a request. Never raises because an arm is late or fails: the report says so.

        A smaller limit gives a prefix of the items of a larger one.
        """
        started = time.monotonic()
        question = read_question(request.query, self._now(), self._zone)
        draft = _Draft(owner_id, request, question, started)
        draft.finishes |= await self._race.run(self._first_arms(draft), draft.moment(_FIRST_WAVE_ENDS))
        present = await rank_apart(question, Layer.ATOM, draft.value("atoms_lexical"), draft.value("atoms_vector"))
        hits = await self._second_wave(draft, present)
        stable = self._stable(draft)
        items = await self._items(draft, hits, stable)
        dynamic, unfit = write_dynamic(items, request.budget_chars, self._zone)
        draft.drop("budget", unfit)
        return Context(stable=stable.text, dynamic=dynamic, items=tuple(items), report=draft.report())

    def _conditions(self, draft: _Draft) -> Filter:
        request = draft.request
        return Filter(
            now_ms=self._now(),
            as_of_ms=request.as_of_ms,
            include_history=request.include_history,
            task_session=request.session_key,
        )

    def _first_arms(self, draft: _Draft) -> Mapping[str, Arm]:
        owner_id, conditions = draft.owner_id, self._conditions(draft)
        finder, question = self._from.finder, draft.question
        return {
            "atoms_lexical": partial(finder.by_words, owner_id, Layer.ATOM, question, conditions),
            "atoms_vector": partial(finder.by_meaning, owner_id, Layer.ATOM, question, conditions),
            "instructions": partial(self._instructions, draft),
            "recent": partial(self._recent, draft),
            "scenes": partial(self._scenes, draft),
            "persona": partial(self._persona, draft),
        }

    async def _instructions(self, draft: _Draft) -> Found:
        _only_now(draft)
        found = await self._from.atoms.standing_instructions(draft.owner_id, INSTRUCTIONS)
        return Found(value=found, hits=len(found))

    async def _recent(self, draft: _Draft) -> Found:
        if not draft.question.vague:
            raise Skipped("the question names something")
        _only_now(draft)
        found = await self._from.atoms.recent(draft.owner_id, RECENT)
        return Found(value=found, hits=len(found))

    async def _scenes(self, draft: _Draft) -> Found:
        _only_now(draft)
        found = await self._from.scenes.listing(draft.owner_id, limit=SCENES)
        return Found(value=tuple(found), hits=len(found))

    async def _persona(self, draft: _Draft) -> Found:
        _only_now(draft)
        found = (await self._from.persona.current(draft.owner_id)).lines
        return Found(value=found, hits=len(found))

    async def _second_wave(self, draft: _Draft, present: list[Hit]) -> list[Hit]:
        """Ask records and superseded atoms too when the atoms do not suffice; return the relevant hits."""
        arms = self._second_arms(draft, present)
        draft.finishes |= await self._race.run(arms, draft.moment(_SECOND_WAVE_ENDS))
        past = await rank_apart(draft.question, Layer.ATOM, draft.value("superseded"), None)
        records = await rank_apart(
            draft.question, Layer.RECORD, draft.value("records_lexical"), draft.value("records_vector")
        )
        reading = {"readback": partial(self._present, draft, present, past)}
        draft.finishes |= await self._race.run(reading, draft.moment(1))
        atoms = [hit for hit in draft.value("readback") or present if hit.relevant]
        evidence = [hit for hit in records if hit.evidence]
        draft.drop("not relevant", len(present) + len(records) - len(atoms) - len(evidence))
        return merge(atoms, evidence)

    def _second_arms(self, draft: _Draft, present: Sequence[Hit]) -> dict[str, Arm]:
        strong = [hit for hit in present if hit.relevant and hit.coverage >= STRONG_COVERAGE]
        if len(strong) >= ENOUGH_ATOMS or any(hit.coverage >= ENOUGH_COVERAGE for hit in strong):
            return dict.fromkeys(("records_lexical", "records_vector", "superseded"), partial(_skip, "atoms suffice"))
        owner_id, question, finder = draft.owner_id, draft.question, self._from.finder
        conditions = self._conditions(draft)
        arms: dict[str, Arm] = {
            "records_lexical": partial(finder.by_words, owner_id, Layer.RECORD, question, conditions),
            "records_vector": partial(finder.by_meaning, owner_id, Layer.RECORD, question, conditions),
            "superseded": partial(finder.by_old_words, owner_id, question),
        }
        if draft.finishes["atoms_vector"].degrades and draft.value("atoms_vector") is None:
            arms["records_vector"] = partial(_skip, "the question has no vector")
        if draft.request.as_of_ms is not None:
            arms["superseded"] = partial(_skip, "the past is asked for itself")
        return arms

    async def _present(self, draft: _Draft, present: Sequence[Hit], past: Sequence[Hit]) -> Found:
        """Put the heirs of matching superseded atoms among the present ones, and the past behind the present."""
        atoms = self._from.atoms
        heirs = await heirs_of(atoms, draft.owner_id, [hit.ref_id for hit in past if hit.relevant])
        found = redirect(past, heirs, present)
        relevant = [hit.ref_id for hit in found if hit.relevant]
        found = put_corrections_before(found, await self._corrections(draft, relevant[:DOUBTS]))
        if draft.request.include_history:
            known = await atoms.get(draft.owner_id, [hit.ref_id for hit in found if hit.relevant])
            found = put_past_behind(found, {atom.id: atom.superseded_by or "" for atom in known})
        return Found(value=found, hits=len(found))

    async def _corrections(self, draft: _Draft, relevant: Sequence[str]) -> dict[str, str]:
        """Return what may refute each doubted atom, when it still holds or something holds in its place."""
        atoms = self._from.atoms
        if not relevant or draft.request.as_of_ms is not None:
            return {}
        after = await atoms.doubts(draft.owner_id, relevant)
        if not after:
            return {}
        later = list(dict.fromkeys(after.values()))
        heirs = await heirs_of(atoms, draft.owner_id, later)
        active = {atom.id for atom in await atoms.get(draft.owner_id, later) if atom.status is AtomStatus.ACTIVE}
        held = {one: one for one in active} | heirs
        return {one: held[other] for one, other in after.items() if other in held}

    async def _items(self, draft: _Draft, hits: Sequence[Hit], stable: Stable) -> list[Item]:
        """Read the best hits again under the scope, without repeats, until there are enough."""
        reader = Reader(self._from)
        allowed = self._conditions(draft)
        wanted = Wanted(limit=draft.request.limit, allowed=allowed, told=stable.told, stated=stable.stated)
        recent = [item_hit(atom) for atom in draft.value("recent") or ()]
        arms = {"items": partial(reader.read, draft.owner_id, [*hits, *recent], wanted)}
        draft.finishes |= await self._race.run(arms, draft.moment(1) + _GRACE_S)
        selection = draft.value("items")
        if selection is None:
            return []
        for reason, count in selection.dropped.items():
            draft.drop(reason, count)
        return list(selection.items)

    def _stable(self, draft: _Draft) -> Stable:
        """Return the stable block; an arm that did not answer leaves what it said last."""
        parts = {}
        for name in ("persona", "instructions", "scenes"):
            finish = draft.finishes[name]
            key = (draft.owner_id, name)
            if finish.value is not None:
                self._last[key] = finish.value
            parts[name] = self._last.get(key, ()) if finish.degrades else finish.value or ()
        budget = draft.request.budget_chars // STABLE_SHARE
        stable = write_stable(parts["persona"], parts["instructions"], parts["scenes"], budget)
        draft.drop("profile budget", stable.unfit)
        return stable


async def _skip(reason: str) -> Found:
    raise Skipped(reason)


def _only_now(draft: _Draft) -> None:
    if draft.request.as_of_ms is not None:
        raise Skipped("the past is asked for")
