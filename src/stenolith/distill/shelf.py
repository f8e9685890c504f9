"""Which scenes are about one thing and should be one: a model proposes, code checks.

A merge keeps every line, and the name of the scene that stays; the others lead there from then on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from stenolith.distill.dossier import MOST_LINES
from stenolith.distill.prompting import data_line, read_prompt
from stenolith.distill.topics import topic_terms
from stenolith.llm.port import LanguageModel, Prompt, Usage
from stenolith.llm.schema import TEXT, WHOLE, list_of, record
from stenolith.llm.structured import structured
from stenolith.model.scene import Line, Scene, Section
from stenolith.model.text import cut

NAME: Final = "shelf"
SCHEMA: Final = record(merges=list_of(record(dossiers=list_of(WHOLE), reason=TEXT)))
_TITLE_CHARS: Final = 80
_SUMMARY_CHARS: Final = 160
_LINES: Final = 3
"""Lines of a scene that are shown beside its summary."""


class Proposal(BaseModel):
    """Scenes that a model takes for one."""

    model_config = ConfigDict(extra="ignore")

    dossiers: list[int] = Field(min_length=2)


class Proposals(BaseModel):
    """The answer; its items are read one by one."""

    model_config = ConfigDict(extra="ignore")

    merges: list[Any] = Field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """The live scenes of an owner that may be merged.

    *named* are the ids of those whose title a person gave, *drawn* of those that a model split from each other.
    """

    scenes: tuple[Scene, ...]
    named: frozenset[str] = frozenset()
    drawn: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """One scene, with all lines, takes the place of the *others*."""

    scene: Scene
    others: tuple[Scene, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorted:
    """The merges that hold, a count of what was refused by reason, and the bill."""

    merges: tuple[Merge, ...] = ()
    tally: Mapping[str, int] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)


def ask(shelf: Shelf, deadline_ms: int) -> Prompt:
    """Return the prompt; scenes are numbered from 1."""
    sheet = read_prompt(NAME)
    rows = [
        {
            "dossier": at,
            "title": cut(scene.title, _TITLE_CHARS),
            "summary": cut(scene.summary, _SUMMARY_CHARS),
            "lines": [cut(line.text, _SUMMARY_CHARS) for line in scene.lines[:_LINES]],
            "of": len(scene.lines),
        }
        for at, scene in enumerate(shelf.scenes, 1)
    ]
    user = sheet.fill({"dossiers": "\n".join(map(data_line, rows))})
    return Prompt(name=NAME, system=sheet.system, user=user, schema=SCHEMA, deadline_ms=deadline_ms)


async def sort_out(model: LanguageModel, shelf: Shelf, deadline_ms: int) -> Sorted:
    """Return the merges that *model* proposes and that hold. Raises `ModelUnavailable` and `Unanswerable`."""
    answer = await structured(model, ask(shelf, deadline_ms), Proposals)
    tally: Counter[str] = Counter()
    merges: list[Merge] = []
    for raw in answer.value.merges:
        read = _read(raw, shelf, {scene.id for merge in merges for scene in (merge.scene, *merge.others)})
        if isinstance(read, str):
            tally[f"refused merge: {read}"] += 1
        else:
            merges.append(read)
    return Sorted(merges=tuple(merges), tally=tally, usage=answer.usage)


def _read(raw: Any, shelf: Shelf, used: Collection[str]) -> Merge | str:
    """Read one proposal, or say why it cannot stand."""
    try:
        numbers = list(dict.fromkeys(Proposal.model_validate(raw).dossiers))
    except ValidationError:
        return "not a merge"
    if not all(1 <= number <= len(shelf.scenes) for number in numbers) or len(numbers) < 2:
        return "no such dossier"
    scenes = [shelf.scenes[number - 1] for number in numbers]
    target = min(scenes, key=lambda scene: (scene.id not in shelf.named, scene.created_at, scene.id))
    others = tuple(scene for scene in scenes if scene is not target)
    return _fault(target, others, shelf, used) or Merge(scene=_united(target, others), others=others)


def _fault(target: Scene, others: Sequence[Scene], shelf: Shelf, used: Collection[str]) -> str:
    """Say why scenes may not become one; empty when they may."""
    scenes = (target, *others)
    ids = {scene.id for scene in scenes}
    faults = {
        "merged already": not ids.isdisjoint(used),
        "a person named both": len(ids & shelf.named) > 1,
        "split before": len(ids & shelf.drawn) > 1,
        "too many lines": sum(len(scene.lines) for scene in scenes) > MOST_LINES,
        "nothing in common": any(_words(target).isdisjoint(_words(other)) for other in others),
    }
    return next((name for name, holds in faults.items() if holds), "")


def _words(scene: Scene) -> set[str]:
    said = topic_terms("\n".join([scene.title, *(line.text for line in scene.lines)]))
    return {word for word in (*scene.terms, *said) if len(word) > 2 or not word.isascii()}


def _united(scene: Scene, others: Sequence[Scene]) -> Scene:
    order = [section.value for section in Section]
    lines: list[Line] = [*scene.lines, *(line for other in others for line in other.lines)]
    return replace(scene, lines=tuple(sorted(lines, key=lambda line: order.index(line.section))))
