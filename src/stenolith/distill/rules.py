"""Atoms without a model: precise rules for Chinese and English, mixed in one sentence or not.

The way of an utterance: words of its own (no code, logs, quotations) → sentences → rows for whole
sentences (lesson, instruction, decision, constraint) → rows for clauses (facts and preferences about
the speaker, their people, the project) → events with a date.  What matched must then pass the guards:
`guards.hollow` for its sentence (supposed, unsure, reported, denied, for this once) and
`guards.silent` for the utterance (secrets, pasted texts, jokes, role play).

Only people speak here: an assistant's turn yields nothing, and so does a turn that failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Final

from stenolith.distill import guards, patterns_facts_cn, patterns_facts_en, patterns_rules_cn, patterns_rules_en
from stenolith.distill.dates import Span, expiry, found_dates, pin
from stenolith.distill.events import happening
from stenolith.distill.patterns import ORDINARY, PASSING, PROJECT, Row, Table
from stenolith.distill.sentences import TOLD, Piece, clauses, own_words, sentences, trim
from stenolith.distill.subjects import PEOPLE_CN, PEOPLE_EN, names_reply_language, plain
from stenolith.model.atom import AtomDraft, Kind, Source

TASK_LIFE_MS: Final = 7 * 86_400_000  # our choice: a rule for one task or pull request outlives no sprint


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """What one speaker said in one message; *timestamp* is epoch milliseconds or unknown."""

    record_id: str
    role: str
    text: str
    timestamp: int | None = None
    speaker: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A rule's match: its row, the words that become the atom, and whom they are about."""

    kind: Kind
    priority: int
    piece: Piece
    about: tuple[str, str] = (PROJECT, "")
    corrects: bool = False
    event: Span | None = None
    spans: Sequence[Span] | None = None


_RULES: Final = {"cn": patterns_rules_cn.TABLES, "en": patterns_rules_en.TABLES}
_FACTS: Final = {"cn": patterns_facts_cn.TABLES, "en": patterns_facts_en.TABLES}
_HAN: Final = re.compile(r"[\u4e00-\u9fff]")
_LATIN: Final = re.compile(r"[A-Za-z]")
_CHANGED: Final = re.compile(
    r"不再|不用了|改成|改用|改为|换成|换到|从现在起|从现在开始|改主意|更正|纠正|说错了|其实是|再也不|\b(?:actually|"
    r"no longer|any ?more|instead|from now on|going forward|correction|changed my mind|used to|not any longer|"
    r"switched|these days)\b|(?:现在|如今)(?:是|用|改|都用|叫|住)|\b(?:is|it'?s|are|am|i'?m|i|we) now\b|"
    r"\bnow (?:use|on|in|live|work|at)\b|\w now[.!]?$",
    re.IGNORECASE | re.ASCII,
)
_CORRECTION: Final = re.compile(
    r"\W*(?:(?:no|wait|sorry|oh|hm+)\b[,，.\s]*)?(?:actually|correction|scratch that)\b|"
    r"\W*(?:其实|更正|纠正|不对|说错了)",
    re.IGNORECASE | re.ASCII,
)
_PARTIAL: Final = re.compile(
    r"测试(?:里|时|环境|用)|本地|部分|有的|另外|还用|也用|也喜欢|之一|\b(?:for (?!(?:the )?(?:\w+ )?(?:years?|"
    r"months?|weeks?|days?|ages|decades?|long|while|now)\b)(?:the )?\w+|in (?:tests?|ci|staging|dev)|also|too|"
    r"as well|partly|some of)\b|,\s*(?:and |or )?\w+ing\b",
    re.IGNORECASE | re.ASCII,
)
_TASK: Final = re.compile(
    r"(?:这个|本)(?:PR|MR|分支|迭代|冲刺|sprint|需求|任务|工单)|\b(?:in|for|on|during) this (?:pr|pull request|"
    r"branch|sprint|ticket|migration|task)\b",
    re.IGNORECASE,
)
_BARE_CN: Final = re.compile(r"(?:现在|目前|平时|一直|已经|刚)*(?:住|定居|常驻|常住|搬|在)")
_CONTEXT: Final = re.compile(
    r"^(?:actually,? )?(?:it'?s|it is|now)\b|^(?:when|while|for|in|on|at|during|after|before|as|with|since)\b|"
    r"(?:时候?|方面|来说|的话|之?前|之?后)$",
    re.IGNORECASE,
)
_ELSEWHO: Final = re.compile(
    r"^(?:and |but |so )?(?:my|his|her|their|he|she|they|you|your)\b|^(?:他|她|你|您|我(?!们))", re.IGNORECASE
)
_FOLK: Final = re.compile(
    rf"(?:^|\W)my ({PEOPLE_EN})\b(?! and I\b)|我(?:的|家)?({PEOPLE_CN})(?!和我|跟我)", re.IGNORECASE | re.ASCII
)
_MINE: Final = re.compile(r"我(?!们)|\b(?:I|my|me)\b|^(?:finally |just )?\w+ed\b", re.IGNORECASE)


