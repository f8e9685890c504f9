"""What follows a change of curated memory: search rows, vectors, scenes, persona, Markdown files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path

from stenolith.distill.dossier import carry_over
from stenolith.distill.evidence import Gate
from stenolith.distill.handwriting import read_origin
from stenolith.distill.markdown import render_persona, render_scene
from stenolith.distill.persona import judge
from stenolith.distill.scenes import SceneAction, SceneChange, SceneSettings, group, scene_of
from stenolith.distill.titles import is_told_by
from stenolith.engine import documents
from stenolith.engine.wiring import House
from stenolith.llm.anchors import ANCHORS
from stenolith.llm.port import Floats
from stenolith.model.atom import Atom
from stenolith.model.persona import PersonaLine
from stenolith.model.scene import Scene
from stenolith.model.text import query_terms
from stenolith.pipeline.stages import EMBED, SCENES
from stenolith.store.atom_rows import AtomChange
from stenolith.store.files import ProjectedFiles, folder_of
from stenolith.store.jobs import JobRequest
from stenolith.store.scenes import PERSON, SceneDraft
from stenolith.store.search import Filter, Layer
from stenolith.store.vectors import Shelf

AUTHOR = "model"
"""Author of the versions of a scene in which a model worded its lines."""
SHAPER = "model, shaping"
"""Author of the versions in which a model drew the bounds between scenes."""
SHAPERS = frozenset({PERSON, SHAPER})
RULES = frozenset({"rules", "forget"})
"""Authors of what code writes, and may write anew."""
PAGE = 2000
SCENE_DELAY_MS = 2_000
"""How long scenes wait after a change of atoms, so that many turns share one run."""


class Projections:
    """Keeps everything derived from atoms in step with them; methods join an open transaction."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def follow(self, owner_id: int, change: AtomChange) -> None:
        """Bring search, vectors, scenes and persona along with *change*, in its transaction."""
        house = self._house
        if change.removed:
            await self.drop(owner_id, Layer.ATOM, change.removed)
            await self._scrub_scenes(owner_id, change.removed)
            await house.personas.scrub(owner_id, change.removed)
        added = list(change.added)
        if change.orphans:
            revived = await house.atoms.revive(owner_id, [atom.id for atom in change.orphans])
            added += revived.added
        await house.index.index(documents.of_atoms(owner_id, added, house.settings.zone))
        touched = [atom.id for atom in (*change.retired, *change.confirmed)]
        await house.scenes.mark_stale(owner_id, touched)
        if added:
            await self.request_vectors(owner_id, Layer.ATOM)
        if added or touched or change.removed:
            await self.request_scenes(owner_id)

    async def _scrub_scenes(self, owner_id: int, removed: Sequence[str]) -> None:
        """Take forgotten words out of scenes at once; one whose title may repeat them goes, and is told anew."""
        before = {kept.scene.id: kept.scene for kept in await self._house.scenes.export(owner_id)}
        scrubbed = await self._house.scenes.scrub(owner_id, removed)
        await self.drop(owner_id, Layer.SCENE, [scene.id for scene in scrubbed])
        for scene in scrubbed:
            if await self._may_be_called(owner_id, scene, before[scene.id]):
                await self.index_scenes(owner_id, [scene])
            else:
                await self._house.scenes.delete(owner_id, scene.id)

    async def _may_be_called(self, owner_id: int, scene: Scene, before: Scene) -> bool:
        """Say whether a scrubbed scene's title repeats nothing that was forgotten.

        What a person called it stays, unless it shares a word with the lines that went.
        """
        left = await self._house.atoms.get(owner_id, [atom for line in scene.lines for atom in line.atoms])
        if not left or is_told_by(scene.title, left):
            return bool(left)
        if await self._house.scenes.writer_of(owner_id, scene.id, "title") != PERSON:
            return False
        gone = "\n".join(line.text for line in before.lines if line not in scene.lines)
        return set(query_terms(scene.title).words).isdisjoint(query_terms(gone).words)

    async def index_scenes(self, owner_id: int, scenes: Sequence[Scene]) -> None:
        """Put scenes whose words have changed into the index, and ask for their vectors anew."""
        if scenes:
            await self._house.index.index(documents.of_scenes(owner_id, scenes))
            await self._house.vectors.remove(owner_id, Layer.SCENE, [scene.id for scene in scenes])
            await self.request_vectors(owner_id, Layer.SCENE)

    async def request_scenes(self, owner_id: int) -> None:
        """Ask for the owner's scenes to be written anew, soon."""
        later = JobRequest(kind=SCENES, key="", run_after=self._house.now() + SCENE_DELAY_MS)
        await self._house.jobs.enqueue(owner_id, later)

    async def request_vectors(self, owner_id: int, layer: Layer) -> None:
        """Ask for the vectors of what is new; nothing is asked when there is no embedder."""
        if self._house.embedder is not None:
            await self._house.jobs.enqueue(owner_id, JobRequest(kind=EMBED, key=layer.value))

    async def drop(self, owner_id: int, layer: Layer, ids: Sequence[str]) -> None:
        """Take rows out of full text and vectors."""
        await self._house.index.remove(owner_id, layer, ids)
        await self._house.vectors.remove(owner_id, layer, ids)

    async def similar_atoms(self, owner_id: int, text: str, limit: int) -> list[str]:
        """Return ids of active atoms that share words with *text*, roughly best first."""
        now = Filter(now_ms=self._house.now())
        matches = await self._house.search.look_up(owner_id, Layer.ATOM, query_terms(text), now, pool=limit)
        return [candidate.ref_id for candidate in matches.candidates]

    async def all_atoms(self, owner_id: int) -> list[Atom]:
        """Return the owner's atoms of every status."""
        found: list[Atom] = []
        while page := await self._house.atoms.export(owner_id, found[-1].id if found else "", PAGE):
            found += [atom for atom, _ in page]
        return found

    async def plan_scenes(self, owner_id: int) -> list[SceneChange]:
        """Work out how the owner's scenes change; nothing is written.

        Lines that a person or a model wrote stay as far as their facts still hold.
        """
        house = self._house
        atoms = await self.all_atoms(owner_id)
        every = await house.scenes.export(owner_id)
        scenes = [kept.scene for kept in every if kept.redirect_to is None]
        authors = await house.scenes.authors(owner_id)
        limits = SceneSettings(
            max_live=house.settings.distill.max_scenes,
            zone=house.settings.zone,
            shaped=frozenset(one for one, names in authors.items() if not names.isdisjoint(SHAPERS)),
            reserved=frozenset(kept.scene.name for kept in every if kept.redirect_to is not None),
        )
        vectors = await self._vectors_of(owner_id, atoms)
        plan = partial(group, atoms, scenes, vectors=vectors, now_ms=house.now(), settings=limits)
        changes = await asyncio.to_thread(plan)
        told = {scene.id: scene for scene in scenes if not authors.get(scene.id, frozenset()) <= RULES}
        return carried_over(changes, told, {atom.id: atom for atom in atoms})

    async def _vectors_of(self, owner_id: int, atoms: Sequence[Atom]) -> dict[str, Sequence[float]] | None:
        if self._house.embedder is None:
            return None
        shelf = Shelf(owner_id=owner_id, layer=Layer.ATOM, model_id=self._house.embedder.model_id)
        found = await self._house.vectors.get(shelf, [atom.id for atom in atoms])
        return {ref: [float(number) for number in vector] for ref, vector in found.items()}

    async def store_scenes(self, owner_id: int, changes: Sequence[SceneChange]) -> None:
        """Write planned changes; joins an open transaction."""
        house = self._house
        for change in changes:
            if change.action is SceneAction.REMOVE:
                await self._remove_scene(owner_id, change)
                continue
            fresh = change.action is SceneAction.CREATE
            draft = SceneDraft(
                id="" if fresh else change.scene.id,
                name=change.scene.name,
                title=change.scene.title,
                summary=change.scene.summary,
                terms=change.scene.terms,
                lines=change.scene.lines,
            )
            scene = await house.scenes.put(owner_id, draft, "rules")
            if change.scene.archived:
                await house.scenes.archive(owner_id, scene.id)
            await self.index_scenes(owner_id, [scene])
            cited = list(dict.fromkeys(atom for line in scene.lines for atom in line.atoms))
            await house.atoms.set_scene(owner_id, cited, scene.id)

    async def _remove_scene(self, owner_id: int, change: SceneChange) -> None:
        """Take away an empty scene; one whose atoms another took over leads there from now on."""
        await self.drop(owner_id, Layer.SCENE, [change.scene.id])
        if change.into and await self._house.scenes.get(owner_id, change.into) is not None:
            await self._house.scenes.redirect(owner_id, change.scene.id, change.into)
        else:
            await self._house.scenes.delete(owner_id, change.scene.id)

    async def judge(self, owner_id: int) -> list[PersonaLine]:
        """Return the persona that the owner's atoms support now; nothing is written."""
        house, wanted = self._house, self._house.settings.distill
        # A host that names its speakers calls the owner by the scope's user; everybody else is company.
        own = frozenset({"", "user", (await house.owners.scope_of(owner_id)).user})
        gate = Gate(atoms=wanted.persona_atoms, scenes=wanted.persona_scenes, days=wanted.persona_days, speakers=own)
        atoms = await self.all_atoms(owner_id)
        scenes = [kept.scene for kept in await house.scenes.export(owner_id)]
        existing = (await house.personas.current(owner_id)).lines
        return judge(atoms, scene_of(scenes), existing, gate=gate, zone=house.settings.zone, now_ms=house.now())

    async def write_files(self, owner_id: int) -> int:
        """Write the owner's scenes and persona as Markdown files and return how many changed."""
        files, pages = await self._files_of(owner_id)
        lines = (await self._house.personas.current(owner_id)).lines
        portrait = render_persona(lines).text if lines else ""
        report, face = files.write_scenes(pages), files.write_persona(portrait)
        return sum(len(part) for part in (report.written, report.removed, face.written, face.removed))

    async def edited_outside(self, owner_id: int) -> list[tuple[str, Path]]:
        """Return the scenes, by name, whose file says something else than memory in the revision it names."""
        files, pages = await self._files_of(owner_id)
        found = []
        for name, path in files.differing(pages).items():
            text = path.read_text(encoding="utf-8", errors="replace")
            if read_origin(text) in {None, read_origin(pages[name])}:  # an older revision waits to be written
                found.append((name, path))
        return found

    async def _files_of(self, owner_id: int) -> tuple[ProjectedFiles, dict[str, str]]:
        """Return the folder of an owner's files, and what the page of each live scene shall say."""
        house = self._house
        files = ProjectedFiles(folder_of(house.home, await house.owners.scope_of(owner_id)))
        scenes = await house.scenes.listing(owner_id)
        cited = {atom.id: atom for atom in await self.all_atoms(owner_id)}
        return files, {scene.name: render_scene(scene, cited, house.settings.zone).text for scene in scenes}

    async def embed_missing(
        self, owner_id: int, layer: Layer, batch: int, step: Callable[[], AbstractAsyncContextManager[None]]
    ) -> int:
        """Compute the vectors that rows of *layer* lack, *batch* at a time, each batch in one *step*."""
        house, embedder = self._house, self._house.embedder
        if embedder is None:
            return 0
        done = 0
        shelf = Shelf(owner_id=owner_id, layer=layer, model_id=embedder.model_id)
        anchors = await house.vectors.anchors(embedder.model_id)
        if anchors is None or embedder.dim not in {0, anchors.shape[1]}:
            neutral = await embedder.embed(ANCHORS, "passage")
            async with step():
                await house.vectors.put_anchors(embedder.model_id, list(neutral))
        async with step():
            await self._fit(shelf, embedder.dim)
        while refs := await house.vectors.missing(shelf, batch):
            texts = {ref: text for ref, text in (await self._texts(owner_id, layer, refs)).items() if text}
            if not texts:
                break
            vectors = await embedder.embed(list(texts.values()), "passage")
            async with step():
                done += await self._keep_vectors(shelf, texts, dict(zip(texts, vectors, strict=True)))
        return done

    async def _keep_vectors(self, shelf: Shelf, texts: Mapping[str, str], vectors: Mapping[str, Floats]) -> int:
        """Store the vectors of texts that still say what was embedded: what was forgotten meanwhile stays forgotten."""
        house = self._house
        await house.database.lock(shelf.owner_id)
        now = await self._texts(shelf.owner_id, shelf.layer, list(texts))
        kept = {ref: vectors[ref] for ref, text in texts.items() if now.get(ref) == text}
        for vector in list(kept.values())[:1]:
            await self._fit(shelf, len(vector))
        await house.vectors.put(shelf, kept)
        return len(kept)

    async def _fit(self, shelf: Shelf, dim: int) -> None:
        """Empty the shelf when it holds vectors of another length than the embedder gives now (0: not known yet)."""
        if dim and await self._house.vectors.length(shelf) not in {0, dim}:
            await self._house.vectors.start_anew(shelf, dim)

    async def _texts(self, owner_id: int, layer: Layer, refs: Sequence[str]) -> dict[str, str]:
        house = self._house
        match layer:
            case Layer.RECORD:
                records = await house.records.get(owner_id, refs)
                return {item.record_id: f"{item.speaker}: {item.message_text}".lstrip(": ") for item in records}
            case Layer.ATOM:
                return {atom.id: atom.text for atom in await house.atoms.get(owner_id, refs)}
            case Layer.SCENE:
                scenes = [await house.scenes.get(owner_id, ref) for ref in refs]
                return {scene.id: f"{scene.title}. {scene.summary}" for scene in scenes if scene is not None}


def carried_over(
    changes: Sequence[SceneChange], told: Mapping[str, Scene], atoms: Mapping[str, Atom]
) -> list[SceneChange]:
    """Return planned *changes* with the lines of *told*, scenes by id, as far as their facts still hold."""
    found = []
    for change in changes:
        before = told.get(change.scene.id)
        if before is None or change.action is not SceneAction.UPDATE:
            found.append(change)
            continue
        scene = carry_over(change.scene, before, atoms)
        same = {name: getattr(before, name) for name in ("version", "updated_at", "terms")}
        if replace(scene, **same) != before:
            found.append(replace(change, scene=scene))
    return found
