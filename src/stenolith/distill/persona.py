"""The persona's evidence gate, in code: a line stands only on enough of the user's own words.

Lines are recomputed from the atoms every time, so a deleted or replaced atom takes its line down by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Final

from stenolith.distill.derived import derived_id
from stenolith.distill.evidence import Evidence, Gate, collect
from stenolith.distill.topics import day_of, told_at
from stenolith.distill.traits import SECTIONS, STANDING, traits_of
from stenolith.model.atom import Atom
from stenolith.model.persona import PersonaLine, PersonaStatus
from stenolith.model.text import cut, has_cjk

__all__ = ["Gate", "judge"]

_LONGEST: Final = 160
_NUMBERS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_CHINESE: Final = {"statement": "条表述", "day": "天", "scene": "个场景"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdict:
    """Evidence with what it lacks; nothing lacking means that its line stands."""

    evidence: Evidence
    missing: str
    weight: tuple[int, int, int]

    def status(self) -> PersonaStatus:
        return PersonaStatus.CANDIDATE if self.missing else PersonaStatus.STANDING


def judge(
    atoms: Sequence[Atom],
    scene_of: Mapping[str, str],
    existing: Sequence[PersonaLine],
    *,
    gate: Gate,
    zone: tzinfo,
    now_ms: int,
) -> list[PersonaLine]:
    """Return the persona that *atoms* support: standing lines by section, candidates, withdrawn lines.

    *atoms* are all of one owner, *scene_of* maps atom ids to scenes, *existing* is the stored persona; days
    are counted in *zone*.  Unchanged lines come back as they are, changed ones with the next version.  A
    stored line without support is withdrawn and keeps only what its remaining atoms say.  Stored lines that
    are not in the answer were withdrawn before and stay so.
    """
    verdicts = [_weigh(evidence, scene_of, gate, zone) for evidence in collect(atoms, gate)]
    verdicts = _bounded(_unfolded(verdicts), existing, gate)
    free = [line for line in existing if line.status is not PersonaStatus.WITHDRAWN]
    lines = []
    for verdict in verdicts:
        stored = _stored(verdict.evidence, free)
        free = [line for line in free if line is not stored]
        lines.append(_line(verdict, stored, now_ms))
    lines += [_withdrawn(line, atoms, now_ms) for line in free]
    return sorted(lines, key=_place)


def _weigh(evidence: Evidence, scene_of: Mapping[str, str], gate: Gate, zone: tzinfo) -> _Verdict:
    scenes = {scene_of[atom.id] for atom in evidence.atoms if atom.id in scene_of}
    days = {day for atom in evidence.atoms for day in _days(atom, zone)}
    lacking = [
        (gate.atoms - len(evidence.atoms), "statement"),
        (gate.days - len(days), "day"),
        (gate.scenes - len(scenes), "scene"),
    ]
    lacking = [(count, word) for count, word in lacking if count > 0 and evidence.section != STANDING]
    missing = _spoken(lacking, chinese=has_cjk(evidence.atoms[-1].text))
    return _Verdict(evidence=evidence, missing=missing, weight=(len(evidence.atoms), len(days), len(scenes)))


def _days(atom: Atom, zone: tzinfo) -> set[str]:
    times = [source.timestamp for source in atom.sources if source.timestamp is not None] or [told_at(atom)]
    return {day_of(when, zone) for when in times}


def _spoken(lacking: Sequence[tuple[int, str]], *, chinese: bool) -> str:
    """Say in plain words what is missing: "two more statements, one more day and one more scene"."""
    if chinese:
        return "还差 " + "、".join(f"{count} {_CHINESE[word]}" for count, word in lacking) if lacking else ""
    parts = [
        f"{_NUMBERS[count] if count < len(_NUMBERS) else count} more {word}{'s' if count > 1 else ''}"
        for count, word in lacking
    ]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _unfolded(verdicts: Sequence[_Verdict]) -> list[_Verdict]:
    """Leave out an order that a standing trait already says."""
    stands = {verdict.evidence.key for verdict in verdicts if not verdict.missing}
    return [verdict for verdict in verdicts if not _is_said(verdict.evidence, stands)]


def _is_said(evidence: Evidence, stands: set[str]) -> bool:
    if evidence.section != STANDING or evidence.atoms[-1].attribute:
        return False
    return any(f"trait {trait.key}" in stands for trait in traits_of(evidence.atoms[-1].text))


def _bounded(verdicts: Sequence[_Verdict], existing: Sequence[PersonaLine], gate: Gate) -> list[_Verdict]:
    """Let only some traits begin to stand at once and keep only the strongest candidates."""
    before = [line for line in existing if line.status is PersonaStatus.STANDING]
    ranked = sorted(verdicts, key=lambda item: item.weight, reverse=True)
    stand = [verdict for verdict in ranked if not verdict.missing]
    fresh = [item for item in stand if item.evidence.section != STANDING and _stored(item.evidence, before) is None]
    later = [replace(verdict, missing=_wait(verdict.evidence)) for verdict in fresh[gate.max_new :]]
    kept = [verdict for verdict in stand if verdict not in fresh[gate.max_new :]]
    candidates = [*later, *(verdict for verdict in ranked if verdict.missing)]
    candidates = [verdict for verdict in candidates if not any(_is_part(verdict, other) for other in candidates)]
    return [*kept, *candidates[: gate.max_candidates]]


def _wait(evidence: Evidence) -> str:
    return "等下一次修订" if has_cjk(evidence.atoms[-1].text) else "the next revision"


def _is_part(one: _Verdict, other: _Verdict) -> bool:
    """Say whether *other* rests on the statements of *one* and more: both would quote the same words."""
    mine, theirs = ({atom.id for atom in verdict.evidence.atoms} for verdict in (one, other))
    return mine < theirs


def _identity(evidence: Evidence) -> str:
    return derived_id("psn", f"{evidence.key}\n{evidence.atoms[0].root_id}")


def _stored(evidence: Evidence, lines: Sequence[PersonaLine]) -> PersonaLine | None:
    """Find the stored line of this evidence: by identity, else the one in its section that shares most atoms."""
    identity = _identity(evidence)
    mine = {atom.id for atom in evidence.atoms} | {atom.supersedes for atom in evidence.atoms}
    shared = {line.id: len(mine.intersection(line.atoms)) for line in lines if line.section == evidence.section}
    ranked = sorted(
        (line for line in lines if line.id == identity or shared.get(line.id)),
        key=lambda line: (line.id != identity, -shared.get(line.id, 0), line.id),
    )
    return ranked[0] if ranked else None


def _line(verdict: _Verdict, stored: PersonaLine | None, now_ms: int) -> PersonaLine:
    evidence = verdict.evidence
    cited = tuple(atom.id for atom in evidence.atoms)
    fresh = PersonaLine(
        id=stored.id if stored else _identity(evidence),
        section=evidence.section,
        text=_restated(evidence.atoms[-1], verdict),
        atoms=cited,
        status=verdict.status(),
        missing=verdict.missing,
        version=stored.version if stored else 1,
        updated_at=stored.updated_at if stored else now_ms,
    )
    if stored is None or fresh == stored:
        return fresh
    return replace(fresh, version=stored.version + 1, updated_at=now_ms)


def _restated(latest: Atom, verdict: _Verdict) -> str:
    """Quote the most recent wording and claim no more than how often it was said."""
    words = cut(" ".join(latest.text.split()), _LONGEST)
    if verdict.evidence.section == STANDING:
        return words
    often = len(verdict.evidence.atoms) > 1
    if has_cjk(words):
        return f"{'多次说过' if often else '说过'}：「{words.rstrip('。；')}」"
    return f'{"Has said repeatedly" if often else "Has said"}: "{words.rstrip(".;")}"'


def _withdrawn(line: PersonaLine, atoms: Sequence[Atom], now_ms: int) -> PersonaLine:
    """Take a line down; what was deleted is not quoted any more."""
    left = [atom for atom in atoms if atom.id in line.atoms]
    whole = len(left) == len(line.atoms)
    return replace(
        line,
        text=line.text if whole else "",
        atoms=tuple(atom.id for atom in left),
        status=PersonaStatus.WITHDRAWN,
        missing="its evidence was replaced" if whole else "its evidence was deleted",
        version=line.version + 1,
        updated_at=now_ms,
    )


def _place(line: PersonaLine) -> tuple[int, int, str]:
    section = SECTIONS.index(line.section) if line.section in SECTIONS else len(SECTIONS)
    return list(PersonaStatus).index(line.status), section, line.id
