"""A model words the dossier of a scene by structured edits; the facts in it stay those that code put there.

An edit that cites nothing, cites what is not in the scene, or tells the past as present is refused.  Whatever
the edits leave uncited comes back with the line it had, so no fact and no contradiction gets lost.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from stenolith.distill.claims import words_of
from stenolith.distill.handwriting import is_by_hand
from stenolith.distill.prompting import data_line, read_prompt
from stenolith.distill.titles import PERSONAL_TITLES
from stenolith.distill.topics import told_at
from stenolith.llm.port import LanguageModel, Prompt, Usage
from stenolith.llm.schema import TEXT, WHOLE, list_of, one_of, record
from stenolith.llm.structured import structured
from stenolith.model.atom import Atom, AtomStatus
from stenolith.model.scene import Line, Scene, Section
from stenolith.model.text import cut, has_cjk

NAME: Final = "dossier"
MOST_LINES: Final = 60
LINE_CHARS: Final = 500
SUMMARY_CHARS: Final = 160
TITLE_CHARS: Final = 60
FEWEST: Final = 3
"""Facts below which a dossier needs no editor."""
_RENEWED: Final = 8
"""A dossier is edited anew when an eighth of its facts have changed: each call costs money."""
_DIGITS: Final = re.compile(r"\d+")
SCHEMA: Final = record(
    title=TEXT,
    summary=TEXT,
    edits=list_of(
        record(
            op=one_of(["add", "replace", "remove"]),
            line=WHOLE,
            section=one_of(list(Section)),
            text=TEXT,
            cites=list_of(WHOLE),
        )
    ),
    split=list_of(record(title=TEXT, facts=list_of(WHOLE))),
)


class Edit(BaseModel):
    """One change of one line."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True)

    op: str
    line: int = 0
    section: str = ""
    text: str = ""
    cites: list[int] = Field(default_factory=list)


class Edits(BaseModel):
    """The answer; its edits are read one by one."""

    model_config = ConfigDict(extra="ignore")

    title: str = ""
    summary: str = ""
    edits: list[Any]
    split: list[Any] = Field(default_factory=list)


class Parting(BaseModel):
    """Facts that a model would give a dossier of their own."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True)

    title: str
    facts: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dossier:
    """A scene to be edited with the facts that its lines cite, in the order in which they are numbered.

    *fresh* says that nobody has seen its title yet, *handmade* that a person wrote its summary.  Days are told in
    *zone*.
    """

    scene: Scene
    facts: tuple[Atom, ...]
    fresh: bool = False
    handmade: bool = False
    zone: tzinfo = UTC


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Lines that leave a scene for one of their own, with its title."""

    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """The edited scene, what left it, a count of what was refused by reason, and the bill."""

    scene: Scene
    part: Part | None = None
    tally: Mapping[str, int] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)


def is_due(cited: Sequence[str], seen: Sequence[str] | None) -> bool:
    """Say whether a dossier that cites *cited* is worth a call, when the editor last saw *seen* (None: never)."""
    now = set(cited)
    if len(now) < FEWEST or (seen is not None and now == set(seen)):
        return False
    return seen is None or len(now ^ set(seen)) * _RENEWED >= len(now)


def cited_in(scene: Scene) -> list[str]:
    """Return the ids of the atoms that a scene's lines cite, each once."""
    return list(dict.fromkeys(atom for line in scene.lines for atom in line.atoms))


def carry_over(fresh: Scene, told: Scene, atoms: Mapping[str, Atom]) -> Scene:
    """Return *fresh*, which code made from the facts of today, in the words that an editor found before.

    A line of *told* stays while all it cites holds and nothing disputes it; facts that no such line cites have
    the lines of *fresh*.  The summary stays while every line does.
    """
    disputes = [frozenset(line.atoms) for line in fresh.lines if _is_dispute(line, atoms)]
    there = set(cited_in(fresh))
    kept = [line for line in told.lines if _still_holds(line, atoms, there, disputes)]
    covered = {atom for line in kept for atom in line.atoms}
    more = [line for line in fresh.lines if any(_is_active(atoms, one) and one not in covered for one in line.atoms)]
    lines = _in_order([*kept, *more])
    if len(lines) > MOST_LINES:
        return fresh
    return replace(fresh, lines=lines, summary=(told.summary if len(kept) == len(told.lines) else "") or fresh.summary)


def _still_holds(line: Line, atoms: Mapping[str, Atom], there: set[str], disputes: Sequence[frozenset[str]]) -> bool:
    """Say whether a line may stay: what it cites is here and holds, or was replaced by something else it cites."""
    cited = set(line.atoms)
    for one in line.atoms:
        atom = atoms.get(one)
        if atom is None or one not in there:
            return False
        if atom.status is not AtomStatus.ACTIVE and atom.superseded_by not in cited:
            return False
    return all(dispute.isdisjoint(cited) or dispute <= cited for dispute in disputes)


