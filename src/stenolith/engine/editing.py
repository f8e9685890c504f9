"""A person's edit of a scene's page becomes memory: the only way in which Markdown ever does.

Each line that was written or changed is recorded as said by the person and becomes an atom, which takes the
place of what the old line stood for.  What a deleted line stood for is withdrawn.  All of it or nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from stenolith.distill.handwriting import NOTE, Handwriting, Stroke, compare, own_words, read_origin, read_page
from stenolith.distill.markdown import Markdown, render_scene
from stenolith.distill.reconcile import normal_form
from stenolith.distill.scenes import Voices, summary_of, usual_section
from stenolith.distill.topics import is_named
from stenolith.engine.curation import (
    EDIT_TOOL,
    PERSON,
    USUAL_PRIORITY,
    Curation,
    Statement,
    doubted,
    draft_of,
    filing_of,
)
from stenolith.engine.projections import Projections
from stenolith.engine.views import View, scene_view
from stenolith.engine.wiring import House
from stenolith.errors import InvalidInput, Refused, SceneMoved
from stenolith.model.atom import Atom, AtomDraft, AtomStatus, Kind, Source
from stenolith.model.identity import Scope
from stenolith.model.scene import Line, Scene, Section
from stenolith.model.text import cut
from stenolith.store.atom_rows import AtomChange
from stenolith.store.audit import AuditEntry
from stenolith.store.records import Record
from stenolith.store.scenes import SceneDraft

CHANGED: Final = NOTE
REMOVED: Final = "removed by the person"
"""Reasons that stand in the history of atoms."""
_KINDS: Final[Mapping[Section, Kind]] = {
    Section.BACKGROUND: Kind.FACT,
    Section.CONSTRAINTS: Kind.CONSTRAINT,
    Section.DECISIONS: Kind.DECISION,
    Section.EVENTS: Kind.EVENT,
    Section.LESSONS: Kind.LESSON,
    Section.OPEN: Kind.FACT,
}


_ORDERS: Final = frozenset({"instruction", "exfiltration", "role", "fence"})
_NOBODY: Final = Source(record_id="rec_unwritten")
"""Stands for the record of a title or summary while the gate looks at it: the words are kept in the scene alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """An edited page. *revision* is the one it was made from, where its stamp is missing."""

    text: str
    revision: int | None = None
    dry_run: bool = False


@dataclass(slots=True, kw_only=True)
class _Desk:
    """One edit under way: the scene as it was, what the person wants, and what came of it so far."""

    owner_id: int
    scope: Scope
    scene: Scene
    atoms: Mapping[str, Atom]
    hand: Handwriting
    title: str
    summary: str
    lines: list[Line] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    added: list[Atom] = field(default_factory=list)
    retired: list[Atom] = field(default_factory=list)
    doubtful: list[str] = field(default_factory=list)
    changes: list[View] = field(default_factory=list)


class _Undone(Exception):
    """Ends the transaction of a dry run."""


