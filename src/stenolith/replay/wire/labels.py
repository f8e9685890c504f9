"""Ids and tool names inside one wire's limits: the same word always becomes the same label, two never share one."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from itertools import count
from typing import Final

_ILLEGAL: Final = re.compile(r"[^A-Za-z0-9_-]")
_DIGITS: Final = 10  # hex digits of a hash behind a readable stem
_FULL: Final = 32  # hex digits of a hash that stands alone


class Labels:
    """Give every word a label that matches *pattern* (empty: anything printable) and is at most *longest* long.

    A word that fits keeps itself. Labels are given in the order of first use, so a longer history
    never changes an earlier one. *halves*: of ``call_1|fc_1`` only the part before the bar counts.
    """

    def __init__(self, *, pattern: str, longest: int, fallback: str, halves: bool = False) -> None:
        self._pattern = re.compile(pattern) if pattern else None
        self._longest = longest
        self._fallback = fallback
        self._halves = halves
        self._given: dict[str, str] = {}
        self._by_half: dict[str, str] = {}
        self._taken: set[str] = set()

    def __getitem__(self, word: str) -> str:
        """Return the label of *word*."""
        found = self._given.get(word)
        return self._give(word) if found is None else found

    def answer(self, word: str) -> str:
        """Return the label of the call that a result names, also when it names only one half."""
        known = self._given.get(word)
        if known:
            return known
        return (self._by_half.get(_half(word)) if self._halves else None) or self[word]

    def _give(self, word: str) -> str:
        stem = _half(word) if self._halves else word
        found = stem if self._free(stem) else self._new(word, stem)
        self._given[word] = found
        self._taken.add(found)
        if self._halves:
            self._by_half.setdefault(stem, found)
        return found

    def _new(self, word: str, stem: str) -> str:
        return next(label for label in self._tries(word, stem) if self._free(label))

    def _tries(self, word: str, stem: str) -> Iterator[str]:
        clean = _ILLEGAL.sub("_", stem)[: self._longest]
        yield clean
        yield f"{self._fallback}{clean}"[: self._longest]
        for number in count():
            digest = hashlib.sha256(f"{word}:{number}".encode(errors="surrogatepass")).hexdigest()
            yield f"{clean[: max(0, self._longest - _DIGITS - 1)]}_{digest[:_DIGITS]}"
            yield f"{self._fallback}{digest[:_FULL]}"[: self._longest]

    def _free(self, label: str) -> bool:
        if not 0 < len(label) <= self._longest or label in self._taken:
            return False
        return label.isprintable() if self._pattern is None else self._pattern.fullmatch(label) is not None


def _half(word: str) -> str:
    return word.partition("|")[0] if "|" in word else word
