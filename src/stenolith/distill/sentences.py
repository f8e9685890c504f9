"""Sentences and clauses: what is left of an utterance when code, logs and quotations are gone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MASK: Final = "\ue000"  # a private-use character stands for each quoted one, so that indexes stay true


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A stretch of an utterance: its words, and the same words with quotations masked."""

    text: str
    masked: str
    asks: bool = False

    def squeezed(self) -> str:
        """Return the masked words without blanks beside Chinese characters, as the rows expect them."""
        return _GAP.sub("", self.masked)

    def cut(self, start: int, end: int) -> Piece:
        """Return the part between two indexes, without blanks at its ends."""
        raw = self.text[start:end]
        start += len(raw) - len(raw.lstrip())
        end = start + len(raw.strip())
        return Piece(text=self.text[start:end], masked=self.masked[start:end], asks=self.asks)


_GAP: Final = re.compile(r"(?<=[\u4e00-\u9fff])\s+|\s+(?=[\u4e00-\u9fff])")
# Fences, quoted mail lines, stack traces, log lines, table rows: none of it is the speaker's voice.
_FENCE: Final = re.compile(r"(?:```|~~~).*?(?:```|~~~|\Z)", re.DOTALL)
_FOREIGN_LINE: Final = re.compile(
    r"^(?:(?<=\n)(?: {4}|\t)[ \t]*\S.*|[ \t]*(?:[>|].*|(?:commit [0-9a-f]{7,40}|Author: |Date: ).*|"
    r"(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d).*|\[?(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|"
    r"CRITICAL)\b.*|Traceback .*|File \".*|at [\w.$<>]+\(.*|\w*(?:Error|Exception|Warning): .*|(?:def|class|import|"
    r"from \w+ import|const|let|var|function|public|private|return|assert|#include) .*|(?:SELECT|INSERT|UPDATE|"
    r"DELETE|CREATE|ALTER|DROP) .*|[$%#] .*|//.*|.*\);.*|[\w.]+\(.*\)(?:\s*(?://|#).*)?|.*[{};][ \t]*))$",
    re.MULTILINE,
)
_QUOTED: Final = re.compile(r"“[^”\n]*”|「[^」\n]*」|『[^』\n]*』|\"[^\"\n]*\"|(?<![\w'])'[^'\n]+'(?![\w'])|`[^`\n]*`")
_END: Final = re.compile(r"[。！？!?\n]+|(?<![.\d])\.+(?=\s|$)|(?<=\d)\.(?=\s+[A-Z]|\s*$)|；|;(?=\s)")
_ABBREVIATION: Final = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|Mr|Mrs|Ms|Dr|St|No|approx)|\b[A-Z])$")
_CLAUSE: Final = re.compile(
    r"[，,](?!\d{3}\b)\s*|、(?=我|现在)|(?:\s+(?:and|but|so)\s+|\s*(?:但是?|不过|而且|并且|另外)\s*)(?=(?:I|my|we|"
    r"our|我)(?:\b|们|的|现|目|平|住|在))"
)

_FILLER: Final = re.compile(
    r"(?:(?:不好意思|对了|另外(?:说一句|再说一句)?|顺便(?:说一?[句下]|提一?[句下])?|提醒一?下(?:你|大家)?|"
    r"跟你说(?:一?下|个事)?|说实话|老实说|坦白说|其实|嗯+|哦+|啊|好的?|话说|补充一[下点句]|请?(?:你|帮我)?(?:记住|"
    r"记一?下|记着)|注意|说明一下|更正(?:一下)?|纠正一下|哎|唉)(?:[，,：:！!、 ]+|(?=我|现在|以后|线|测))|"
    r"(?:by the way|btw|fyi|"
    r"heads[- ]?up|just so you know|so you know|for the record|(?:please )?remember(?: that)?|"
    r"(?:please )?note(?: that)?|please|also|well|so|ok(?:ay)?|honestly|oh|and|hey|hi|quick note|reminder|correction|"
    r"to be honest|tbh|anyway|yeah|yes|sorry|frankly|important)(?:\s*[,:;!.-]\s*|\s+))",
    re.IGNORECASE,
)
_TAIL: Final = re.compile(
    r"(?:[,，\s]*(?:by the way|btw|fyi|honestly|tbh|please|thanks|thank you|bitte|ok(?:ay)?|for the record|哈|啊|哦|"
    r"呀|吧|啦|谢谢|好吗))+[\s.。!！~～]*$",
    re.IGNORECASE,
)
TOLD: Final = re.compile(
    r"^\W*(?:请?(?:你|帮我)?(?:记住|记一?下|记着)|(?:please )?(?:remember|note|make a note)(?: that\b|:))",
    re.IGNORECASE,
)


def own_words(text: str) -> str:
    """Return *text* without fenced code, quoted lines, logs, traces and code lines."""
    return _FOREIGN_LINE.sub("", _FENCE.sub("\n", text))


def sentences(text: str) -> Iterator[Piece]:
    """Give the sentences of *text* in order; *asks* is set where one ends in a question mark."""
    masked = _QUOTED.sub(lambda match: match[0][0] + MASK * (len(match[0]) - 2) + match[0][-1], text)
    whole = Piece(text=text, masked=masked)
    start = 0
    for match in _END.finditer(masked):
        if match[0] == "." and _ABBREVIATION.search(masked, start, match.start()):
            continue
        yield from _sentence(whole, start, match)
        start = match.end()
    yield from _sentence(whole, start, None)


def _sentence(whole: Piece, start: int, mark: re.Match[str] | None) -> Iterator[Piece]:
    ends = mark[0] if mark else ""
    asks = "?" in ends or "？" in ends
    end = mark.end() if mark else len(whole.text)
    piece = Piece(text=whole.text, masked=whole.masked, asks=asks).cut(start, end)
    if len(piece.text) > 1:
        yield piece


def clauses(sentence: Piece) -> list[tuple[int, int]]:
    """Return start and end of each clause: split at commas and where a new first-person subject begins."""
    parts, start = [], 0
    for match in _CLAUSE.finditer(sentence.masked):
        parts.append((start, match.start()))
        start = match.end()
    parts.append((start, len(sentence.text)))
    return [(first, last) for first, last in parts if last > first]


def trim(piece: Piece) -> Piece:
    """Drop fillers in front ("by the way", "另外说一句") and particles behind."""
    start = 0
    while (match := _FILLER.match(piece.masked, start)) is not None and match.end() < len(piece.masked):
        start = match.end()
    tail = _TAIL.search(piece.masked, max(start, len(piece.masked) - 40))
    end = tail.start() if tail and tail.start() > start else len(piece.masked)
    return piece.cut(start, end)
