"""What becomes of a draft beside what is known: pure decisions, no storage.

The past is not rewritten: a newer value *supersedes* the older atom, which stays as history with
the reason.  A statement that is older than the value it contradicts is *skipped*, not stored as
already superseded: its words stay in the records, and the order of imports cannot change what holds.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from stenolith.distill.relations import related, same_speaker, same_subject
from stenolith.model.atom import Atom, AtomDraft, AtomStatus, Kind
from stenolith.model.text import query_terms

Action = Literal["add", "add_source", "supersede", "skip"]

_SINGLE: Final = frozenset({Kind.FACT, Kind.PREFERENCE, Kind.CONSTRAINT, Kind.DECISION, Kind.INSTRUCTION})
_SEVERAL: Final = frozenset({"language", "cloud", "browser", "operating system", "chat app", "notes app", "who"})
"""Properties of which several values hold at once: only what says "no longer" or "instead" replaces one."""
_RETOLD: Final = 0.6
"""Share of the shorter text's terms that two tellings of one claim have in common; our own choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to do with one draft.

    *target* is the atom that gains a source or is superseded; ``#2`` means the atom that the third
    decision of the same list creates.  *reason* is a sentence for the history.
    """

    action: Action
    draft: AtomDraft
    target: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """A claim to compare with: a stored atom, or a draft of the same batch."""

    id: str
    kind: Kind
    form: str
    text: str
    subject: str
    attribute: str
    speaker: str
    active: bool
    since: int | None
    occurred: int | None
    ends: int | None
    records: frozenset[str]


def normal_form(text: str) -> str:
    """Return the form in which two tellings of the same words are equal.

    Compatibility forms and case are folded, blanks beside Chinese characters and punctuation at the
    ends are dropped, other blanks become one.  Text of punctuation alone keeps it.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    spaced = " ".join(_CJK_GAP.sub("", " ".join(folded.split())).split())
    return _ENDS.sub("", spaced) or spaced


def reconcile(drafts: Sequence[AtomDraft], candidates: Sequence[Atom]) -> list[Decision]:
    """Decide what happens to each draft, in order, given the atoms it may touch.

    *candidates* may be in any status and need not be complete in anything but: atoms with the same
    normal form, atoms with the same subject and attribute, atoms that cite the same records; for a
    draft that corrects something, atoms with words of it.
    Applied in order the decisions also settle drafts among themselves.
    """
    known = [_of_atom(atom) for atom in candidates]
    decisions: list[Decision] = []
    for index, draft in enumerate(drafts):
        decision = _decide(draft, known)
        decisions.append(decision)
        if decision.action == "supersede":
            known = [replace(one, active=False) if one.id == decision.target else one for one in known]
        if decision.action in {"add", "supersede"}:
            known.append(_of_draft(draft, f"#{index}"))
    return decisions


def _decide(draft: AtomDraft, known: Sequence[_Known]) -> Decision:
    new = _of_draft(draft, "")
    same = [one for one in known if one.form == new.form and same_speaker(one, new) and _same_period(one, new)]
    retired = [one for one in same if not one.active and one.records & new.records]
    active = [one for one in same if one.active]
    if retired and not active:
        return Decision(
            action="skip", draft=draft, reason="the same words were drawn from this record before and retired"
        )
    if active:
        return _repeat(draft, active[0], new)
    if any(_retold(one, new) for one in known):
        return Decision(action="skip", draft=draft, reason="this record already told the same in other words")
    rivals = [one for one in known if one.active and _contradicts(new, one, corrects=draft.corrects)]
    rivals = rivals or (_corrected(new, known) if draft.corrects else [])
    if not rivals:
        return Decision(action="add", draft=draft, reason="new")
    newest = max(rivals, key=lambda one: one.since or 0)
    if new.since is not None and newest.since is not None and new.since < newest.since:
        return Decision(action="skip", draft=draft, target=newest.id, reason="older than what is known")
    why = "the speaker corrected it" if draft.corrects else f"a newer value of {new.subject} / {new.attribute}"
    return Decision(
        action="supersede", draft=draft, target=newest.id, reason=f"{why} ({', '.join(sorted(new.records))})"
    )


def _repeat(draft: AtomDraft, one: _Known, new: _Known) -> Decision:
    if new.records <= one.records:
        return Decision(action="skip", draft=draft, target=one.id, reason="already known from this record")
    return Decision(action="add_source", draft=draft, target=one.id, reason="said again")


def _contradicts(new: _Known, old: _Known, *, corrects: bool) -> bool:
    """Say whether only one of two claims can hold: the same property of the same subject."""
    if new.kind not in _SINGLE or old.kind not in _SINGLE or not _same_property(new, old):
        return False
    if new.ends is not None and old.ends is None:
        return False  # a rule for this week does not end a lasting one
    several = new.attribute in _SEVERAL or new.kind is old.kind is Kind.CONSTRAINT
    return corrects or not several  # two limits on one thing both hold until somebody says that one does not


