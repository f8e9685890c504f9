"""From what a model wrote to a draft that may be believed: each check that code can make, code makes.

A memory cites messages that were shown, and shares words with them; who said it follows from the
messages, not from the model; dates follow from the words and the time they were said.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from enum import StrEnum
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from stenolith.distill.dates import Span, expiry, pin, resolve
from stenolith.distill.subjects import names_reply_language
from stenolith.distill.windows import Speech
from stenolith.model.atom import AtomDraft, Kind, Source
from stenolith.model.text import cut, has_cjk, query_terms

QUOTE_CHARS: Final = 300
_YEAR_MS: Final = 366 * 86_400_000
_NAME_CHARS: Final = 60


class Fault(StrEnum):
    """Why a memory was refused, or what was mended in it; the words stand in reports."""

    NOT_A_MEMORY = "not a memory"
    NO_TEXT = "no text"
    UNKNOWN_KIND = "unknown kind"
    INVENTED_SOURCE = "invented source"
    NO_SOURCE = "no source"
    UNGROUNDED = "not in the words it cites"
    ASSISTANT_ALONE = "only the assistant says it"
    SOURCE_DROPPED = "invented source dropped"
    DATE_MENDED = "date mended"
    SEVERAL_SPEAKERS = "other speakers dropped"


_KINDS: Final = {
    **{kind.value: kind for kind in Kind},
    **dict.fromkeys(("episodic", "episode", "plan"), Kind.EVENT),
    **dict.fromkeys(("instruct", "rule", "order"), Kind.INSTRUCTION),
    **dict.fromkeys(("persona", "profile", "attribute", "skill", "identity", "relationship"), Kind.FACT),
    **dict.fromkeys(("habit", "like", "dislike", "interest"), Kind.PREFERENCE),
    **dict.fromkeys(("experience", "insight"), Kind.LESSON),
}
_ALIASES: Final = {
    "text": ("content", "memory", "fact", "statement"),
    "kind": ("type", "category"),
    "sources": ("source", "source_ids", "source_message_ids", "message_ids", "ids"),
    "changes": ("corrects", "changed"),
    "start": ("activity_start_time", "when", "date"),
    "end": ("activity_end_time",),
}
_WEIGHTS: Final = {"critical": 95, "high": 80, "medium": 60, "normal": 60, "low": 40}
_BOUND: Final = frozenset({Kind.PREFERENCE, Kind.INSTRUCTION, Kind.CONSTRAINT})
_USER: Final = frozenset({"", "user", "the user", "speaker", "me", "i", "用户", "我", "本人"})
_ABOUT_USER: Final = re.compile(r"(?:the )?user\b|I\b|my\b|用户|我", re.IGNORECASE)
_ASSISTANT: Final = frozenset({"assistant", "the assistant", "ai", "agent", "bot", "model", "助手", "助理"})
_AGREES: Final = re.compile(
    r"\W*(?:yes|yeah|yep|right|exactly|correct|true|agreed|sure|ok(?:ay)?|sounds good|let'?s do|do (?:it|that)|"
    r"对|是的|没错|好的|可以|行|同意|嗯|就这么|就按|确实)",
    re.IGNORECASE,
)
_SENTENCE: Final = re.compile(r".+?(?:[。！？!?\n]+|\.(?=\s)|\Z)", re.DOTALL)
_DIGITS: Final = re.compile(r"\d+")


class Item(BaseModel):
    """One memory as a model writes it, under our names or the usual others."""

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True, str_strip_whitespace=True)

    text: str = Field(min_length=1)
    kind: str = "fact"
    sources: list[str] = []
    quote: str = ""
    subject: str = ""
    attribute: str = ""
    priority: float = 60
    start: str = ""
    end: str = ""
    until: str = ""
    scope: str = ""
    changes: bool = False

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"text": value}
        if not isinstance(value, Mapping):
            return value
        flat = {**value, **(value["metadata"] if isinstance(value.get("metadata"), Mapping) else {})}
        return {name: found for name, found in named_alike(flat, _ALIASES).items() if found is not None}

    @field_validator("sources", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return value if isinstance(value, list) else [value]

    @field_validator("quote", "subject", "attribute", "start", "end", "until", "scope", mode="before")
    @classmethod
    def _plain(cls, value: Any) -> Any:
        return value if isinstance(value, str | int) else ""

    @field_validator("priority", mode="before")
    @classmethod
    def _weighed(cls, value: Any) -> Any:
        return value if isinstance(value, int | float) else _WEIGHTS.get(str(value).lower(), 60)

    @field_validator("changes", mode="before")
    @classmethod
    def _said(cls, value: Any) -> Any:
        return str(value).lower() in {"true", "yes", "1"}


def named_alike(value: Mapping[str, Any], aliases: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return *value* with each field under our name, found under it or the first alias that holds something."""
    found = {
        name: next((value[key] for key in (name, *others) if value.get(key) is not None), None)
        for name, others in aliases.items()
    }
    return {**value, **found}


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What one call read: messages by number, and the zone in which its times are read."""

    speeches: Mapping[int, Speech]
    zone: tzinfo
    notes: Counter[str] = field(default_factory=Counter)


def read_claim(value: Any, desk: Desk) -> AtomDraft | Fault:
    """Return the draft that one item of an answer makes, or why it makes none.

    What was mended on the way is counted in ``desk.notes``.
    """
    if isinstance(value, Mapping) and str(value.get("op", "add")).lower() not in {"add", "store", "create"}:
        return Fault.NOT_A_MEMORY
    try:
        item = Item.model_validate(value)
    except ValidationError as error:
        return Fault.NO_TEXT if any(place["loc"] == ("text",) for place in error.errors()) else Fault.NOT_A_MEMORY
    kind = _KINDS.get(item.kind.lower())
    if kind is None:
        return Fault.UNKNOWN_KIND
    cited = _cited(item, desk)
    if isinstance(cited, Fault):
        return cited
    if not is_grounded(item.text, cited, item.quote):
        return Fault.UNGROUNDED
    return _draft(item, kind, cited, desk)


def words_of(text: str) -> frozenset[str]:
    """Return the content words of *text* as they compare: search terms without short ASCII bits."""
    return frozenset(word for word in query_terms(text).words if len(word) > 2 or not word.isascii())


def is_grounded(text: str, cited: Sequence[Speech], quote: str = "") -> bool:
    """Say whether *text* has a word in common with what it cites, or quotes it.

    Texts in different scripts cannot be compared and are believed.
    """
    said = "\n".join(speech.text for speech in cited)
    if has_cjk(text) != has_cjk(said) or (quote and _folded(quote) in _folded(said)):
        return True
    mine = words_of(text)
    return (
        not mine or not mine.isdisjoint(words_of(said)) or bool(set(_DIGITS.findall(text)) & set(_DIGITS.findall(said)))
    )


def _cited(item: Item, desk: Desk) -> list[Speech] | Fault:
    """Return the messages that bear an item: a person's, and for what is about a person that person's alone."""
    found = _named(item, desk)
    if isinstance(found, Fault):
        return found
    if not any(speech.role == "user" for speech in found):
        return Fault.ASSISTANT_ALONE
    return _one_speaker(item, found, desk)


def _named(item: Item, desk: Desk) -> list[Speech] | Fault:
    """Look up the messages an item names; one that names none is given the only message it can mean."""
    by_id = {speech.record_id: speech for speech in desk.speeches.values()}
    found: dict[str, Speech] = {}
    for name in item.sources:
        speech = by_id.get(name) or desk.speeches.get(_number(name))
        if speech is not None:
            found[speech.record_id] = speech
    if found:
        if len(found) < len(set(item.sources)):
            desk.notes[Fault.SOURCE_DROPPED] += 1
        return list(found.values())
    if item.sources:
        return Fault.INVENTED_SOURCE
    people = {speech.record_id: speech for speech in desk.speeches.values() if speech.role == "user"}
    telling = [one for one in people.values() if len(people) == 1 or _tells(one, item)]
    return telling if len(telling) == 1 else Fault.NO_SOURCE


def _number(name: str) -> int:
    """Read 3, "[3]", "m3" or "#3"; anything else is nobody's number."""
    match = re.fullmatch(r"\[?(?:m|msg|message|id)?[ _#-]?(\d{1,6})\]?", name.strip(), re.IGNORECASE)
    return int(match[1]) if match else -1


