"""What becomes of new memories beside known ones: a model proposes for a whole batch, code disposes.

A proposal names known memories that were shown, relates to them by subject and words, and retires
nothing without a successor.  Whatever does not hold becomes a plain addition, so nothing is lost.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, model_validator

from stenolith.distill.claims import named_alike
from stenolith.distill.prompting import data_line, read_prompt
from stenolith.distill.reconcile import reconcile
from stenolith.distill.relations import holds, older, related, same_property, same_subject, says_all, touches
from stenolith.distill.topics import told_at
from stenolith.llm.port import LanguageModel, Prompt, Usage
from stenolith.llm.schema import TEXT, WHOLE, list_of, one_of, record
from stenolith.llm.structured import structured
from stenolith.model.atom import Atom, AtomDraft
from stenolith.model.text import cut

NAME: Final = "arbiter"
Action = Literal["add", "skip", "update", "merge", "supersede"]
_ACTIONS: Final[Mapping[str, Action]] = {
    **dict.fromkeys(("add", "store", "create", "none", "noop", "keep"), "add"),
    **dict.fromkeys(("skip", "duplicate", "ignore"), "skip"),
    "update": "update",
    "merge": "merge",
    **dict.fromkeys(("supersede", "replace", "delete", "remove", "retire", "invalidate"), "supersede"),
}
_ALIASES: Final = {
    "memory": ("new", "n", "record_id"),
    "action": ("op", "event", "operation"),
    "known": ("id", "ids", "target", "targets", "target_ids"),
    "text": ("merged_content", "content"),
}
SCHEMA: Final = record(
    decisions=list_of(
        record(
            memory=WHOLE,
            action=one_of(["add", "skip", "update", "merge", "supersede"]),
            known=list_of(WHOLE),
            text=TEXT,
            reason=TEXT,
        )
    )
)
_REASON_CHARS: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A new memory and the known ones it may repeat, refine or contradict."""

    draft: AtomDraft
    near: tuple[Atom, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What is proposed for one case: *targets* are ids of known atoms, *text* the sentence that unites them."""

    action: Action
    targets: tuple[str, ...] = ()
    text: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """One ruling for each case, in order, with a count of what was refused in the answer."""

    rulings: tuple[Ruling, ...]
    tally: Mapping[str, int] = field(default_factory=dict)
    calls: int = 0
    usage: Usage = field(default_factory=Usage)


class Decisions(BaseModel):
    """The answer; its items are read one by one."""

    model_config = ConfigDict(extra="ignore")

    decisions: list[Any]

    @model_validator(mode="before")
    @classmethod
    def _shaped(cls, value: Any) -> Any:
        if isinstance(value, list):
            return {"decisions": value} if all(isinstance(item, Mapping) for item in value) else None
        if isinstance(value, Mapping):
            names = ("decisions", "ops", "operations", "actions", "memory", "memories")
            found = next((value[name] for name in names if isinstance(value.get(name), list)), None)
            if found is None and value.keys() & {"action", "op"}:
                found = [value]
            return {"decisions": found}
        return value


def ask(cases: Sequence[Case], zone: tzinfo, deadline_ms: int) -> Prompt:
    """Return the prompt for a batch; known memories are numbered from 0, new ones from 1."""
    sheet, pool = read_prompt(NAME), _pool(cases)
    known = [_shown(atom, zone) | {"id": at} for at, atom in enumerate(pool)]
    places = {atom.id: at for at, atom in enumerate(pool)}
    new = [
        {"memory": at, **_told(case.draft, zone), "near": [places[atom.id] for atom in case.near]}
        for at, case in enumerate(cases, 1)
    ]
    values = {"known": "\n".join(map(data_line, known)), "new": "\n".join(map(data_line, new))}
    return Prompt(name=NAME, system=sheet.system, user=sheet.fill(values), schema=SCHEMA, deadline_ms=deadline_ms)


async def arbitrate(model: LanguageModel, cases: Sequence[Case], zone: tzinfo, deadline_ms: int) -> Judgement:
    """Return the model's rulings on *cases* in one call. Raises `ModelUnavailable` and `Unanswerable`."""
    answer = await structured(model, ask(cases, zone, deadline_ms), Decisions)
    tally: Counter[str] = Counter()
    pool = _pool(cases)
    found: dict[int, Ruling] = {}
    for item in answer.value.decisions:
        read = _read(item, cases, pool, found)
        if isinstance(read, str):
            tally[f"refused: {read}"] += 1
        else:
            found.setdefault(*read)
    rulings = [found.get(at) or by_rule(case) for at, case in enumerate(cases)]
    tally["undecided"] += len(cases) - len(found)
    return Judgement(rulings=tuple(rulings), tally=+tally, calls=answer.calls, usage=answer.usage)


def by_rule(case: Case) -> Ruling:
    """Return what code alone decides: a stated change of the same property replaces, anything else is added."""
    if not case.draft.corrects:
        return Ruling(action="add")
    decision = reconcile([case.draft], case.near)[0]
    if decision.action != "supersede" or decision.target is None:
        return Ruling(action="add")
    return Ruling(action="supersede", targets=(decision.target,), reason="the speaker corrected it")


def repeated(draft: AtomDraft, near: Sequence[Atom]) -> Atom | Literal["retired"] | None:
    """Return the active atom that *draft* repeats word for word, or that its evidence made and lost it before.

    Costs no call.  Atoms of every status are looked at; words compare in `normal_form`.
    """
    decision = reconcile([replace(draft, attribute="")], near)[0]
    if decision.action == "skip" and decision.target is None:
        return "retired"
    known = {atom.id: atom for atom in near}
    return known.get(decision.target or "") if decision.action in {"skip", "add_source"} else None


def _pool(cases: Sequence[Case]) -> list[Atom]:
    return list({atom.id: atom for case in cases for atom in case.near}.values())


def _shown(atom: Atom, zone: tzinfo) -> dict[str, Any]:
    said = {"kind": atom.kind.value, "text": atom.text, "subject": atom.subject, "attribute": atom.attribute}
    return {**said, **_who(atom.speaker), "said": _day(told_at(atom), zone), **_when(atom.occurred_start, zone)}


def _told(draft: AtomDraft, zone: tzinfo) -> dict[str, Any]:
    times = [source.timestamp for source in draft.sources if source.timestamp is not None]
    said = {"kind": draft.kind.value, "text": draft.text, "subject": draft.subject, "attribute": draft.attribute}
    day = {"said": _day(max(times), zone)} if times else {}
    return {**said, **_who(draft.speaker), **day, **_when(draft.occurred_start, zone)}


def _who(speaker: str) -> dict[str, str]:
    return {"speaker": speaker} if speaker else {}


def _when(ms: int | None, zone: tzinfo) -> dict[str, str]:
    return {} if ms is None else {"happened": _day(ms, zone)}


def _day(ms: int, zone: tzinfo) -> str:
    return datetime.fromtimestamp(ms / 1000, tz=zone).date().isoformat()


def _read(
    item: Any, cases: Sequence[Case], pool: Sequence[Atom], taken: Mapping[int, Ruling]
) -> tuple[int, Ruling] | str:
    """Read one decision as the place of its case and a ruling, or say why not."""
    if not isinstance(item, Mapping):
        return "not a decision"
    named = named_alike(item, _ALIASES)
    action = _ACTIONS.get(str(named["action"]).lower())
    if action is None:
        return "unknown action"
    numbers = [_number(one) for one in _listed(named["known"])]
    targets = tuple(dict.fromkeys(pool[number].id for number in numbers if 0 <= number < len(pool)))
    if numbers and not targets:
        return "outside the candidates"
    if action != "add" and not targets:
        return "names no known memory"
    place = _number(named["memory"]) - 1 if named["memory"] is not None else _successor(targets, cases, taken, pool)
    if not 0 <= place < len(cases):
        return "a change without its successor" if named["memory"] is None else "unknown memory"
    text, reason = (" ".join(str(named.get(name) or "").split()) for name in ("text", "reason"))
    return place, Ruling(action=action, targets=targets, text=text, reason=cut(reason, _REASON_CHARS))


def _successor(targets: Sequence[str], cases: Sequence[Case], taken: Mapping[int, Ruling], pool: Sequence[Atom]) -> int:
    """Find the one new memory that takes the place of what a careless model only deletes; -1 when unclear."""
    doomed = [atom for atom in pool if atom.id in targets]
    fitting = [
        at
        for at, case in enumerate(cases)
        if at not in taken and any(same_subject(case.draft, atom) and related(case.draft, atom) for atom in doomed)
    ]
    return fitting[0] if len(fitting) == 1 else -1


def _number(value: Any) -> int:
    match = re.fullmatch(r"\D{0,4}(\d{1,6})", str(value).strip())
    return int(match[1]) if match else -1


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is done: *draft* is stored (``add``), cited by a known atom (``cite``), or takes the place of *targets*.

    *since* is when the new version begins to hold (None: when it was said).  *note* names, for the report,
    what was wrong with the ruling; *reason* stands in the history of what is replaced.
    """

    action: Literal["add", "cite", "replace", "skip"]
    draft: AtomDraft
    targets: tuple[str, ...] = ()
    since: int | None = None
    reason: str = ""
    note: str = ""


def settle(draft: AtomDraft, ruling: Ruling, targets: Sequence[Atom]) -> Verdict:
    """Return what is done with *draft*, given the ruling and those of its targets that are still active."""
    match ruling.action:
        case "add":
            return Verdict(action="add", draft=draft, note="added")
        case "skip":
            known = [atom for atom in targets if _says_all(draft, atom)]
            if known:
                return Verdict(action="cite", draft=draft, targets=(known[0].id,), note="said again")
        case "update" | "merge":
            return _unite(draft, ruling, targets) or _refused(draft, ruling)
        case "supersede":
            return _supersede(draft, ruling, targets) or _refused(draft, ruling)
    return _refused(draft, ruling)


def _refused(draft: AtomDraft, ruling: Ruling) -> Verdict:
    return Verdict(action="add", draft=draft, note=f"added, no {ruling.action}")


def _says_all(draft: AtomDraft, atom: Atom) -> bool:
    return same_subject(draft, atom) and _same_time(draft, atom) and says_all(atom, draft)


def _same_time(draft: AtomDraft, atom: Atom) -> bool:
    """Say whether two claims can be of one time: an event is no state, and two events have one beginning."""
    if (draft.kind == "event") != (atom.kind == "event"):
        return False
    begins = (draft.occurred_start, atom.occurred_start)
    return None in begins or begins[0] == begins[1]


def _unite(draft: AtomDraft, ruling: Ruling, targets: Sequence[Atom]) -> Verdict | None:
    text = ruling.text if ruling.text and holds(ruling.text, draft) else draft.text
    whole = replace(draft, text=text)
    parts = [
        atom
        for atom in targets
        if same_subject(draft, atom)
        and _same_time(draft, atom)
        and _lasting(draft) == _lasting(atom)
        and touches(draft, atom)
        and (same_property(draft, atom) or holds(text, atom))
    ]
    if ruling.action == "update":
        parts = parts[:1]
    if not parts:
        # What a model calls an update is often a new value: then it is checked as one.
        alike = [atom for atom in targets if _same_time(draft, atom) and _lasting(draft) == _lasting(atom)]
        return _supersede(draft, ruling, alike[:1]) if ruling.action == "update" else None
    cited = {source.record_id for source in draft.sources}
    more = {source.record_id: source for atom in parts for source in atom.sources if source.record_id not in cited}
    times = [atom.expires_at for atom in parts] + [draft.expires_at]
    known = [time for time in times if time is not None]
    whole = replace(
        whole,
        sources=(*draft.sources, *more.values()),
        priority=max([draft.priority, *(atom.priority for atom in parts)]),
        attribute=draft.attribute or next((atom.attribute for atom in parts if atom.attribute), ""),
        expires_at=max(known) if len(known) == len(times) else None,
        task_only=draft.task_only and all(atom.task_only for atom in parts),
    )
    return Verdict(
        action="replace",
        draft=whole,
        targets=tuple(atom.id for atom in parts),
        since=min(atom.valid_from for atom in parts),
        reason=_reason(ruling, draft, "told more exactly" if ruling.action == "update" else "told as one"),
        note="updated" if ruling.action == "update" else "merged",
    )


def _lasting(claim: AtomDraft | Atom) -> bool:
    """Say whether a claim has no end: united with one that has, either would lose its bound or its words."""
    return claim.expires_at is None and not claim.task_only


def _supersede(draft: AtomDraft, ruling: Ruling, targets: Sequence[Atom]) -> Verdict | None:
    rivals = [atom for atom in targets if same_subject(draft, atom) and related(draft, atom) and _can_end(draft, atom)]
    if not rivals:
        return None
    if any(older(draft, atom) for atom in rivals):
        return Verdict(action="skip", draft=draft, note="older than what is known")
    return Verdict(
        action="replace",
        draft=draft,
        targets=tuple(atom.id for atom in rivals),
        reason=_reason(ruling, draft, "a newer statement says otherwise"),
        note="superseded",
    )


def _can_end(draft: AtomDraft, atom: Atom) -> bool:
    """Say whether *draft* can end *atom*: history does not end, and a rule for a week does not end a lasting one."""
    shorter = _lasting(atom) and not _lasting(draft)
    return draft.kind != "event" and atom.kind != "event" and not shorter


def _reason(ruling: Ruling, draft: AtomDraft, usual: str) -> str:
    told = ", ".join(sorted(source.record_id for source in draft.sources))
    return f"{ruling.reason or usual} ({told})"
