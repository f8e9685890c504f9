"""Where the bounds between scenes run when a model draws them: splits and merges, with ways from the old names."""

from __future__ import annotations

from collections import Counter
from typing import Final

from stenolith.distill.dossier import Part, cited_in
from stenolith.distill.grouping import is_general
from stenolith.distill.shelf import Merge, Shelf, sort_out
from stenolith.distill.titles import slug
from stenolith.engine.projections import SHAPER, Projections
from stenolith.engine.wiring import House
from stenolith.llm.budget import Meter
from stenolith.llm.port import Unanswerable
from stenolith.model.scene import Scene
from stenolith.pipeline.stages import SCENES
from stenolith.pipeline.worker import Lease
from stenolith.store.cursors import Cursor
from stenolith.store.jobs import JobRequest
from stenolith.store.scenes import PERSON, SceneDraft
from stenolith.store.search import Layer

_SHELF: Final = "shelf"


class Shaping:
    """Writes splits and merges. Every line is kept, and every name leads to where its lines went."""

    def __init__(self, house: House, projections: Projections, meter: Meter) -> None:
        self._house = house
        self._projections = projections
        self._meter = meter

    async def part_off(self, owner_id: int, rest: Scene, part: Part) -> Scene:
        """Store *rest*, what a scene keeps, and a new scene of the lines that left it; joins the transaction.

        Both are told anew: a summary of before may be about the other one.
        """
        house = self._house
        kept = await self._put(owner_id, rest, "")
        taken = [known.scene.name for known in await house.scenes.export(owner_id)]
        draft = SceneDraft(name=slug(part.title, taken), title=part.title, lines=part.lines)
        fresh = await house.scenes.put(owner_id, draft, SHAPER)
        await house.atoms.set_scene(owner_id, cited_in(fresh), fresh.id)
        await self._projections.index_scenes(owner_id, [kept, fresh])
        await self._projections.request_scenes(owner_id)
        return fresh

    async def sort_out(self, lease: Lease, tally: Counter[str]) -> None:
        """Have a model name the scenes that should be one, once for each new scene. Raises `ModelUnavailable`."""
        house, owner_id = self._house, lease.job.owner_id
        shelf = await self._shelf(owner_id)
        ids = sorted(scene.id for scene in shelf.scenes)
        seen = (await house.cursors.get(owner_id, _SHELF, "")).state.get("seen", [])
        if len(ids) < 2 or set(ids) <= set(seen):
            return
        merges: tuple[Merge, ...] = ()
        try:
            model = self._meter.for_job(owner_id, SCENES)
            found = await sort_out(model, shelf, house.settings.llm.deadline_ms)
            tally.update(found.tally)
            merges = found.merges
        except Unanswerable as obstacle:
            tally[f"shelf left as it is: {obstacle.obstacle}"] += 1
        async with lease.step():
            await house.database.lock(owner_id)
            gone = [await self._merge(owner_id, merge) for merge in merges]
            tally += Counter({"merged": sum(gone)})  # nothing is counted as nothing
            if all(gone):
                await house.cursors.advance(owner_id, _SHELF, "", Cursor(state={"seen": ids}))
            else:  # written anew while the model thought: it is asked once more
                await house.jobs.enqueue(owner_id, JobRequest(kind=SCENES, key=lease.job.key))

    async def _shelf(self, owner_id: int) -> Shelf:
        """Return the scenes that a model may merge: what belongs to no topic is no topic."""
        scenes = [scene for scene in await self._house.scenes.listing(owner_id) if not is_general(scene)]
        scenes.sort(key=lambda scene: (scene.created_at, scene.id))
        authors = await self._house.scenes.authors(owner_id)
        edited = [scene.id for scene in scenes if PERSON in authors.get(scene.id, ())]
        named = [one for one in edited if await self._house.scenes.writer_of(owner_id, one, "title") == PERSON]
        drawn = frozenset(scene.id for scene in scenes if SHAPER in authors.get(scene.id, ()))
        return Shelf(scenes=tuple(scenes), named=frozenset(named), drawn=drawn)

    async def _merge(self, owner_id: int, merge: Merge) -> int:
        """Make several scenes one unless one of them has changed meanwhile; return how many went."""
        house = self._house
        for scene in (merge.scene, *merge.others):
            now = await house.scenes.get(owner_id, scene.id)
            if now is None or (now.id, now.version) != (scene.id, scene.version):
                return 0
        kept = await self._put(owner_id, merge.scene, merge.scene.summary)
        for other in merge.others:
            await house.scenes.redirect(owner_id, other.id, kept.id)
        await self._projections.drop(owner_id, Layer.SCENE, [other.id for other in merge.others])
        await house.atoms.set_scene(owner_id, cited_in(kept), kept.id)
        await self._projections.index_scenes(owner_id, [kept])
        await self._projections.request_scenes(owner_id)
        return len(merge.others)

    async def _put(self, owner_id: int, scene: Scene, summary: str) -> Scene:
        same = {name: getattr(scene, name) for name in ("id", "name", "title", "terms", "lines")}
        return await self._house.scenes.put(owner_id, SceneDraft(**same, summary=summary), SHAPER)
