"""What a row and a table of patterns are, and the priorities that rows give."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from stenolith.distill.subjects import category, plain
from stenolith.model.atom import Kind

# Priorities of our own scale (0 to 100), after the bands of ``spec/layers.md`` section 3.4:
# 90 and more for health and absolute rules, 70 to 80 for rules, decisions and who somebody is.
HEALTH: Final = 95
ABSOLUTE: Final = 90  # never, must, 禁止, 必须
RULE: Final = 80  # other constraints, standing orders
CORE: Final = 75  # name, home, work, family, form of address, language and style of answers
CHOICE: Final = 70  # decisions and lessons
ORDINARY: Final = 60  # tools, tastes, events, project facts
PASSING: Final = 50  # bound to one task

PROJECT: Final = "project"
ANY_PROJECT: Final = (PROJECT, "")
SPEAKER: Final = ("user", "")
_FLAGS: Final = re.IGNORECASE | re.ASCII  # ASCII: "\b" then stands between Chinese and Latin letters too
_SLOT: Final = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One way to say one kind of thing.

    *subject* and *attribute* are words or ``{group}`` of the pattern; ``{tool}`` gives the tool's
    category.  An empty group makes the subject "project" and the attribute empty.
    """

    kind: Kind
    priority: int
    pattern: re.Pattern[str]
    subject: str
    attribute: str
    corrects: bool

    def about(self, match: re.Match[str]) -> tuple[str, str]:
        """Return subject and attribute for one match."""
        subject, attribute = _fill(self.subject, match) or PROJECT, _fill(self.attribute, match)
        return (PROJECT if subject == attribute else subject), attribute


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows in order of trust, behind a gate: lower-case words one of which every match contains.

    Looking for a dozen plain words is some twenty times faster than trying the rows.
    """

    gate: tuple[str, ...]
    rows: tuple[Row, ...]

    def search(self, text: str, lowered: str) -> Iterator[tuple[Row, re.Match[str]]]:
        """Give the rows that match *text*, which is *lowered* in lower case."""
        if any(word in lowered for word in self.gate):
            for row in self.rows:
                match = row.pattern.search(text)
                if match is not None:
                    yield row, match


def rows(
    kind: Kind, gate: str, *found: tuple[int, str, tuple[str, str]] | tuple[int, str, tuple[str, str], bool]
) -> Table:
    """Return a table of one kind; a row is priority, pattern, (subject, attribute) and whether it corrects.

    *gate* holds its words with "|" between them.
    """
    made = tuple(
        Row(
            kind=kind,
            priority=entry[0],
            pattern=re.compile(entry[1], _FLAGS),
            subject=entry[2][0],
            attribute=entry[2][1],
            corrects=len(entry) > 3,
        )
        for entry in found
    )
    return Table(gate=tuple(gate.split("|")), rows=made)


def _fill(template: str, match: re.Match[str]) -> str:
    names = _SLOT.findall(template)
    groups = match.groupdict()
    values = {name: (category if name == "tool" else plain)(groups.get(name) or "") for name in names}
    if not all(values.values()):
        return ""
    return _SLOT.sub(lambda slot: values[slot[1]], template)