class Editing:
    """Takes edited pages. Every statement is recorded first, as by `Curation`."""

    def __init__(self, house: House, curation: Curation, projections: Projections) -> None:
        self._house = house
        self._curation = curation
        self._projections = projections

    async def edit(self, scope: Scope, found: Scene, wish: Wish) -> View:
        """Make an edited page of a scene memory and say what was done; a dry run only says what would be.

        Raises `InvalidInput` for a page that cannot be read, `SceneMoved` for one of another revision, and
        `Refused` for a line that the gate does not let through; nothing is changed then.
        """
        owner_id = await self._house.owners.find(scope)
        desk = await self._read(owner_id, scope, found, wish)
        if not self._is_new(desk):
            return self._view(desk, desk.scene, wish, changed=False)
        try:
            scene = await self._carry_out(desk, dry_run=wish.dry_run)
        except _Undone:
            return self._view(desk, desk.scene, wish, changed=True)
        await self._house.journal.append(desk.records)
        await self._projections.write_files(owner_id)
        return self._view(desk, scene, wish, changed=True)

    async def _carry_out(self, desk: _Desk, *, dry_run: bool) -> Scene:
        """Write everything in one transaction; a dry run writes it too, so that it finds what an edit would find."""
        async with self._house.database.transaction():
            await self._house.database.lock(desk.owner_id)
            now = await self._house.scenes.get(desk.owner_id, desk.scene.id)
            if now is None or now.version != desk.scene.version:
                raise _moved(desk.scene, now)
            scene = await self._write(desk)
            if dry_run:
                raise _Undone
            return scene

    async def _read(self, owner_id: int, scope: Scope, scene: Scene, wish: Wish) -> _Desk:
        """Lay the edited page beside the scene it was made from."""
        if not wish.text.strip():
            raise InvalidInput("the page is empty, so nothing was changed; to take lines away, delete them one by one")
        _require_current(scene, wish)
        cited = [atom for line in scene.lines for atom in line.atoms]
        atoms = {atom.id: atom for atom in await self._house.atoms.get(owner_id, cited)}
        printed = render_scene(scene, atoms, self._house.settings.zone)
        ordered, raws = _printed(printed, scene)
        page = read_page(wish.text, _labels(printed), raws)
        hand = compare(page, replace(scene, lines=ordered), raws, atoms)
        return _Desk(
            owner_id=owner_id,
            scope=scope,
            scene=scene,
            atoms=atoms,
            hand=hand,
            title=page.title,
            summary=page.summary,
        )

    def _is_new(self, desk: _Desk) -> bool:
        same = desk.title == _flat(desk.scene.title) and desk.summary == _flat(desk.scene.summary)
        return not same or bool(desk.hand.removed) or any(stroke.stays is None for stroke in desk.hand.strokes)

    async def _write(self, desk: _Desk) -> Scene:
        """Carry the edit out; joins the transaction."""
        house, owner_id = self._house, desk.owner_id
        self._head(desk)
        voices = Voices.of([atom for atom in desk.atoms.values() if atom.status is AtomStatus.ACTIVE])
        for stroke in desk.hand.strokes:
            line = stroke.stays or await self._write_line(desk, stroke, voices)
            desk.lines.append(line)
        for line in desk.hand.removed:
            lost = [one for one in desk.hand.withdrawn if one in line.atoms]
            desk.changes.append({"op": "remove", "section": line.section, "old": line.text, "withdrawn": lost})
        gone = await house.atoms.withdraw(owner_id, desk.hand.withdrawn, REMOVED)
        change = AtomChange(added=tuple(desk.added), retired=(*desk.retired, *gone.retired))
        await self._projections.follow(owner_id, change)
        order = list(Section)
        draft = SceneDraft(
            id=desk.scene.id,
            name=desk.scene.name,
            title=desk.title,
            summary=desk.summary,
            terms=desk.scene.terms,
            lines=tuple(sorted(desk.lines, key=lambda line: order.index(Section(line.section)))),
        )
        scene = await house.scenes.put(owner_id, draft, PERSON)
        if not scene.summary:
            scene = await self._summed_up(owner_id, draft, voices)
        await house.atoms.set_scene(owner_id, [atom.id for atom in desk.added], scene.id)
        await self._projections.index_scenes(owner_id, [scene])
        detail = dict(Counter(str(change["op"]) for change in desk.changes))
        await house.audit.record(
            owner_id, [AuditEntry(actor=PERSON, action="edit scene", target=scene.id, detail=detail)]
        )
        return scene

    async def _summed_up(self, owner_id: int, draft: SceneDraft, voices: Voices) -> Scene:
        """Draw the summary anew: the old one may tell what the page no longer says."""
        atoms = await self._house.atoms.get(owner_id, [one for line in draft.lines for one in line.atoms])
        living = [atom for atom in atoms if atom.status is AtomStatus.ACTIVE]
        summary = summary_of(living, voices)
        return await self._house.scenes.put(owner_id, replace(draft, summary=summary), "rules")

    def _head(self, desk: _Desk) -> None:
        """Let title and summary through the gate: both stand before every session.

        A summary that was left alone stays only while every line did.
        """
        touched = bool(desk.hand.removed) or any(stroke.old is not None for stroke in desk.hand.strokes)
        for name in ("title", "summary"):
            before, now = _flat(getattr(desk.scene, name)), getattr(desk, name)
            if now != before:
                setattr(desk, name, self._passed(name, now) if now else "")
                desk.changes.append({"op": name, "old": before, "new": getattr(desk, name)})
        if touched and desk.summary == _flat(desk.scene.summary):
            desk.summary = ""

    def _passed(self, what: str, text: str) -> str:
        statement = Statement(text=text)
        probe = AtomDraft(kind=Kind.FACT, text=text, sources=(_NOBODY,))
        try:
            admitted = self._curation.admitted(probe, statement)
        except Refused as refusal:
            raise Refused(f"nothing was changed: the {what}: {refusal}", **refusal.facts) from refusal
        if not _ORDERS.isdisjoint((admitted.provenance or {}).get("flags") or ()):
            raise Refused(f"nothing was changed: the {what} reads like an order to whoever is shown it")
        return admitted.text

    async def _write_line(self, desk: _Desk, stroke: Stroke, voices: Voices) -> Line:
        """Store what one line says as an atom and return the line that cites it."""
        words, speaker = own_words(stroke, desk.atoms)
        replaced = [desk.atoms[one] for one in stroke.replaces]
        try:
            record = await self._curation.witness(desk.owner_id, desk.scope, words, EDIT_TOOL)
            draft = self._draft(desk, stroke, record, replaced)
        except Refused as refusal:
            raise Refused(f"nothing was changed: line {stroke.said.at}: {refusal}", **refusal.facts) from refusal
        desk.records.append(record)
        atom = await self._store(desk, replace(draft, speaker=speaker), record, replaced)
        kept = [one for one in stroke.said.cites if one not in stroke.replaces]
        shown = replace(voices, several=bool(speaker)).words(atom)
        was = {"old": stroke.old.text} if stroke.old else {}
        op = "change" if stroke.old else "add"
        told = {"op": op, "line": stroke.said.at, "section": stroke.said.section.value, **was, "new": shown}
        desk.changes.append({**told, "atom": atom.id, "supersedes": list(stroke.replaces)})
        return Line(text=shown, atoms=(atom.id, *kept), section=stroke.said.section.value)

    def _draft(self, desk: _Desk, stroke: Stroke, record: Record, replaced: Sequence[Atom]) -> AtomDraft:
        """Lay out the atom of a line: what it is about and how much it weighs come from what it replaces."""
        section, first = stroke.said.section, replaced[0] if replaced else None
        fits = first is not None and section in {Section.OPEN, usual_section(first.kind, "")}
        statement = Statement(
            text=record.message_text,
            kind=first.kind if first is not None and fits else _KINDS[section],
            priority=max((atom.priority for atom in replaced), default=USUAL_PRIORITY),
            expires_at=_end_of(replaced),
        )
        draft = self._curation.admitted(draft_of(statement, record), statement)
        about = {(atom.subject, atom.attribute) for atom in replaced}
        note = {"note": NOTE, "scene_id": desk.scene.id, "section": section.value}
        return replace(
            draft,
            subject=first.subject if first is not None else _subject(desk.atoms.values()),
            attribute=first.attribute if first is not None and len(about) == 1 else "",
            occurred_start=first.occurred_start if first is not None else None,
            occurred_end=first.occurred_end if first is not None else None,
            task_only=bool(replaced) and all(atom.task_only for atom in replaced),
            corrects=bool(replaced),
            provenance={**(draft.provenance or {}), **note},
        )

    async def _store(self, desk: _Desk, draft: AtomDraft, record: Record, replaced: Sequence[Atom]) -> Atom:
        """Add the atom, or close in its favour what it takes the place of; the same words elsewhere move here."""
        atoms, owner_id = self._house.atoms, desk.owner_id
        form = normal_form(draft.text)
        await self._house.tombstones.lift(owner_id, "atoms", form)
        twins = [atom for atom in await atoms.by_normal_form(owner_id, form) if atom not in replaced]
        here = {*desk.atoms, *(atom.id for atom in desk.added)} - {*desk.hand.withdrawn}
        if any(atom.id in here for atom in twins):
            raise InvalidInput(f"nothing was changed: two lines of the page say {cut(draft.text, 60)!r}; one is enough")
        olds = [*replaced, *twins]
        if not olds:
            desk.added.append(await atoms.add(owner_id, draft, filing_of(draft, record, None)))
            return desk.added[-1]
        key = (await atoms.notes(owner_id, [olds[0].id]))[olds[0].id].caller_key
        change = await atoms.supersede(owner_id, olds[0].id, draft, filing_of(draft, record, key), CHANGED)
        desk.retired += change.retired
        for other in olds[1:]:
            desk.retired += (await atoms.supersede_by(owner_id, other.id, change.added[0].id, CHANGED)).retired
        desk.added += change.added
        await self._doubt(desk, draft, replaced, change.added[0])
        return change.added[0]

    async def _doubt(self, desk: _Desk, draft: AtomDraft, replaced: Sequence[Atom], successor: Atom) -> None:
        """Mark copies of a corrected claim outside this page, as a correction does."""
        for old in replaced:
            near = await self._curation.neighbours(desk.owner_id, old, draft.text)
            near = [atom for atom in near if atom.id not in desk.atoms and atom not in desk.added]
            doubtful = doubted(old, draft, near)
            await self._house.atoms.flag(desk.owner_id, doubtful, successor.id)
            desk.doubtful += [one for one in doubtful if one not in desk.doubtful]

    def _view(self, desk: _Desk, scene: Scene, wish: Wish, *, changed: bool) -> View:
        hidden = {"atom"} if wish.dry_run else set[str]()
        return {
            **scene_view(scene),
            "dry_run": wish.dry_run,
            "changed": changed,
            "changes": [{name: value for name, value in one.items() if name not in hidden} for one in desk.changes],
            "withdrawn": list(desk.hand.withdrawn),
            "superseded": [atom.id for atom in desk.retired],
            "needs_review": desk.doubtful,
        }


