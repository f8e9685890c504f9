"""Atoms become scenes without a model: dossiers of a project or topic whose every line cites atoms."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from enum import StrEnum
from typing import Final

from stenolith.distill.derived import derived_id
from stenolith.distill.grouping import Grouping, Pile
from stenolith.distill.handwriting import is_by_hand, section_by_hand
from stenolith.distill.titles import PERSONAL_TITLES, slug, title_of
from stenolith.distill.topics import Tokenizer, day_of, read_corpus, told_at, topic_terms
from stenolith.model.atom import Atom, AtomStatus, Kind
from stenolith.model.scene import Line, Scene, Section
from stenolith.model.text import cut, has_cjk


class SceneAction(StrEnum):
    """What happens to a scene."""

    CREATE = "create"
    UPDATE = "update"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneChange:
    """One step from the stored scenes to the new ones.

    For ``remove``, *scene* is the one that goes and *into* the id of the stored scene that took its atoms,
    empty when nothing was left of it.
    """

    action: SceneAction
    scene: Scene
    into: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneSettings:
    """Bounds of an owner's scenes.

    More than *max_live* scenes: those that nothing was said about for longest are archived, never lost.
    More than *max_lines* lines: the least important notes share one line that cites them all.
    *zone* dates the notes about what was replaced.  *shaped* are the ids of scenes whose bounds a person or a model
    drew: rules do not merge them.  *reserved* are names that lead to scenes which were merged away.
    """

    max_live: int = 15
    max_lines: int = 60
    max_terms: int = 12
    zone: tzinfo = UTC
    shaped: frozenset[str] = frozenset()
    reserved: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Voices:
    """Says who is speaking where several people do: "I drink oat milk" is nobody's without a name."""

    several: bool

    @classmethod
    def of(cls, atoms: Sequence[Atom]) -> Voices:
        """Listen who speaks in *atoms*."""
        return cls(several=len({atom.speaker for atom in atoms if not is_by_hand(atom)}) > 1)

    def words(self, atom: Atom) -> str:
        """Return an atom's text on one line, behind its speaker's name in a room of several; orders are quoted."""
        text = " ".join(atom.text.split())
        text = text if _is_calm(atom) else f"“{text}”"
        return f"{atom.speaker}: {text}" if self.several and atom.speaker else text


_ORDERS: Final = frozenset({"instruction", "exfiltration", "role", "fence"})
_SECTION: Final = {
    Kind.FACT: Section.BACKGROUND,
    Kind.PREFERENCE: Section.CONSTRAINTS,
    Kind.CONSTRAINT: Section.CONSTRAINTS,
    Kind.INSTRUCTION: Section.CONSTRAINTS,
    Kind.DECISION: Section.DECISIONS,
    Kind.EVENT: Section.EVENTS,
    Kind.LESSON: Section.LESSONS,
}
_UNSETTLED: Final = re.compile(
    r"尚未|还没(?:有)?(?:确认|定|想好|决定)|未(?:确认|决定|定)|待(?:定|确认|讨论)|不确定"
    r"|\bTBD\b|\bto be (?:decided|confirmed)\b|\bundecided\b|\bopen question\b"
    r"|\b(?:not yet|still) (?:decided|confirmed|clear|settled|open|unclear|undecided)\b",
    re.IGNORECASE,
)


def group(
    atoms: Sequence[Atom],
    scenes: Sequence[Scene],
    *,
    vectors: Mapping[str, Sequence[float]] | None,
    now_ms: int,
    settings: SceneSettings | None = None,
    terms: Tokenizer = topic_terms,
) -> list[SceneChange]:
    """Return the changes that bring *scenes* up to date with all *atoms* of one owner.

    Only active atoms make lines, and not those for one task; a superseded one shows as the past of its
    successor.  An atom stays in the scene that cites it, a successor goes where its predecessor was, names
    and titles never change, and the same atoms again give no change.  A scene without atoms is removed.
    *vectors* are sentence vectors by atom id and may be missing for some atoms or altogether.
    """
    limits = settings or SceneSettings()
    active = (atom for atom in atoms if atom.status is AtomStatus.ACTIVE and not atom.task_only)
    living = sorted(active, key=lambda a: (told_at(a), a.id))
    corpus = read_corpus(living, terms)
    piles = _piles(atoms, living, scenes, Grouping(corpus, vectors), limits)
    past = {atom.superseded_by: atom for atom in atoms if atom.superseded_by and _is_past(atom)}
    voices = Voices.of(living)
    drafts = _named([pile for pile in piles if pile.atoms], living, [*limits.reserved, *(one.name for one in scenes)])
    ranked = sorted(drafts, key=lambda item: (-item[0].last, item[1].id))
    changes = []
    for rank, (pile, scene) in enumerate(ranked):
        fresh = _filled(scene, pile, past, limits, voices)
        changes += _change(replace(fresh, archived=rank >= limits.max_live), pile.scene, now_ms)
    changes += [_removal(pile, pile.scene) for pile in piles if pile.scene is not None and not pile.atoms]
    return sorted(changes, key=lambda change: change.scene.id)


