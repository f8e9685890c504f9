"""What is new among the messages a host holds.

Identity is content and position. Hosts repeat ids, move clocks by seconds, turn block lists into
strings, drop the head of a session, and send all of it, or only the last exchange, or the same
thing again. Three defences, in this order:

**content** lays the stored tail over the held messages (`stenolith.capture.anchor`) and takes what
stands behind it as new. **mark**, the number of messages the host held before this turn, chooses
between several such places, tells a repetition from a resend, and says what is new where nothing
aligns. **clock**, the time of the last stored message, is asked only when there is neither.

What an alignment proves
========================
=====================================================  ==========================================
what was found                                         then the found messages are
=====================================================  ==========================================
five or more in direct sequence                        stored
they end at or before the mark                         stored; what follows up to the mark was
                                                       missed by a failed capture and is new
they pass the mark, and so does the message before it  stored: the host sent the turn again
they pass the mark, otherwise; with times              stored when one time is identical, or they
                                                       differ by less than a minute and the payload
                                                       starts before the last stored time; else new
they pass the mark, otherwise; without times           stored when their ids are identical, or the
                                                       payload starts with all that is stored
no mark; the payload starts with all that is stored,   stored when more follows, or times differ by
two messages or more                                   less than a minute, or there are none
no mark; times differ by more than a minute            new: the same words were said again later
no mark; times differ by less; more follows            stored
no mark; times differ by less; nothing follows         stored when one time is identical, the payload
                                                       starts before the last stored time, or three
                                                       different messages stand in sequence
no mark, no times; more follows                        stored when the payload starts with them,
                                                       or when three facts speak for it
no mark, no times; nothing follows                     stored when no other message is held
=====================================================  ==========================================

A fact is a different message, or two in direct sequence. When the last stored messages are not
among the held ones (hidden or edited by the host), three facts and a payload that starts before
the last stored time are needed, or five facts without times; and no more than the mark allows.
A message with the text and the very time of a stored one is that one wherever it stands. A time that five
messages or more and most of a payload share is that of sending, and counts as none. Messages in front of the first
pair are older than the tail that was compared, and never new. One that stands between two stored
neighbours with nothing stored in its place was missed, and is new.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from stenolith.capture.anchor import DRIFT_MS, Anchor, Track, find_anchors, is_near
from stenolith.capture.clean import strip_injected
from stenolith.model.message import Message, Text, Thinking, canonical_json, part_to_dict

By = Literal["mark", "content", "clock", "first"]

_IN_SEQUENCE: Final = 4
_FACTS: Final = 3
_FACTS_UNTIMED: Final = 5
# The reference's safety valve: more than eight messages that are all new by time alone are suspect.
_MANY: Final = 8
_WINDOW: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """One stored message: its `alignment_digest`, the host's time (epoch milliseconds) and id."""

    digest: str
    timestamp: int | None = None
    host_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """Which messages are new, as rising positions; what decided it; and what a person should know."""

    new: tuple[int, ...]
    by: By
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """All that is known about one call."""

    held: Track
    stored: Track
    mark: int | None
    clock: int | None


def alignment_digest(message: Message) -> str:
    """Return what makes a message the same message, with or without what a host injected.

    Role, speaker, cleaned words (blanks folded) and the parts that are not text count. Thinking
    counts only when there is nothing else, because hosts drop it when they reload a session.
    """
    words = " ".join(strip_injected(message.text())[0].split())
    parts = [part for part in message.parts if not isinstance(part, Text)]
    said = [part for part in parts if not isinstance(part, Thinking)]
    shown = said if said or words else parts
    content = f"{message.role.value}\0{message.speaker}\0{words}\0"
    content += canonical_json([part_to_dict(part) for part in shown]) if shown else ""
    return "a1:" + hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def align(incoming: Sequence[Message], known: Sequence[Known], *, mark: int | None, clock: int | None) -> Alignment:
    """Say which of *incoming* are new, given the stored tail *known* of the session, in order.

    *mark* is the number of messages the host held before this turn, or None; *clock* the time of
    the last stored message, or None. A few hundred known messages are enough; more make it slower,
    not better. Pure; the same arguments give the same answer.
    """
    if not known:
        return _first(len(incoming), mark)
    warnings = []
    if mark is not None and not 0 <= mark <= len(incoming):
        warnings.append(f"mark {mark} does not fit {len(incoming)} messages; it was not used")
        mark = None
    stored = Track(
        digests=[entry.digest for entry in known],
        times=[entry.timestamp for entry in known],
        ids=[entry.host_id for entry in known],
    )
    found = _align_part(incoming, stored, mark, clock)
    return replace(found, warnings=(*warnings, *found.warnings))


