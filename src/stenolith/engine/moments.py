"""Dates and times as people type them, and the filters made of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta, tzinfo
from typing import Any

from stenolith.errors import InvalidInput
from stenolith.model.atom import Kind
from stenolith.model.dates import resolve
from stenolith.model.message import mended
from stenolith.store.search import Filter

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIMES = ("since", "until", "as_of")
_WORDS = ("kind", "session", "scene", *_TIMES)
_EPOCH_MS = re.compile(r"\d{12,14}")


def read_moment(text: str, now_ms: int, zone: tzinfo) -> tuple[int, int]:
    """Return the first and the next-after-last millisecond of what *text* names.

    It may be a date, an ISO time (without an offset it is read in *zone*), epoch milliseconds, or words
    such as ``yesterday`` and 上周.  Raises `InvalidInput` with the forms that are understood.
    """
    stripped = text.strip()
    if _EPOCH_MS.fullmatch(stripped):
        return int(stripped), int(stripped) + 1
    try:
        if _DATE.fullmatch(stripped):
            start = _midnight(date.fromisoformat(stripped), zone)
            return start, _next_midnight(date.fromisoformat(stripped), zone)
        exact = datetime.fromisoformat(stripped)
        start = round((exact if exact.tzinfo else exact.replace(tzinfo=zone)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return _read_words(stripped, now_ms, zone)
    return start, start + 1


def _read_words(text: str, now_ms: int, zone: tzinfo) -> tuple[int, int]:
    spans = resolve(text, now_ms, zone)
    if [(span.start_index, span.end_index) for span in spans] != [(0, len(text))]:
        raise InvalidInput(f"{text!r} is no time: write 2026-08-03, 2026-08-03T10:00+08:00, or words such as yesterday")
    return spans[0].start_ms, spans[0].end_ms


def _next_midnight(day: date, zone: tzinfo) -> int:
    """Return when the day ends; the last day of the calendar has no next one."""
    return _midnight(day, zone) + 86_400_000 if day == date.max else _midnight(day + timedelta(days=1), zone)


def _midnight(day: date, zone: tzinfo) -> int:
    return round(datetime(day.year, day.month, day.day, tzinfo=zone).timestamp() * 1000)


def read_filter(narrowing: Mapping[str, Any], now_ms: int, zone: tzinfo) -> Filter:
    """Make a filter of the words ``kind since until scene session as_of include_history``; empty ones do not narrow.

    *since* includes its day from the start, *until* to the end.  Raises `InvalidInput` for any other word and
    for a value that is no such thing: a filter that is not understood must not let everything through.
    """
    word = _words(narrowing)
    if word["kind"] and word["kind"] not in set(Kind):
        raise InvalidInput(f"kind is one of {', '.join(Kind)}; got {word['kind']!r}")
    since, until, as_of = (read_moment(word[name], now_ms, zone) if word[name] else None for name in _TIMES)
    return Filter(
        now_ms=now_ms,
        kinds=(word["kind"],) if word["kind"] else (),
        since_ms=since[0] if since else None,
        until_ms=until[1] if until else None,
        session_key=word["session"],
        scene=word["scene"],
        as_of_ms=as_of[1] - 1 if as_of else None,
        include_history=narrowing.get("include_history") or False,
    )


def _words(narrowing: Mapping[str, Any]) -> dict[str, str]:
    """Return the words of a filter that are texts, empty where nothing is said."""
    unknown = ", ".join(sorted(set(narrowing) - {*_WORDS, "include_history"}))
    if unknown:
        raise InvalidInput(f"a search can be narrowed by {', '.join(_WORDS)} and include_history; not by {unknown}")
    for name, value in narrowing.items():
        wanted = bool if name == "include_history" else str
        if value is not None and not isinstance(value, wanted):
            what = "true or false" if wanted is bool else "one text"
            raise InvalidInput(f"{name} narrows a search by {what}; got {value!r}")
    return {name: mended(narrowing.get(name) or "") for name in _WORDS}
