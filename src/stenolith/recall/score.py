"""Score candidates: how much of what is asked a row covers, and a few weak hints on top.  Pure.

Word weights are BM25's, divided by the best that a row could reach for the question.  So 0 means
that nothing matches and 1 that every word does, whatever the question; a question about things
nobody mentioned gets low scores everywhere instead of an arbitrary winner.  All constants were
chosen on the tuning halves of LoCoMo and MemDaily, where each sits on a wide plateau.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from stenolith.model.text import QueryTerms, terms
from stenolith.recall.query import Question
from stenolith.store.search import Candidate, Statistics

K1: Final = 0.9
B: Final = 0.45
"""Saturation and length normalisation of BM25 for short texts (its usual 1.2 and 0.75 lose 2 points)."""
STRANGERS: Final = 50
"""Rows without any of the words that are thought beside the owner's: in a home of five memories about
one gateway the word must not weigh nothing."""
CONTEXT_SHARES: Final = (0.4, 0.75, 0.5, 0.3)
"""What a word counts in the turn two before, one before, one after and two after; 1 in the row itself."""
SPEAKER_BONUS: Final = 0.07
"""For the one person whom the question names.  More would hurt questions that name the wrong one."""
STATEMENT_BONUS: Final = 0.10
"""For a full statement against a nod or a counter-question."""
TIME_WORD_BONUS: Final = 0.03
"""For a row with a time word, when the question asks when."""
HINT_BONUS: Final = 0.07
"""For a row of the time that the question names: a soft filter, dates in questions are often wrong."""
COSINE_SHARE: Final = 0.05
"""What one standard deviation of the centred cosine counts."""
_FEW: Final = 3
"""So many words are counted faster one by one than all in one pass."""
_SHORT_NUMBER: Final = re.compile(r"[0-9]{1,2}")
_TIME_WORDS: Final = frozenset(
    terms(
        "yesterday today tonight tomorrow last next ago week weekend month year day recently since Monday Tuesday"
        " Wednesday Thursday Friday Saturday Sunday January February March April May June July August September"
        " October November December 昨天 今天 明天 前天 后天 上周 下周 上个 下个 去年 今年 明年"
        " 周一 周二 周三 周四 周五 周六 周日 月底 年底 点钟 上午 下午 晚上"
    )
) - set("天周个年一二三四五六日底钟午上")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A row and why it stands where it does.

    *coverage* is the share of the question that its words cover (0 to 1), *closeness* the centred
    cosine in standard deviations, None when the row has no vector or none was asked.  *held* is the
    share of the asked terms that stand in the row itself or its label.
    """

    ref_id: str
    score: float
    coverage: float
    closeness: float | None
    held: float


def score(
    question: Question,
    asked: QueryTerms,
    statistics: Statistics,
    candidates: Sequence[Candidate],
    closeness: Mapping[str, float],
) -> list[Scored]:
    """Return the candidates best first; equal scores stay in the order of their ids.

    *asked* are the terms really looked for (see `Matches`), *closeness* the standardised cosines
    of those rows that have one.
    """
    weights = _weights(asked, statistics)
    sides = [(side, sum(side.values()) * (K1 + 1)) for side in (weights, *_parts(question, weights))]
    wanted, begun = frozenset(asked.words), frozenset(asked.starts)
    terms_asked = len(asked.words) + len(asked.starts)
    bare = frozenset() if question.hints else frozenset(filter(_SHORT_NUMBER.fullmatch, asked.words))
    speaker = _named(question, candidates)
    mean = max(statistics.mean_length, 1.0)
    found = []
    for candidate in candidates:
        norm = K1 * (1 - B + B * (candidate.length + candidate.context_length) / mean)
        counts = _own_frequencies(candidate, wanted, begun, bare)
        held = len(counts) / terms_asked if terms_asked else 0.0
        _add_context(counts, candidate, wanted)
        coverage = _coverage(counts, sides, norm)
        near = closeness.get(candidate.ref_id)
        total = coverage + _hints(question, candidate, speaker) + COSINE_SHARE * (near or 0.0)
        found.append(Scored(ref_id=candidate.ref_id, score=total, coverage=coverage, closeness=near, held=held))
    return sorted(found, key=lambda item: (-item.score, item.ref_id))