def _is_active(atoms: Mapping[str, Atom], one: str) -> bool:
    return one in atoms and atoms[one].status is AtomStatus.ACTIVE


def _is_dispute(line: Line, atoms: Mapping[str, Atom]) -> bool:
    """Say whether a line that code wrote holds two sides against each other."""
    return line.section == Section.OPEN and sum(_is_active(atoms, one) for one in line.atoms) > 1


def _in_order(lines: Sequence[Line]) -> tuple[Line, ...]:
    order = [section.value for section in Section]
    return tuple(sorted(lines, key=lambda line: order.index(line.section) if line.section in order else 0))


def ask(dossier: Dossier, deadline_ms: int) -> Prompt:
    """Return the prompt; lines and facts are numbered from 1."""
    sheet = read_prompt(NAME)
    numbers = {atom.id: at for at, atom in enumerate(dossier.facts, 1)}
    lines = [
        {"line": at, "section": line.section, "text": line.text, "cites": [numbers[one] for one in line.atoms]}
        for at, line in enumerate(dossier.scene.lines, 1)
    ]
    facts = [{"fact": at, **_shown(atom, dossier.zone)} for at, atom in enumerate(dossier.facts, 1)]
    head = {"title": dossier.scene.title, **({"new": True} if dossier.fresh else {})}
    hint = next((name for atom in dossier.facts if (name := atom.provenance.get("scene"))), None)
    values = {
        "head": data_line({**head, **({"talk": hint} if isinstance(hint, str) and dossier.fresh else {})}),
        "lines": "\n".join(map(data_line, lines)),
        "facts": "\n".join(map(data_line, facts)),
    }
    return Prompt(name=NAME, system=sheet.system, user=sheet.fill(values), schema=SCHEMA, deadline_ms=deadline_ms)


def _shown(atom: Atom, zone: tzinfo) -> dict[str, Any]:
    day = datetime.fromtimestamp(told_at(atom) / 1000, tz=zone).date().isoformat()
    past = {"past": True} if atom.status is not AtomStatus.ACTIVE else {}
    return {"kind": atom.kind.value, "text": atom.text, "said": day, **past}


async def edit(model: LanguageModel, dossier: Dossier, deadline_ms: int) -> Revision:
    """Return the scene as *model* words it. Raises `ModelUnavailable` and `Unanswerable`."""
    answer = await structured(model, ask(dossier, deadline_ms), Edits)
    scene, tally = apply_edits(dossier, answer.value)
    found = part_off(scene, dossier, answer.value.split[0]) if answer.value.split else None
    if isinstance(found, str):
        tally[f"refused split: {found}"] += 1
    part = found if isinstance(found, Part) else None
    rest = tuple(line for line in scene.lines if part is None or line not in part.lines)
    return Revision(scene=replace(scene, lines=rest), part=part, tally=tally, usage=answer.usage)


def part_off(scene: Scene, dossier: Dossier, raw: Any) -> Part | str:
    """Return the lines that leave *scene*, as edited, by a model's proposal, or say why none do.

    Both parts keep facts enough to be a dossier, no line is torn, so that no contradiction is, and what a person
    wrote into a scene stays there.
    """
    try:
        wish = Parting.model_validate(raw)
    except ValidationError:
        return "not a split"
    if not all(1 <= number <= len(dossier.facts) for number in wish.facts):
        return "foreign fact"
    going = frozenset(dossier.facts[number - 1].id for number in wish.facts)
    part = Part(
        title=" ".join(wish.title.split()),
        lines=tuple(line for line in scene.lines if going.issuperset(line.atoms)),
    )
    return _torn(scene, dossier, part, going) or part


def _torn(scene: Scene, dossier: Dossier, part: Part, going: frozenset[str]) -> str:
    """Say why a part may not leave its scene; empty when it may."""
    living = {atom.id for atom in dossier.facts if atom.status is AtomStatus.ACTIVE}
    told = [atom for atom in dossier.facts if atom.id in going]
    named = 0 < len(part.title) <= TITLE_CHARS and part.title not in PERSONAL_TITLES
    faults = {
        "a line would be torn": any(not going.isdisjoint(line.atoms) for line in scene.lines if line not in part.lines),
        "too few facts": min(len(living & going), len(living - going)) < FEWEST,
        "a person wrote a line of it": any(_is_a_persons(line, dossier) for line in part.lines),
        "no title that its facts bear out": not named or not _rests_on(part.title, told, dossier.zone),
    }
    return next((name for name, holds in faults.items() if holds), "")