def _first(count: int, mark: int | None) -> Alignment:
    missed = mark if mark is not None and 0 < mark <= count else 0
    return Alignment(new=tuple(range(count)), by="first", warnings=_missed(missed))


def _align_part(incoming: Sequence[Message], stored: Track, mark: int | None, clock: int | None) -> Alignment:
    """Compare the end of a long payload first; all of it only when that proves nothing."""
    digests: list[str] = []
    for start in sorted({0, max(0, len(incoming) - len(stored) - _WINDOW)}, reverse=True):
        part = incoming[start:]
        digests = [alignment_digest(message) for message in part[: len(part) - len(digests)]] + digests
        held = Track(
            digests=digests,
            times=_times(part),
            ids=[message.id for message in part],
        )
        shifted = mark - start if mark is not None and mark >= start else None
        case = _Case(held=held, stored=stored, mark=shifted, clock=clock)
        anchor = next((one for one in find_anchors(held, stored, shifted) if _is_stored(case, one)), None)
        if anchor is not None and (start == 0 or anchor.adjacent >= _IN_SEQUENCE):
            return _shift(_behind(case, anchor), start)
    return _by_mark(case, mark) if mark is not None else _by_clock(case)


def _times(part: Sequence[Message]) -> list[int | None]:
    """Return the times of held messages; one that most of them share is when they were sent, and none of theirs."""
    times = [message.timestamp for message in part]
    [(common, count)] = Counter(times).most_common(1) or [(None, 0)]
    sent = count > _IN_SEQUENCE and 2 * count > len(times)
    return [None if sent and time == common else time for time in times]


def _shift(found: Alignment, start: int) -> Alignment:
    return replace(found, new=tuple(start + index for index in found.new))


def _is_stored(case: _Case, anchor: Anchor) -> bool:
    """Decide by the table of this module whether the paired messages are the stored ones."""
    if anchor.adjacent >= _IN_SEQUENCE:
        return True
    if anchor.missing:
        return _is_cut_short(case, anchor)
    return _is_resent(case, anchor) if case.mark is None else _fits_mark(case, anchor, case.mark)


def _is_cut_short(case: _Case, anchor: Anchor) -> bool:
    """Believe a short match although the last stored messages are not held any more."""
    if case.mark is not None and anchor.end > case.mark and not _reaches(anchor, case.mark):
        return False
    if not anchor.shifts:
        return anchor.evidence >= _FACTS_UNTIMED
    return anchor.evidence >= _FACTS and not _is_late(anchor) and _starts_before(case, anchor)


def _reaches(anchor: Anchor, mark: int) -> bool:
    """Say whether the message right before the mark is among the pairs: position proves the rest."""
    return any(held == mark - 1 for held, _ in anchor.pairs)


def _fits_mark(case: _Case, anchor: Anchor, mark: int) -> bool:
    """Tell a resend from a repetition by the mark, for a short match."""
    if anchor.end <= mark:
        return anchor.end == mark or anchor.evidence >= _FACTS or (bool(anchor.shifts) and not _is_late(anchor))
    if _is_identical(case, anchor) or _reaches(anchor, mark):
        return True
    if anchor.shifts:
        return not _is_late(anchor) and _starts_before(case, anchor)
    return anchor.whole and anchor.prefix == 0


def _is_resent(case: _Case, anchor: Anchor) -> bool:
    """Tell a resend from a repetition without a mark, for a short match."""
    more = anchor.end < len(case.held)
    if anchor.whole and anchor.prefix == 0 and len(anchor.pairs) > 1 and (more or not _is_late(anchor)):
        return True
    if _is_late(anchor):
        return False
    if anchor.shifts:
        varied = anchor.distinct >= _FACTS and anchor.evidence >= _FACTS_UNTIMED
        return more or varied or _is_identical(case, anchor) or _starts_before(case, anchor)
    if more:
        return anchor.prefix == 0 or anchor.evidence >= _FACTS
    return len(anchor.pairs) == len(case.held) or (anchor.whole and anchor.evidence >= _FACTS)


def _is_late(anchor: Anchor) -> bool:
    return anchor.shift is not None and anchor.shift > DRIFT_MS


def _is_identical(case: _Case, anchor: Anchor) -> bool:
    """Say whether a time is the very same or, without times, every pair shares an id of its own."""
    if anchor.shifts:
        return 0 in anchor.shifts
    single = case.held.single_ids() & case.stored.single_ids()
    return anchor.same_ids and all(case.held.ids[held] in single for held, _ in anchor.pairs)


