"""Read what was found again, under the scope: an index may lag, an answer may not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from stenolith.model.atom import Atom, AtomStatus
from stenolith.model.scene import Scene
from stenolith.recall.apart import apart
from stenolith.recall.context import Item
from stenolith.recall.fuse import Hit, Repeats, says_more
from stenolith.recall.items import LONGEST_TEXT, Scan, atom_item, flagged, record_item, scene_item
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How many items, and which may show.

    *volunteered* items were not searched for one by one: repeats are left out, and so are records
    whose statement was replaced since.  *told* are the records that the stable block states already, *stated*
    its lines by the atoms they cite: a record behind such an atom is shown only when it says more than the line.
    """

    limit: int
    allowed: Filter
    volunteered: bool = True
    told: frozenset[str] = frozenset()
    stated: Mapping[str, str] = field(default_factory=dict)


class Reader:
    """Turns hits into items in their order, so that a smaller limit gives a prefix of a larger one."""

    def __init__(self, sources: Sources) -> None:
        self._from = sources

    async def read(self, owner_id: int, hits: Sequence[Hit], wanted: Wanted) -> Found:
        """Return up to *limit* items that are there and may show, in the order of *hits*."""
        choice = _Choice(wanted, self._from.scan)
        step = max(_AT_ONCE, wanted.limit)
        for start in range(0, len(hits), step):
            chunk = hits[start : start + step]
            found = await self._load(owner_id, chunk, wanted.allowed)
            needless = await self._needless(owner_id, found, wanted) if wanted.volunteered else {}
            taking = partial(choice.take, chunk, found, needless)
            await apart(sum(len(item.text) for item in found.values()), taking)
            if choice.is_full:
                break
        return Found(value=Selection(items=tuple(choice.items), dropped=dict(choice.dropped)), hits=len(choice.items))

    async def _load(self, owner_id: int, hits: Sequence[Hit], allowed: Filter) -> dict[str, Item]:
        scores = {hit.ref_id: hit.score for hit in hits}
        atoms = [hit.ref_id for hit in hits if hit.layer is Layer.ATOM]
        records = [hit.ref_id for hit in hits if hit.layer is Layer.RECORD]
        found: dict[str, Item] = {}
        if atoms:
            for atom in await self._from.atoms.get(owner_id, atoms):
                if is_allowed(atom, allowed):
                    found[atom.id] = atom_item(atom, scores[atom.id])
        if records:
            for record in await self._from.records.beginnings(owner_id, records, LONGEST_TEXT + 1):
                found[record.record_id] = record_item(record, scores[record.record_id])
        if any(hit.layer is Layer.SCENE for hit in hits):
            for scene in await self._scenes(owner_id, archived=allowed.include_history):
                if scene.id in scores:
                    found[scene.id] = scene_item(scene, scores[scene.id])
        return found

    async def _needless(self, owner_id: int, found: Mapping[str, Item], wanted: Wanted) -> dict[str, str]:
        """Return why records are not shown.

        All their statements were replaced, have expired or lost their ground, or the stable block says the same.
        """
        records = [item.id for item in found.values() if item.layer == Layer.RECORD.value]
        gone: set[str] = set()
        standing: set[str] = set()
        said: set[str] = set()
        for atom in await self._from.atoms.by_record(owner_id, records) if records else ():
            cited = {source.record_id for source in atom.sources}
            (gone if _is_over(atom, wanted.allowed) else standing).update(cited)
            line = wanted.stated.get(atom.id)
            if line is not None:
                said.update(one for one in cited & found.keys() if not says_more(found[one].text, line))
        return dict.fromkeys(said, "repeat") | dict.fromkeys(gone - standing, "superseded")

    async def _scenes(self, owner_id: int, *, archived: bool) -> list[Scene]:
        live = await self._from.scenes.listing(owner_id)
        return live + (await self._from.scenes.listing(owner_id, archived=True) if archived else [])


class _Choice:
    """Takes items in their order and leaves out what is gone or was said already."""

    def __init__(self, wanted: Wanted, scan: Scan) -> None:
        self.items: list[Item] = []
        self.dropped: Counter[str] = Counter()
        self._scan = scan
        self._limit = wanted.limit
        self._repeats = Repeats() if wanted.volunteered else None
        self._known = set(wanted.told)

    @property
    def is_full(self) -> bool:
        """Whether there are enough items."""
        return len(self.items) >= self._limit

    def take(self, hits: Sequence[Hit], found: Mapping[str, Item], needless: Mapping[str, str]) -> None:
        """Add what was *found* of *hits*, or count why not, until there are enough."""
        for hit in hits:
            if self.is_full:
                break
            self._take(found.get(hit.ref_id), needless.get(hit.ref_id, ""))

    def _take(self, item: Item | None, needless: str) -> None:
        """Add *item*, or count why not. A record that an atom before it rests on is a repeat."""
        if item is None:
            self.dropped["gone"] += 1
        elif needless:
            self.dropped[needless] += 1
        elif item.id in self._known or (self._repeats and not self._repeats.is_new(item.text)):
            self.dropped["repeat"] += 1
        else:
            self.items.append(flagged(item, self._scan))
            self._known.add(item.id)
            if item.layer == Layer.ATOM.value:
                self._known.update(source.record_id for source in item.sources)


def _is_over(atom: Atom, allowed: Filter) -> bool:
    """Say whether what *atom* states holds no longer; nobody may have swept what has expired since."""
    if atom.status in {AtomStatus.SUPERSEDED, AtomStatus.WITHDRAWN}:
        return True
    if allowed.as_of_ms is not None:
        return False
    return atom.status is AtomStatus.EXPIRED or (atom.expires_at is not None and atom.expires_at <= allowed.now_ms)


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
