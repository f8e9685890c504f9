"""A lint rule is a row: a code, the provider's public error text, and a check that finds places."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from stenolith.replay.report import Violation

_INDEX = re.compile(r"\[(\d+)\]")


class Finding(NamedTuple):
    """Where a rule is broken and the facts for its text."""

    path: str
    facts: Mapping[str, Any] = {}


_TEXT = frozenset({str})
_decode = json.JSONDecoder().raw_decode
View = TypeVar("View")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(Generic[View]):
    """One row. *text* is a `str.format` template over the finding's facts.

    Two facts are always there: *path* (``messages[3].content[0]``) and *place*, the same as
    providers write it (``messages.3.content.0``).
    """

    code: str
    text: str
    check: Callable[[View], Iterator[Finding]]

    def violations(self, view: View) -> Iterator[Violation]:
        """Yield a violation for every place where this rule is broken."""
        for finding in self.check(view):
            place = _INDEX.sub(r".\1", finding.path)
            facts = {"path": finding.path, "place": place, **finding.facts}
            yield Violation(code=self.code, path=finding.path, message=self.text.format(**facts))


def run(rules: Sequence[Rule[View]], view: View) -> list[Violation]:
    """Apply every row to *view*, in the order of the table."""
    return [violation for rule in rules for violation in rule.violations(view)]


def entries(value: Any) -> list[Mapping[str, Any]]:
    """Return the members of a list; what is no JSON object stands as an empty one."""
    if not isinstance(value, list | tuple):
        return []
    for item in value:
        if type(item) is not dict:
            return [item if type(item) is dict else {} for item in value]
    return value if type(value) is list else list(value)


def word(value: Any) -> str:
    """Return *value* when it is text, else nothing."""
    return value if type(value) is str or isinstance(value, str) else ""


def words(values: list[Any]) -> list[str]:
    """Return *values* with nothing in the place of what is no text."""
    return values if _TEXT.issuperset(map(type, values)) else [word(value) for value in values]


def misfits(values: Iterable[str], form: re.Pattern[str]) -> set[str]:
    """Return those of *values* that are not of that *form*; ids come twice and names often, so each is tried once."""
    return {value for value in set(values) if form.fullmatch(value) is None}


def is_blank(value: Any) -> bool:
    """Say whether *value* holds no visible character."""
    return not isinstance(value, str) or not value or value.isspace()


def is_json(value: Any) -> bool:
    """Say whether *value* is text that holds JSON."""
    if not isinstance(value, str):
        return False
    try:
        # The bare decoder takes a quarter of the time; it stops before white space, which `json.loads` allows.
        return _decode(value)[1] == len(value) or _loads(value)
    except (ValueError, RecursionError):
        return _loads(value)


def _loads(value: str) -> bool:
    try:
        json.loads(value)
    except (ValueError, RecursionError):
        return False
    return True