def _starts_before(case: _Case, anchor: Anchor) -> bool:
    first, last = case.held.times[anchor.prefix], case.stored.times[-1]
    return first is not None and last is not None and first <= last


def _behind(case: _Case, anchor: Anchor) -> Alignment:
    """Return what stands behind the stored messages, and what was missed between them."""
    holes = list(_missed_between(case, anchor))
    edited = set(_edited(case, anchor))
    behind = [index for index in range(anchor.end, len(case.held)) if index not in edited]
    new = tuple(_unseen(case, [*holes, *behind], anchor))
    missed = len(holes) + sum(anchor.end <= index < (case.mark or 0) for index in new)
    by: By = "mark" if case.mark is not None and anchor.end <= case.mark else "content"
    return Alignment(new=new, by=by, warnings=_missed(missed))


def _missed_between(case: _Case, anchor: Anchor) -> Iterator[int]:
    """Yield held messages that no capture has stored, though their neighbours are.

    Not one whose words are stored elsewhere, nor one of about the time of a stored message that was
    not found at its time: that is the same message in other words.
    """
    held, stored = case.held.times, case.stored.times
    known = set(case.stored.digests)
    found = {there for here, there in anchor.pairs if is_near(held[here], stored[there])}
    lost = [time for there, time in enumerate(stored) if there not in found]
    for hole in sorted(anchor.holes(), key=lambda gap: gap.start):
        for index in hole:
            edited = any(is_near(held[index], time) for time in lost)
            if not edited and case.held.digests[index] not in known:
                yield index


def _edited(case: _Case, anchor: Anchor) -> Iterator[int]:
    """Yield held messages that are the missing stored ones in other words.

    Before the mark each missing message accounts for one; behind it, or without a mark, only one of
    about the same time does.
    """
    first = len(case.stored) - anchor.missing
    for offset in range(min(anchor.missing, len(case.held) - anchor.end)):
        index = anchor.end + offset
        near = is_near(case.held.times[index], case.stored.times[first + offset])
        if (case.mark is not None and index < case.mark) or (case.mark is None and near):
            yield index


def _unseen(case: _Case, candidates: Sequence[int], anchor: Anchor | None = None) -> Iterator[int]:
    """Drop what has the text and the very time of a stored message that is not paired yet.

    A time that more than two stored messages share is a default, not a time.
    """
    paired = {there for _, there in anchor.pairs} if anchor else set()
    shared = Counter(case.stored.times)
    left: Counter[tuple[str, int | None]] = Counter(
        (digest, time)
        for there, (digest, time) in enumerate(zip(case.stored.digests, case.stored.times, strict=True))
        if time is not None and there not in paired and shared[time] <= 2
    )
    for index in candidates:
        entry = (case.held.digests[index], case.held.times[index])
        if left[entry]:
            left[entry] -= 1
        else:
            yield index


def _by_mark(case: _Case, mark: int) -> Alignment:
    """Believe the mark: nothing aligned. What is later than the last stored message was missed."""
    known = set(case.stored.digests)
    before = [
        index
        for index in range(mark)
        if case.held.digests[index] not in known and _is_after(case.held.times[index], case.clock)
    ]
    new = tuple(_unseen(case, [*before, *range(mark, len(case.held))]))
    return Alignment(new=new, by="mark", warnings=_missed(sum(index < mark for index in new)))


def _is_after(time: int | None, clock: int | None) -> bool:
    return time is not None and clock is not None and time > clock


def _by_clock(case: _Case) -> Alignment:
    """Ask the clock: nothing aligned and there is no mark.

    A short payload is new as a whole, whatever its times: it is an exchange that arrives late, or
    is imported. In a long one everything from the first message on that is not older than the last
    stored one (less the drift of clocks) is new; when all are older they are history, and new.
    """
    count = len(case.held)
    warnings: tuple[str, ...] = ()
    start = 0
    if count > _MANY and case.clock is not None:
        floor = case.clock - DRIFT_MS
        recent = (index for index, time in enumerate(case.held.times) if time is None or time >= floor)
        start = next(recent, 0)
        warnings = (_drift(count) if start == 0 else _older(start),)
    return Alignment(new=tuple(_unseen(case, range(start, count))), by="clock", warnings=warnings)


def _drift(count: int) -> str:
    return f"no mark, and all {count} messages are new by time alone: the host's timestamps may have drifted"


def _older(count: int) -> str:
    return f"{count} messages are older than the last stored one and match nothing; they were taken as stored"


def _missed(count: int) -> tuple[str, ...]:
    sentence = f"{count} messages from before this turn had never been stored; they are recorded now"
    return (sentence,) if count else ()