def _require_current(scene: Scene, wish: Wish) -> None:
    """Raise unless the page was made from *scene* as it is."""
    origin = read_origin(wish.text)
    if origin is not None and origin[0] != scene.id:
        raise InvalidInput(f"this page is of the scene {origin[0]}, not of {scene.id} ({scene.name})")
    revision = origin[1] if origin is not None else wish.revision
    if revision is None:
        raise InvalidInput(
            "the first line that names the scene and its revision is missing: start from"
            f" `stenolith scene {scene.name}`, and leave that line in"
        )
    if revision != scene.version:
        raise _moved(scene, scene, revision)


def _labels(printed: Markdown) -> dict[str, str]:
    """Return the atom behind each footnote of a printed page: they are numbered as they are cited."""
    cited = dict.fromkeys(atom for citation in printed.citations for atom in citation.atoms)
    return {str(number): atom for number, atom in enumerate(cited, 1)}


def _printed(printed: Markdown, scene: Scene) -> tuple[tuple[Line, ...], list[str]]:
    """Return the lines of a scene in the order of its page, and how each stands there."""
    rows = printed.text.split("\n")
    raws = [" ".join(rows[citation.line - 1].removeprefix("- ").split()) for citation in printed.citations]
    return tuple(line for section in Section for line in scene.lines if line.section == section), raws


