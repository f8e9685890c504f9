"""Relative dates inside a fact: "昨天" becomes a date, "until Friday" becomes an end.

The grammar is `stenolith.model.dates`; here is what a distiller does with what it finds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import tzinfo
from typing import Final

from stenolith.model.dates import Span, resolve

__all__ = ["Span", "expiry", "found_dates", "pin", "resolve"]

_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_LEAD: Final = re.compile(r"(?:on|in|since|during|by|until)\s", re.IGNORECASE)
_GOVERNED: Final = re.compile(
    r"\b(?:on|in|at|since|until|till|by|from|before|after|of|for|to|between|and|the|than|a|about|around|like|nearly|"
    r"almost|roughly)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_SUBJECT: Final = re.compile(r"['’]s\b|\s(?:was|is|were|has been|will be)\b")
_UNTIL: Final = re.compile(r"(?:\b(?:until|till|before|by)\s+(?:the end of\s+)?|(?:到|直到|至)\s*)$", re.IGNORECASE)
_BEFORE: Final = re.compile(r"(?:之?前(?!的)|以前|为止)")


def found_dates(text: str, at_ms: int | None, zone: tzinfo, *, forward: bool = False) -> list[Span] | None:
    """Return the times named in *text*; None when one cannot be known because *at_ms* is missing."""
    spans = resolve(text, at_ms or 0, zone, forward=forward)
    if at_ms is None and any(_YEAR.search(span.text) is None for span in spans):
        return None
    return spans


def pin(text: str, spans: Sequence[Span], *, bare: bool) -> str:
    """Return *text* with relative times replaced by their dates.

    Times that hold a year stay as they are; "Friday" and "in March" are replaced only when *bare*
    is set, because outside of events they often recur ("releases go out on Friday").
    """
    for span in reversed(spans):
        if _YEAR.search(span.text) or (span.bare and not bare):
            continue
        words = _dated(text, span)
        text = text[: span.start_index] + words + text[span.end_index :]
    return text


def _dated(text: str, span: Span) -> str:
    label, _, part = span.label.partition(" ")
    if re.search(r"[\u4e00-\u9fff]", span.text):
        month = re.fullmatch(r"(\d{4})-(\d\d)", label)
        label = f"{month[1]}年{int(month[2])}月" if month else label.replace("/", "至")
        return (f"{label}年" if len(label) == 4 else label) + part
    first, _, last = label.partition("/")
    days = (span.end_ms - span.start_ms + 7_200_000) // 86_400_000  # two hours: a day can be 23 long
    label = first + (f" in the {part}" if part and part != "night" else "")
    if last:
        label = {2: f"the weekend of {first}", 7: f"the week of {first}"}.get(days, f"between {first} and {last}")
    lead = _LEAD.match(span.text)
    if lead:
        return lead[0] + label
    if label.startswith("between"):
        return label
    if _SUBJECT.match(text, span.end_index):  # "Last week was wild"
        return label if span.start_index else label[0].upper() + label[1:]
    if _GOVERNED.search(text, 0, span.start_index):
        return label
    word = "on " if days == 2 or (not last and len(first) == 10) else "in "
    return (word.capitalize() if span.start_index == 0 else word) + label


def expiry(text: str, at_ms: int | None, zone: tzinfo) -> int | None:
    """Return when a rule ends that holds "until Friday", "九月之前", "这周" or "this sprint's week".

    A day counts to its end; longer times end where they begin ("until September" is August's last
    moment), except "this week" and its like, which end with themselves.  Epoch milliseconds.
    """
    if at_ms is None:
        return None
    for span in resolve(text, at_ms, zone, forward=True):
        until = span.text.lower().startswith(("until ", "by ")) or _UNTIL.search(text, 0, span.start_index)
        if until or _BEFORE.match(text, span.end_index):
            long = span.end_ms - span.start_ms > 2 * 86_400_000
            end = span.start_ms if long else span.end_ms
            return end if end > at_ms else span.end_ms
        if re.match(r"(?:这|本|this )", span.text, re.IGNORECASE) and span.end_ms > at_ms:
            return span.end_ms
    return None
