"""The scanned matrix: one owner's vectors of one layer and model in memory.  Pure, and only a cache.

Cosines are centred: the owner's mean vector is taken out of rows and question alike, which brought
a small multilingual model from 52 to 59 % recall on dialogues (``spec/retrieval.md`` section 3).
With fewer rows than the mean is taken of there is nothing typical to take out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
EXACT_ROWS: Final = 20_000
"""Up to this many rows every cosine is computed; beyond, sign bits choose whose are."""
SHORTLIST: Final = 2_000
"""Rows that the sign bits choose.  200 of 10 wanted kept 98 to 100 % (section 4); we want 200."""
NEIGHBOUR_SHARE: Final = 0.4
"""What the mean of a dialogue's neighbouring turns adds to a turn's own cosine."""
_SPREAD_FLOOR: Final = 0.02
"""Least standard deviation: two equal rows must not look infinitely far from a third."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a row stands: *session* and *seq* order a dialogue, *speaker* tells whether it is one."""

    ref_id: str
    session: int | None = None
    seq: int = 0
    speaker: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Rows by their places.

    *lengths* are those of the centred rows; *around* are the indexes of up to four neighbours in a
    dialogue, -1 for none; *bits* are the signs of the centred rows, when there are too many to scan.
    """

    refs: tuple[str, ...]
    index: Mapping[str, int]
    places: tuple[Place, ...]
    rows: Floats
    mean: Floats
    lengths: Floats
    around: NDArray[np.int32]
    bits: NDArray[np.uint64] | None

    @property
    def bytes(self) -> int:
        """Size in memory, about."""
        return int(self.rows.nbytes + self.lengths.nbytes + self.around.nbytes + (200 * len(self.refs)))


def build(places: Sequence[Place], rows: Floats, mean: Floats | None, exact_rows: int = EXACT_ROWS) -> Matrix:
    """Return the matrix of *rows* (unit length, float16 or float32, one for each place)."""
    count, dim = rows.shape
    large = count > exact_rows
    kept: Floats = rows.astype(np.float16) if large else rows.astype(np.float32)
    middle = np.zeros(dim, np.float32) if mean is None else mean.astype(np.float32)
    lengths = np.empty(count, np.float32)
    bits = np.zeros((count, -(-dim // 64)), np.uint64) if large else None
    for start in range(0, count, 4096):
        part = kept[start : start + 4096].astype(np.float32) - middle
        lengths[start : start + 4096] = np.maximum(np.linalg.norm(part, axis=1), 1e-6)
        if bits is not None:
            bits[start : start + 4096] = _signs(part)
    return Matrix(
        refs=tuple(place.ref_id for place in places),
        index={place.ref_id: at for at, place in enumerate(places)},
        places=tuple(places),
        rows=kept,
        mean=middle,
        lengths=lengths,
        around=_around(places),
        bits=bits,
    )


def _signs(rows: Floats) -> NDArray[np.uint64]:
    """Return one bit a dimension, packed into words of 64."""
    packed = np.packbits(rows > 0, axis=1)
    padding = -packed.shape[1] % 8
    return np.ascontiguousarray(np.pad(packed, ((0, 0), (0, padding)))).view(np.uint64)


def _around(places: Sequence[Place]) -> NDArray[np.int32]:
    """Return each row's neighbours, for rows of a session in which several speak.

    A monologue's lines each have a subject of their own; a dialogue's turns share one.
    """
    found = np.full((len(places), 4), -1, np.int32)
    order = sorted(
        (at for at, place in enumerate(places) if place.session is not None),
        key=lambda at: (places[at].session or 0, places[at].seq),
    )
    for position, at in enumerate(order):
        beside = [order[position + step] for step in (-2, -1, 1, 2) if 0 <= position + step < len(order)]
        same = [other for other in beside if places[other].session == places[at].session]
        if any(places[other].speaker != places[at].speaker for other in same):
            found[at, : len(same)] = same
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What a matrix that holds only a part of an owner's rows must be told.

    *refs* are the rows in question; the others are there as their neighbours only.  *middle* and
    *spread* are those of all the owner's cosines, None to take them from *refs*.
    """

    refs: Sequence[str]
    middle: float | None = None
    spread: float | None = None


