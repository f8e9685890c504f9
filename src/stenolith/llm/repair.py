"""Reading JSON out of what a model wrote: fences, prose around it, reasoning, cut-off ends, half characters.

Nothing is guessed into being: a text without an object or a list yields nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import json_repair

_REASONING: Final = re.compile(
    r"<(think|thinking|thought|reasoning|reflection|scratchpad)>.*?</\1>|<\|channel\|>analysis.*?<\|end\|>",
    re.DOTALL | re.IGNORECASE,
)
_OPEN_REASONING: Final = re.compile(r"^\s*<(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_CLOSED_ONLY: Final = re.compile(r"^.*</(?:think|thinking|thought|reasoning)>", re.DOTALL | re.IGNORECASE)
_FENCED: Final = re.compile(r"```[\w-]*\s*\n?(.*?)(?:```|\Z)", re.DOTALL)
_OPENING: Final = re.compile(r"[{\[]")
_UNUSABLE: Final = re.compile("[\ud800-\udfff\x00]")
_PIECES: Final = 40
"""Openings that are tried in one text; prose full of brackets holds no answer."""
_PAIRS: Final = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One JSON value; *whole* when its end was there, else it was closed for the model."""

    value: Any
    whole: bool = True


def read_json(text: str) -> Iterator[Found]:
    """Yield the objects and lists that *text* may mean, the likeliest first.

    Reasoning is left out.  Lone surrogates and NUL, which no database keeps, are dropped from strings.
    An empty object or list counts only when it is all there is: prose holds such by accident.
    """
    plain = strip_reasoning(text)
    seen: set[str] = set()
    for piece in _pieces(plain):
        if piece in seen:
            continue
        seen.add(piece)
        found = _load(piece)
        if found is not None and (found.value or piece == plain.strip()):
            yield found


def strip_reasoning(text: str) -> str:
    """Return *text* without what a model thought aloud."""
    plain = _REASONING.sub("", text)
    if _OPEN_REASONING.match(plain):
        return plain
    return _CLOSED_ONLY.sub("", plain)


def is_schema(value: Any) -> bool:
    """Say whether a model echoed the schema instead of filling it."""
    if not isinstance(value, dict):
        return False
    typed = isinstance(value.get("properties"), dict) and "type" in value
    return typed or "$defs" in value or "$schema" in value or set(value) == {"json_schema"}


def _pieces(text: str) -> Iterator[str]:
    yield text.strip()
    for match in _FENCED.finditer(text):
        yield match[1].strip()
    start = 0
    for _ in range(_PIECES):
        opening = _OPENING.search(text, start)
        if opening is None:
            return
        end = _end_of(text, opening.start())
        yield text[opening.start() : end].strip()
        start = end


def _end_of(text: str, start: int) -> int:
    """Return the place after the bracket that closes the one at *start*, or the end of the text."""
    stack: list[str] = []
    quoted = escaped = False
    for at in range(start, len(text)):
        char = text[at]
        if quoted:
            quoted = escaped or char != '"'
            escaped = char == "\\" and not escaped
        elif char == '"':
            quoted = True
        elif char in _PAIRS:
            stack.append(_PAIRS[char])
        elif stack and char == stack[-1]:
            stack.pop()
        if not stack:
            return at + 1
    return len(text)


def _load(piece: str) -> Found | None:
    if piece[:1] not in _PAIRS:
        return None
    try:
        return Found(value=_cleaned(json.loads(piece, strict=False)))
    except (ValueError, RecursionError):
        pass
    try:
        value = json_repair.loads(piece)
    except (ValueError, RecursionError, IndexError):
        return None
    whole = piece[-1:] == _PAIRS[piece[0]] and _end_of(piece, 0) == len(piece)
    return Found(value=_cleaned(value), whole=whole) if isinstance(value, dict | list) and value else None


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return _UNUSABLE.sub("", value)
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {_UNUSABLE.sub("", str(key)): _cleaned(item) for key, item in value.items()}
    return value
