"""The gate of curated memory: redact, scan, then admit a draft or refuse it with a stable reason."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from stenolith.curate.secrets import redact
from stenolith.curate.threats import scan, visible
from stenolith.model.atom import AtomDraft, Kind
from stenolith.model.provenance import ProvenanceKind

__all__ = ["AdmissionSettings", "Admitted", "Reason", "Refusal", "admit", "scan"]


class Reason(StrEnum):
    """Why a draft was refused; the words are stable and appear in reports."""

    EMPTY = "empty"
    TOO_LONG = "too_long"
    NO_SOURCE = "no_source"
    NOTHING_ELSE = "only_secret"
    SMALL_TALK = "small_talk"
    ASSISTANT_CLAIM = "assistant_claim"
    MACHINE_CLAIM = "machine_claim"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionSettings:
    """How strict the gate is.

    *redact_secrets* off is a decision of the operator, never a default.  *max_chars* bounds an atom's
    text.  *task_ttl_ms* is how long a task-bound atom lives after its last source.
    """

    redact_secrets: bool = True
    max_chars: int = 2_000
    task_ttl_ms: int = 7 * 24 * 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """A draft that may be stored; *flags* also ride in ``draft.provenance["flags"]``."""

    draft: AtomDraft
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A draft that must not be stored, and why."""

    reason: Reason


_MARK: Final = re.compile(r"\[REDACTED:\w+\]")
_SECRET_WORDS: Final = re.compile(
    r"\b(?:the|my|a|an|our|is|are|was|user'?s?|use|this|with|and|password|passwd|token|secret|api|access|private|key|bearer"
    r"|authorization|header|credential)s?\b|密码|口令|密钥|令牌|用户|我的|是|为|的|请|用",
    re.IGNORECASE,
)
_COURTESY: Final = (
    r"h(?:i|ello|ey)|good (?:morning|evening|night)|thanks?(?: you| a lot| so much)?|thx|ok(?:ay)?|sure|great|nice"
    r"|cool|perfect|got it|bye|see you|well done|no problem|you(?:'re| are) welcome|how are you|yes|no|please"
    r"|haha+|lol|你好呀?|您好|嗨|早上?好?|晚上好|晚安|谢谢(?:你|您|啦|了)?|多谢|感谢|辛苦了?|好的?呀?|嗯+|哦+|收到|明白了?"
    r"|知道了|可以的?|没问题|再见|拜拜|哈+|不客气|是的?|对的?|行|不错|赞|在吗"
)
_SMALL_TALK: Final = re.compile(rf"(?:(?:{_COURTESY})(?:[\W_]+|$|(?=[\u4e00-\u9fff])))+", re.IGNORECASE)
_REPORTED: Final = re.compile(
    r"(?:the )?user (?:said|says) (?:hi|hello|thanks|thank you|goodbye|bye|ok)\.?"
    r"|(?:the )?user (?:greets|greeted|thanked|thanks)\b.{0,20}"
    r"|用户(?:打招呼|问好|表示感谢|道谢|说你好|说谢谢|告别)。?",
    re.IGNORECASE,
)
_ONE_OFF: Final = re.compile(
    r"\b(?:for|in|on) (?:this|the current) (?:report|task|one|time|answer|reply|message|file|pr|change|ticket"
    r"|session|job)\b(?: only)?|\b(?:just|only) (?:this (?:once|time)|for (?:now|today))\b|\bthis (?:time|once)\b"
    r"|这一?次|本次|这回|今天先|只在(?:这个|本)(?:任务|报告|回答)|(?:这个|这份|本)(?:任务|报告|回答|文件)(?:里|中)?(?:只|仅)",
    re.IGNORECASE,
)
_STANDING: Final = re.compile(
    r"\b(?:from now on|always|never|every time|in general|by default|going forward)\b"
    r"|以后|从现在起|从今往后|今后|始终|永远|每次|一律|默认|总是",
    re.IGNORECASE,
)
_BINDABLE: Final = frozenset({Kind.PREFERENCE, Kind.INSTRUCTION, Kind.CONSTRAINT})
_MACHINES: Final = frozenset({ProvenanceKind.INTER_SESSION.value, ProvenanceKind.INTERNAL_SYSTEM.value})


def admit(draft: AtomDraft, *, settings: AdmissionSettings) -> Admitted | Refusal:
    """Return the draft as it may be stored, or why it may not.

    Text, quotes, subject, attribute and speaker lose their secrets and invisible characters.  What only
    the assistant or another agent said is never a fact about the user.  A wish for one task is bound to
    it: it gets *task_only* and an expiry, so that it cannot become a standing rule.
    """
    clean, found = _cleaned(draft, settings)
    reason = _refusal(clean, settings)
    if reason is not None:
        return Refusal(reason=reason)
    bound = _bound(clean, settings)
    flags = {*scan(draft.text), *(["redacted"] if found else []), *(["task_only"] if bound.task_only else [])}
    named = tuple(sorted(flags))
    if named:
        bound = replace(bound, provenance={**(bound.provenance or {}), "flags": list(named)})
    return Admitted(draft=bound, flags=named)


def _cleaned(draft: AtomDraft, settings: AdmissionSettings) -> tuple[AtomDraft, bool]:
    found = False

    def clean(text: str) -> str:
        nonlocal found
        if not settings.redact_secrets:
            return text
        result = redact(text)
        found = found or bool(result.found)
        return result.text

    sources = tuple(replace(source, quote=clean(source.quote)) for source in draft.sources)
    text, subject = clean(visible(draft.text)), clean(visible(draft.subject))
    attribute, speaker = clean(visible(draft.attribute)), clean(visible(draft.speaker))
    bare = replace(draft, text=text, subject=subject, attribute=attribute, speaker=speaker, sources=sources)
    return bare, found


def _refusal(draft: AtomDraft, settings: AdmissionSettings) -> Reason | None:
    if not re.search(r"\w", _MARK.sub("x", draft.text)):
        return Reason.EMPTY
    if len(draft.text) > settings.max_chars:
        return Reason.TOO_LONG
    if not any(source.record_id for source in draft.sources):
        return Reason.NO_SOURCE
    if _MARK.search(draft.text) and not re.search(r"\w", _SECRET_WORDS.sub("", _MARK.sub("", draft.text))):
        return Reason.NOTHING_ELSE
    if _SMALL_TALK.fullmatch(draft.text.strip()) or _REPORTED.fullmatch(draft.text.strip()):
        return Reason.SMALL_TALK
    return _false_witness(draft)


def _false_witness(draft: AtomDraft) -> Reason | None:
    """Name the reason when somebody else than the user testifies about the user."""
    if draft.subject.casefold() != "user":
        return None
    if draft.role != "user":
        return Reason.ASSISTANT_CLAIM
    kind = (draft.provenance or {}).get("kind")
    return Reason.MACHINE_CLAIM if kind in _MACHINES else None


def _bound(draft: AtomDraft, settings: AdmissionSettings) -> AtomDraft:
    said = " ".join([draft.text, *(source.quote for source in draft.sources)])
    one_off = draft.kind in _BINDABLE and _ONE_OFF.search(said) is not None and not _STANDING.search(said)
    if not (draft.task_only or one_off):
        return draft
    times = [source.timestamp for source in draft.sources if source.timestamp is not None]
    expiry = draft.expires_at
    if expiry is None and times:
        expiry = max(times) + settings.task_ttl_ms
    return replace(draft, task_only=True, expires_at=expiry)