class Nearness:
    """How near a matrix's rows are to one question."""

    def __init__(self, matrix: Matrix, query: Floats, anchors: Floats | None = None, part: Part | None = None) -> None:
        self._matrix = matrix
        self._part = part
        self._usable: Collection[str] = matrix.index if part is None else matrix.index.keys() & set(part.refs)
        self._query = query.astype(np.float32)
        self._anchors = anchors
        centred = self._query - matrix.mean
        self._centred = centred / max(float(np.linalg.norm(centred)), 1e-6)
        self._shift = float(matrix.mean @ self._centred)
        self._choose()

    def _choose(self) -> None:
        """Score every row of a small matrix, and the likeliest of a large one."""
        matrix, part = self._matrix, self._part
        count = len(matrix.refs)
        if part is not None:
            self._chosen = np.array(sorted(matrix.index[ref] for ref in self._usable), np.int64)
            sample = mixed = self._mix(self._chosen, None)
        elif matrix.bits is None:
            self._chosen = np.arange(count)
            sample = mixed = self._mix(self._chosen, self._cosines(self._chosen))
        else:
            apart = np.bitwise_count(matrix.bits ^ _signs(self._centred[None, :])).sum(axis=1, dtype=np.int32)
            self._chosen = np.sort(np.argpartition(apart, SHORTLIST)[:SHORTLIST])
            mixed = self._mix(self._chosen, None)
            sample = self._mix(np.linspace(0, count - 1, SHORTLIST, dtype=np.int64), None)
        self._middle = float(sample.mean()) if count else 0.0
        self._spread = max(float(sample.std()), _SPREAD_FLOOR) if count else 1.0
        if part is not None and part.middle is not None and part.spread is not None:
            self._middle, self._spread = part.middle, part.spread
        self._scores = (mixed - self._middle) / self._spread

    @property
    def scale(self) -> tuple[float, float]:
        """The mean of the cosines that were computed and their standard deviation."""
        return self._middle, self._spread

    @property
    def direction(self) -> Floats:
        """The question without what is typical of the owner's rows, of unit length."""
        return self._centred

    def _cosines(self, places: NDArray[np.int64]) -> Floats:
        matrix = self._matrix
        whole = len(places) == len(matrix.refs)
        rows = matrix.rows if whole else matrix.rows[places].astype(np.float32)
        lengths = matrix.lengths if whole else matrix.lengths[places]
        found: Floats = (rows @ self._centred - self._shift) / lengths
        return found

    def _mix(self, places: NDArray[np.int64], every: Floats | None) -> Floats:
        """Return the cosines of *places* with a share of their neighbours'; *every* row's when known."""
        around = self._matrix.around[places]
        beside = around >= 0
        if every is None:
            needed = np.unique(np.concatenate([places, around[beside]]))
            every = np.zeros(len(self._matrix.refs), np.float32)
            every[needed] = self._cosines(needed)
        total = np.where(beside, every[around], 0.0).sum(axis=1)
        mixed: Floats = every[places] + NEIGHBOUR_SHARE * total / np.maximum(beside.sum(axis=1), 1)
        return mixed

    def best(self, count: int) -> list[str]:
        """Return the ids of the *count* nearest rows, nearest first; equals in the order of their ids."""
        order = np.lexsort((self._chosen, -self._scores))[:count]
        return [self._matrix.refs[self._chosen[at]] for at in order]

    def closeness(self, refs: Iterable[str]) -> dict[str, float]:
        """Return the cosines of *refs* in standard deviations above the owner's mean row."""
        known = [ref for ref in dict.fromkeys(refs) if ref in self._usable]
        if not known:
            return {}
        places = np.array([self._matrix.index[ref] for ref in known])
        if self._matrix.bits is None and self._part is None:
            found = self._scores[places]
        else:
            found = (self._mix(places, None) - self._middle) / self._spread
        return dict(zip(known, map(float, found), strict=True))

    def affinity(self, refs: Iterable[str]) -> dict[str, float]:
        """Return how much nearer *refs* are than the nearest anchor, in the anchors' standard deviations.

        Anchors are sentences about nothing in particular.  Unlike closeness, which only compares the
        owner's rows with each other, this tells whether anything is near at all: above 0 is nearer
        than any of them.  Empty without anchors.
        """
        known = [ref for ref in dict.fromkeys(refs) if ref in self._usable]
        if self._anchors is None or not known:
            return {}
        noise = self._anchors @ self._query
        rows = self._matrix.rows[[self._matrix.index[ref] for ref in known]].astype(np.float32)
        found = (rows @ self._query - noise.max()) / max(float(noise.std()), 1e-6)
        return dict(zip(known, map(float, found), strict=True))
