"""A model words the lines of the persona; which lines stand, and on what, is decided by the evidence gate alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from stenolith.distill.claims import words_of
from stenolith.distill.prompting import data_line, read_prompt
from stenolith.distill.traits import STANDING
from stenolith.llm.port import LanguageModel, Prompt, Usage
from stenolith.llm.schema import TEXT, WHOLE, list_of, record
from stenolith.llm.structured import structured
from stenolith.model.atom import Atom
from stenolith.model.persona import PersonaLine, PersonaStatus
from stenolith.model.text import has_cjk

NAME: Final = "portrait"
MOST: Final = 5
"""Lines that are worded in one revision: a portrait changes slowly."""
LINE_CHARS: Final = 160
_STATEMENTS: Final = 8
_STRONG: Final = re.compile(
    r"\b(?:always|never|every|all|only|hates?|refuses?|insists?|must)\b|总是|从不|永远|一律|所有|只|讨厌|拒绝|必须|坚持",
    re.IGNORECASE,
)
_DIGITS: Final = re.compile(r"\d+")
SCHEMA: Final = record(lines=list_of(record(group=WHOLE, text=TEXT)))


class Wording(BaseModel):
    """The sentence for one group."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True)

    group: int
    text: str


class Wordings(BaseModel):
    """The answer; its lines are read one by one."""

    model_config = ConfigDict(extra="ignore")

    lines: list[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Worded:
    """Sentences by the id of their line, a count of what was refused by reason, and the bill."""

    texts: Mapping[str, str] = field(default_factory=dict)
    tally: Mapping[str, int] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)


def mark_of(line: PersonaLine) -> str:
    """Return what names the evidence of a line: as long as it is the same, so is the line's wording."""
    return blake2b("\n".join([line.section, *line.atoms]).encode(), digest_size=8).hexdigest()


def to_word(lines: Sequence[PersonaLine], known: Mapping[str, str]) -> list[PersonaLine]:
    """Return the standing traits whose evidence is not the one they were *known* by (marks by line id).

    Standing instructions stay in the user's own words.
    """
    due = [
        line
        for line in lines
        if line.status is PersonaStatus.STANDING and line.section != STANDING and known.get(line.id) != mark_of(line)
    ]
    return due[:MOST]


def keep_wording(
    lines: Sequence[PersonaLine], stored: Sequence[PersonaLine], known: Mapping[str, str]
) -> list[PersonaLine]:
    """Return *lines* as the gate judged them, with stored lines whose evidence is unchanged in the words they have."""
    before = {line.id: line for line in stored}
    return [_as_before(line, before.get(line.id), known.get(line.id, "")) for line in lines]


def _as_before(line: PersonaLine, stored: PersonaLine | None, mark: str) -> PersonaLine:
    if stored is None or mark != mark_of(line) or line.status is not stored.status:
        return line
    same = replace(line, text=stored.text, version=stored.version, updated_at=stored.updated_at) == stored
    return stored if same else replace(line, text=stored.text)


def ask(lines: Sequence[PersonaLine], atoms: Mapping[str, Atom], deadline_ms: int) -> Prompt:
    """Return the prompt for some lines, numbered from 1, each with its latest statements."""
    sheet = read_prompt(NAME)
    groups = [
        {"group": at, "section": line.section, "said": _said(line, atoms)[-_STATEMENTS:]}
        for at, line in enumerate(lines, 1)
    ]
    user = sheet.fill({"groups": "\n".join(map(data_line, groups))})
    return Prompt(name=NAME, system=sheet.system, user=user, schema=SCHEMA, deadline_ms=deadline_ms)


def _said(line: PersonaLine, atoms: Mapping[str, Atom]) -> list[str]:
    return [atoms[one].text for one in line.atoms if one in atoms]


async def word(
    model: LanguageModel, lines: Sequence[PersonaLine], atoms: Mapping[str, Atom], deadline_ms: int
) -> Worded:
    """Return the model's sentences for *lines*, those that hold. Raises `ModelUnavailable` and `Unanswerable`."""
    answer = await structured(model, ask(lines, atoms, deadline_ms), Wordings)
    texts: dict[str, str] = {}
    tally: Counter[str] = Counter()
    for raw in answer.value.lines:
        read = _read(raw, lines, atoms)
        if isinstance(read, str):
            tally[f"refused: {read}"] += 1
        else:
            texts.setdefault(*read)
    return Worded(texts=texts, tally=tally, usage=answer.usage)


def _read(raw: Any, lines: Sequence[PersonaLine], atoms: Mapping[str, Atom]) -> tuple[str, str] | str:
    """Read one sentence with the id of its line, or say why it cannot stand."""
    try:
        wording = Wording.model_validate(raw)
    except ValidationError:
        return "not a line"
    if not 1 <= wording.group <= len(lines):
        return "unknown group"
    line, text = lines[wording.group - 1], " ".join(wording.text.split())
    return _fault(text, "\n".join(_said(line, atoms))) or (line.id, text)


def _fault(text: str, told: str) -> str:
    """Say why *text* says something else than *told*, or more; empty when it does not."""
    if not 0 < len(text) <= LINE_CHARS:
        return "too long" if text else "no text"
    if has_cjk(text) != has_cjk(told):
        return "another language"
    mine = words_of(text)
    numbers = set(_DIGITS.findall(text)) <= set(_DIGITS.findall(told))
    if not numbers or 2 * len(mine & words_of(told)) < max(1, len(mine)):
        return "not in the statements"
    strong, allowed = ({word.lower() for word in _STRONG.findall(one)} for one in (text, told))
    return "stronger than the statements" if strong - allowed else ""
