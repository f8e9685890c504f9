"""Reading what is stored: lists, scenes, the persona, and the way down from any line to the words."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from stenolith.distill.markdown import Markdown, render_persona, render_scene
from stenolith.engine.projections import Projections
from stenolith.engine.views import View, atom_view, record_view, scene_view, session_view
from stenolith.engine.wiring import House
from stenolith.errors import InvalidInput, NotFound
from stenolith.model.atom import Atom, AtomStatus
from stenolith.model.identity import Scope, is_id
from stenolith.model.message import mended
from stenolith.model.persona import PersonaLine
from stenolith.model.scene import Line, Scene
from stenolith.model.text import cut
from stenolith.store.atom_rows import AtomQuery, held_at
from stenolith.store.persona import Portrait

ListedLayer = Literal["atoms", "scenes", "sessions", "records"]
_STATUSES: Final[Mapping[str, tuple[str, ...]]] = {"atoms": tuple(AtomStatus), "scenes": ("live", "archived")}
_DIGITS: Final = len(str(2**63))


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What part of a layer is wanted. *as_of* (epoch ms) asks for the atoms that held then, on one page."""

    limit: int = 50
    cursor: str | None = None
    status: str | None = None
    as_of: int | None = None


class Reading:
    """Answers under one scope; foreign ids do not exist."""

    def __init__(self, house: House, projections: Projections) -> None:
        self._house = house
        self._projections = projections

    async def listing(self, layer: ListedLayer, scope: Scope, page: Page) -> View:
        """Return one page as ``items`` and the ``next`` cursor, None at the end."""
        if not 1 <= page.limit <= 10_000:
            raise InvalidInput(f"limit runs from 1 to 10000; got {page.limit}")
        if page.as_of is not None and layer != "atoms":
            raise InvalidInput("only atoms hold for a time: ask for them with as-of")
        known = _STATUSES.get(layer, ())
        if page.status is not None and page.status not in known:
            such = f"is one of {', '.join(known)}" if known else f"is nothing that {layer} have"
            raise InvalidInput(f"status {such}; got {page.status!r}")
        owner_id = await self._house.owners.find(scope)
        match layer:
            case "atoms":
                return await self._atoms(owner_id, page)
            case "scenes":
                return await self._scenes(owner_id, page)
            case "sessions":
                return await self._sessions(owner_id, page)
            case "records":
                return await self._records(owner_id, scope, page)

    async def _atoms(self, owner_id: int, page: Page) -> View:
        if page.as_of is not None:
            held = await self._house.atoms.as_of(owner_id, page.as_of, page.limit)
            return {"items": [atom_view(atom) for atom in held], "next": None}
        statuses = (AtomStatus(page.status),) if page.status else (AtomStatus.ACTIVE,)
        wanted = AtomQuery(statuses=statuses, limit=page.limit, cursor=page.cursor or "")
        found = await self._house.atoms.listing(owner_id, wanted)
        return {"items": [atom_view(atom) for atom in found.items], "next": found.next or None}

    async def _scenes(self, owner_id: int, page: Page) -> View:
        skip, limit = _number(page.cursor), page.limit
        archived = page.status == "archived"
        scenes = await self._house.scenes.listing(owner_id, archived=archived, limit=limit + 1, skip=skip)
        more = str(skip + limit) if len(scenes) > limit else None
        return {"items": [scene_view(scene) for scene in scenes[:limit]], "next": more}

    async def _sessions(self, owner_id: int, page: Page) -> View:
        limit = page.limit
        sessions = await self._house.transcripts.page(owner_id, _number(page.cursor), limit + 1)
        more = str(sessions[limit - 1].session_ref) if len(sessions) > limit else None
        return {"items": [session_view(session) for session in sessions[:limit]], "next": more}

    async def _records(self, owner_id: int, scope: Scope, page: Page) -> View:
        limit = page.limit
        if page.cursor and not is_id(page.cursor, "rec"):
            raise InvalidInput(f"{page.cursor!r} is not a cursor that an earlier page gave")
        records = await self._house.records.page(owner_id, page.cursor or "", limit + 1, scope.session_key)
        more = records[limit - 1].record_id if len(records) > limit else None
        return {"items": [record_view(record) for record in records[:limit]], "next": more}

    async def scene(self, scope: Scope, name: str, as_of: int | None = None) -> View:
        """Return a scene's Markdown and what each of its lines cites. Raises `NotFound`."""
        owner_id = await self._house.owners.find(scope)
        scene = await self.scene_called(scope, name)
        if as_of is not None:
            then = await self._scene_then(owner_id, scene, as_of)
            if then is None:
                raise NotFound(f"there was no scene {cut(name, 80)!r} under this scope then")
            scene = then
        cited = [atom for line in scene.lines for atom in line.atoms]
        atoms = {atom.id: atom for atom in await self._house.atoms.get(owner_id, cited)}
        ways = await self._ways(owner_id, mended(name), scene)
        return {**scene_view(scene), **ways, **_page(render_scene(scene, atoms, self._house.settings.zone))}

    async def _ways(self, owner_id: int, name: str, scene: Scene) -> View:
        """Say which scene was asked for when it was merged into this one, and where lines went that stood here."""
        every = await self._house.scenes.export(owner_id)
        asked = [kept.scene for kept in every if kept.redirect_to is not None and _is_called(kept.scene, name)]
        before = {
            atom
            for version in await self._house.scenes.versions(owner_id, scene.id)
            for line in version.lines
            for atom in line.atoms
        }
        before -= {atom for line in scene.lines for atom in line.atoms}
        others = [
            kept.scene
            for kept in every
            if kept.redirect_to is None
            and kept.scene.id != scene.id
            and any(not before.isdisjoint(line.atoms) for line in kept.scene.lines)
        ]
        moved = [{"id": one.id, "name": one.name, "title": one.title} for one in others]
        merged = asked[0].name if asked and not _is_called(scene, name) else None
        return {"redirected_from": merged, "moved_to": moved}

    async def scene_called(self, scope: Scope, name: str) -> Scene:
        """Return the scene with this name, id or title. Raises `NotFound`."""
        scene = await self._find_scene(await self._house.owners.find(scope), mended(name))
        if scene is None:
            raise NotFound(f"there is no scene {cut(name, 80)!r} under this scope; `stenolith list scenes` names them")
        return scene

    async def _scene_then(self, owner_id: int, scene: Scene, at: int) -> Scene | None:
        """Return a scene as it was written at *at*, None when it was not there yet."""
        versions = await self._house.scenes.versions(owner_id, scene.id)
        past = [version for version in versions if version.recorded_at <= at]
        if not past:
            return None
        last = past[-1]
        return replace(
            scene,
            title=last.title,
            summary=last.summary,
            terms=last.terms,
            lines=last.lines,
            version=last.version,
            updated_at=last.recorded_at,
        )

    async def _find_scene(self, owner_id: int, name: str) -> Scene | None:
        """Return the scene with this name, id or title, or the one that such a scene was merged into."""
        found = await self._house.scenes.get(owner_id, name)
        if found is not None:
            return found
        called = [kept for kept in await self._house.scenes.export(owner_id) if _is_called(kept.scene, name)]
        called.sort(key=lambda kept: (kept.redirect_to is not None, kept.scene.archived, kept.scene.created_at))
        return await self._house.scenes.get(owner_id, called[0].scene.id) if called else None

    async def persona(self, scope: Scope, as_of: int | None = None) -> View:
        """Return the persona's Markdown, what its lines cite, and the lines themselves."""
        owner_id = await self._house.owners.find(scope)
        portrait = await self._house.personas.current(owner_id)
        if as_of is not None:
            versions = await self._house.personas.versions(owner_id)
            past = [version for version in versions if version.recorded_at <= as_of]
            portrait = past[-1] if past else Portrait()
        lines = [_line_view(line) for line in portrait.lines]
        page = _page(render_persona(portrait.lines)) if portrait.lines else {"markdown": "", "citations": []}
        return {**page, "version": portrait.version, "lines": lines}

    async def show(self, scope: Scope, identifier: str, as_of: int | None = None) -> View:
        """Walk down from *identifier* to the words that were said, when, and by whom. Raises `NotFound`."""
        owner_id, identifier = await self._house.owners.find(scope), mended(identifier)
        atoms = await self._house.atoms.get(owner_id, [identifier])
        if atoms and as_of is not None:
            versions = await self._house.atoms.history(owner_id, identifier)
            atoms = [atom for atom in versions if held_at(atom, as_of)][-1:]
        if atoms:
            return (await self._atom_nodes(owner_id, atoms))[0]
        records = await self._house.records.get(owner_id, [identifier])
        if records:
            return {**record_view(records[0]), "children": []}
        for line in (await self._house.personas.current(owner_id)).lines:
            if line.id == identifier:
                return await self._persona_node(owner_id, line)
        scene = await self._find_scene(owner_id, identifier)
        if scene is not None:
            node = await self._scene_node(owner_id, scene, scene.lines)
            return {**node, **await self._ways(owner_id, identifier, scene)}
        raise NotFound(f"{cut(identifier, 80)!r} is no atom, record, scene or persona line under this scope")

    async def _persona_node(self, owner_id: int, line: PersonaLine) -> View:
        """Show a persona line over the scenes that hold its atoms."""
        atoms = await self._house.atoms.get(owner_id, line.atoms)
        by_scene: dict[str, list[Atom]] = {}
        for atom in atoms:
            by_scene.setdefault(atom.scene_id or "", []).append(atom)
        children: list[View] = []
        for scene_id, members in by_scene.items():
            scene = await self._house.scenes.get(owner_id, scene_id) if scene_id else None
            nodes = await self._atom_nodes(owner_id, members)
            children += [{**scene_view(scene), "text": scene.title, "children": nodes}] if scene else nodes
        return {**_line_view(line), "children": children}

    async def _scene_node(self, owner_id: int, scene: Scene, lines: Sequence[Line]) -> View:
        cited = list(dict.fromkeys(atom for line in lines for atom in line.atoms))
        atoms = await self._house.atoms.get(owner_id, cited)
        return {**scene_view(scene), "children": await self._atom_nodes(owner_id, atoms)}

    async def _atom_nodes(self, owner_id: int, atoms: Sequence[Atom]) -> list[View]:
        wanted = [source.record_id for atom in atoms for source in atom.sources]
        records = {record.record_id: record for record in await self._house.records.get(owner_id, wanted)}
        nodes = []
        for atom in atoms:
            held = [records[source.record_id] for source in atom.sources if source.record_id in records]
            children = [{**record_view(record), "children": []} for record in held]
            nodes.append({**atom_view(atom), "children": children})
        return nodes


def _is_called(scene: Scene, name: str) -> bool:
    return name in {scene.name, scene.id} or _folded(scene.title) == _folded(name)


def _folded(title: str) -> str:
    return " ".join(unicodedata.normalize("NFC", title).casefold().split())


def _number(cursor: str | None) -> int:
    if cursor and not (cursor.isascii() and cursor.isdecimal() and len(cursor) < _DIGITS):
        raise InvalidInput(f"{cursor!r} is not a cursor that an earlier page gave")
    return int(cursor or 0)


def _page(page: Markdown) -> dict[str, Any]:
    citations = [{"line": citation.line, "atoms": list(citation.atoms)} for citation in page.citations]
    return {"markdown": page.text, "citations": citations}


def _line_view(line: PersonaLine) -> View:
    return {
        "id": line.id,
        "layer": "persona",
        "section": line.section,
        "text": line.text,
        "status": line.status.value,
        "missing": line.missing,
        "version": line.version,
        "updated_at": line.updated_at,
        "atoms": list(line.atoms),
    }
