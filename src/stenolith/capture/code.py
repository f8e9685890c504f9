"""Fenced code in Markdown text: where it is, and the text without it.

Pairing follows CommonMark 0.31, section 4.5, with one difference: a fence that is never closed
fences nothing, because people forget closing fences and their words must not be taken for code.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

_LINE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _FenceLine:
    start: int
    end: int
    sign: str
    length: int
    info: str

    def opens(self) -> bool:
        """Say whether this line may open a block; an inline triple backtick has backticks in its info."""
        return self.sign == "~" or "`" not in self.info

    def closes(self, opener: _FenceLine) -> bool:
        """Say whether this line closes the block that *opener* opened."""
        return self.sign == opener.sign and self.length >= opener.length and not self.info


def _fence_lines(text: str) -> list[_FenceLine]:
    if "```" not in text and "~~~" not in text:
        return []
    return [
        _FenceLine(
            start=found.start(),
            end=found.end(),
            sign=found[1][0],
            length=len(found[1]),
            info=found[2].strip(),
        )
        for found in _LINE.finditer(text)
    ]


def code_blocks(text: str, solid: Sequence[tuple[int, int]] = ()) -> list[tuple[int, int]]:
    """Return the (start, end) of each fenced block, in order, fence lines included.

    *solid* names spans, sorted by start, that count as one piece wherever they do not lie whole
    inside a block: fence lines in them open and close nothing.
    """
    lines = _fence_lines(text)
    waiting = deque(solid)
    unclosed: dict[str, int] = {}
    found: list[tuple[int, int]] = []
    reached = 0
    for index, line in enumerate(lines):
        while waiting and waiting[0][0] < line.start:
            start, end = waiting.popleft()
            reached = max(reached, end) if start >= reached else reached
        if line.start < reached or not line.opens() or line.length >= unclosed.get(line.sign, line.length + 1):
            continue
        closing = next((lines[k] for k in range(index + 1, len(lines)) if lines[k].closes(line)), None)
        if closing is None:
            unclosed[line.sign] = line.length
        elif not _cuts(waiting, closing.start):
            found.append((line.start, closing.end))
            reached = closing.end
    return found


def _cuts(solid: deque[tuple[int, int]], position: int) -> bool:
    """Say whether *position* lies inside one of the spans."""
    for start, end in solid:
        if start >= position:
            return False
        if position < end:
            return True
    return False


def without_code(text: str) -> str:
    """Return *text* without its fenced blocks."""
    pieces = []
    reached = 0
    for start, end in code_blocks(text):
        pieces.append(text[reached:start])
        reached = end
    return "".join([*pieces, text[reached:]])