def scene_of(scenes: Sequence[Scene]) -> dict[str, str]:
    """Return the id of the scene that holds each atom, by atom id; archived scenes count."""
    found: dict[str, str] = {}
    for scene in sorted(scenes, key=lambda item: (item.created_at, item.id)):
        for line in scene.lines:
            for atom in line.atoms:
                found.setdefault(atom, scene.id)
    return found


def _is_past(atom: Atom) -> bool:
    return atom.status is AtomStatus.SUPERSEDED


def _piles(
    atoms: Sequence[Atom], living: Sequence[Atom], scenes: Sequence[Scene], grouping: Grouping, limits: SceneSettings
) -> list[Pile]:
    home = scene_of(scenes)
    for scene in sorted(scenes, key=lambda item: (item.created_at, item.id)):
        members = [atom for atom in living if home.get(atom.id) == scene.id]
        past = [atom for atom in atoms if home.get(atom.id) == scene.id and _is_past(atom)]
        grouping.resume(scene, members, past)
    grouping.place(atom for atom in living if atom.id not in home)
    grouping.tidy(limits.max_lines, limits.shaped)
    return grouping.piles


def _named(piles: Sequence[Pile], living: Sequence[Atom], taken: list[str]) -> list[tuple[Pile, Scene]]:
    """Give each new pile an identity and a name that is not *taken*; those of stored scenes are kept."""
    named = []
    for pile in piles:
        scene = pile.scene
        if scene is None:
            scene = _new_scene(pile, living, taken)
            taken.append(scene.name)
        named.append((pile, scene))
    return named


def _new_scene(pile: Pile, living: Sequence[Atom], taken: Sequence[str]) -> Scene:
    mine = {atom.id for atom in pile.atoms}
    title = title_of(pile.atoms, [atom for atom in living if atom.id not in mine])
    if pile.general:
        title = PERSONAL_TITLES[0 if has_cjk(pile.atoms[0].text) else 1]
    identity = derived_id("scn", f"{title}\n{min(mine)}")
    return Scene(
        id=identity, name=slug(title, taken), title=title, summary="", terms=(), lines=(), version=0, created_at=0,
        updated_at=0,
    )  # fmt: skip


def _filled(scene: Scene, pile: Pile, past: Mapping[str, Atom], limits: SceneSettings, voices: Voices) -> Scene:
    heavy = sorted(pile.weights, key=lambda word: (-pile.weights[word], word))
    return replace(
        scene,
        summary=summary_of(pile.atoms, voices),
        terms=tuple(heavy[: limits.max_terms]),
        lines=_bounded(_lines(pile.atoms, past, limits.zone, voices), pile.atoms, limits.max_lines),
    )


def summary_of(atoms: Sequence[Atom], voices: Voices) -> str:
    """Return what the weightiest two of *atoms* say."""
    # It stands before every session, also after the moment at which something expires.
    lasting = [atom for atom in atoms if atom.expires_at is None and _is_calm(atom)]
    best = sorted(lasting, key=lambda atom: (-atom.priority, -told_at(atom), atom.id))
    return cut(" ".join(_sentence(voices.words(atom)) for atom in best[:2]), 120)


def _is_calm(atom: Atom) -> bool:
    """Say whether an atom may stand in a summary, which every prompt shows: what reads like an order may not."""
    return _ORDERS.isdisjoint(atom.provenance.get("flags") or ())


def _change(fresh: Scene, stored: Scene | None, now_ms: int) -> list[SceneChange]:
    if stored is None:
        scene = replace(fresh, version=1, created_at=now_ms, updated_at=now_ms)
        return [SceneChange(action=SceneAction.CREATE, scene=scene)]
    if replace(fresh, terms=stored.terms) == stored:
        return []  # words become rarer or commoner with every atom elsewhere: no reason to touch this scene
    only_moved = replace(fresh, terms=stored.terms, archived=stored.archived) == stored
    when = stored.updated_at if only_moved else now_ms
    scene = replace(fresh, version=stored.version + 1, updated_at=when)
    return [SceneChange(action=SceneAction.UPDATE, scene=scene)]


def _removal(pile: Pile, scene: Scene) -> SceneChange:
    target = pile.into.scene if pile.into is not None else None
    return SceneChange(action=SceneAction.REMOVE, scene=scene, into=target.id if target is not None else "")


