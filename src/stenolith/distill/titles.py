"""Readable titles from the words that notes share, and names that are safe as file names."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from stenolith.distill.topics import GENERIC, is_named, names_in, topic_terms
from stenolith.model.atom import Atom
from stenolith.model.stopwords import CJK_STOP_CHARS, ENGLISH_STOP_WORDS
from stenolith.model.text import cut, has_cjk, query_terms

PERSONAL_TITLES: Final = ("个人与偏好", "Personal notes")
"""Titles of the scene that keeps what belongs to no project, in the language of its first note."""

_LONGEST_NAME: Final = 48
_SAMPLE: Final = 200  # notes looked at: a title needs no more, and a rebuild must stay fast
_CANDIDATES: Final = 40
# Devices of Windows, and the word that is a command after `stenolith scene`.
_RESERVED: Final = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?|edit", re.IGNORECASE)
_HAN_RUN: Final = re.compile(r"[々一-鿿㐀-䶿]+")
_WORD: Final = re.compile(r"(?<![A-Za-z'’])[A-Za-z][A-Za-z0-9]*+(?!['’])(?:[._-][A-Za-z0-9]+)*(?:\+\+|#)?")
_VERSION: Final = re.compile(r"v?\d+(?:\.\d+)*")
_NO_END: Final = CJK_STOP_CHARS | frozenset(
    "先再就只已更最太别没去来"
)  # adverbs and verbs that end no name: "鉴权模块先|不要动"
_PLACE: Final = re.compile(
    r"[的了是在和与或及把被给让从对向于很还没有会能要都也就又而但且则已]|(?<!优)先(?![进锋后生])|再(?!生)|只(?!读)|才(?!能)"
)


def title_of(atoms: Sequence[Atom], others: Sequence[Atom]) -> str:
    """Return a title for *atoms*: their strongest one or two topic phrases, spelled as in the text.

    A phrase is strong when many of *atoms* name it and few of *others* do; subjects count more.
    """
    ranked = _ranked(atoms, others)
    if not ranked:
        return atoms[0].text[:12].strip() if atoms else "scene"
    first = ranked[0]
    for phrase, score, count in ranked[1:8]:
        named = has_cjk(phrase) or _VERSION.fullmatch(phrase) is not None or _weight(phrase) > 1
        telling = named and count >= 2 and score * 3 >= first[1]
        if telling and not _overlap(phrase, first[0]):
            return f"{first[0]} {phrase}"
    return first[0]


def is_told_by(title: str, atoms: Sequence[Atom]) -> bool:
    """Say whether every word of *title* stands in *atoms*, so that it repeats nothing else."""
    said = {word for atom in atoms for word in query_terms(f"{atom.text} {atom.subject}").words}
    words = query_terms(title).words
    return title in PERSONAL_TITLES or (bool(words) and said.issuperset(words))


def slug(title: str, taken: Sequence[str]) -> str:
    """Return a name for *title* that is safe as a file name on every system and not among *taken*.

    Letters of every script stay, with the vowel signs and accents that some scripts put beside them; blanks and
    signs become ``-``; a clash gets ``-2``, ``-3`` and so on.  Names are compared without case and in one form of
    their accents, because some file systems do.
    """
    plain = unicodedata.normalize("NFKC", title)
    name = "".join(sign if sign in "._" or sign.isalnum() or _is_mark(sign) else "-" for sign in plain)
    name = cut(re.sub(r"([-_.])[-_.]*", r"\1", name).strip("-_."), _LONGEST_NAME, "").strip("-_.") or "scene"
    if _RESERVED.fullmatch(name):
        name = f"scene-{name}"
    used = {_folded(other) for other in taken}
    unique, number = name, 2
    while _folded(unique) in used:
        unique, number = f"{name}-{number}", number + 1
    return unique


def _is_mark(sign: str) -> bool:
    return unicodedata.category(sign) in {"Mn", "Mc"} and not "\ufe00" <= sign <= "\ufe0f"  # what makes an emoji one


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def _ranked(atoms: Sequence[Atom], others: Sequence[Atom]) -> list[tuple[str, float, int]]:
    """Return phrases with score and number of atoms that name them, the strongest first."""
    spelling: dict[str, str] = {}
    named: Counter[str] = Counter()
    count: Counter[str] = Counter()
    for atom in atoms[:_SAMPLE]:
        subjects = [*_subjects(atom), *names_in(atom.text)]
        phrases = {phrase.casefold(): phrase for phrase in (*subjects, *_phrases(atom.text))}
        spelling = phrases | spelling
        named.update({phrase.casefold() for phrase in subjects})
        count.update(phrases.keys())
    channels = {word for atom in atoms for word in re.split(r"[^\w-]+", atom.session_key.casefold())}
    inside = {key: (count[key] + 2 * named[key]) * _weight(phrase) for key, phrase in spelling.items()}
    for key in inside:
        if key in channels:
            inside[key] *= 2  # a channel is often called after its project
        elif count[key] == 1 and len(atoms) > 2:
            inside[key] *= 0.4  # what one note of many names does not name them all
    best = sorted(inside, key=lambda key: (-inside[key], -len(key), key))[:_CANDIDATES]
    foreign = [f"{atom.subject}\n{atom.text}".casefold() for atom in others[-_SAMPLE:]]
    scored = [
        (spelling[key], inside[key] / (1 + sum(key in text for text in foreign) / len(atoms)), count[key])
        for key in best
    ]
    return sorted(scored, key=lambda item: (-item[1], -len(item[0]), item[0]))


def _subjects(atom: Atom) -> Iterator[str]:
    for part in atom.subject.split("的") if is_named(atom) else ():
        phrase = _as_spelled(part.strip(), atom.text)
        if topic_terms(phrase):
            yield phrase


def _weight(phrase: str) -> float:
    """Prefer names (MemoryCore, legacy-auth) and longer Chinese words to short, plain and lonely ones."""
    if has_cjk(phrase):
        return 0.8 + 0.15 * min(len(phrase) - 1, 4)
    if _VERSION.fullmatch(phrase):
        return 0.5
    marked = any(sign.isupper() for sign in phrase[1:]) or any(sign in "-_.+#" or sign.isdigit() for sign in phrase)
    return 1.5 if marked else 1.3 if phrase[0].isupper() else 0.9


def _phrases(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text):
        if match.group().casefold() not in ENGLISH_STOP_WORDS and topic_terms(match.group()):
            yield match.group()
    for run in _HAN_RUN.findall(text):
        for piece in _PLACE.split(run):
            yield from _chinese_phrases(piece)


def _chinese_phrases(piece: str) -> Iterator[str]:
    """Yield the parts of two to six characters that neither start, end nor go on with a generic pair."""
    for start in range(len(piece) - 1):
        for size in range(2, min(6, len(piece) - start) + 1):
            part = piece[start : start + size]
            pairs = [part[at : at + 2] for at in range(size - 1)]
            if part[0] not in CJK_STOP_CHARS and part[-1] not in _NO_END and GENERIC.isdisjoint(pairs):
                yield part


def _as_spelled(subject: str, text: str) -> str:
    """Return *subject* as the text writes it: subjects are stored folded."""
    at = text.casefold().find(subject.casefold())
    return text[at : at + len(subject)] if at >= 0 and len(text.casefold()) == len(text) else subject


def _overlap(one: str, two: str) -> bool:
    """Say whether two phrases name the same thing: one holds a pair of characters of the other."""
    one, two = one.casefold(), two.casefold()
    if not (has_cjk(one) and has_cjk(two)):
        return one in two or two in one
    return any(one[at : at + 2] in two for at in range(len(one) - 1))
