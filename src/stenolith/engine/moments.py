"""Dates and times as people type them, and the filters made of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta, tzinfo
from typing import Any

from stenolith.errors import InvalidInput
from stenolith.model.atom import Kind
from stenolith.model.dates import resolve
from stenolith.store.search import Filter

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
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
            day = date.fromisoformat(stripped)
            return _midnight(day, zone), _midnight(day + timedelta(days=1), zone)
        exact = datetime.fromisoformat(stripped)
    except (ValueError, OverflowError):
        return _read_words(stripped, now_ms, zone)
    start = round((exact if exact.tzinfo else exact.replace(tzinfo=zone)).timestamp() * 1000)
    return start, start + 1


def _read_words(text: str, now_ms: int, zone: tzinfo) -> tuple[int, int]:
    spans = resolve(text, now_ms, zone)
    if not spans:
        raise InvalidInput(f"{text!r} is no time: write 2026-08-03, 2026-08-03T10:00+08:00, or words such as yesterday")
    return spans[0].start_ms, spans[0].end_ms


def _midnight(day: date, zone: tzinfo) -> int:
    return round(datetime(day.year, day.month, day.day, tzinfo=zone).timestamp() * 1000)


def read_filter(narrowing: Mapping[str, Any], now_ms: int, zone: tzinfo) -> Filter:
    """Make a filter of the words ``kind since until scene session as_of include_history``; empty ones do not narrow.

    *since* includes its day from the start, *until* to the end.
    """
    kind, since, until, as_of = (narrowing.get(name) for name in ("kind", "since", "until", "as_of"))
    if kind and kind not in set(Kind):
        raise InvalidInput(f"kind is one of {', '.join(Kind)}; got {kind!r}")
    return Filter(
        now_ms=now_ms,
        kinds=(str(kind),) if kind else (),
        since_ms=read_moment(since, now_ms, zone)[0] if since else None,
        until_ms=read_moment(until, now_ms, zone)[1] if until else None,
        session_key=narrowing.get("session") or "",
        scene=narrowing.get("scene") or "",
        as_of_ms=read_moment(as_of, now_ms, zone)[1] - 1 if as_of else None,
        include_history=bool(narrowing.get("include_history")),
    )