def _lines(atoms: Sequence[Atom], past: Mapping[str, Atom], zone: tzinfo, voices: Voices) -> list[Line]:
    disputes = _disputes(atoms)
    disputed = {atom.id for dispute in disputes for atom in dispute}
    lines = [_dispute_line(dispute, voices) for dispute in disputes]
    same: dict[tuple[Section, str], list[Atom]] = defaultdict(list)
    for atom in sorted(atoms, key=lambda item: (told_at(item), item.id)):
        if atom.id not in disputed:
            section = section_by_hand(atom) or usual_section(atom.kind, atom.text)
            same[section, _folded(voices.words(atom))].append(atom)
    lines += [_line(section, twins, past, zone, voices) for (section, _text), twins in same.items()]
    order = list(Section)
    return sorted(lines, key=lambda line: order.index(Section(line.section)))


def usual_section(kind: Kind, text: str) -> Section:
    """Return the section in which a statement stands unless a person put it elsewhere."""
    return Section.OPEN if _UNSETTLED.search(text) else _SECTION[kind]


def _line(section: Section, twins: Sequence[Atom], past: Mapping[str, Atom], zone: tzinfo, voices: Voices) -> Line:
    text = voices.words(twins[-1])
    cited = [atom.id for atom in twins]
    before = next((past[atom.id] for atom in reversed(twins) if atom.id in past), None)
    # A line that a person wrote stands as they wrote it; what it was before is in the history of its atom.
    told_by_rule = before is not None and section is not Section.EVENTS and not is_by_hand(twins[-1])
    if before is not None and told_by_rule and _folded(before.text) != _folded(twins[-1].text):
        end = before.valid_until if before.valid_until is not None else told_at(twins[-1])
        day = day_of(end, zone)
        old = " ".join(before.text.split())
        text += f"（至 {day}：{old}）" if has_cjk(text) else f" (until {day}: {old})"
        cited.append(before.id)
    return Line(text=text, atoms=tuple(cited), section=section.value)


def _disputes(atoms: Sequence[Atom]) -> list[list[Atom]]:
    """Return active atoms that say different things about the same property of the same subject."""
    slots: dict[tuple[str, str, Kind, str], list[Atom]] = defaultdict(list)
    for atom in sorted(atoms, key=lambda item: (told_at(item), item.id)):
        if atom.attribute and atom.kind is not Kind.EVENT:
            subject = atom.subject.casefold()
            whose = atom.speaker if subject == "user" or subject.startswith("user's ") else ""
            slots[subject, atom.attribute.casefold(), atom.kind, whose].append(atom)
    # Who writes by hand sees what else the page says: what a person left beside their own words is no dispute.
    return [
        found
        for found in slots.values()
        if len({_folded(atom.text) for atom in found}) > 1 and not is_by_hand(found[-1])
    ]


def _dispute_line(atoms: Sequence[Atom], voices: Voices) -> Line:
    texts = list(dict.fromkeys(_sentence(voices.words(atom)) for atom in atoms))
    head = "尚无定论：" if any(map(has_cjk, texts)) else "Unsettled: "
    return Line(text=head + " ↔ ".join(texts), atoms=tuple(atom.id for atom in atoms), section=Section.OPEN.value)


def _bounded(lines: list[Line], atoms: Sequence[Atom], limit: int) -> tuple[Line, ...]:
    """Keep at most *limit* lines; the least important ones become one line that cites their atoms."""
    if len(lines) <= limit:
        return tuple(lines)
    weight = {atom.id: (is_by_hand(atom), atom.priority, told_at(atom)) for atom in atoms}
    least = (False, 0, 0)
    ranked = sorted(lines, key=lambda line: max(weight.get(atom, least) for atom in line.atoms), reverse=True)
    keep = {id(line) for line in ranked[: limit - 1]}
    rest = [line for line in lines if id(line) not in keep]
    cited = tuple(atom for line in rest for atom in line.atoms)
    text = f"另有 {len(rest)} 条记录" if any(has_cjk(line.text) for line in rest) else f"{len(rest)} more notes"
    more = Line(text=text, atoms=cited, section=rest[-1].section)
    kept = [line for line in lines if id(line) in keep]
    order = list(Section)
    return tuple(sorted([*kept, more], key=lambda line: order.index(Section(line.section))))


def _sentence(text: str) -> str:
    """Return *text* on one line with an end mark, so that sentences can follow one another."""
    plain = " ".join(text.split())
    if plain.endswith(("。", "！", "？", ".", "!", "?", "…", "；", ";")):
        return plain
    return plain + ("。" if has_cjk(plain[-1:]) else ".")


def _folded(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()