def _tells(speech: Speech, item: Item) -> bool:
    return not words_of(item.text).isdisjoint(words_of(speech.text))


def _one_speaker(item: Item, cited: list[Speech], desk: Desk) -> list[Speech]:
    """Keep one person's words for a statement about that person: "I" is somebody else in another mouth."""
    people = [speech for speech in cited if speech.role == "user"]
    if not _is_personal(item, people) or len({speech.speaker for speech in people}) < 2:
        return cited
    mine = words_of(item.text)
    nearest = max(people, key=lambda speech: len(mine & words_of(speech.text)))
    desk.notes[Fault.SEVERAL_SPEAKERS] += 1
    return [speech for speech in cited if speech.role != "user" or speech.speaker == nearest.speaker]


def _is_personal(item: Item, people: Sequence[Speech]) -> bool:
    subject = item.subject.casefold()
    return subject in _USER or subject in {speech.speaker.casefold() for speech in people}


def _draft(item: Item, kind: Kind, cited: Sequence[Speech], desk: Desk) -> AtomDraft:
    people = [speech for speech in cited if speech.role == "user"]
    witness = max(people, key=lambda speech: speech.timestamp)
    sources = tuple(
        Source(record_id=speech.record_id, quote=quote_of(item, speech.text), timestamp=speech.timestamp)
        for speech in cited
    )
    draft = AtomDraft(
        kind=kind,
        text=" ".join(item.text.split()),
        sources=sources,
        priority=95 if item.priority < 0 else min(100, round(item.priority)),
        subject=_subject(item, people),
        attribute=_attribute(item, kind),
        speaker=people[0].speaker,
        role="user" if _testify(item, cited) else "assistant",
        corrects=item.changes,
        task_only=item.scope.casefold() in {"task", "session", "once"} and kind in _BOUND,
    )
    return _dated(draft, item, witness, desk)


