"""A person's edit of a scene's page: what the text says now, and what became of each stored line.

Pure: reading a page and comparing it with the stored scene change nothing.  Lines that were left alone are
recognised by their words, so layout and footnotes may be changed at will; every other line is somebody's word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Final

from stenolith.distill.markdown import read_stamp, section_named
from stenolith.errors import InvalidInput
from stenolith.model.atom import Atom, AtomStatus
from stenolith.model.scene import Line, Scene, Section
from stenolith.model.text import cut

NOTE: Final = "edited scene by hand"
"""What the provenance of an atom says that a person wrote into a scene."""
TITLE_CHARS: Final = 120
_ALIKE: Final = 0.5
"""Share of common characters from which one line is taken for another one reworded; our own choice."""
_SHOWN: Final = 5
_MARKS: Final = re.compile(r"(?:\s*\[\^[\w-]+\])+\s*$")
_MARK: Final = re.compile(r"\[\^([\w-]+)\]")
_FOOTNOTE: Final = re.compile(r"\[\^([\w-]+)\]:\s*(\S*)")
_HEADING: Final = re.compile(r"(#{1,6})(?:\s+(.*)|$)")
_ITEM: Final = re.compile(r"\s*[-*+•]\s+(.*)")
_MORE: Final = re.compile(r"另有 \d+ 条记录|\d+ more notes")
_PAST: Final = re.compile(r"(?: \(until [^:]*: .*\)|（至 [^：]*：.*）)$")


def is_by_hand(atom: Atom) -> bool:
    """Say whether a person wrote this atom into a scene."""
    return atom.provenance.get("note") == NOTE


def section_by_hand(atom: Atom) -> Section | None:
    """Return the section into which a person wrote an atom, None for the atoms of others."""
    section = atom.provenance.get("section") if is_by_hand(atom) else None
    return Section(section) if section in set(Section) else None


def stands_for_more(line: Line) -> bool:
    """Say whether a line only counts notes for which a page had no room."""
    return len(line.atoms) > 1 and _MORE.fullmatch(line.text) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One statement of a page: *at* is its line, counted from 1, *raw* all of it with its marks."""

    at: int
    section: Section
    text: str
    raw: str
    cites: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a page says."""

    title: str
    summary: str
    statements: tuple[Said, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stroke:
    """A statement as the person wants it.

    *stays* is the stored line that they left alone.  Otherwise *old* is the line it stands in place of, if any,
    and *replaces* the active atoms whose place it takes.
    """

    said: Said
    stays: Line | None = None
    old: Line | None = None
    replaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Handwriting:
    """What an edit comes to: every line of the page in order, the lines that went, and their atoms."""

    strokes: tuple[Stroke, ...]
    removed: tuple[Line, ...] = ()
    withdrawn: tuple[str, ...] = ()


def read_origin(text: str) -> tuple[str, int] | None:
    """Return the id and the revision of the scene that a page was printed from; None where its stamp is missing."""
    return next((found for line in text.removeprefix("\ufeff").split("\n") if (found := read_stamp(line))), None)


def read_page(text: str, labels: Mapping[str, str], raws: Sequence[str] = ()) -> Page:
    """Read an edited page; *labels* are the footnotes of the page as it was printed (label to atom), *raws* its lines.

    Raises `InvalidInput` that names the lines which cannot be read or cite what the scene does not hold.
    """
    reader = _Reader(labels, frozenset(raws))
    for at, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        reader.take(at, line.rstrip())
    return reader.close()


@dataclass(slots=True)
class _Open:
    at: int
    section: Section
    words: list[str]


@dataclass(slots=True)
class _Reader:
    """Takes a page line by line."""

    labels: Mapping[str, str]
    printed: frozenset[str]
    title: str = ""
    section: Section | None = None
    gap: bool = True
    summary: list[str] = field(default_factory=list)
    found: list[_Open] = field(default_factory=list)
    defined: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def take(self, at: int, line: str) -> None:
        """Take one line of the page."""
        if not line.strip() or line.startswith("<!--"):
            self.gap = True
        elif match := _FOOTNOTE.match(line):
            self.defined[match[1]] = match[2]
            self.gap = True
        elif match := _HEADING.match(line):
            self._heading(at, len(match[1]), match[2] or "")
        elif line.startswith(">") and self.section is None:
            self.summary.append(line[1:])
        else:
            self._words(at, line)

    def _heading(self, at: int, level: int, words: str) -> None:
        self.gap = True
        if level == 1 and not self.title and self.section is None:
            self.title = " ".join(words.split())
            if not words:
                self.problems.append(f"line {at}: the title is empty")
            return
        self.section = section_named(words)
        if self.section is None:
            names = ", ".join(one.value for one in Section)
            self.problems.append(f"line {at}: {cut(words, 40)!r} is no section of a scene; there are {names}")
            self.section = Section.BACKGROUND  # so that its lines do not each become a problem of their own

    def _words(self, at: int, line: str) -> None:
        item = _ITEM.fullmatch(line)
        if self.section is None:
            self.problems.append(f"line {at} stands in no section: put it under a heading such as `## Background`")
        elif item or self.gap:
            self.found.append(_Open(at, self.section, [item[1] if item else line]))
        else:
            self.found[-1].words.append(line)
        self.gap = False

    def close(self) -> Page:
        """Return the page, or raise with every problem found."""
        statements = [self._said(one) for one in self.found]
        if not self.title and not self.problems:
            self.problems.append("the page has no title: its first heading is `# Title`")
        if len(self.title) > TITLE_CHARS:
            self.problems.append(f"the title has {len(self.title)} characters; it may have {TITLE_CHARS}")
        if self.problems:
            more = len(self.problems) - _SHOWN
            told = "; ".join(self.problems[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")
            raise InvalidInput(f"nothing was changed: {told}")
        return Page(
            title=self.title,
            summary=" ".join(" ".join(self.summary).split()),
            statements=tuple(statements),
        )

    def _said(self, one: _Open) -> Said:
        raw = " ".join(" ".join(one.words).split())
        text, named = self._parted(raw)
        cites = [self._atom(one.at, label) for label in named]
        if not text:
            self.problems.append(f"line {one.at} says nothing: delete it whole, or write what holds")
        return Said(at=one.at, section=one.section, text=text, raw=raw, cites=tuple(dict.fromkeys(cites)))

    def _parted(self, raw: str) -> tuple[str, list[str]]:
        """Part a line from its marks; in a line that was left alone, what is no mark of this page is text."""
        tail = _MARKS.search(raw)
        if tail is None:
            return raw, []
        named = _MARK.findall(tail[0])
        while raw in self.printed and named and not self.labels.keys() >= {*named}:
            named = named[1:]
        at = raw.index(f"[^{named[0]}]", tail.start()) if named else len(raw)
        return raw[:at].rstrip(), named

    def _atom(self, at: int, label: str) -> str:
        """Return the atom behind a citation; what this scene does not cite may not be brought in by hand."""
        known = set(self.labels.values())
        atom = self.defined.get(label) or self.labels.get(label) or label
        if atom not in known:
            what = f"[^{label}]" if atom == label else f"{cut(atom, 40)} as [^{label}]"
            self.problems.append(
                f"line {at} cites {what}, which is no atom of this scene: keep a citation that was there, or none"
            )
        return atom


def compare(page: Page, scene: Scene, raws: Sequence[str], atoms: Mapping[str, Atom]) -> Handwriting:
    """Return what the person changed; *raws* are the lines of *scene* as printed, *atoms* what they cite.

    Raises `InvalidInput` when a line was touched that only counts what the page has no room for.
    """
    stays = _unchanged(page, scene, raws)
    kept = {id(line) for line in stays.values()}
    left = [line for line in scene.lines if id(line) not in kept]
    if hidden := next(filter(stands_for_more, left), None):
        raise InvalidInput(
            f"nothing was changed: the line {hidden.text!r} stands for notes that the page does not show; leave it as"
            " it is (`stenolith show` with the scene's name lists them)"
        )
    fresh = [said for said in page.statements if said.at not in stays]
    partners = _partners(fresh, left)
    held = {one for line in stays.values() for one in line.atoms}
    free = {one for line in left for one in line.atoms if _is_active(atoms, one)} - held
    taken = _share_out(fresh, partners, free)
    gone = free.difference(*taken.values())
    strokes = [
        Stroke(said=said, stays=stays.get(said.at), old=partners.get(said.at), replaces=taken.get(said.at, ()))
        for said in page.statements
    ]
    used = {id(line) for line in partners.values()}
    told_elsewhere = {one for atoms_ in taken.values() for one in atoms_}
    return Handwriting(
        strokes=tuple(strokes),
        removed=tuple(line for line in left if id(line) not in used and told_elsewhere.isdisjoint(line.atoms)),
        withdrawn=tuple(one for line in left for one in dict.fromkeys(line.atoms) if one in gone),
    )


def own_words(stroke: Stroke, atoms: Mapping[str, Atom]) -> tuple[str, str]:
    """Return what a stroke says and who is shown to say it, without what code had put around the old line.

    That is the note about the past at its end, the speaker's name before it, and the marks of a quotation.
    """
    text, old, speaker = stroke.said.text, stroke.old, ""
    if old is None:
        return text, speaker
    past = _PAST.search(old.text)
    if past and text.endswith(past[0]) and any(not _is_active(atoms, one) for one in old.atoms):
        text = text.removesuffix(past[0])
    for name in {atoms[one].speaker for one in old.atoms if one in atoms} - {""}:
        if old.text.startswith(f"{name}: ") and text.startswith(f"{name}: "):
            text, speaker = text.removeprefix(f"{name}: "), name
    quoted = text.startswith("“") and text.endswith("”") and "“" in old.text
    return (text[1:-1] if quoted else text), speaker


def _unchanged(page: Page, scene: Scene, raws: Sequence[str]) -> dict[int, Line]:
    """Match statements with stored lines word for word, first with their marks and then without."""
    stays: dict[int, Line] = {}
    free = list(zip(scene.lines, raws, strict=True))
    for way in ("raw", "text"):
        for said in page.statements:
            if said.at in stays:
                continue
            same = next((pair for pair in free if _is_same(said, *pair, whole=way == "raw")), None)
            if same is not None:
                free.remove(same)
                stays[said.at] = same[0]
    return stays


def _is_same(said: Said, line: Line, raw: str, *, whole: bool) -> bool:
    words = said.raw == raw if whole else said.text == " ".join(line.text.split())
    return words and said.section == line.section


def _partners(fresh: Sequence[Said], left: Sequence[Line]) -> dict[int, Line]:
    """Pair new statements with the lines they stand in place of, the likeliest first."""
    ranked = sorted(
        ((_likeness(said, line), -said.at, at) for said in fresh for at, line in enumerate(left)), reverse=True
    )
    found: dict[int, Line] = {}
    used: set[int] = set()
    for score, place, at in ranked:
        if score > 0 and -place not in found and at not in used:
            found[-place] = left[at]
            used.add(at)
    return found


def _likeness(said: Said, line: Line) -> float:
    """Say how likely a statement is a stored line in other words: by what both cite, else by their words."""
    share = SequenceMatcher(None, said.text, line.text, autojunk=False).ratio()
    if said.cites:
        common = len({*said.cites} & {*line.atoms})
        return common / len({*said.cites, *line.atoms}) + share + 1 if common else 0.0
    return share if share >= _ALIKE else 0.0


def _share_out(fresh: Sequence[Said], partners: Mapping[int, Line], free: set[str]) -> dict[int, tuple[str, ...]]:
    """Say which atoms each new statement takes the place of; each atom is replaced once."""
    open_ = set(free)
    taken: dict[int, list[str]] = {said.at: [] for said in fresh}
    first = sorted(fresh, key=lambda said: said.at not in partners)
    for said in first:
        taken[said.at] += [one for one in said.cites if one in open_]
        open_ -= {*said.cites}
    for at, line in partners.items():
        taken[at] += [one for one in dict.fromkeys(line.atoms) if one in open_]
        open_ -= {*line.atoms}
    return {at: tuple(atoms) for at, atoms in taken.items()}


def _is_active(atoms: Mapping[str, Atom], one: str) -> bool:
    return one in atoms and atoms[one].status is AtomStatus.ACTIVE