def _moved(scene: Scene, now: Scene | None, revision: int | None = None) -> SceneMoved:
    was = revision if revision is not None else scene.version
    if now is None:
        return SceneMoved(f"the scene {scene.name!r} is gone since this page was taken from it; nothing was changed")
    return SceneMoved(
        f"the scene {scene.name!r} has changed since this page was taken from it (revision {was}, now {now.version}):"
        f" nothing was changed; print it again with `stenolith scene {scene.name}` and make the edit there",
        revision=was,
        current=now.version,
    )


def _flat(text: str) -> str:
    return " ".join(text.split())


def _end_of(replaced: Sequence[Atom]) -> int | None:
    """Return when a line ends that takes the place of others: with the last of them, if all of them end."""
    ends = [atom.expires_at for atom in replaced if atom.expires_at is not None]
    return max(ends) if ends and len(ends) == len(replaced) else None


def _subject(atoms: Iterable[Atom]) -> str:
    """Return what a new line of a page is about: what most of its lines are about."""
    living = [atom for atom in atoms if atom.status is AtomStatus.ACTIVE]
    named = Counter(atom.subject for atom in living if is_named(atom))
    if named:
        return named.most_common(1)[0][0]
    return "user" if any(atom.subject.casefold().startswith("user") for atom in living) or not living else "project"
