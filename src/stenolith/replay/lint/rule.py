"""A lint rule is a row: a code, the provider's public error text, and a check that finds places."""

from __future__ import annotations

import json
import marshal
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from stenolith.replay.report import Violation

_INDEX = re.compile(r"\[(\d+)\]")
SURROGATE = re.compile(r"[\ud800-\udfff]")
_HALF = re.compile(rb"\xed[\xa0-\xbf]")  # the same in UTF-8


class Finding(NamedTuple):
    """Where a rule is broken and the facts for its text."""

    path: str
    facts: Mapping[str, Any] = {}


_OBJECT = frozenset({dict})
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
    if type(value) is list and _OBJECT.issuperset(map(type, value)):  # nearly always
        return value
    if not isinstance(value, list | tuple):
        return []
    return [item if type(item) is dict else {} for item in value]


def word(value: Any) -> str:
    """Return *value* when it is text, else nothing."""
    return value if type(value) is str or isinstance(value, str) else ""


def is_blank(value: Any) -> bool:
    """Say whether *value* holds no visible character."""
    return not (isinstance(value, str) and value.strip())


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


def packed(payload: Any) -> bytes:
    """Return all of *payload* as bytes that hold its text in UTF-8, several times faster than JSON.

    About as long as the JSON text. What is no JSON value is shown by its name.
    """
    try:
        return marshal.dumps(payload, 2)  # version 2 writes every text where it stands
    except ValueError:
        return serialise(payload).encode(errors="surrogatepass")


def serialise(payload: Mapping[str, Any]) -> str:
    """Return the request body as text; what is no JSON value is shown by its name."""
    return json.dumps(payload, ensure_ascii=False, default=repr)


def lone_surrogates(payload: Mapping[str, Any], body: bytes) -> Iterator[Finding]:
    """Find text that cannot be encoded; *body* is the payload packed. Only on suspicion it is walked with paths."""
    if _HALF.search(body) is None:
        return
    found = SURROGATE.search(serialise(payload))
    for path, text in strings(payload, "") if found else ():
        if found and SURROGATE.search(text):
            yield Finding(path, {"column": found.start() + 1})


def strings(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield every text in *value* with its path; no recursion, so no depth is too deep."""
    waiting: list[tuple[str, Any]] = [(path, value)]
    while waiting:
        here, item = waiting.pop()
        if isinstance(item, str):
            yield here, item
        elif isinstance(item, dict):
            waiting += [(f"{here}.{key}" if here else str(key), inner) for key, inner in item.items()]
            waiting += [(f"{here}.{key}", key) for key in item if isinstance(key, str) and SURROGATE.search(key)]
        elif isinstance(item, list | tuple):
            waiting += [(f"{here}[{at}]", inner) for at, inner in enumerate(item)]
