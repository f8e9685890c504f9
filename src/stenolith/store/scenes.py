"""Scenes (L2): dossiers whose lines cite atoms, with every earlier version and their redirects."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from stenolith.errors import InvalidInput, NotFound
from stenolith.model.clock import Clock, wall_ms
from stenolith.model.identity import new_id
from stenolith.model.scene import Line, Scene
from stenolith.store.database import Database, Row, statements

PERSON = "person"
"""Author of the versions that a person wrote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneDraft:
    """What a scene shall say. *id* names the scene to change; without one, *name* finds or makes it."""

    name: str
    title: str
    lines: tuple[Line, ...]
    summary: str = ""
    terms: tuple[str, ...] = ()
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneVersion:
    """What a scene said from *recorded_at* (epoch ms) on, and who wrote it."""

    version: int
    title: str
    summary: str
    terms: tuple[str, ...]
    lines: tuple[Line, ...]
    author: str
    recorded_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptScene:
    """A scene with what the store keeps beside it, for export and import."""

    scene: Scene
    versions: tuple[SceneVersion, ...]
    redirect_to: str | None = None
    stale: bool = False


class Scenes:
    """Reads and writes an owner's scenes."""

    def __init__(self, database: Database, now_ms: Clock = wall_ms) -> None:
        self._database = database
        self._sql = statements(database.dialect)
        self._now = now_ms

    async def put(self, owner_id: int, draft: SceneDraft, author: str) -> Scene:
        """Write a scene and return it; the version moves only when something it says has changed.

        Writing an archived or redirected scene brings it back.  Raises `NotFound` for an unknown
        *draft.id* and `InvalidInput` for a name that another scene has, or a line without atoms.
        """
        if not draft.name or not all(line.atoms for line in draft.lines):
            raise InvalidInput("a scene has a name, and each of its lines cites atoms")
        async with self._database.transaction():
            await self._database.lock(owner_id)
            named = await self._row("find_scene", owner_id, name=draft.name)
            row = await self._row("get_scene", owner_id, scene_id=draft.id) if draft.id else named
            if draft.id and row is None:
                raise NotFound(f"there is no scene {draft.id}")
            if row and named and row["scene_id"] != named["scene_id"]:
                raise InvalidInput(f"another scene is named {draft.name}")
            if row is None:
                return await self._insert(owner_id, draft, author)
            return await self._update(owner_id, row, draft, author)

    async def _insert(self, owner_id: int, draft: SceneDraft, author: str) -> Scene:
        now = self._now()
        scene_id = new_id("scn", now)
        content = _content(draft)
        await self._database.fetch(
            self._sql["insert_scene"], scene_id=scene_id, owner_id=owner_id, name=draft.name, **content, now=now
        )
        await self._keep_version(scene_id, 1, content, author)
        row = await self._row("get_scene", owner_id, scene_id=scene_id)
        return _scene(row or {})

    async def _update(self, owner_id: int, row: Row, draft: SceneDraft, author: str) -> Scene:
        content = _content(draft)
        says = {**content, "name": draft.name, "archived": 0, "redirect_to": None}
        values = {**says, "scene_id": row["scene_id"], "stale": 0}
        if all(row[name] == value for name, value in says.items()):
            await self._database.fetch(self._sql["freshen_scene"], owner_id=owner_id, scene_id=row["scene_id"])
            return _scene(row)
        return await self._rewrite(owner_id, values, author)

    async def _rewrite(self, owner_id: int, values: Mapping[str, Any], author: str) -> Scene:
        rows = await self._database.fetch(self._sql["update_scene"], **values, owner_id=owner_id, now=self._now())
        await self._keep_version(values["scene_id"], rows[0]["version"], values, author)
        return _scene(rows[0])

    async def _keep_version(self, scene_id: str, version: int, content: Mapping[str, Any], author: str) -> None:
        await self._database.fetch(
            self._sql["insert_scene_version"],
            scene_id=scene_id,
            version=version,
            body=_body(content),
            author=author,
            now=self._now(),
        )

    async def get(self, owner_id: int, name: str) -> Scene | None:
        """Return the scene with this name or id, or the one that it was merged into."""
        row = await self._row("find_scene", owner_id, name=name) or await self._row(
            "get_scene", owner_id, scene_id=name
        )
        passed: set[str] = set()
        while row is not None and row["redirect_to"] is not None and row["scene_id"] not in passed:
            passed.add(row["scene_id"])
            row = await self._row("get_scene", owner_id, scene_id=row["redirect_to"])
        return _scene(row) if row is not None and row["scene_id"] not in passed else None

    async def listing(self, owner_id: int, *, archived: bool = False, limit: int = 1000, skip: int = 0) -> list[Scene]:
        """Return live scenes, or the archived ones, those changed last first."""
        rows = await self._database.fetch(
            self._sql["page_scenes"], owner_id=owner_id, archived=int(archived), limit=limit, skip=skip
        )
        return [_scene(row) for row in rows]

    async def versions(self, owner_id: int, scene_id: str) -> list[SceneVersion]:
        """Return everything the scene ever said, oldest first."""
        rows = await self._database.fetch(self._sql["scene_versions"], owner_id=owner_id, scene_id=scene_id)
        return [_version(row) for row in rows]

    async def authors(self, owner_id: int) -> dict[str, frozenset[str]]:
        """Return who ever wrote a version of each of the owner's scenes, by scene id."""
        found: dict[str, set[str]] = {}
        for row in await self._database.fetch(self._sql["scene_authors"], owner_id=owner_id):
            found.setdefault(row["scene_id"], set()).add(row["author"])
        return {scene_id: frozenset(names) for scene_id, names in found.items()}

    async def writer_of(self, owner_id: int, scene_id: str, part: Literal["title", "summary"]) -> str:
        """Return the author of the title or summary that a scene has now; empty for no such scene."""
        author, value = "", None
        for version in await self.versions(owner_id, scene_id):
            if getattr(version, part) != value:
                author, value = version.author, getattr(version, part)
        return author

    async def archive(self, owner_id: int, scene_id: str) -> None:
        """Take a scene out of the directory, keeping it. Raises `NotFound`."""
        await self._shelve(owner_id, scene_id, None)

    async def redirect(self, owner_id: int, scene_id: str, into_id: str) -> None:
        """Archive a scene that was merged into another, so that its name leads there.

        Raises `NotFound` when either is missing and `InvalidInput` when it would lead back to itself.
        """
        async with self._database.transaction():
            await self._database.lock(owner_id)
            target = await self.get(owner_id, into_id)
            if target is None:
                raise NotFound(f"there is no scene {into_id}")
            if target.id == scene_id:
                raise InvalidInput("a scene cannot be merged into itself")
            await self._shelve(owner_id, scene_id, target.id)
            # What led here leads on at once: a chain of any number of merges stays one step long.
            await self._database.fetch(
                self._sql["lead_on_scenes"], owner_id=owner_id, scene_id=scene_id, into_id=target.id
            )

    async def _shelve(self, owner_id: int, scene_id: str, redirect_to: str | None) -> None:
        rows = await self._database.fetch(
            self._sql["archive_scene"],
            owner_id=owner_id,
            scene_id=scene_id,
            archived=1,
            redirect_to=redirect_to,
            now=self._now(),
        )
        if not rows:
            raise NotFound(f"there is no scene {scene_id}")

    async def mark_stale(self, owner_id: int, atom_ids: Sequence[str]) -> list[str]:
        """Mark the scenes that cite one of these atoms as due for a rewrite and return their ids."""
        found: set[str] = set()
        async with self._database.transaction():
            await self._database.lock(owner_id)
            for atom_id in atom_ids:
                pattern = f'%"{_literal(atom_id)}"%'
                rows = await self._database.fetch(self._sql["mark_scene_stale"], owner_id=owner_id, cited=pattern)
                found |= {row["scene_id"] for row in rows}
        return sorted(found)

    async def stale(self, owner_id: int) -> list[Scene]:
        """Return the live scenes that are due for a rewrite, the longest unchanged first."""
        return [_scene(row) for row in await self._database.fetch(self._sql["stale_scenes"], owner_id=owner_id)]

    async def scrub(self, owner_id: int, atom_ids: Sequence[str]) -> list[Scene]:
        """Take forgotten atoms out of every scene and of every version kept, and return the scenes.

        A line that cites a forgotten atom goes whole, and so do summary and terms, for they may repeat
        its words; the scene is marked stale, so that what remains is told anew from its other atoms.
        """
        gone = frozenset(atom_ids)
        changed: list[Scene] = []
        async with self._database.transaction():
            await self._database.lock(owner_id)
            for row in await self._database.fetch(self._sql["every_scene"], owner_id=owner_id):
                await self._scrub_versions(owner_id, row, gone)
                content = _scrubbed(row, gone)
                if content is not None:
                    kept = {name: row[name] for name in ("scene_id", "name", "archived", "redirect_to")}
                    changed.append(await self._rewrite(owner_id, {**kept, **content, "stale": 1}, "forget"))
        return changed

    async def _scrub_versions(self, owner_id: int, scene: Row, gone: frozenset[str]) -> None:
        named = {"owner_id": owner_id, "scene_id": scene["scene_id"]}
        rows = await self._database.fetch(self._sql["scene_versions"], **named)
        rewritten = []
        for row in rows:
            content = _scrubbed(_unfold(row["body"]), gone)
            if content is not None:
                # A title it had before may repeat what was forgotten, too; nothing shows that title any more.
                title = content["title"] if content["title"] == scene["title"] else ""
                rewritten.append({**named, "version": row["version"], "body": _body(content | {"title": title})})
        await self._database.execute_many(self._sql["rewrite_scene_version"], rewritten)

    async def export(self, owner_id: int) -> list[KeptScene]:
        """Return all the owner's scenes with their versions, in the order of their ids."""
        return [
            KeptScene(
                scene=_scene(row),
                versions=tuple(await self.versions(owner_id, row["scene_id"])),
                redirect_to=row["redirect_to"],
                stale=bool(row["stale"]),
            )
            for row in await self._database.fetch(self._sql["every_scene"], owner_id=owner_id)
        ]

    async def restore(self, owner_id: int, kept: KeptScene) -> bool:
        """Store a scene exactly as an export holds it; False when its id or name is already taken."""
        scene = kept.scene
        async with self._database.transaction():
            taken = await self._database.fetch(
                self._sql["restore_scene"],
                scene_id=scene.id,
                owner_id=owner_id,
                name=scene.name,
                **_content(scene),
                version=scene.version,
                archived=int(scene.archived),
                redirect_to=kept.redirect_to,
                stale=int(kept.stale),
                created_at=scene.created_at,
                updated_at=scene.updated_at,
            )
            rows = [_version_row(scene.id, version) for version in kept.versions] if taken else []
            await self._database.execute_many(self._sql["insert_scene_version"], rows)
        return bool(taken)

    async def delete(self, owner_id: int, scene_id: str) -> bool:
        """Delete a scene with its versions; False when there was none."""
        return bool(await self._database.fetch(self._sql["delete_scene"], owner_id=owner_id, scene_id=scene_id))

    async def _row(self, statement: str, owner_id: int, **params: str) -> Row | None:
        rows = await self._database.fetch(self._sql[statement], owner_id=owner_id, **params)
        return rows[0] if rows else None