def _weights(asked: QueryTerms, statistics: Statistics) -> dict[str, float]:
    """Return the inverse document frequency of each asked term; unseen words weigh most."""
    names = [*asked.words, *(f"{char}*" for char in asked.starts)]
    rows = statistics.rows
    found = {}
    for name in names:
        count = min(statistics.counts.get(name, 0), rows)
        found[name] = math.log(1 + (STRANGERS + rows - count + 0.5) / (count + 0.5))
    return found


def _parts(question: Question, weights: Mapping[str, float]) -> list[dict[str, float]]:
    """Return the weights of each sentence of a question with several, and nothing for one with one."""
    parts = []
    for part in question.parts:
        names = [*part.words, *(f"{char}*" for char in part.starts)]
        parts.append({name: weights[name] for name in names if name in weights})
    asking = [part for part in parts if part]
    return asking if len(asking) > 1 else []


def _coverage(counts: Mapping[str, float], sides: Sequence[tuple[Mapping[str, float], float]], norm: float) -> float:
    """Return the covered share of the question; one of several sentences counts half of it.

    *sides* pairs the weights of the whole and of each sentence with the most that they can give.
    """
    if not counts:
        return 0.0
    gained = {name: count * (K1 + 1) / (count + norm) for name, count in counts.items()}
    whole, *parts = [_share(gained, weights, best) for weights, best in sides]
    return 0.5 * whole + 0.5 * max(parts) if parts else whole


def _share(gained: Mapping[str, float], weights: Mapping[str, float], best: float) -> float:
    # Summed exactly: two rows that hold the same words in another order are equally good.
    got = math.fsum(weights[name] * gain for name, gain in gained.items() if name in weights)
    return got / best if best > 0 else 0.0


def _own_frequencies(
    candidate: Candidate, wanted: frozenset[str], begun: frozenset[str], bare: frozenset[str]
) -> dict[str, float]:
    """Return how often each asked term occurs in the row: one pass, however many are asked.

    *begun* are single characters that some term begins with.  *bare* numbers are looked for in its text
    alone: "step 8" does not ask for the eighth of a month.
    """
    own = candidate.terms.split()
    counts = _occurrences(own, wanted - bare)
    if not bare.isdisjoint(own):
        counts |= _occurrences(candidate.terms.partition(" |")[0].split(), bare)
    if begun:
        counts |= Counter(f"{word[0]}*" for word in own if word[0] in begun)
    return counts


def _occurrences(words: Sequence[str], wanted: frozenset[str]) -> dict[str, float]:
    held = wanted.intersection(words)
    if len(held) <= _FEW:
        return {word: words.count(word) for word in held}
    return dict(Counter(word for word in words if word in held))


def _add_context(counts: dict[str, float], candidate: Candidate, wanted: frozenset[str]) -> None:
    """Add the asked words of the row's neighbours, which count less."""
    if candidate.context:
        for share, part in zip(CONTEXT_SHARES, candidate.context.split("|"), strict=False):
            for word, times in _occurrences(part.split(), wanted).items():
                counts[word] = counts.get(word, 0.0) + share * times


def _hints(question: Question, candidate: Candidate, speaker: str) -> float:
    bonus = STATEMENT_BONUS * candidate.declarative
    if speaker and candidate.speaker == speaker:
        bonus += SPEAKER_BONUS
    if question.asks_when and not _TIME_WORDS.isdisjoint(candidate.terms.partition(" |")[0].split()):
        bonus += TIME_WORD_BONUS
    at_ms = candidate.occurred_ms
    if at_ms is not None and any(hint.covers(at_ms) for hint in question.hints):
        bonus += HINT_BONUS
    return bonus


def _named(question: Question, candidates: Iterable[Candidate]) -> str:
    """Return the one speaker whom the question names, or nothing when it names none or several."""
    speakers = sorted({candidate.speaker for candidate in candidates})
    named = [speaker for speaker in speakers if speaker not in {"user", "assistant"} and question.names(speaker)]
    return named[0] if len(named) == 1 else ""
