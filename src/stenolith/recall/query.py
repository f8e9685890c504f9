"""Read a question: its terms, its parts, the times it names, whether it asks when."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import tzinfo
from typing import Final

from stenolith.model.dates import resolve
from stenolith.model.text import QueryTerms, query_terms

READ_FIRST: Final = 1000
READ_LAST: Final = 3000
"""Characters that are read of the beginning and of the end of a long text: people paste files around their question."""
_MOST_PARTS: Final = 12
_PLAIN_WORDS: Final = 2
_PART: Final = re.compile(r"[？?。！!；;\n]+|\.\s|另外|此外|\balso,|\band also\b", re.IGNORECASE)
_WHEN: Final = re.compile(
    r"\bwhen\b|\bwhat (?:date|day|month|year|time)\b|\bhow (?:long|many (?:days|weeks|months|years))\b"
    r"|什么时候|什么时间|何时|哪天|哪一天|哪年|哪个月|几月|几号|多久|多长时间|几天|いつ|언제",
    re.IGNORECASE,
)
_GO_ON: Final = frozenset(("continue", "go on", "next", "继续", "接着", "接着来", "接着做", "往下", "続けて", "계속"))
_YEAR_MS: Final = 31_556_952_000
_DAY_MS: Final = 86_400_000
_YEARS_BACK: Final = 10
_TOLD_EARLY: Final = 2 * _DAY_MS
_TOLD_LATE: Final = 8 * _DAY_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeHint:
    """A time that a question names: half-open epoch milliseconds. *yearly*: it named no year."""

    start_ms: int
    end_ms: int
    yearly: bool

    def covers(self, at_ms: int) -> bool:
        """Say whether something told at *at_ms* may be about this time.

        People tell of a thing from two days before it (plans) to about a week after.
        """
        for years in range(_YEARS_BACK if self.yearly else 1):
            back = years * _YEAR_MS
            if self.start_ms - back - _TOLD_EARLY <= at_ms < self.end_ms - back + _TOLD_LATE:
                return True
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked.

    *parts* are its sentences' terms when at least two ask something.  *vague*: it names nothing
    ("go on"), so that only what is recent can be meant.  *plain*: it is no question but one or two
    words to look for.
    """

    text: str
    whole: QueryTerms
    parts: tuple[QueryTerms, ...]
    asks_when: bool
    hints: tuple[TimeHint, ...]
    vague: bool
    plain: bool

    def names(self, speaker: str) -> bool:
        """Say whether the question names *speaker*, as a whole word."""
        if not speaker:
            return False
        return re.search(rf"(?<![^\W_]){re.escape(speaker)}(?![a-zA-Z0-9])", self.text, re.IGNORECASE) is not None


def read_question(text: str, at_ms: int, zone: tzinfo) -> Question:
    """Read *text*, asked at *at_ms* (epoch milliseconds) in *zone*."""
    if len(text) > READ_FIRST + READ_LAST:
        text = f"{text[:READ_FIRST]}\n{text[-READ_LAST:]}"
    whole = query_terms(text)
    pieces = [query_terms(piece) for piece in _PART.split(text)]
    asking = tuple(piece for piece in pieces if piece and not piece.idle)
    spans = resolve(text, at_ms, zone)
    return Question(
        text=text,
        whole=whole,
        parts=asking[-_MOST_PARTS:] if len(asking) > 1 else (),
        asks_when=_WHEN.search(text) is not None,
        hints=tuple(TimeHint(start_ms=span.start_ms, end_ms=span.end_ms, yearly=span.bare) for span in spans),
        vague=not whole or whole.idle or text.strip(" .。!！\n").lower() in _GO_ON,
        plain=0 < whole.asked <= _PLAIN_WORDS and "?" not in text and "？" not in text,
    )