def lines_to_json(lines: Sequence[Line]) -> str:
    """Return the stored form of lines."""
    return _dump([{"text": line.text, "atoms": list(line.atoms), "section": line.section} for line in lines])


def lines_from_json(text: str) -> tuple[Line, ...]:
    """Read the stored form of lines."""
    return tuple(
        Line(text=item["text"], atoms=tuple(item["atoms"]), section=item["section"]) for item in json.loads(text)
    )


def _content(said: SceneDraft | Scene | SceneVersion) -> dict[str, str]:
    terms = _dump(list(said.terms))
    return {"title": said.title, "summary": said.summary, "terms": terms, "lines": lines_to_json(said.lines)}


def _body(content: Mapping[str, Any]) -> str:
    """Return what a version keeps: the columns of the content, unfolded into one object."""
    plain = {"title": content["title"], "summary": content["summary"]}
    return _dump({**plain, "terms": json.loads(content["terms"]), "lines": json.loads(content["lines"])})


def _unfold(body: str) -> dict[str, str]:
    value = json.loads(body)
    return {**value, "terms": _dump(value["terms"]), "lines": _dump(value["lines"])}


def _scrubbed(content: Mapping[str, Any], gone: frozenset[str]) -> dict[str, str] | None:
    lines = lines_from_json(content["lines"])
    kept = [line for line in lines if gone.isdisjoint(line.atoms)]
    if len(kept) == len(lines):
        return None
    return {"title": content["title"], "summary": "", "terms": "[]", "lines": lines_to_json(kept)}


def _scene(row: Row) -> Scene:
    same = {name: row[name] for name in ("name", "title", "summary", "version", "created_at", "updated_at")}
    return Scene(
        **same,
        id=row["scene_id"],
        terms=tuple(json.loads(row["terms"])),
        lines=lines_from_json(row["lines"]),
        archived=bool(row["archived"]),
    )


def _version(row: Row) -> SceneVersion:
    body = _unfold(row["body"])
    return SceneVersion(
        version=row["version"],
        title=body["title"],
        summary=body["summary"],
        terms=tuple(json.loads(body["terms"])),
        lines=lines_from_json(body["lines"]),
        author=row["author"],
        recorded_at=row["recorded_at"],
    )


def _version_row(scene_id: str, kept: SceneVersion) -> Row:
    body = _body(_content(kept))
    named = {"scene_id": scene_id, "version": kept.version, "author": kept.author}
    return {**named, "body": body, "now": kept.recorded_at}


def _literal(atom_id: str) -> str:
    return atom_id.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
