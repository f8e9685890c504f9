"""Words for search, a token estimate and a safe cut: what every other module knows about text.

Both databases index exactly the terms that `terms` returns, so SQLite and PostgreSQL find the same
words.  Chinese, Japanese and Korean need no dictionary: each run of such characters becomes
overlapping pairs, which found 97 % of two-character words first where a trigram index finds none
(``spec/retrieval.md`` section 2).
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import snowballstemmer

from stenolith.model.stopwords import CJK_DATE_UNITS, CJK_PHRASES, CJK_STOP_CHARS, ENGLISH_STOP_WORDS

# Han with extensions, kana with the length mark, Hangul; Thai, Lao, Khmer and Burmese also write without blanks.
_CJK: Final = "々-〇ぁ-ゖァ-ヺー㐀-䶿一-鿿가-힣豈-﫿\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\U00020000-\U0003ffff"
# Marks that belong to the letter before them; ``\w`` leaves them out and would cut words in two.
_MARKS: Final = "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0900-\u0dff"
_LETTER: Final = rf"[^\W_{_CJK}]"
_LETTERS: Final = rf"{_LETTER}(?:{_LETTER}|[{_MARKS}])*"
_TOKEN: Final = re.compile(
    rf"(?P<cjk>[{_CJK}]+)"
    rf"|(?P<sign>(?<![^\W_])[A-Za-z](?:\+\+|\#)(?![^\W_]))"
    rf"|(?P<share>\d+(?:\.\d+)?%)"
    rf"|(?P<grouped>(?<!\d)\d{{1,3}}(?:,\d{{3}})+(?!\d))"
    rf"|(?P<word>{_LETTERS}(?:(?:[._'’@-]|(?<=\d):(?=\d)|_+){_LETTERS})*)"
)
_CJK_CHAR: Final = re.compile(rf"[{_CJK}]")
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+|[A-Z]+")
_CONNECTOR: Final = re.compile(r"[._'’@:-]+")
_ENDING: Final = re.compile(r"(?:n['’]t|['’](?:s|re|ve|ll|d|m))$", re.IGNORECASE)
_IRREGULAR: Final = {"won't": "will", "can't": "can", "shan't": "shall"}
_ORDINAL: Final = re.compile(r"\d+(?:st|nd|rd|th)", re.IGNORECASE)
_LONGEST_TERM: Final = 64
_stem_word = snowballstemmer.stemmer("english").stemWord


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTerms:
    """What to look for.

    *words* are whole terms in the order they were asked, each once.  *starts* are single CJK
    characters that stand alone (猫): look for any term that begins with one of them.  *fallback*
    are the pairs among the words: where no word hits, look for rows that hold both characters of a
    pair, each at the beginning of some term, which finds 北京大学 for the abbreviation 北大.
    *idle* says that only stop words were asked.  *asked* counts the words, an identifier with its
    parts as one, and each pair of a CJK run.
    """

    words: tuple[str, ...]
    starts: tuple[str, ...] = ()
    fallback: tuple[str, ...] = ()
    idle: bool = False
    asked: int = 0

    def __bool__(self) -> bool:
        """Say whether there is anything to look for."""
        return bool(self.words or self.starts)


def terms(text: str) -> list[str]:
    """Return the search terms of *text* in order, repeated as often as they occur.

    Compatibility forms and case are folded, accents dropped, English words stemmed.  An identifier
    stands whole and in parts (``session_key``: session_key, session, key).  A CJK run gives its
    overlapping pairs and its last character, so that every character starts some term.
    """
    found: list[str] = []
    for match in _TOKEN.finditer(unicodedata.normalize("NFKC", text)):
        token = match.group()
        if match.lastgroup == "cjk":
            found += [token[at : at + 2] for at in range(len(token))]
        else:
            found += _word_terms(token)
    return found


def query_terms(text: str) -> QueryTerms:
    """Return what a question asks for: its terms without the words that every sentence has.

    When nothing but such words is left they are kept: a question made of stop words still asks.
    """
    words: dict[str, None] = {}
    starts: dict[str, None] = {}
    spare: dict[str, None] = {}
    alone: dict[str, None] = {}
    for match in _TOKEN.finditer(unicodedata.normalize("NFKC", text)):
        token = match.group()
        if match.lastgroup == "cjk":
            asked, left = _sort_run(token)
            (starts if len(token) == 1 else words).update(dict.fromkeys(asked))
            alone.update(dict.fromkeys(asked))
            spare.update(dict.fromkeys(left))
        else:
            plain = _ENDING.sub("", token).casefold()
            pieces = _asked_terms(token)
            if plain in ENGLISH_STOP_WORDS:
                spare.update(dict.fromkeys(pieces))
            else:
                words.update(dict.fromkeys(pieces))
                alone[pieces[0]] = None
    if not words and not starts:
        return QueryTerms(words=tuple(spare), idle=True)
    pairs = tuple(word for word in words if len(word) == 2 and _CJK_CHAR.match(word))
    return QueryTerms(words=tuple(words), starts=tuple(starts), fallback=pairs, asked=len(alone))


def _asked_terms(word: str) -> tuple[str, ...]:
    """Return what one word of a question asks for: the whole word, and its parts that tell something.

    A random key falls into single digits, which stand in every row's date, and into "is" and "in".
    """
    whole, *parts = _word_terms(word)
    if not any(char.isalpha() for char in word) or _ORDINAL.fullmatch(word):
        return (whole, *parts)
    return (whole, *(part for part in parts if len(part) > 1 and part not in ENGLISH_STOP_WORDS))


def _sort_run(run: str) -> tuple[list[str], list[str]]:
    """Return the pairs of one CJK run that carry content, and those that do not.

    A pair of a content and a function character counts only where the content character stands in
    no better pair: in 我的花名是什么 only 花名 asks, while 目的是什么 asks for 目的.
    """
    idle = _idle_places(run)
    if len(run) == 1:
        return ([], [run]) if idle[0] or run in CJK_DATE_UNITS else ([run], [])
    starts = range(len(run) - 1)
    covered = {place for at in starts if not (idle[at] or idle[at + 1]) for place in (at, at + 1)}
    asked: list[str] = []
    left: list[str] = []
    for at in starts:
        content = [place for place in (at, at + 1) if not idle[place]]
        asks = len(content) == 2 or (len(content) == 1 and content[0] not in covered)
        (asked if asks else left).append(run[at : at + 2])
    return asked, left


def _idle_places(run: str) -> list[bool]:
    """Mark the characters that carry no content: function characters and question phrases."""
    idle = [char in CJK_STOP_CHARS for char in run]
    for match in CJK_PHRASES.finditer(run):
        idle[match.start() : match.end()] = [True] * (match.end() - match.start())
    return idle


@lru_cache(maxsize=65536)
def _word_terms(word: str) -> tuple[str, ...]:
    """Return the terms of one word that is not CJK: stemmed, or whole and in parts."""
    word = _IRREGULAR.get(word.casefold().replace("’", "'"), _ENDING.sub("", word))
    if word.isascii() and word.isalpha() and (word.islower() or word[1:].islower()):
        return (_stem(word.casefold()),)
    whole = _plain(word)
    parts = [_stem(_plain(part)) for piece in _CONNECTOR.split(word.replace(",", "")) for part in _split(piece)]
    if len(parts) < 2 and not whole.endswith("%"):
        return (_stem(whole)[:_LONGEST_TERM],)
    kept = [part for part in parts if len(part) > 1 or part.isdigit()]
    return tuple(dict.fromkeys([whole[:_LONGEST_TERM], *(part[:_LONGEST_TERM] for part in kept)]))


def _split(piece: str) -> list[str]:
    """Cut ``getUserName``, ``HTTPServer`` and ``py311`` into their parts."""
    return _PART.findall(piece) or [piece]


def _plain(word: str) -> str:
    """Fold case, drop accents of alphabetic scripts and the commas in numbers."""
    word = word.casefold()
    if word.isascii():
        return word.replace(",", "")
    marked = unicodedata.normalize("NFKD", word)
    return unicodedata.normalize("NFC", "".join(char for char in marked if not "\u0300" <= char <= "\u036f"))


def _stem(word: str) -> str:
    return str(_stem_word(word)) if len(word) > 2 and word.isascii() and word.isalpha() else word


def has_cjk(text: str) -> bool:
    """Say whether *text* holds a character of a script that is written without blanks."""
    return _CJK_CHAR.search(text) is not None


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a language model counts in *text*.

    1.3 a blank-separated word and 0.9 a CJK character, plus 8 % for what this misses; good to
    about a fifth for prose, and never zero for text that is not empty.
    """
    dense = len(_CJK_CHAR.findall(text))
    words = len(_CJK_CHAR.sub(" ", text).split())
    return int((words * 1.3 + dense * 0.9) * 1.08) + 1 if text.strip() else 0


def cut(text: str, limit: int, ending: str = "…") -> str:
    """Return at most *limit* characters of *text*, ending with *ending* when something was left out.

    Never cuts between a letter and its marks, or inside an emoji made of several code points.
    """
    if len(text) <= limit:
        return text
    at = max(limit - len(ending), 0)
    while at > 0 and _joins(text[at - 1], text[at]):
        at -= 1
    return text[:at].rstrip() + ending[: max(limit - at, 0)]


def _joins(before: str, after: str) -> bool:
    """Say whether *after* continues the character that *before* belongs to."""
    glue = "\u200d"
    modifier = "\ufe00" <= after <= "\ufe0f" or "\U0001f3fb" <= after <= "\U0001f3ff"
    return glue in {before, after} or modifier or unicodedata.combining(after) > 0
