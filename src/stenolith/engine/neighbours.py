"""Known atoms that a new one may repeat, refine or contradict: by words, by property, by meaning."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, zip_longest
from typing import Final

from stenolith.distill.reconcile import normal_form
from stenolith.engine.projections import Projections
from stenolith.engine.wiring import House
from stenolith.errors import InvalidInput, ModelUnavailable
from stenolith.llm.port import Floats
from stenolith.model.atom import Atom, AtomDraft, AtomStatus
from stenolith.store.search import Layer
from stenolith.store.vectors import Shelf

NEAR: Final = 6
"""Known atoms shown beside a new one; the layered reference shows five."""
_POOL: Final = 12


class Neighbours:
    """Looks among an owner's atoms, and nobody else's."""

    def __init__(self, house: House, projections: Projections) -> None:
        self._house = house
        self._projections = projections

    async def same(self, owner_id: int, draft: AtomDraft) -> list[Atom]:
        """Return atoms with the same words, the same property or the same evidence, of any status."""
        atoms = self._house.atoms
        near = await atoms.candidates(owner_id, draft, normal_form(draft.text))
        told = await atoms.by_record(owner_id, [source.record_id for source in draft.sources])
        return list({atom.id: atom for atom in (*near, *told)}.values())

    async def near(self, owner_id: int, drafts: Sequence[AtomDraft]) -> list[list[Atom]]:
        """Return for each draft its nearest active atoms: those of its property, then by words and meaning in turn."""
        vectors = await self._vectors(owner_id, [draft.text for draft in drafts])
        found = []
        for draft, vector in zip(drafts, vectors, strict=True):
            same = await self.same(owner_id, draft)
            by_words = await self._projections.similar_atoms(owner_id, draft.text, _POOL)
            by_meaning = await self._by_meaning(owner_id, vector)
            mixed = [ref for pair in zip_longest(by_words, by_meaning) for ref in pair if ref]
            refs = list(dict.fromkeys(chain((atom.id for atom in same), mixed)))[: NEAR + _POOL]
            atoms = await self._house.atoms.get(owner_id, refs)
            found.append([atom for atom in atoms if self._holds(atom)][:NEAR])
        return found

    def _holds(self, atom: Atom) -> bool:
        ended = atom.expires_at is not None and atom.expires_at <= self._house.now()
        return atom.status is AtomStatus.ACTIVE and not ended

    async def _vectors(self, owner_id: int, texts: Sequence[str]) -> Sequence[Floats | None]:
        """Embed *texts*; without an embedder, or while it is away, words alone must do."""
        embedder = self._house.embedder
        if embedder is None or not texts or not await self._house.vectors.holds(self._shelf(owner_id)):
            return [None] * len(texts)
        try:
            return list(await embedder.embed(texts, "passage"))
        except (ModelUnavailable, InvalidInput):
            return [None] * len(texts)

    async def _by_meaning(self, owner_id: int, vector: Floats | None) -> list[str]:
        if vector is None:
            return []
        nearness = await self._house.vectors.nearest(self._shelf(owner_id), vector)
        return nearness.best(_POOL) if nearness is not None else []

    def _shelf(self, owner_id: int) -> Shelf:
        model_id = self._house.embedder.model_id if self._house.embedder else ""
        return Shelf(owner_id=owner_id, layer=Layer.ATOM, model_id=model_id)
