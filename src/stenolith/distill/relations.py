"""When two claims can be about one thing: whose they are, of what property, and in which words."""

from __future__ import annotations

from typing import Protocol

from stenolith.distill.claims import words_of
from stenolith.model.atom import Atom, AtomDraft
from stenolith.model.text import has_cjk, terms


class Claim(Protocol):
    """What an atom and a draft have in common."""

    @property
    def text(self) -> str:
        """The sentence."""

    @property
    def subject(self) -> str:
        """Whom or what it is about."""

    @property
    def attribute(self) -> str:
        """Which property, or empty."""

    @property
    def speaker(self) -> str:
        """Who said it, where several speak."""


def same_subject(one: Claim, other: Claim) -> bool:
    """Say whether two claims are about the same; "I" is somebody else when another speaker says it."""
    if one.subject.casefold() != other.subject.casefold():
        return False
    personal = one.subject.casefold() == "user" or one.subject.casefold().startswith("user's ")
    return not personal or not one.speaker or not other.speaker or one.speaker == other.speaker


def same_property(one: Claim, other: Claim) -> bool:
    """Say whether two claims about the same subject name one property, in any words for it."""
    mine, theirs = set(terms(one.attribute)), set(terms(other.attribute))
    return bool(mine) and bool(theirs) and (mine <= theirs or theirs <= mine)


def related(one: Claim, other: Claim) -> bool:
    """Say whether a contradiction between two claims can be one: the same property, else the same thing in words.

    Where both name a property and not the same, they do not contradict each other.
    """
    if one.attribute and other.attribute:
        return same_property(one, other)
    if has_cjk(one.text) != has_cjk(other.text):
        return True
    mine, theirs = words_of(one.text), words_of(other.text)
    return 3 * len(mine & theirs) >= min(len(mine), len(theirs)) > 0


def older(draft: AtomDraft, atom: Atom) -> bool:
    """Say whether *draft* was said before *atom* began to hold."""
    times = [source.timestamp for source in draft.sources if source.timestamp is not None]
    return bool(times) and max(times) < atom.valid_from