def apply_edits(dossier: Dossier, answer: Edits) -> tuple[Scene, Counter[str]]:
    """Return the scene after those edits that hold, and a count of the others by reason."""
    tally: Counter[str] = Counter()
    places: list[Line | None] = list(dossier.scene.lines)
    added: list[Line] = []
    touched: set[int] = set()
    for raw in answer.edits:
        read = _read(raw, dossier, touched)
        if isinstance(read, str):
            tally[f"refused: {read}"] += 1
            continue
        at, line = read
        if at is None:
            added += [line] if line else []
        else:
            touched.add(at)
            places[at] = line
    lines = [line for line in places if line is not None] + added
    back = _missing(dossier, lines, touched)
    tally["kept: still needed"] += len(back)
    lines += back
    if len(lines) > MOST_LINES:
        tally["refused: too many lines"] += 1
        lines = list(dossier.scene.lines)
    scene = replace(dossier.scene, lines=_in_order(lines))
    return _headed(scene, dossier, answer), +tally


def _read(raw: Any, dossier: Dossier, touched: set[int]) -> tuple[int | None, Line | None] | str:
    """Read an edit as the place it changes (None: a new line) and the line it puts there, or say why not."""
    try:
        edit = Edit.model_validate(raw)
    except ValidationError:
        return "not an edit"
    at = edit.line - 1
    if edit.op not in {"add", "replace", "remove"}:
        return "not an edit"
    if edit.op != "add" and (not 0 <= at < len(dossier.scene.lines) or at in touched):
        return "no such line"
    if edit.op != "add" and _is_a_persons(dossier.scene.lines[at], dossier):
        return "a person wrote this line"
    return (at, None) if edit.op == "remove" else _statement(edit, None if edit.op == "add" else at, dossier)


def _is_a_persons(line: Line, dossier: Dossier) -> bool:
    return any(atom.id in line.atoms and is_by_hand(atom) for atom in dossier.facts)


def _statement(edit: Edit, at: int | None, dossier: Dossier) -> tuple[int | None, Line] | str:
    """Read the line that an edit adds, or puts in the place *at*."""
    usual = "" if at is None else dossier.scene.lines[at].section
    section = edit.section if edit.section in set(Section) else usual
    text = " ".join(edit.text.split())
    if not section:
        return "no such section"
    if not 0 < len(text) <= LINE_CHARS:
        return "too long" if text else "no text"
    cited = _cited(edit.cites, text, dossier)
    return cited if isinstance(cited, str) else (at, Line(text=text, atoms=cited, section=section))


def _cited(numbers: Sequence[int], text: str, dossier: Dossier) -> tuple[str, ...] | str:
    """Return the facts that *text* cites, or why it cannot stand on them."""
    if not numbers:
        return "no citation"
    if not all(1 <= number <= len(dossier.facts) for number in numbers):
        return "foreign citation"
    facts = [dossier.facts[number - 1] for number in dict.fromkeys(numbers)]
    if all(atom.status is not AtomStatus.ACTIVE for atom in facts):
        return "cites only what no longer holds"
    if not _rests_on(text, facts, dossier.zone):
        return "not in the facts it cites"
    return tuple(atom.id for atom in facts)


def _rests_on(text: str, facts: Sequence[Atom], zone: tzinfo) -> bool:
    """Say whether half of the words of *text* are words of *facts*, and each number in it is one of theirs."""
    told = "\n".join(" ".join(map(str, [*_shown(atom, zone).values(), atom.subject])) for atom in facts)
    if not set(_DIGITS.findall(text)) <= set(_DIGITS.findall(told)):
        return False
    mine = words_of(text)
    return has_cjk(text) != has_cjk(told) or 2 * len(mine & words_of(told)) >= len(mine) > 0


def _missing(dossier: Dossier, lines: Sequence[Line], touched: set[int]) -> list[Line]:
    """Return the lines that must come back: they hold facts that hold, or a contradiction, and nothing else does."""
    atoms = {atom.id: atom for atom in dossier.facts}
    covered = {one for line in lines for one in line.atoms}
    open_points = [set(line.atoms) for line in lines if line.section == Section.OPEN]
    back = []
    for at in sorted(touched):
        line = dossier.scene.lines[at]
        lost = [one for one in line.atoms if one not in covered and _is_active(atoms, one)]
        hidden = line.section == Section.OPEN and not any(set(line.atoms) <= point for point in open_points)
        if lost or hidden:
            back.append(line)
    return back


def _headed(scene: Scene, dossier: Dossier, answer: Edits) -> Scene:
    """Take over a summary that the lines bear out, and the title of a scene that nobody has seen."""
    summary = cut(" ".join(answer.summary.split()), SUMMARY_CHARS)
    # It stands before every session, also after the moment at which a fact expires.
    lasting = [atom for atom in dossier.facts if atom.expires_at is None]
    if summary and not dossier.handmade and _rests_on(summary, lasting, dossier.zone):
        scene = replace(scene, summary=summary)
    title = " ".join(answer.title.split())
    own = scene.title not in PERSONAL_TITLES and title not in PERSONAL_TITLES
    if dossier.fresh and own and 0 < len(title) <= TITLE_CHARS:
        scene = replace(scene, title=title)
    return scene
