"""What speaks for a line of the persona: the user's own statements, put together by what they are about."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from stenolith.distill.topics import told_at, topic_terms
from stenolith.distill.traits import PREFERENCES, STANDING, WORKING, traits_of
from stenolith.model.atom import Atom, AtomStatus, Kind
from stenolith.model.provenance import ProvenanceKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """How much evidence a line needs.

    A trait needs *atoms* statements from *scenes* scenes on *days* days (the seed: "long repeated, from
    several scenes"); a standing instruction needs one.  *speakers* are the names under which the user
    speaks.  At most *max_new* traits begin to stand in one revision, so that one long import does not
    turn the portrait over; at most *max_candidates* candidates are kept.
    """

    atoms: int = 3
    scenes: int = 2
    days: int = 3
    speakers: frozenset[str] = frozenset({"", "user"})
    max_new: int = 3
    max_candidates: int = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Statements about one thing, oldest first; *key* names it and stays when statements are added."""

    key: str
    section: str
    atoms: tuple[Atom, ...]


_KINDS: Final = frozenset({Kind.PREFERENCE, Kind.CONSTRAINT, Kind.DECISION, Kind.INSTRUCTION, Kind.LESSON})
_MACHINES: Final = frozenset({ProvenanceKind.INTER_SESSION.value, ProvenanceKind.INTERNAL_SYSTEM.value})
_DISTRUSTED: Final = frozenset({"instruction", "exfiltration", "role", "task_only"})
_SHARED_WORDS: Final = 2
_SHARED_PART: Final = 0.5


def collect(atoms: Sequence[Atom], gate: Gate) -> list[Evidence]:
    """Return the evidence for every possible line: traits, repeated wishes, standing instructions."""
    own = sorted((atom for atom in atoms if _is_own(atom, gate)), key=lambda atom: (told_at(atom), atom.id))
    return [*_traits(own), *_repeated(own), *_standing(own)]


def is_standing(atom: Atom) -> bool:
    """Say whether one clear statement is enough: an order for all time, or the language of answers."""
    return atom.kind is Kind.INSTRUCTION or atom.attribute == "reply_language"


def _is_own(atom: Atom, gate: Gate) -> bool:
    """Say whether the user said this, in person and for good."""
    said = atom.subject.casefold() == "user" and atom.role == "user" and atom.speaker in gate.speakers
    flags = atom.provenance.get("flags") or ()
    trusted = atom.provenance.get("kind") not in _MACHINES and _DISTRUSTED.isdisjoint(flags)
    lasting = atom.status is AtomStatus.ACTIVE and atom.expires_at is None and not atom.task_only
    return said and trusted and lasting and atom.kind in _KINDS


def _traits(own: Sequence[Atom]) -> Iterator[Evidence]:
    found: dict[tuple[str, str], list[Atom]] = defaultdict(list)
    for atom in own:
        for trait in traits_of(atom.text):
            found[trait.key, trait.section].append(atom)
    for (key, section), mine in found.items():
        if not all(map(is_standing, mine)):
            yield Evidence(key=f"trait {key}", section=section, atoms=tuple(mine))


def _repeated(own: Sequence[Atom]) -> Iterator[Evidence]:
    """Put statements together that no row of traits knows: same property, or enough words in common."""
    piles: list[tuple[set[str], list[Atom]]] = []
    for atom in own:
        if is_standing(atom) or traits_of(atom.text):
            continue
        words = set(topic_terms(atom.text))
        home = next((pile for pile in piles if _alike(atom, words, pile)), None)
        if home is None:
            piles.append((words, [atom]))
        else:
            home[0].intersection_update(words)
            home[1].append(atom)
    for _words, mine in piles:
        section = PREFERENCES if any(atom.kind is Kind.PREFERENCE for atom in mine) else WORKING
        yield Evidence(key=f"wish {mine[0].root_id}", section=section, atoms=tuple(mine))


def _alike(atom: Atom, words: set[str], pile: tuple[set[str], list[Atom]]) -> bool:
    if atom.attribute and atom.attribute == pile[1][0].attribute:
        return True
    shared = len(words & pile[0])
    return shared >= _SHARED_WORDS and shared >= _SHARED_PART * min(len(words), len(pile[0]))


def _standing(own: Sequence[Atom]) -> Iterator[Evidence]:
    """Give each order its line; a newer one about the same property, or in the same words, takes over."""
    found: dict[str, list[Atom]] = defaultdict(list)
    for atom in own:
        if is_standing(atom):
            slot = atom.attribute or re.sub(r"[\W_]+", "", atom.text).casefold()
            found[slot].append(atom)
    for slot, mine in found.items():
        latest = mine[-1:] if mine[-1].attribute else mine
        yield Evidence(key=f"order {slot}", section=STANDING, atoms=tuple(latest))
