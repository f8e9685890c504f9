"""Scenes and the persona as Markdown for people and models; every statement carries its citations."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Final

from stenolith.distill.topics import day_of, told_at
from stenolith.distill.traits import SECTIONS
from stenolith.model.atom import Atom
from stenolith.model.persona import PersonaLine, PersonaStatus
from stenolith.model.scene import Scene, Section
from stenolith.model.text import cut, has_cjk


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """The atoms that one line of a Markdown text stands on; *line* counts from 1."""

    line: int
    atoms: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Markdown:
    """A rendered text and what its lines cite."""

    text: str
    citations: tuple[Citation, ...] = ()


_CHINESE: Final[Mapping[str, str]] = {
    Section.BACKGROUND: "背景",
    Section.CONSTRAINTS: "约束与偏好",
    Section.DECISIONS: "已做决策",
    Section.EVENTS: "相关进展",
    Section.LESSONS: "经验教训",
    Section.OPEN: "待定事项",
    "persona": "核心画像",
    "candidates": "候选（证据不足）",
    "working style": "工作方式",
    "collaboration": "协作偏好",
    "preferences": "个人偏好",
    "standing instructions": "长期指令",
}
_STAMP: Final = re.compile(r"<!-- *stenolith scene (\S{1,80}) revision (\d{1,9})\b[^>]*-->")
_ENGLISH: Final[Mapping[str, str]] = {
    Section.CONSTRAINTS: "Constraints and wishes",
    "candidates": "Candidates (not enough evidence)",
}


def section_named(heading: str) -> Section | None:
    """Return the section that a heading names, in either language, or None."""
    plain = heading.strip().casefold()
    return next(
        (one for one in Section if plain in {one.value, _CHINESE[one], _ENGLISH.get(one, one).casefold()}), None
    )


def stamp(scene: Scene) -> str:
    """Return the first line of a scene's page: which scene in which revision, hidden where Markdown is shown."""
    return f"<!-- stenolith scene {scene.id} revision {scene.version}; `stenolith scene edit` makes changes count -->"


def read_stamp(line: str) -> tuple[str, int] | None:
    """Read the scene's id and revision from a line that `stamp` wrote; None for any other line."""
    match = _STAMP.match(line.strip())
    return (match[1], int(match[2])) if match else None


class _Page:
    """Lines being written, with footnotes numbered in the order in which atoms are cited."""

    def __init__(self, chinese: bool) -> None:
        self.lines: list[str] = []
        self.citations: list[Citation] = []
        self._notes: dict[str, int] = {}
        self._chinese = chinese

    def word(self, key: str) -> str:
        """Return a fixed word in the language of the page."""
        own = _CHINESE if self._chinese else _ENGLISH
        return own.get(key, key[:1].upper() + key[1:])

    def heading(self, level: int, text: str) -> None:
        """Add a heading with blank lines around it."""
        gap = [""] if self.lines and self.lines[-1] else []
        self.lines += [*gap, f"{'#' * level} {_flat(text)}", ""]

    def statement(self, text: str, atoms: Sequence[str], remark: str = "") -> None:
        """Add a list item that cites *atoms*."""
        marks = "".join(f"[^{self._notes.setdefault(atom, len(self._notes) + 1)}]" for atom in atoms)
        self.lines.append(f"- {_flat(text)}{f' — {remark}' if remark else ''}{f' {marks}' if marks else ''}")
        self.citations.append(Citation(line=len(self.lines), atoms=tuple(atoms)))

    def close(self, notes: Mapping[str, str]) -> Markdown:
        """Add the footnotes and return the page; *notes* says something about each atom."""
        feet = [f"[^{number}]: {atom}{notes.get(atom, '')}" for atom, number in self._notes.items()]
        return Markdown(
            text="\n".join([*self.lines, *([""] if feet else []), *feet, ""]), citations=tuple(self.citations)
        )


def render_scene(scene: Scene, atoms: Mapping[str, Atom], zone: tzinfo = UTC) -> Markdown:
    """Return a scene as Markdown: stamp, title, summary, sections, one footnote an atom with its kind and day.

    *atoms* are looked up by id for the footnotes; a missing one is cited by its id alone.
    """
    page = _Page(chinese=_is_chinese([scene.title, *(line.text for line in scene.lines)]))
    page.lines.append(stamp(scene))
    page.heading(1, scene.title)
    if scene.summary:
        page.lines.append(f"> {_flat(scene.summary)}")
    for section in Section:
        mine = [line for line in scene.lines if line.section == section]
        if mine:
            page.heading(2, page.word(section))
        for line in mine:
            page.statement(line.text, line.atoms)
    cited = {atom for line in scene.lines for atom in line.atoms}
    return page.close({key: _note(atoms[key], zone) for key in cited if key in atoms})


def render_directory(scenes: Sequence[Scene], zone: tzinfo = UTC) -> str:
    """Return one line a live scene: title, name to ask for it by, summary, day of the last change, size.

    Oldest first, so that a new scene adds a line at the end and leaves the text before it as it was.
    """
    live = sorted((scene for scene in scenes if not scene.archived), key=lambda item: (item.created_at, item.id))
    return "\n".join(
        f"- **{_flat(scene.title)}** (`{scene.name}`): {_flat(cut(scene.summary, 100))}"
        f" [{day_of(scene.updated_at, zone)}, {len(scene.lines)}]"
        for scene in live
    )


def render_persona(lines: Sequence[PersonaLine]) -> Markdown:
    """Return the standing lines by section, then the candidates with what each still lacks."""
    shown = [line for line in lines if line.status is not PersonaStatus.WITHDRAWN]
    page = _Page(chinese=_is_chinese([line.text for line in shown]))
    page.heading(1, page.word("persona"))
    standing = [line for line in shown if line.status is PersonaStatus.STANDING]
    rank = {section: at for at, section in enumerate(SECTIONS)}
    for section in sorted({line.section for line in standing}, key=lambda name: (rank.get(name, len(rank)), name)):
        page.heading(2, page.word(section))
        for line in standing:
            if line.section == section:
                page.statement(line.text, line.atoms)
    candidates = [line for line in shown if line.status is PersonaStatus.CANDIDATE]
    if candidates:
        page.heading(2, page.word("candidates"))
    for line in candidates:
        page.statement(line.text, line.atoms, line.missing)
    return page.close({})


def _note(atom: Atom, zone: tzinfo) -> str:
    return f" ({atom.kind.value}, {day_of(told_at(atom), zone)})"


def _flat(text: str) -> str:
    """Return *text* on one line: a line break would end the list item and lose its citation."""
    return " ".join(text.split())


def _is_chinese(texts: Sequence[str]) -> bool:
    return 2 * sum(map(has_cjk, texts)) > len(texts)
