"""Change one value inside a JSON text and leave every other character as it is.

Writing a parsed line again would round big numbers, drop repeated keys and move blanks; a repair may not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, NoReturn

_BLANK: Final = " \t\r\n"
_SAFE_DIGITS: Final = 18  # fits 64 bits; longer numbers are never calculated with, so they stay text


class Span(NamedTuple):
    """Where a value stands in a text: from *start* up to *end*; *key* is its name in an object."""

    start: int
    end: int
    key: str = ""


def _number(digits: str) -> Any:
    return int(digits) if len(digits) <= _SAFE_DIGITS else digits


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


STRICT: Final = json.JSONDecoder(parse_int=_number, parse_constant=_refuse)
LENIENT: Final = json.JSONDecoder(parse_int=_number, parse_constant=_refuse, strict=False)


def members(text: str, at: int) -> Iterator[Span]:
    """Yield the members of the valid JSON object that starts at *at*."""
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = LENIENT.raw_decode(text, at)
        start = _skip(text, _skip(text, at) + 1)
        _, end = LENIENT.raw_decode(text, start)
        yield Span(start, end, key)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def elements(text: str, at: int) -> Iterator[Span]:
    """Yield the elements of the valid JSON array that starts at *at*."""
    at = _skip(text, at + 1)
    while text[at] != "]":
        _, end = LENIENT.raw_decode(text, at)
        yield Span(at, end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def find(text: str, *path: str) -> Span | None:
    """Return where the value under *path* of the valid JSON object *text* stands; of repeated keys the last counts."""
    found: Span | None = Span(_skip(text, 0), len(text))
    for key in path:
        if found is None or text[found.start] != "{":
            return None
        found = next((span for span in reversed(list(members(text, found.start))) if span.key == key), None)
    return found


def put(text: str, span: Span, value: str) -> str:
    """Return *text* with the JSON text *value* in the place of *span*."""
    return text[: span.start] + value + text[span.end :]


def _skip(text: str, at: int) -> int:
    while text[at] in _BLANK:
        at += 1
    return at
