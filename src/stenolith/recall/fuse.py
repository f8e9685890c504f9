"""Bring the arms' candidates together: one score for all, no repeats, the present before the past."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Final

from stenolith.model.text import query_terms, terms
from stenolith.recall.apart import apart
from stenolith.recall.find import Meaning
from stenolith.recall.query import Question
from stenolith.recall.score import score
from stenolith.store.search import Candidate, Layer, Matches, Statistics

STRONG_COVERAGE: Final = 0.25
"""From this share of the question on, words alone make a row relevant."""
WEAK_COVERAGE: Final = 0.04
"""Below it, words alone never do: one common word of a long question."""
WEAK_AFFINITY: Final = -1.0
"""How far behind the nearest anchor a row with weak words may be (standard deviations)."""
SURE_AFFINITY: Final = 1.0
"""How far before the nearest anchor a record without any of the words must be."""
A_STATEMENT: Final = 0.5
"""Three words that are no question; less is a nod, and repeats nothing but the turn before it."""
STANDS_OUT: Final = 3.0
"""Without anchors: standard deviations above the owner's rows from which a row stands out of them."""
REPEAT: Final = 0.92
"""Share of common word pairs from which two texts say the same in the same order."""
OWN_WORDS: Final = 1 / 3
"""Share of a text's content words that may be missing in a line that still says the same."""
COMPARED: Final = 2000
"""Characters that are compared of the beginning, and of the end, of a text."""
_CHEAPER: Final = 100
"""How many times cheaper it is to count the words of a character than to scan it."""
_AHEAD: Final = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A row with its place in the ranking.

    *relevant*: it has to do with the question.  *evidence*: so much that raw words said it, which is
    asked of a record before it is volunteered; a question or a nod is no evidence.  *held* is the
    share of the asked terms in the row itself, not its neighbours; *near*: relevant by meaning alone.
    """

    ref_id: str
    layer: Layer
    score: float
    coverage: float
    relevant: bool
    evidence: bool = False
    held: float = 0.0
    near: bool = False


def rank(question: Question, layer: Layer, matches: Matches | None, meaning: Meaning | None) -> list[Hit]:
    """Return all candidates of a layer best first.

    Scores add up, ranks do not: a weak list cannot push a strong one aside, as it does in rank
    fusion (``spec/retrieval.md`` section 3).  An arm that is None did not answer.
    """
    candidates: dict[str, Candidate] = {}
    for arm in (matches, meaning):
        if arm is not None:
            candidates |= {candidate.ref_id: candidate for candidate in arm.candidates}
    near = meaning.nearness.closeness(candidates) if meaning else {}
    affinity = meaning.nearness.affinity(candidates) if meaning else {}
    asked, statistics = (matches.asked, matches.statistics) if matches else (question.whole, Statistics())
    found = score(question, asked, statistics, list(candidates.values()), near)
    return [
        Hit(
            ref_id=row.ref_id,
            layer=layer,
            score=row.score,
            coverage=row.coverage,
            relevant=_is_relevant(row.coverage, affinity.get(row.ref_id), row.closeness),
            evidence=candidates[row.ref_id].declarative >= A_STATEMENT
            and _is_evidence(row.coverage, affinity.get(row.ref_id)),
            held=row.held,
            near=_is_relevant(0.0, affinity.get(row.ref_id), row.closeness),
        )
        for row in found
    ]


async def rank_apart(question: Question, layer: Layer, matches: Matches | None, meaning: Meaning | None) -> list[Hit]:
    """Return what `rank` does; when the candidates are long, without holding up anybody else."""
    arms = [arm.candidates for arm in (matches, meaning) if arm is not None]
    chars = sum(len(row.terms) + len(row.context) for rows in arms for row in rows)
    return await apart(chars // _CHEAPER, partial(rank, question, layer, matches, meaning))


def _is_relevant(coverage: float, affinity: float | None, closeness: float | None) -> bool:
    """Say whether a row has to do with the question at all.

    Words decide when they are many.  Few words need some nearness, where nearness is known; and
    nearness alone decides when the row is nearer than any sentence about nothing in particular.
    """
    if coverage >= STRONG_COVERAGE:
        return True
    if affinity is None:
        return coverage >= WEAK_COVERAGE or (closeness or 0.0) >= STANDS_OUT
    return affinity > 0 or (coverage >= WEAK_COVERAGE and affinity > WEAK_AFFINITY)


def _is_evidence(coverage: float, affinity: float | None) -> bool:
    """Say whether what was once said, and nobody distilled, is worth repeating unasked."""
    if affinity is None:
        return coverage >= WEAK_COVERAGE
    return affinity > SURE_AFFINITY or (affinity > 0 and coverage >= WEAK_COVERAGE)


def merge(*lists: Iterable[Hit]) -> list[Hit]:
    """Return the hits of several layers in one order; equal scores stay in the order of the lists."""
    return sorted((hit for hits in lists for hit in hits), key=lambda hit: -hit.score)


def redirect(past: Sequence[Hit], successors: Mapping[str, str], present: Sequence[Hit]) -> list[Hit]:
    """Return *present* with the successors of superseded rows that match: old words find what holds now."""
    best = {hit.ref_id: hit for hit in present}
    for hit in past:
        heir = successors.get(hit.ref_id)
        if heir is not None and hit.relevant and (heir not in best or best[heir].score < hit.score):
            best[heir] = replace(hit, ref_id=heir)
    return sorted(best.values(), key=lambda hit: (-hit.score, hit.ref_id))


def put_past_behind(hits: Sequence[Hit], successors: Mapping[str, str]) -> list[Hit]:
    """Move each superseded row behind the row that replaced it, when both are there."""
    scores = {hit.ref_id: hit.score for hit in hits}
    moved = []
    for hit in hits:
        heir = scores.get(successors.get(hit.ref_id, ""))
        moved.append(replace(hit, score=min(hit.score, heir - _AHEAD)) if heir is not None else hit)
    return sorted(moved, key=lambda hit: -hit.score)


def put_whole_first(hits: Sequence[Hit]) -> list[Hit]:
    """Move rows that hold only some of the asked terms behind those that hold all of them."""
    least = min((hit.score for hit in hits if hit.held == 1), default=None)
    if least is None:
        return list(hits)
    moved = [hit if hit.held == 1 else replace(hit, score=min(hit.score, least - _AHEAD)) for hit in hits]
    return sorted(moved, key=lambda hit: -hit.score)


def put_corrections_before(hits: Sequence[Hit], corrections: Mapping[str, str]) -> list[Hit]:
    """Put before each doubted row the one that may refute it, whether it was found or not."""
    best = {hit.ref_id: hit for hit in hits}
    for hit in hits:
        after = corrections.get(hit.ref_id)
        if after is not None and (after not in best or best[after].score <= hit.score):
            best[after] = replace(hit, ref_id=after, score=hit.score + _AHEAD)
    return sorted(best.values(), key=lambda hit: -hit.score)


def says_more(text: str, line: str) -> bool:
    """Say whether *text* has words of its own beside those of *line*, which was drawn from it."""
    words = set(query_terms(text[:COMPARED]).words)
    return len(text) > COMPARED or len(words.difference(terms(line))) > OWN_WORDS * len(words)


class Repeats:
    """Tells texts that were shown already: the same words in the same order, give or take a word in twenty.

    Of a long text its beginning, its end and its length are compared.  A thousand texts are told apart
    without comparing each with each: two that have so much in common share one of their first pairs.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[str, ...], list[_Likeness]] = {}

    def is_new(self, text: str) -> bool:
        """Say whether *text* is new, and remember it."""
        mine = _likeness(text)
        if any(_alike(mine, seen) for pair in mine.first for seen in self._seen.get(pair, ())):
            return False
        for pair in mine.first:
            self._seen.setdefault(pair, []).append(mine)
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Likeness:
    """What is compared of a text. *first* are its first *pairs* in some fixed order, one more than may differ."""

    size: int
    pairs: frozenset[tuple[str, ...]]
    first: tuple[tuple[str, ...], ...]


def _likeness(text: str) -> _Likeness:
    seen = text if len(text) <= 2 * COMPARED else f"{text[:COMPARED]} {text[-COMPARED:]}"
    pairs = frozenset(pairwise(["", *terms(seen), ""]))
    return _Likeness(
        size=len(text) // COMPARED, pairs=pairs, first=tuple(sorted(pairs)[: len(pairs) - int(REPEAT * len(pairs)) + 1])
    )


def _alike(one: _Likeness, other: _Likeness) -> bool:
    sizes = (one.size, other.size)
    if max(sizes) > 2 and min(sizes) < REPEAT * max(sizes):
        return False
    few, many = sorted((len(one.pairs), len(other.pairs)))
    return few >= REPEAT * many and len(one.pairs & other.pairs) >= REPEAT * len(one.pairs | other.pairs)
