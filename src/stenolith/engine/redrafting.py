"""A model words what code has put together: dossiers of scenes, lines of the persona.

Rules write first and always; the words of a model are laid over them by jobs of their own (key ``model``),
so that a model that is slow, down or paid out delays no fact.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from stenolith.distill.dossier import Dossier, Revision, cited_in, edit, is_due
from stenolith.distill.portrait import keep_wording, mark_of, to_word, word
from stenolith.engine.projections import AUTHOR, Projections
from stenolith.engine.shaping import Shaping
from stenolith.engine.wiring import House
from stenolith.llm.budget import Meter
from stenolith.llm.port import Unanswerable
from stenolith.model.atom import Atom
from stenolith.model.persona import PersonaLine
from stenolith.model.scene import Scene
from stenolith.pipeline.stages import PERSONA, SCENES, STAGES
from stenolith.pipeline.worker import Lease
from stenolith.store.cursors import Cursor
from stenolith.store.jobs import JobRequest
from stenolith.store.scenes import PERSON, SceneDraft

KEY: Final = "model"
"""Key of the jobs in which a model words what rules have written."""
_DOSSIER: Final = "dossier"
_PORTRAIT: Final = "portrait"


class Redrafting:
    """Keeps a model's words where they still hold, and asks for new ones where they do not."""

    def __init__(self, house: House, projections: Projections, meter: Meter) -> None:
        self._house = house
        self._projections = projections
        self._meter = meter
        self._shaping = Shaping(house, projections, meter)

    async def request_dossiers(self, owner_id: int) -> None:
        """Ask for the dossiers to be edited; joins the transaction that wrote them."""
        await self._house.jobs.enqueue(owner_id, JobRequest(kind=SCENES, key=KEY))

    async def edit_dossiers(self, lease: Lease) -> None:
        """Edit the scenes whose facts have changed much, those with most changes first.

        When half of the time a job may take is over, another job does the rest.  Raises `ModelUnavailable`;
        what was edited before is kept.
        """
        owner_id, tally = lease.job.owner_id, Counter[str]()
        clock = asyncio.get_running_loop().time
        until = clock() + STAGES[SCENES].ceiling_ms / 2000
        await self._shaping.sort_out(lease, tally)
        due = await self._due(owner_id)
        while due and clock() <= until:
            await self._edit(lease, due.pop(0), tally)
        await self._projections.write_files(owner_id)
        async with lease.commit(dict(tally)):
            if due:
                await self.request_dossiers(owner_id)

    async def _due(self, owner_id: int) -> list[Scene]:
        seen = await self._house.cursors.of_stage(owner_id, _DOSSIER)
        ranked = []
        for scene in await self._house.scenes.listing(owner_id):
            before = seen[scene.id].state["seen"] if scene.id in seen else None
            if is_due(cited_in(scene), before):
                ranked.append((len(set(cited_in(scene)) ^ set(before or ())), scene))
        return [scene for _, scene in sorted(ranked, key=lambda pair: (-pair[0], pair[1].id))]

    async def _edit(self, lease: Lease, scene: Scene, tally: Counter[str]) -> None:
        """Have one scene edited and store it unless it has changed meanwhile."""
        house, owner_id = self._house, lease.job.owner_id
        facts = await house.atoms.get(owner_id, cited_in(scene))
        if len(facts) < len(cited_in(scene)):
            return  # forgotten this moment; the rules will write the scene anew
        looked_at = (await house.cursors.get(owner_id, _DOSSIER, scene.id)).state
        fresh = not looked_at and scene.version == 1
        handmade = await house.scenes.writer_of(owner_id, scene.id, "summary") == PERSON
        dossier = Dossier(scene=scene, facts=tuple(facts), fresh=fresh, handmade=handmade, zone=house.settings.zone)
        revision = Revision(scene=scene)
        try:
            model = self._meter.for_job(owner_id, SCENES)
            revision = await edit(model, dossier, house.settings.llm.deadline_ms)
            tally.update(revision.tally)
        except Unanswerable as obstacle:
            tally[f"left to the rules: {obstacle.obstacle}"] += 1
        async with lease.step():
            await house.database.lock(owner_id)
            now = await house.scenes.get(owner_id, scene.id)
            if now is None or now.version != scene.version:
                return
            if revision.part is not None:
                part = await self._shaping.part_off(owner_id, revision.scene, revision.part)
                await self._have_seen(owner_id, part)
                tally["split"] += 1
            elif revision.scene != scene:
                await self._store(owner_id, revision.scene)
                tally["edited"] += 1
            await self._have_seen(owner_id, revision.scene)

    async def _have_seen(self, owner_id: int, scene: Scene) -> None:
        """Remember which facts of a scene the editor has seen."""
        await self._house.cursors.advance(owner_id, _DOSSIER, scene.id, Cursor(state={"seen": cited_in(scene)}))

    async def _store(self, owner_id: int, edited: Scene) -> None:
        same = {name: getattr(edited, name) for name in ("id", "name", "title", "summary", "terms", "lines")}
        scene = await self._house.scenes.put(owner_id, SceneDraft(**same), AUTHOR)
        await self._projections.index_scenes(owner_id, [scene])

    async def keep_wording(self, owner_id: int, lines: Sequence[PersonaLine]) -> list[PersonaLine]:
        """Return the judged *lines* in the words a model found before, where their evidence is the same.

        Asks for words for the others; joins the transaction that stores the lines.
        """
        known = await self._marks(owner_id)
        if to_word(lines, known):
            await self._house.jobs.enqueue(owner_id, JobRequest(kind=PERSONA, key=KEY))
        return keep_wording(lines, (await self._house.personas.current(owner_id)).lines, known)

    async def word_lines(self, lease: Lease) -> None:
        """Have some standing lines worded. Raises `ModelUnavailable`; the rules' words stand until it answers."""
        house, owner_id, tally = self._house, lease.job.owner_id, Counter[str]()
        known = await self._marks(owner_id)
        lines = to_word((await house.personas.current(owner_id)).lines, known)
        texts = await self._words(owner_id, lines, tally) if lines else {}
        async with lease.step():
            await house.database.lock(owner_id)
            asked = {line.id: mark_of(line) for line in lines}
            now = (await house.personas.current(owner_id)).lines
            worded = [
                replace(line, text=texts[line.id]) if line.id in texts and asked[line.id] == mark_of(line) else line
                for line in now
            ]
            await house.personas.replace(owner_id, worded)
            there = {line.id for line in now}
            marks = {one: mark for one, mark in {**known, **asked}.items() if one in there}
            await house.cursors.advance(owner_id, _PORTRAIT, "", Cursor(state=marks))
            if to_word(worded, marks):
                await house.jobs.enqueue(owner_id, JobRequest(kind=PERSONA, key=KEY))
        await self._projections.write_files(owner_id)
        async with lease.commit(dict(tally)):
            return

    async def _words(self, owner_id: int, lines: Sequence[PersonaLine], tally: Counter[str]) -> dict[str, str]:
        cited = [one for line in lines for one in line.atoms]
        atoms: dict[str, Atom] = {atom.id: atom for atom in await self._house.atoms.get(owner_id, cited)}
        model = self._meter.for_job(owner_id, PERSONA)
        try:
            answer = await word(model, lines, atoms, self._house.settings.llm.deadline_ms)
        except Unanswerable as obstacle:
            tally[f"left to the rules: {obstacle.obstacle}"] += len(lines)
            return {}
        tally.update(answer.tally)
        tally["worded"] += len(answer.texts)
        return dict(answer.texts)

    async def _marks(self, owner_id: int) -> dict[str, str]:
        return {
            str(one): str(mark) for one, mark in (await self._house.cursors.get(owner_id, _PORTRAIT, "")).state.items()
        }