def _subject(item: Item, people: Sequence[Speech]) -> str:
    name = " ".join(item.subject.split())
    if _is_personal(item, people):
        return "user"
    if len(name) > _NAME_CHARS or name == item.text:  # a sentence, where a name was asked for
        return "user" if _ABOUT_USER.match(item.text) else "project"
    return "assistant" if name.casefold() in _ASSISTANT else name


def _attribute(item: Item, kind: Kind) -> str:
    if kind in {Kind.INSTRUCTION, Kind.PREFERENCE} and names_reply_language(item.text):
        return "reply_language"
    return cut(" ".join(item.attribute.casefold().split()), _NAME_CHARS)


def _testify(item: Item, cited: Sequence[Speech]) -> bool:
    """Say whether the user says it: in words of their own, or by agreeing with the assistant afterwards."""
    told = [speech for speech in cited if speech.role != "user"]
    people = [speech for speech in cited if speech.role == "user"]
    if not told:
        return True
    asked = max(speech.timestamp for speech in told)
    if any(speech.timestamp >= asked and _AGREES.match(speech.text) for speech in people):
        return True
    mine = words_of(item.text)
    own = words_of("\n".join(speech.text for speech in people))
    return 3 * len(mine & own) >= len(mine) > 0


def quote_of(item: Item, said: str) -> str:
    """Return the words of *said* that carry an item: all of a short message, else the likeliest sentences."""
    return said.strip() if len(said) <= QUOTE_CHARS else cut(_telling(item, said), QUOTE_CHARS)


def _telling(item: Item, said: str) -> str:
    """Return the sentences that an item quotes, else the one that shares most words with it."""
    sentences = [match[0].strip() for match in _SENTENCE.finditer(said) if match[0].strip()] or [said]
    wanted = _folded(item.quote)
    holding = [one for one in sentences if wanted and (_folded(one) in wanted or wanted in _folded(one))]
    mine = words_of(item.text)
    return " ".join(holding or [max(sentences, key=lambda one: len(mine & words_of(one)))])


def _folded(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .。!！\"'“”")


def _dated(draft: AtomDraft, item: Item, witness: Speech, desk: Desk) -> AtomDraft:
    """Pin relative dates in the text to the day they were said, and check what the model made of them."""
    at, zone = witness.timestamp, desk.zone
    said = _telling(item, witness.text)
    claimed = read_interval(item.start, item.end, zone)
    forward = claimed is not None and claimed[0] > at
    is_event = draft.kind is Kind.EVENT
    text = pin(draft.text, resolve(draft.text, at, zone, forward=forward), bare=is_event)
    ends = expiry(said, at, zone) if draft.kind in _BOUND else None
    until = read_interval(item.until, "", zone)
    if ends is None and until is not None and until[1] > at:
        ends = until[1]
    dated = replace(draft, text=text, expires_at=ends)
    if not is_event:
        return dated
    told = [span for way in (forward, not forward) for span in resolve(said, at, zone, forward=way)]
    happened = _happened(claimed, told, witness)
    if claimed is not None and happened != claimed:
        desk.notes[Fault.DATE_MENDED] += 1
    return dated if happened is None else replace(dated, occurred_start=happened[0], occurred_end=happened[1] - 1)


def _happened(claimed: tuple[int, int] | None, told: Sequence[Span], witness: Speech) -> tuple[int, int] | None:
    """Return when an event took place: what the model says if the words allow it, else what the words say."""
    if claimed is not None and any(span.start_ms < claimed[1] and claimed[0] < span.end_ms for span in told):
        return claimed
    if told:
        return told[0].start_ms, told[0].end_ms
    near = claimed is not None and abs(claimed[0] - witness.timestamp) <= _YEAR_MS
    return claimed if near else None


def read_interval(start: str, end: str, zone: tzinfo) -> tuple[int, int] | None:
    """Read ISO dates or times as a half-open range of epoch milliseconds; None for what is neither."""
    first = _read_moment(start, zone)
    if first is None:
        return None
    last = _read_moment(end, zone)
    return first[0], max(first[1], last[1] if last is not None else first[1])


def _read_moment(text: str, zone: tzinfo) -> tuple[int, int] | None:
    match = re.fullmatch(r"\s*(\d{4})-(\d{1,2})(?:-(\d{1,2})(?:[T ](\d{1,2}:\d\d.*))?)?\s*", text)
    if match is None:
        return None
    try:
        if match[4]:
            moment = datetime.fromisoformat(text.strip().replace(" ", "T", 1))
            here = moment if moment.tzinfo else moment.replace(tzinfo=zone)
            ms = int(here.astimezone(UTC).timestamp() * 1000)
            return ms, ms + 60_000
        first = date(int(match[1]), int(match[2]), int(match[3] or 1))
        after = first + timedelta(days=1) if match[3] else (first + timedelta(days=31)).replace(day=1)
        return _midnight(first, zone), _midnight(after, zone)
    except (ValueError, OverflowError):
        return None


def _midnight(day: date, zone: tzinfo) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC).timestamp() * 1000)
