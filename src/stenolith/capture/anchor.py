"""Where the stored tail of a session ends inside the messages a host holds.

Pure sequence matching on digests and times. `stenolith.capture.align` decides what to believe.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from statistics import median
from typing import Final

# OpenClaw moved a message's time by 20 s between two processes (spec/hosts.md section 2); two such
# moves and rounding stay below a minute.
DRIFT_MS: Final = 60_000
# Two alignments whose times differ by less than one such move cannot be told apart by time.
_MOVE_MS: Final = 25_000
_GAP: Final = 6
_STEPS: Final = sorted(
    ((held, kept) for held in range(_GAP + 1) for kept in range(_GAP + 1) if held or kept),
    key=lambda step: (max(step), abs(step[0] - step[1])),  # an edit is likelier than an insertion
)
_LONGEST, _CLOSEST, _EARLIEST = 8, 4, 2
_TAIL_EDITS: Final = 8
_LAST: Final = 7
_VARIED: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """One side of the comparison: digests, times (epoch milliseconds or None) and host ids, in order."""

    digests: Sequence[str]
    times: Sequence[int | None]
    ids: Sequence[str]

    def __len__(self) -> int:
        """Return the number of messages."""
        return len(self.digests)

    def single_ids(self) -> frozenset[str]:
        """Return the ids that stand on one message only; a host that repeats an id proves nothing by it."""
        return frozenset(word for word, count in Counter(self.ids).items() if word and count == 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """One way to lay the stored tail over the held messages.

    *end* is the first held message behind the last pair. *pairs* are (held, stored) positions from
    the back to the front. *missing* counts stored messages behind the last pair: hidden or edited.
    *shifts* are held minus stored times in milliseconds, for pairs that have both. *distinct*
    counts different messages among the pairs; *same_ids* says that every pair shares its host id.
    """

    end: int
    pairs: tuple[tuple[int, int], ...]
    missing: int
    shifts: tuple[int, ...]
    distinct: int
    same_ids: bool

    @property
    def prefix(self) -> int:
        """Return how many held messages stand in front of the first pair."""
        return self.pairs[-1][0]

    @property
    def adjacent(self) -> int:
        """Return how many pairs directly follow another pair on both sides."""
        return sum(
            later == (earlier[0] + 1, earlier[1] + 1)
            for later, earlier in zip(self.pairs, self.pairs[1:], strict=False)
        )

    @property
    def gapless(self) -> bool:
        """Say whether every pair follows directly on the one before it."""
        return self.adjacent == len(self.pairs) - 1

    @property
    def whole(self) -> bool:
        """Say whether all that is stored was found, without a gap."""
        return self.pairs[-1][1] == 0 and not self.missing and self.gapless

    @property
    def evidence(self) -> int:
        """Return how hard it is for this to be chance: different messages, and messages in sequence."""
        return self.distinct + self.adjacent

    @property
    def shift(self) -> float | None:
        """Return the middle distance in time of the last pairs, or None without times."""
        return median(abs(shift) for shift in self.shifts[:_LAST]) if self.shifts else None

    def holes(self) -> Iterator[range]:
        """Yield held messages that stand between stored neighbours, with nothing stored in their place.

        Two pairs in sequence are asked for on both sides, because one repeated word would do
        otherwise.
        """
        for first, second, third, fourth in zip(*(self.pairs[start:] for start in range(4)), strict=False):
            beside = first == (second[0] + 1, second[1] + 1) and third == (fourth[0] + 1, fourth[1] + 1)
            if beside and second[1] == third[1] + 1 and second[0] > third[0] + 1:
                yield range(third[0] + 1, second[0])


def find_anchors(held: Track, stored: Track, mark: int | None) -> Iterator[Anchor]:
    """Yield the ways to align both sides, likeliest first; those with missing stored messages last.

    Near-linear: exact runs come from one Z-function, and only a few ends are walked in full.
    """
    if set(held.digests).isdisjoint(stored.digests):
        return
    for missing in range(min(_TAIL_EDITS + 1, len(stored))):
        last = len(stored) - missing
        runs = _suffix_runs(held.digests, stored.digests[:last])
        ends = _promising(held, stored.times[last - 1], runs, mark)
        yield from _rank([_walk(held, stored, end, missing) for end in ends], mark)


def _suffix_runs(held: Sequence[str], stored: Sequence[str]) -> list[int]:
    """Return for each end the length of the longest common suffix of ``held[:end]`` and *stored*."""
    row: list[str | None] = [*reversed(stored), None, *reversed(held)]
    reach = [0] * len(row)
    left = right = 0
    for at in range(1, len(row)):
        length = min(reach[at - left], right - at) if at < right else 0
        while at + length < len(row) and row[length] == row[at + length]:
            length += 1
        reach[at] = length
        if at + length > right:
            left, right = at, at + length
    return [0, *reversed(reach[len(stored) + 1 :])]


def _promising(held: Track, last: int | None, runs: Sequence[int], mark: int | None) -> list[int]:
    """Choose the ends that are worth a full walk."""
    ends = [end for end, run in enumerate(runs) if run]
    if len(ends) <= _LONGEST:
        return ends
    chosen = nsmallest(_LONGEST, ends, key=lambda end: (-runs[end], -end))
    chosen += ends[:_EARLIEST]
    if last is not None:
        chosen += nsmallest(_CLOSEST, ends, key=lambda end: abs((held.times[end - 1] or 0) - last))
    if mark is not None and 0 < mark < len(runs) and runs[mark]:
        chosen.append(mark)
    return sorted(set(chosen))


def _walk(held: Track, stored: Track, end: int, missing: int) -> Anchor:
    """Pair both sides backwards from *end*, over messages that were edited, hidden or inserted."""
    here, there = end - 1, len(stored) - 1 - missing
    pairs: list[tuple[int, int]] = []
    while here >= 0 and there >= 0:
        if held.digests[here] != stored.digests[there]:
            step = _step(held, stored, here, there)
            if step is None:
                break
            here, there = here - step[0], there - step[1]
        pairs.append((here, there))
        here, there = here - 1, there - 1
    times = [(held.times[i], stored.times[j]) for i, j in pairs]
    return Anchor(
        end=end,
        pairs=tuple(pairs),
        missing=missing,
        shifts=tuple(now - then for now, then in times if now is not None and then is not None),
        distinct=len({held.digests[i] for i, _ in pairs}),
        same_ids=all(held.ids[i] and held.ids[i] == stored.ids[j] for i, j in pairs),
    )


def _step(held: Track, stored: Track, here: int, there: int) -> tuple[int, int] | None:
    """Return the smallest gap behind which both sides agree again, if possible in time as well."""
    steps = [
        step
        for step in _STEPS
        if step[0] <= here and step[1] <= there and held.digests[here - step[0]] == stored.digests[there - step[1]]
    ]
    timely = (step for step in steps if is_near(held.times[here - step[0]], stored.times[there - step[1]]))
    return next(timely, steps[0] if steps else None)


def is_near(now: int | None, then: int | None) -> bool:
    """Say whether two times are known and less than a drift apart."""
    return now is not None and then is not None and abs(now - then) <= DRIFT_MS


def _rank(anchors: Sequence[Anchor], mark: int | None) -> list[Anchor]:
    """Sort the likeliest first.

    Where times agree they decide which of several alignments of repeated words is meant, unless all that is
    stored stands at the very beginning and is more than one exchange said again and again. Then:
    all that is stored stands at the very beginning; an exchange or more without a gap ends at the
    mark; the number of pairs; the mark; the earlier end.
    """
    shifts = {anchor.end: anchor.shift for anchor in anchors}
    best = min((shift for shift in shifts.values() if shift is not None), default=None)

    def key(anchor: Anchor) -> tuple[bool, bool, bool, int, bool, int]:
        shift = shifts[anchor.end]
        at_start = anchor.whole and anchor.prefix == 0
        late = best is not None and best <= DRIFT_MS and shift is not None and shift > best + _MOVE_MS
        late = late and not (at_start and anchor.distinct >= _VARIED)
        at_mark = anchor.end == mark and anchor.gapless and anchor.distinct > 1
        weight = len(anchor.pairs) + anchor.adjacent
        return late, not at_start, not at_mark, -weight, anchor.end != mark, anchor.end

    return sorted(anchors, key=key)
