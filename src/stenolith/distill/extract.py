"""Atoms with a model: one call reads a window of conversation and names scenes and memories together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, model_validator

from stenolith.distill import rules
from stenolith.distill.claims import Desk, Fault, read_claim
from stenolith.distill.prompting import read_prompt
from stenolith.distill.reconcile import normal_form
from stenolith.distill.windows import Reading, days_of, language_of, write_background, write_parts
from stenolith.llm.port import LanguageModel, Prompt, Usage
from stenolith.llm.schema import TEXT, TRUTH, WHOLE, list_of, one_of, record
from stenolith.llm.structured import Answer, structured
from stenolith.model.atom import AtomDraft, Kind
from stenolith.model.text import cut

NAME: Final = "extract"
MOST: Final = 40
"""Memories that are taken from one call; a model that writes more has begun to repeat itself."""
_SCENE_CHARS: Final = 60
SCHEMA: Final = record(
    scenes=list_of(
        record(
            name=TEXT,
            memories=list_of(
                record(
                    kind=one_of(list(Kind)),
                    text=TEXT,
                    sources=list_of(WHOLE),
                    quote=TEXT,
                    subject=TEXT,
                    attribute=TEXT,
                    priority=WHOLE,
                    start=TEXT,
                    end=TEXT,
                    until=TEXT,
                    scope=one_of(["lasting", "task"]),
                    changes=TRUTH,
                )
            ),
        )
    )
)


class Extraction(BaseModel):
    """The answer, as loosely as models give it: scenes with memories, or memories alone, as object or list.

    *ops* are changes of stored memories, which nobody asked for here; see `extract`.
    """

    model_config = ConfigDict(extra="ignore")

    scenes: list[dict[str, Any]] = []
    memories: list[Any] = []
    ops: list[Any] = []

    @model_validator(mode="before")
    @classmethod
    def _shaped(cls, value: Any) -> Any:
        if isinstance(value, list):
            if value and not any(isinstance(item, Mapping) for item in value):
                return None  # "[1]" in prose is no answer
            scenic = [item for item in value if isinstance(item, Mapping) and "memories" in item]
            return {"scenes": scenic, "memories": [item for item in value if item not in scenic]}
        if isinstance(value, Mapping) and not value.keys() & {"scenes", "memories", "ops"}:
            # A single memory is an answer, too; anything else is not.
            return {"memories": [value]} if {"text", "sources"} <= value.keys() else None
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Harvest:
    """What one or more calls gave: drafts in order, and a count of what was refused or mended, by reason.

    *scene* is the name of the last scene.  *truncated* says that a call was cut off.
    """

    drafts: tuple[AtomDraft, ...] = ()
    tally: Mapping[str, int] = field(default_factory=dict)
    scene: str = ""
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    truncated: bool = False

    def __add__(self, other: Harvest) -> Harvest:
        """Return both, this one first."""
        return Harvest(
            drafts=(*self.drafts, *other.drafts),
            tally=Counter(self.tally) + Counter(other.tally),
            scene=other.scene or self.scene,
            calls=self.calls + other.calls,
            usage=self.usage + other.usage,
            truncated=self.truncated or other.truncated,
        )


def ask(reading: Reading, scene: str, zone: tzinfo, deadline_ms: int) -> Prompt:
    """Return the prompt for one reading; *scene* is the scene before."""
    sheet = read_prompt(NAME)
    values = {
        "zone": str(zone),
        "days": days_of(reading.parts, zone),
        "language": language_of(reading.parts),
        "scene": cut(" ".join(scene.split()), _SCENE_CHARS) or "none",
        "background": write_background(reading.background, zone),
        "conversation": write_parts(reading.parts, zone),
    }
    return Prompt(name=NAME, system=sheet.system, user=sheet.fill(values), schema=SCHEMA, deadline_ms=deadline_ms)


async def extract(model: LanguageModel, reading: Reading, scene: str, zone: tzinfo, deadline_ms: int) -> Harvest:
    """Return what *model* learns from one reading.

    A model that only asks to delete or change stored memories has seen that something changed and not said
    what: the rules then say it in the user's own words, so that nothing is retired without a successor.
    Raises `ModelUnavailable` and `Unanswerable`.
    """
    answer = await structured(model, ask(reading, scene, zone, deadline_ms), Extraction)
    desk = Desk(speeches=reading.speeches, zone=zone)
    found: list[AtomDraft] = []
    last = ""
    for name, items in _scenes(answer.value):
        last = name or last
        for item in items[: max(0, MOST - len(found))]:
            claim = read_claim(item, desk)
            if isinstance(claim, Fault):
                desk.notes[f"refused: {claim}"] += 1
            else:
                found.append(replace(claim, provenance={"scene": name} if name else {}))
    drafts = _united(found)
    drafts = [_signed(draft, answer, len(drafts)) for draft in drafts]
    if answer.value.ops and not drafts:
        drafts = _by_rules(reading, zone)
        desk.notes["refused: a change without its successor"] += len(answer.value.ops)
    return Harvest(
        drafts=tuple(drafts),
        tally=desk.notes,
        scene=last or scene,
        calls=answer.calls,
        usage=answer.usage,
        truncated=answer.truncated,
    )


def _scenes(answer: Extraction) -> list[tuple[str, list[Any]]]:
    found = []
    for scene in answer.scenes:
        name = scene.get("name") or scene.get("scene_name") or ""
        memories = scene.get("memories")
        plain = cut(" ".join(name.split()), _SCENE_CHARS) if isinstance(name, str) else ""
        found.append((plain, memories if isinstance(memories, list) else []))
    return [*found, ("", answer.memories)]


def _united(drafts: Sequence[AtomDraft]) -> list[AtomDraft]:
    """Make one draft of those that say the same words of the same speaker, with the sources of all."""
    kept: dict[tuple[str, str], AtomDraft] = {}
    for draft in drafts:
        key = (normal_form(draft.text), draft.speaker)
        first = kept.get(key)
        if first is None:
            kept[key] = draft
            continue
        cited = {source.record_id for source in first.sources}
        more = tuple(source for source in draft.sources if source.record_id not in cited)
        role = "user" if "user" in {first.role, draft.role} else first.role
        kept[key] = replace(first, sources=(*first.sources, *more), role=role)
    return list(kept.values())


def _signed(draft: AtomDraft, answer: Answer[Extraction], shared_by: int) -> AtomDraft:
    """Note on a draft what made it and what the call cost that made it together with others."""
    usage = answer.usage
    made = {"prompt": read_prompt(NAME).label, "model": answer.model}
    paid = {"tokens": usage.input + usage.output, "cost": round(usage.cost, 6), "shared_by": shared_by}
    return replace(draft, provenance={**(draft.provenance or {}), **made, **paid})


def _by_rules(reading: Reading, zone: tzinfo) -> list[AtomDraft]:
    said = [
        rules.Utterance(
            record_id=speech.record_id,
            role=speech.role,
            text=speech.text,
            timestamp=speech.timestamp,
            speaker=speech.speaker,
        )
        for speech in reading.speeches.values()
    ]
    return [replace(draft, provenance={"prompt": "rules"}) for draft in rules.extract(said, zone)]