def extract(utterances: Sequence[Utterance], zone: tzinfo) -> list[AtomDraft]:
    """Return what *utterances* state, in their order; relative dates are read in *zone*.

    Says nothing rather than something wrong.  Each draft quotes its sentence.
    """
    return [draft for utterance in utterances for draft in _drafts(utterance, zone)]


def _drafts(utterance: Utterance, zone: tzinfo) -> Iterator[AtomDraft]:
    if utterance.role != "user" or utterance.failed or len(utterance.text) > guards.MAX_CHARS:
        return
    # Guards come after rows: most sentences match none, and then nothing needs to be guarded.
    found = [
        (sentence, one)
        for sentence in sentences(own_words(utterance.text))
        for one in _found(sentence, utterance.timestamp, zone)
    ]
    if not found or guards.silent(utterance.text):
        return
    for sentence, one in found:
        draft = None if guards.hollow(sentence.masked) else _draft(one, sentence, utterance, zone)
        if draft is not None:
            yield draft


def _found(sentence: Piece, at_ms: int | None, zone: tzinfo) -> Iterator[_Found]:
    piece = trim(sentence)
    whole = None if piece.asks else _whole(piece)
    if whole is not None:
        yield whole
        return
    parts = list(_parts(piece))
    yield from parts
    if parts or piece.asks:
        return
    event = happening(piece.masked, at_ms, zone)
    told = TOLD.match(sentence.masked) is not None and len(piece.text) > 5
    if (event is None and not told) or guards.asks(piece.masked) or guards.requests(piece.masked):
        return
    if event is not None:
        about = (_whose(piece.masked), "")
        yield _Found(kind=Kind.EVENT, priority=ORDINARY, piece=piece, about=about, event=event[1], spans=event[0])
    else:
        yield _Found(kind=Kind.FACT, priority=ORDINARY, piece=piece)


def _whose(text: str) -> str:
    """Say whom an event is about: the speaker's people, the speaker, or the project."""
    folk = _FOLK.search(text)
    if _MINE.search(_FOLK.sub("", text)):
        return "user"
    return f"user's {plain(folk[1] or folk[2])}" if folk else PROJECT


def _matches(piece: Piece, tables: Mapping[str, tuple[Table, ...]]) -> Iterator[tuple[Row, re.Match[str]]]:
    """Give the rows that match, kind by kind; rows of a script that a piece lacks are not tried."""
    text = piece.squeezed()
    lowered = text.lower()
    tongues = [tables["cn"]] * (_HAN.search(text) is not None) + [tables["en"]] * (_LATIN.search(text) is not None)
    for pair in zip(*tongues, strict=True):
        for table in pair:
            yield from table.search(text, lowered)


def _whole(piece: Piece) -> _Found | None:
    """Match the rows that take a whole sentence, the reason included."""
    for row, match in _matches(piece, _RULES):
        if guards.asks(piece.masked):
            return None
        if row.kind is Kind.INSTRUCTION or not guards.requests(piece.masked):
            return _of(row, match, piece)
    return None


