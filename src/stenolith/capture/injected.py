"""Find what is certainly not a person's own words.

A wrapper (`stenolith.capture.fences`) is certainly injected when all of these hold:

1.  It opens at the start of the text or of a line, after at most three spaces. In the middle of a
    sentence it is only talked about. (What stands behind a wrapper on its line starts the line once
    that wrapper is cut, so `stenolith.capture.clean` asks until nothing more is found.)
2.  If it has a closing, the closing follows. Openings and closings of one row pair like brackets;
    an opening without its closing is text, and nothing behind it is lost.
3.  It does not lie whole inside a fenced code block. (A person's unclosed fence protects nothing,
    and a fence that ends inside a wrapper is no fence.)
4.  A row of place HEAD has nothing of the person's in front of it.

Inline code needs no rule: its backtick stands in front of the tag, so rule 1 fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from stenolith.capture.code import code_blocks
from stenolith.capture.fences import FENCES, Fence, Place

_SIGNS = re.compile(r"<|\[|¥|⟦|ntrusted|To send an image back,|OpenClaw runtime |Caveat: The|An async command")


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One wrapper in a text; *kept* is what stays in its place."""

    start: int
    end: int
    fence: Fence
    kept: str = ""


def _compile(fence: Fence) -> re.Pattern[str]:
    closing = f"|(?P<closing>{fence.closing})" if fence.closing else ""
    return re.compile(f"(?P<opening>{fence.opening}){closing}", re.MULTILINE)


_PATTERNS = {fence.name: _compile(fence) for fence in FENCES}


def find_injected(text: str) -> list[Span]:
    """Return the wrappers in *text* that are certainly injected, in order, none inside another."""
    if _SIGNS.search(text) is None:
        return []
    spans = _candidates(text)
    if not spans:
        return []
    code = code_blocks(text, [(span.start, span.end) for span in spans if span.fence.place is Place.LINE])
    return _choose(text, spans, code)


def cut(text: str, spans: Iterable[Span]) -> str:
    """Return *text* without *spans*, and without the blanks that follow each on its line."""
    pieces = []
    reached = 0
    for span in spans:
        pieces += [text[reached : span.start], span.kept]
        reached = span.end
        while not span.kept and text[reached : reached + 1] in {" ", "\t"}:
            reached += 1
    return "".join([*pieces, text[reached:]])


def _candidates(text: str) -> list[Span]:
    """Return every wrapper that fulfils rules 1 and 2, by its start, outer before inner."""
    spans: list[Span] = []
    for fence in FENCES:
        if fence.hint in text:
            spans += _pairs(fence, text) if fence.closing else _whole(fence, text)
    return sorted(spans, key=lambda span: (span.start, -span.end))


def _whole(fence: Fence, text: str) -> list[Span]:
    found = _PATTERNS[fence.name].finditer(text)
    return [
        Span(start=match.start(), end=match.end(), fence=fence)
        for match in found
        if _starts_line(text, match.start()) and match.end() > match.start()
    ]


def _pairs(fence: Fence, text: str) -> list[Span]:
    """Pair openings and closings like brackets; what has no partner is left out."""
    spans: list[Span] = []
    openings: list[re.Match[str]] = []
    for match in _PATTERNS[fence.name].finditer(text):
        if match.lastgroup == "opening" and _starts_line(text, match.start()):
            openings.append(match)
        elif match.lastgroup == "closing" and openings:
            opening = openings.pop()
            kept = text[opening.end() : match.start()].strip() if fence.keeps else ""
            spans.append(Span(start=opening.start(), end=match.end(), fence=fence, kept=kept))
    return spans


def _starts_line(text: str, position: int) -> bool:
    """Say whether nothing but up to three spaces stands between the line's start and *position*."""
    start = position
    while start > 0 and text[start - 1] == " " and position - start < 3:
        start -= 1
    return start == 0 or text[start - 1] == "\n"


def _choose(text: str, spans: list[Span], code: list[tuple[int, int]]) -> list[Span]:
    """Apply rules 3 and 4, and drop what lies inside a chosen span."""
    chosen: list[Span] = []
    blocks = iter([*code, (len(text), len(text))])
    block = next(blocks)
    reached = 0
    untouched = True
    for span in spans:
        while block[1] <= span.start and block[0] < len(text):
            block = next(blocks)
        if span.start < reached or block[0] < span.start < block[1]:
            continue
        untouched = untouched and not text[reached : span.start].strip()
        if span.fence.place is Place.LINE or untouched:
            chosen.append(span)
            reached = span.end
    return chosen
