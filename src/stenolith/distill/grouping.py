"""Which atoms belong together: by subject and topic words, then vectors, session and time.

An atom that already stands in a scene stays there, so regrouping changes nothing and names live long.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from stenolith.distill.handwriting import is_by_hand
from stenolith.distill.titles import PERSONAL_TITLES, slug
from stenolith.distill.topics import Corpus, is_named, told_at
from stenolith.model.atom import Atom, Kind
from stenolith.model.scene import Scene

Vector = npt.NDArray[np.float64]

JOIN: Final = 0.16
"""Least likeness at which an atom joins a scene. A note sharing only the main word of a ten-note scene gets
0.2, one sharing a chance word less than 0.05 (measured on the demo's conversations)."""
_SESSION: Final = 0.06
_CHANNEL: Final = 0.05
_TIME: Final = 0.03
_TIME_MS: Final = 14 * 24 * 3_600_000
_NEAR_MS: Final = 6 * 3_600_000  # a conversation is about one thing for some hours, not for ever
_CHANNEL_MS: Final = 7 * 24 * 3_600_000  # the project of a channel, for notes that name none
_VECTOR: Final = 0.35
_ENOUGH_VECTORS: Final = 8  # the mean of fewer vectors says nothing about what all have in common
_GENERAL_NAMES: Final = frozenset(slug(title, ()) for title in PERSONAL_TITLES)  # a person may change the title
_SPLIT_AT: Final = 3
_SUBJECT_SPLIT_AT: Final = 10

_LIFE: Final = re.compile(
    r"\b(?:eat|drink|allerg\w+|breakfast|lunch|dinner|marathon|gym|yoga|jogging|went for a run|trip|holiday|vacation"
    r"|flight|hotel|wife|husband|daughter|son|kids?|parents|birthday|doctor|dentist|cats?|dogs?|coffee|vegetarian"
    r"|rent|live in|moved to|weekends?|piano|guitar|hik(?:e|ing)|swim\w*)\b"
    r"|[吃喝猫狗牙]|过敏|跑步|半马|马拉松|健身|游泳|徒步|旅行|旅游|度假|机票|酒店|老婆|老公|妻子|丈夫|女儿|儿子|孩子|父母"
    r"|爸爸|妈妈|生日|医生|体检|咖啡|素食|房租|搬家|住在|老家|周末|钢琴|吉他",
    re.IGNORECASE,
)


@dataclass(slots=True, kw_only=True)
class Pile:
    """Atoms on their way to be a scene; *scene* is the stored one that they continue.

    *into* is the pile that took all its atoms in a merge, *general* marks the one pile for what belongs to no
    topic, *square* is the squared norm of *weights*.
    """

    scene: Scene | None = None
    into: Pile | None = None
    general: bool = False
    atoms: list[Atom] = field(default_factory=list)
    weights: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    square: float = 0.0
    sessions: set[str] = field(default_factory=set)
    channels: set[str] = field(default_factory=set)
    vector: Vector | None = None
    last: int = 0
    life: int = 0

    def is_personal(self) -> bool:
        """Say whether this is about somebody's life rather than about a project."""
        return self.general or 2 * self.life > len(self.atoms)

    def subject(self) -> str:
        """Return the named subject of at least half of the atoms, or nothing."""
        named = Counter(atom.subject.casefold() for atom in self.atoms if is_named(atom))
        top = sorted(named.items(), key=lambda item: (-item[1], item[0]))[:1]
        return top[0][0] if top and 2 * top[0][1] >= len(self.atoms) else ""


def is_general(scene: Scene) -> bool:
    """Say whether a scene is the one for what belongs to no topic, whatever a person calls it."""
    return scene.name in _GENERAL_NAMES


def _session_of(atom: Atom) -> str:
    return atom.session_id or atom.session_key


def _is_life(atom: Atom) -> bool:
    """Say whether an atom is about the speaker's life: facts about the speaker, words of everyday life."""
    if is_named(atom):
        return False
    about_user = atom.subject.casefold().startswith("user")
    lasting = atom.kind is Kind.FACT or atom.attribute == "reply_language"
    return (about_user and lasting) or _LIFE.search(atom.text) is not None


def _is_work(atom: Atom) -> bool:
    """Say whether an atom is about a project even when it names none."""
    return is_named(atom) or not (atom.subject.casefold().startswith("user") or _is_life(atom))


def _centred(vectors: Mapping[str, Sequence[float]]) -> dict[str, Vector]:
    """Return unit vectors without what all have in common; sentence embedders need that to tell texts apart."""
    if len(vectors) < _ENOUGH_VECTORS:
        return {}
    matrix = np.array([vectors[key] for key in sorted(vectors)], dtype=np.float64)
    matrix -= matrix.mean(axis=0)
    norms = np.linalg.norm(matrix, axis=1)
    return {key: row / norm for key, row, norm in zip(sorted(vectors), matrix, norms, strict=True) if norm > 0}


class Grouping:
    """Places atoms one after the other; what was placed before decides where the next one goes."""

    def __init__(self, corpus: Corpus, vectors: Mapping[str, Sequence[float]] | None) -> None:
        self.piles: list[Pile] = []
        self._corpus = corpus
        self._vectors = _centred(vectors or {})
        self._by_word: dict[str, list[Pile]] = defaultdict(list)
        self._by_root: dict[str, Pile] = {}
        self._by_session: dict[str, tuple[Pile, int]] = {}
        self._by_channel: dict[str, tuple[Pile, int]] = {}

    def resume(self, scene: Scene, members: Iterable[Atom], past: Iterable[Atom]) -> None:
        """Continue a stored scene with its living *members*; successors of *past* ones will join it."""
        pile = Pile(scene=scene, general=is_general(scene))
        self.piles.append(pile)
        for atom in past:
            self._by_root.setdefault(atom.root_id, pile)
        for atom in sorted(members, key=_order):
            self._add(pile, atom)

    def place(self, atoms: Iterable[Atom]) -> None:
        """Find a pile for every atom, oldest first."""
        waiting = [atom for atom in sorted(atoms, key=_order) if not self._settle(atom)]
        for atom in waiting:  # wishes said before or without any word about a project
            self._add(self._session_pile(atom) or self._personal_pile(), atom)

    def tidy(self, max_lines: int, shaped: Container[str] = ()) -> None:
        """Split what grew apart and merge what has the same subject; doing it again changes nothing.

        Scenes whose ids are *shaped* keep the bounds that a person or a model gave them.
        """
        for pile in list(self.piles):
            self._split_by_word(pile)
            self._split_by_subject(pile, max_lines)
        by_subject: dict[str, Pile] = {}
        for pile in list(self.piles):
            subject = "" if pile.scene is not None and pile.scene.id in shaped else pile.subject()
            older = by_subject.setdefault(subject, pile) if subject else pile
            if older is not pile:
                self._move(pile, pile.atoms, older)
                pile.into = older

    def _settle(self, atom: Atom) -> bool:
        pile = self._by_root.get(atom.root_id) or self._likeliest(atom)
        if pile is None:
            pile = self._personal_pile() if _is_life(atom) else self._session_pile(atom)
        if pile is None and not self._corpus.names[atom.id] and _is_work(atom):
            pile = self._last_pile(self._by_channel, atom.session_key, atom, _CHANNEL_MS)
        if pile is None and _is_work(atom):
            pile = Pile()
            self.piles.append(pile)
        if pile is not None:
            self._add(pile, atom)
        return pile is not None

    def _likeliest(self, atom: Atom) -> Pile | None:
        words = self._corpus.weights(atom.id)
        near = {id(pile): pile for word in words for pile in self._by_word.get(word, ())}
        if atom.id in self._vectors:
            near |= {id(pile): pile for pile in self.piles if pile.vector is not None}
        life = _is_life(atom)
        ranked = [(self._likeness(atom, words, pile), pile) for pile in self.piles if id(pile) in near]
        ranked = [item for item in ranked if item[0] >= JOIN and item[1].is_personal() == life]
        return max(ranked, key=lambda item: item[0])[1] if ranked else None

    def _likeness(self, atom: Atom, words: Mapping[str, float], pile: Pile) -> float:
        shared = sum(weight * pile.weights.get(word, 0.0) for word, weight in words.items())
        norms = math.sqrt(sum(weight * weight for weight in words.values()) * pile.square)
        topic = shared / norms if norms else 0.0
        vector = self._vectors.get(atom.id)
        if vector is not None and pile.vector is not None:
            topic += _VECTOR * max(0.0, float(vector @ pile.vector) / float(np.linalg.norm(pile.vector) or 1.0))
        if topic <= 0:  # nearness alone joins nothing
            return 0.0
        gap = abs(told_at(atom) - pile.last)
        near = _TIME * math.exp(-gap / _TIME_MS)
        near += _SESSION if _session_of(atom) in pile.sessions else 0.0
        return topic + near + (_CHANNEL if atom.session_key in pile.channels else 0.0)

    def _session_pile(self, atom: Atom) -> Pile | None:
        """Return the project that the same conversation was about within the last hours."""
        return self._last_pile(self._by_session, _session_of(atom), atom, _NEAR_MS)

    def _last_pile(
        self, by_place: Mapping[str, tuple[Pile, int]], place: str, atom: Atom, within_ms: int
    ) -> Pile | None:
        pile, when = by_place.get(place, (None, 0))
        if pile is None or not place or abs(told_at(atom) - when) > within_ms or pile.is_personal():
            return None
        return pile

    def _personal_pile(self) -> Pile:
        for pile in self.piles:
            if pile.general:
                return pile
        self.piles.append(Pile(general=True))
        return self.piles[-1]

    def _add(self, pile: Pile, atom: Atom) -> None:
        pile.atoms.append(atom)
        pile.sessions.add(_session_of(atom))
        pile.channels.add(atom.session_key)
        pile.last = max(pile.last, told_at(atom))
        for word, weight in self._corpus.weights(atom.id).items():
            if word not in pile.weights:
                self._by_word[word].append(pile)
            before = pile.weights[word]
            pile.weights[word] = before + weight
            pile.square += (before + weight) ** 2 - before**2
        vector = self._vectors.get(atom.id)
        if vector is not None:
            pile.vector = vector if pile.vector is None else pile.vector + vector
        self._by_root[atom.root_id] = pile
        if _is_life(atom):
            pile.life += 1
        else:
            self._by_session[_session_of(atom)] = self._by_channel[atom.session_key] = (pile, told_at(atom))

    def _split_by_word(self, pile: Pile) -> None:
        """Take out of the general pile what at least three of its notes have in common."""
        while pile.general:
            movable = [atom for atom in pile.atoms if not is_by_hand(atom)]
            counts = Counter(word for atom in movable for word in self._corpus.words[atom.id])
            often = [(-count, word) for word, count in counts.items() if count >= _SPLIT_AT]
            if not often:
                return
            word = min(often)[1]
            self._move_out(pile, [atom for atom in movable if word in self._corpus.words[atom.id]])

    def _split_by_subject(self, pile: Pile, max_lines: int) -> None:
        """Give a subject that fills much of an overlong scene a scene of its own."""
        while len(pile.atoms) > max_lines:
            movable = [atom for atom in pile.atoms if not is_by_hand(atom)]
            counts = Counter(atom.subject.casefold() for atom in movable if is_named(atom))
            ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[1:2]
            if not ranked or ranked[0][1] < _SUBJECT_SPLIT_AT:
                return
            self._move_out(pile, [atom for atom in movable if atom.subject.casefold() == ranked[0][0]])

    def _move_out(self, source: Pile, atoms: Sequence[Atom]) -> None:
        self.piles.append(Pile())
        self._move(source, atoms, self.piles[-1])

    def _move(self, source: Pile, atoms: Sequence[Atom], target: Pile) -> None:
        leaving = {atom.id for atom in atoms}
        staying = [atom for atom in source.atoms if atom.id not in leaving]
        for atom in list(atoms):
            self._add(target, atom)
        source.atoms, source.weights, source.square, source.last = [], defaultdict(float), 0.0, 0
        source.sessions, source.channels, source.vector, source.life = set(), set(), None, 0
        for atom in staying:
            self._add(source, atom)


def _order(atom: Atom) -> tuple[int, str]:
    return told_at(atom), atom.id
