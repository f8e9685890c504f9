"""Read what was found again, under the scope: an index may lag, an answer may not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from stenolith.model.atom import Atom, AtomStatus
from stenolith.model.scene import Scene
from stenolith.recall.context import Item
from stenolith.recall.fuse import Hit, Repeats
from stenolith.recall.items import atom_item, record_item, scene_item
from stenolith.recall.ports import AtomReader, Sources
from stenolith.recall.race import Found
from stenolith.store.search import Filter, Layer

_AT_ONCE: Final = 16
_LONGEST_CHAIN: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The items of an answer, best first, and why others were left out."""

    items: tuple[Item, ...]
    dropped: Mapping[str, int] = field(default_factory=dict)


class Reader:
    """Turns hits into items in their order, so that a smaller limit gives a prefix of a larger one."""

    def __init__(self, sources: Sources) -> None:
        self._from = sources

    async def read(self, owner_id: int, hits: Sequence[Hit], limit: int, allowed: Filter) -> Found:
        """Return up to *limit* items that are there, allowed, and no repeats of better ones."""
        repeats, dropped = Repeats(), Counter[str]()
        items: list[Item] = []
        cited: set[str] = set()
        seen: set[str] = set()
        for start in range(0, len(hits), _AT_ONCE):
            if len(items) >= limit:
                break
            chunk = [hit for hit in hits[start : start + _AT_ONCE] if hit.ref_id not in seen]
            found = await self._load(owner_id, chunk, allowed)
            for hit in chunk:
                item = found.get(hit.ref_id)
                reason = _refusal(item, hit.ref_id in seen, cited, repeats) if len(items) < limit else "limit"
                seen.add(hit.ref_id)
                if reason or item is None:
                    dropped[reason] += 1
                    continue
                items.append(item)
                cited.update(source.record_id for source in item.sources if item.layer == Layer.ATOM.value)
        dropped.pop("limit", None)
        return Found(value=Selection(items=tuple(items), dropped=dict(dropped)), hits=len(items))

    async def _load(self, owner_id: int, hits: Sequence[Hit], allowed: Filter) -> dict[str, Item]:
        scores = {hit.ref_id: hit.score for hit in hits}
        atoms = [hit.ref_id for hit in hits if hit.layer is Layer.ATOM]
        records = [hit.ref_id for hit in hits if hit.layer is Layer.RECORD]
        found: dict[str, Item] = {}
        if atoms:
            for atom in await self._from.atoms.get(owner_id, atoms):
                if is_allowed(atom, allowed):
                    found[atom.id] = atom_item(atom, scores[atom.id], self._from.scan)
        if records:
            for record in await self._from.records.get(owner_id, records):
                found[record.record_id] = record_item(record, scores[record.record_id], self._from.scan)
        if any(hit.layer is Layer.SCENE for hit in hits):
            for scene in await self._scenes(owner_id, archived=allowed.include_history):
                if scene.id in scores:
                    found[scene.id] = scene_item(scene, scores[scene.id])
        return found

    async def _scenes(self, owner_id: int, *, archived: bool) -> list[Scene]:
        live = await self._from.scenes.listing(owner_id)
        return live + (await self._from.scenes.listing(owner_id, archived=True) if archived else [])


def _refusal(item: Item | None, known: bool, cited: set[str], repeats: Repeats) -> str:
    """Return why an item is left out, or an empty string."""
    if item is None:
        return "gone"
    if known or (item.layer == Layer.RECORD.value and item.id in cited) or not repeats.is_new(item.text):
        return "repeat"
    return ""


def is_allowed(atom: Atom, allowed: Filter) -> bool:
    """Say whether *atom* may show: the rule of the search statements, for a row that was read again."""
    if allowed.task_session is not None and atom.task_only and atom.session_key != allowed.task_session:
        return False
    if atom.status is AtomStatus.WITHDRAWN:
        return False
    if allowed.as_of_ms is not None:
        ends = [end for end in (atom.valid_until, atom.expires_at) if end is not None]
        return atom.valid_from <= allowed.as_of_ms and all(end > allowed.as_of_ms for end in ends)
    if allowed.include_history:
        return True
    return atom.status is AtomStatus.ACTIVE and (atom.expires_at is None or atom.expires_at > allowed.now_ms)


async def heirs_of(atoms: AtomReader, owner_id: int, ids: Sequence[str]) -> dict[str, str]:
    """Return what holds now in place of each superseded atom, by its id; some have no heir."""
    following: dict[str, str] = {}
    living: set[str] = set()
    front = list(dict.fromkeys(ids))
    for _ in range(_LONGEST_CHAIN):
        if not front:
            break
        found = await atoms.get(owner_id, front)
        following |= {atom.id: atom.superseded_by for atom in found if atom.superseded_by is not None}
        living |= {atom.id for atom in found if atom.status is AtomStatus.ACTIVE}
        front = [after for after in {following.get(one, "") for one in front} if after and after not in following]
    heirs = {one: _last_of(one, following) for one in ids}
    return {one: heir for one, heir in heirs.items() if heir in living and heir != one}


def _last_of(one: str, following: Mapping[str, str]) -> str:
    for _ in range(_LONGEST_CHAIN):
        one = following.get(one, one)
    return one


def item_hit(atom: Atom) -> Hit:
    """Return the place of an atom that was volunteered without being asked for: behind all others."""
    return Hit(ref_id=atom.id, layer=Layer.ATOM, score=0.0, coverage=0.0, relevant=True)
