"""What of a conversation one call reads: whole turns up to a weight, long ones in parts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any, Final

from stenolith.distill.prompting import data_line
from stenolith.model.text import cut, estimate_tokens, has_cjk

MAX_PARTS: Final = 8
"""Parts of one long turn that are read: nobody says more at once, it is pasted, and its ends say what it is."""
_TAIL: Final = 3
_OVERHEAD: Final = 30
"""Tokens that id, time and role of a message take."""
_BACKGROUND_CHARS: Final = 300
_SENTENCE: Final = re.compile(r".+?(?:[。！？!?\n]+|\.(?=\s)|\Z)\s*", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech:
    """What one speaker said in one message, at *timestamp* (epoch ms)."""

    record_id: str
    role: str
    text: str
    timestamp: int
    speaker: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A message, or a part of a long one, under the number by which the model cites it."""

    number: int
    speech: Speech
    text: str
    part: int = 1
    parts: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one call reads: numbered *parts*, and *background* that was read before."""

    parts: tuple[Part, ...]
    background: tuple[Speech, ...] = ()

    @property
    def speeches(self) -> Mapping[int, Speech]:
        """The messages by number."""
        return {part.number: part.speech for part in self.parts}

    @property
    def anybody_speaks(self) -> bool:
        """Say whether a person says something here; without one there is nothing to learn."""
        return any(part.speech.role == "user" for part in self.parts)


def weigh(text: str) -> int:
    """Return about how many tokens *text* has; long words without blanks (base64) are not one."""
    return max(estimate_tokens(text), len(text) // 4)


def fit(speeches: Sequence[Speech], tokens: int) -> int:
    """Return how many of *speeches*, from the front, go into one reading of *tokens*; at least one."""
    total = 0
    for count, speech in enumerate(speeches):
        total += weigh(speech.text) + _OVERHEAD
        if total > tokens and count:
            return count
    return len(speeches)


def readings(window: Sequence[Speech], background: Sequence[Speech], tokens: int) -> tuple[list[Reading], int]:
    """Return the calls that read *window*, each up to *tokens*, and how many parts of long turns are left out."""
    parts: list[Part] = []
    left_out = 0
    for number, speech in enumerate(window, 1):
        texts = cut_up(speech.text, max(tokens - _OVERHEAD, 1))
        numbered = list(enumerate(texts, 1))
        kept = numbered if len(texts) <= MAX_PARTS else [*numbered[: MAX_PARTS - _TAIL], *numbered[-_TAIL:]]
        left_out += len(texts) - len(kept)
        parts += [Part(number=number, speech=speech, text=text, part=at, parts=len(texts)) for at, text in kept]
    found: list[list[Part]] = [[]]
    load = 0
    for part in parts:
        weight = weigh(part.text) + _OVERHEAD
        if found[-1] and load + weight > tokens:
            found.append([])
            load = 0
        found[-1].append(part)
        load += weight
    return [Reading(parts=tuple(mine), background=tuple(background)) for mine in found if mine], left_out


def cut_up(text: str, tokens: int) -> list[str]:
    """Cut *text* into parts of at most *tokens*, between sentences where there are any."""
    if weigh(text) <= tokens:
        return [text]
    parts, load = [""], 0
    for sentence in _SENTENCE.findall(text):
        for piece in _hard_cut(sentence, tokens):
            weight = weigh(piece)
            if parts[-1] and load + weight > tokens:
                parts.append("")
                load = 0
            parts[-1] += piece
            load += weight
    return [part.strip() for part in parts if part.strip()]


def _hard_cut(sentence: str, tokens: int) -> list[str]:
    if weigh(sentence) <= tokens:
        return [sentence]
    size = max(1, tokens * len(sentence) // (weigh(sentence) + 1))
    return [sentence[at : at + size] for at in range(0, len(sentence), size)]


def write_parts(parts: Sequence[Part], zone: tzinfo) -> str:
    """Return the messages as lines of data: each has its id, its time in *zone*, who spoke, and the words."""
    return "\n".join(data_line(_line(part.number, part.speech, part.text, zone) | _portion(part)) for part in parts)


def write_background(speeches: Sequence[Speech], zone: tzinfo) -> str:
    """Return earlier messages as lines of data; their ids are letters, which no memory may cite."""
    lines = [
        _line(f"b{at}", speech, cut(speech.text, _BACKGROUND_CHARS), zone) for at, speech in enumerate(speeches, 1)
    ]
    return "\n".join(map(data_line, lines))


def _line(number: int | str, speech: Speech, text: str, zone: tzinfo) -> dict[str, Any]:
    at = datetime.fromtimestamp(speech.timestamp / 1000, tz=zone)
    who = {"speaker": speech.speaker} if speech.speaker else {}
    said = {"id": number, "time": f"{at.isoformat(timespec='minutes')} {at:%a}", "role": speech.role, **who}
    return {**said, "text": text}


def _portion(part: Part) -> dict[str, Any]:
    return {"part": f"{part.part} of {part.parts}"} if part.parts > 1 else {}


def days_of(parts: Sequence[Part], zone: tzinfo) -> str:
    """Return the observation date: the day, or the first and the last."""
    days = [datetime.fromtimestamp(part.speech.timestamp / 1000, tz=zone).date() for part in parts]
    first, last = min(days), max(days)
    return f"{first} ({first:%A})" if first == last else f"{first} ({first:%A}) to {last} ({last:%A})"


def language_of(parts: Sequence[Part]) -> str:
    """Name the language to write in: the one of the people's own words."""
    own = [part.text for part in parts if part.speech.role == "user"]
    dense = sum(map(has_cjk, own))
    return "the user's own language, not English" if 2 * dense > len(own) else "the user's own language"