def _corrected(new: _Known, known: Sequence[_Known]) -> list[_Known]:
    """Return the one claim that a correction can mean by its words; of several nobody knows which is meant."""
    found = [
        old
        for old in known
        if old.active
        and {old.kind, new.kind} <= _SINGLE
        and not old.records & new.records
        and (new.ends is None or old.ends is not None)
        and same_subject(new, old)
        and related(new, old)
    ]
    return found if len(found) == 1 else []


def _same_property(one: _Known, other: _Known) -> bool:
    same = one.attribute and one.attribute.casefold() == other.attribute.casefold()
    return bool(same) and same_subject(one, other)


def _same_period(one: _Known, other: _Known) -> bool:
    return one.kind is not Kind.EVENT or other.kind is not Kind.EVENT or one.occurred == other.occurred


def _retold(old: _Known, new: _Known) -> bool:
    """Say whether a record is being distilled again with a slightly different result."""
    if old.id.startswith("#") or old.kind is not new.kind or not new.records or not new.records <= old.records:
        return False
    return (old.subject, old.attribute) == (new.subject, new.attribute) and _share(old.text, new.text) >= _RETOLD


def conflicts(new: AtomDraft, candidates: Sequence[Atom]) -> list[str]:
    """Return the ids of active atoms that make the same claim as *new*, or one about the same thing.

    They share subject and attribute, or an identifier such as "R7", or most of their words (three
    terms at least) while nothing else tells their subjects apart.  Events are history and never
    conflict.  The caller marks them; being named here proves nothing.
    """
    mine = _of_draft(new, "")
    return [atom.id for atom in candidates if _clashes(mine, _of_atom(atom))]


def _clashes(new: _Known, old: _Known) -> bool:
    if not old.active or old.kind is Kind.EVENT or not same_speaker(new, old):
        return False
    if _same_property(new, old) or _keys(new.text) & _keys(old.text):
        return True
    told_apart = new.attribute and old.attribute and new.attribute != old.attribute
    shared = len(_terms(new.text) & _terms(old.text))
    return not told_apart and shared >= 3 and _share(new.text, old.text) >= _RETOLD


def _keys(text: str) -> set[str]:
    """Return the identifiers in *text*: a letter first, digits after, and no name that everybody uses ("v3", "S3")."""
    found = (word.casefold() for word in _KEY.findall(unicodedata.normalize("NFKC", text)))
    return {word for word in found if _EVERYDAY.fullmatch(word) is None}


def _terms(text: str) -> frozenset[str]:
    # "5pm" also gives 5 and pm: such bits would count one agreement three times.
    return frozenset(word for word in query_terms(text).words if len(word) > 2 or not word.isascii())


def _share(one: str, other: str) -> float:
    mine, theirs = _terms(one), _terms(other)
    return len(mine & theirs) / max(1, min(len(mine), len(theirs)))


def _of_atom(atom: Atom) -> _Known:
    return _Known(
        id=atom.id,
        kind=atom.kind,
        form=normal_form(atom.text),
        text=atom.text,
        subject=atom.subject,
        attribute=atom.attribute,
        speaker=atom.speaker,
        active=atom.status is AtomStatus.ACTIVE,
        since=atom.valid_from,
        occurred=atom.occurred_start,
        ends=atom.expires_at,
        records=frozenset(source.record_id for source in atom.sources),
    )


def _of_draft(draft: AtomDraft, name: str) -> _Known:
    times = [source.timestamp for source in draft.sources if source.timestamp is not None]
    return _Known(
        id=name,
        kind=draft.kind,
        form=normal_form(draft.text),
        text=draft.text,
        subject=draft.subject,
        attribute=draft.attribute,
        speaker=draft.speaker,
        active=True,
        since=max(times, default=None),
        occurred=draft.occurred_start,
        ends=draft.expires_at,
        records=frozenset(source.record_id for source in draft.sources),
    )


_CJK: Final = "\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_CJK_GAP: Final = re.compile(rf"(?<=[{_CJK}]) | (?=[{_CJK}])|(?<=[{_CJK}][,:;!?]) ")
_ENDS: Final = re.compile(r"^[\s\"'“”‘’「」《》.,;:!?。、…~-]+|[\s\"'“”‘’「」《》.,;:!?。、…~]+$")
_KEY: Final = re.compile(
    r"(?<![A-Za-z\d_.-])(?!v\d)[A-Za-z]+-?\d[A-Za-z\d]*(?:-[A-Za-z\d]+)*(?![A-Za-z\d_-])", re.IGNORECASE
)
_EVERYDAY: Final = re.compile(
    r"s3|ec2|k[83]s|utf-?(?:8|16)|ipv[46]|[xm]\d\d?|h26[45]|mp[34]|md5|sha-?(?:1|256)|http[23]|oauth2|es6|py(?:thon)?3|web3|"
    r"b2[bc]|p[59][05]|p99|q[1-4]|i18n|l10n|a11y|log4j|base64|u?int\d+|a[rm][md]64|win1[01]|ie11|vue3|react1\d|gpt-?\d|"
    r"covid-19|uuidv[47]"
)