def _of(row: Row, match: re.Match[str], piece: Piece) -> _Found:
    subject, attribute = row.about(match)
    if row.kind in {Kind.INSTRUCTION, Kind.PREFERENCE} and names_reply_language(piece.masked):
        subject, attribute = "user", "reply_language"
    corrects = row.corrects or _CHANGED.search(piece.masked) is not None
    several = row.attribute.startswith(("{tool}", "taste")) and subject in {"user", PROJECT}
    if several and not corrects and _PARTIAL.search(piece.masked):
        attribute = ""  # one of several: "SQLite for tests", "reading, and watching films" replace nothing
    return _Found(kind=row.kind, priority=row.priority, piece=piece, about=(subject, attribute), corrects=corrects)


def _parts(piece: Piece) -> Iterator[_Found]:
    """Match facts and preferences clause by clause; what follows one without a subject belongs to it."""
    bounds = clauses(piece)
    if piece.asks:  # "我对花生过敏，这个能吃吗？": what stands before the question may be a fact
        bounds = bounds[:-1]
    parts: list[_Part] = []
    lead, last = None, -1  # where a clause of circumstance began; which clause the latest part ends with
    for index, (start, end) in enumerate(bounds):
        clause = piece.cut(start, end)
        hit = next(_matches(clause, _FACTS), None)
        closed = hit is None and last < index - 1 and _CONTEXT.search(clause.masked) is None
        blocked = not closed and (guards.asks(clause.masked) or guards.requests(clause.masked))
        goes_on = last == index - 1 and bool(parts) and not blocked and parts[-1].goes_on(hit, clause)
        if goes_on:
            parts[-1], last = replace(parts[-1], end=end), index
        elif hit is not None and not blocked:
            parts.append(_Part(row=hit[0], match=hit[1], start=start if lead is None else lead, end=end))
            last = index
        lead = start if hit is None and not blocked and _CONTEXT.search(clause.masked) else None
    for part in parts:
        yield _of(part.row, part.match, _standing(piece, part.start, part.end))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A clause that matched, with the clauses that belong to it."""

    row: Row
    match: re.Match[str]
    start: int
    end: int

    def goes_on(self, hit: tuple[Row, re.Match[str]] | None, clause: Piece) -> bool:
        """Say whether the next clause belongs here: it has no subject, or completes "no longer at X, I joined Y"."""
        if hit is None:
            return _ELSEWHO.match(clause.masked) is None
        about = hit[0].about(hit[1])
        return self.row.corrects and bool(about[1]) and self.row.about(self.match) == about


def _standing(piece: Piece, start: int, end: int) -> Piece:
    """Cut a clause; a Chinese one that left its 我 to the clause before gets it back."""
    part = piece.cut(start, end)
    if start and _BARE_CN.match(part.text):
        return Piece(text=f"我{part.text}", masked=f"我{part.masked}")
    return part


def _draft(found: _Found, sentence: Piece, utterance: Utterance, zone: tzinfo) -> AtomDraft | None:
    at_ms, words = utterance.timestamp, found.piece.text
    spans = found.spans if found.spans is not None else found_dates(words, at_ms, zone)
    if spans is None:  # "yesterday" of an unknown day does not stand alone
        return None
    bound = found.kind in {Kind.CONSTRAINT, Kind.INSTRUCTION}
    task = bound and _TASK.search(words) is not None
    ends = expiry(words, at_ms, zone) if bound else None
    if task and ends is None and at_ms is not None:
        ends = at_ms + TASK_LIFE_MS
    return AtomDraft(
        kind=found.kind,
        text=pin(words, spans, bare=found.kind is Kind.EVENT).rstrip(" ,，;；、"),
        sources=(Source(record_id=utterance.record_id, quote=sentence.text, timestamp=at_ms),),
        priority=PASSING if task else found.priority,
        subject=found.about[0],
        attribute=found.about[1],
        speaker=utterance.speaker,
        occurred_start=found.event.start_ms if found.event else None,
        occurred_end=found.event.end_ms - 1 if found.event else None,
        expires_at=ends,
        corrects=found.corrects or _CORRECTION.match(sentence.masked) is not None,
        task_only=task,
    )
