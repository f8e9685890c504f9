"""Read the times that other programs write: milliseconds, seconds, ISO strings with and without a zone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any, Final

_LATEST_MS: Final = 253_402_300_799_999  # the last millisecond of the year 9999: a larger number has a finer unit
_FIRST_SECONDS: Final = 100_000_000  # 1973 in seconds; a smaller number is a test's or a clock's, not a date
_FIRST_MS: Final = 100_000_000_000  # 1973 in milliseconds, and the year 5138 in seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A time in epoch milliseconds, or None; *assumed* when the zone was not written and had to be taken."""

    ms: int | None = None
    assumed: bool = False


def read_time(value: Any, *, zone: tzinfo = UTC, guess_seconds: bool = False) -> Moment:
    """Return the moment that *value* names, or an empty one when it names none.

    Numbers are epoch milliseconds; with *guess_seconds* a number between 1973 and 5138 in seconds counts as seconds
    (OpenAI's ``created``).  Strings are ISO 8601 or digits; an ISO string without an offset is read in *zone* and
    marked as assumed.
    """
    if isinstance(value, bool):
        return Moment()
    if isinstance(value, int | float):
        return Moment(ms=_from_number(value, guess_seconds=guess_seconds))
    return _from_text(value.strip(), zone, guess_seconds) if isinstance(value, str) else Moment()


def _from_number(value: float, *, guess_seconds: bool) -> int | None:
    if not math.isfinite(value):
        return None
    if guess_seconds and _FIRST_SECONDS <= abs(value) < _FIRST_MS:
        return round(value * 1000)
    size, number = abs(value), value
    for _ in range(2):  # microseconds, then nanoseconds
        if size <= _LATEST_MS:
            break
        size, number = size / 1000, number // 1000
    return int(number) if abs(number) <= _LATEST_MS else None


def _from_text(text: str, zone: tzinfo, guess_seconds: bool) -> Moment:
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdigit() and 8 < len(digits) < 20:
        return Moment(ms=_from_number(int(text), guess_seconds=guess_seconds))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return Moment()
    naive = moment.tzinfo is None
    try:
        stamp = (moment.replace(tzinfo=zone) if naive else moment).timestamp()
    except (OverflowError, ValueError):
        return Moment()
    return Moment(ms=round(stamp * 1000), assumed=naive)
