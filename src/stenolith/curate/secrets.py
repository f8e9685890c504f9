"""Take secrets out of text before anything keeps it: the sentence stays, the value becomes ``[REDACTED:kind]``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from stenolith.curate.plausible import is_stand_in, is_token
from stenolith.curate.secret_rows import NAMED, RUN, VENDOR, Named


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacted:
    """A text without its secrets, and the kinds that were taken out, in order of appearance."""

    text: str
    found: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactedValue:
    """A JSON-like value without its secrets; the kinds that were taken out, in no particular order."""

    value: Any
    found: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    start: int
    end: int
    kind: str


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ROUNDS: Final = 4  # taking one value out can lay bare the next; marks are never taken out again
_ASCII_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_KEY_END: Final = re.compile(r"-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_KEY_TAIL: Final = re.compile(r"(?:\s|n\\|r\\|>)*+[A-Za-z0-9+/=]{0,15}+(?:(?:\s|n\\|r\\|>)++[A-Za-z0-9+/=]{16,}+)*+")
_ANY_HINT: Final = re.compile("|".join(re.escape(hint) for row in NAMED for hint in row.hints))
_SHORT: Final = 500
"""Below this length one search for any hint is ten times faster than one search for each; above it is slower."""
_WORD: Final = 16
"""A single word of a JSON value, or the name of a field, that is shorter than this holds no secret of its own."""
_SECRET_KEYS: Final = _words(
    "accesskey accesstoken apikey authorization authtoken awssecretaccesskey bearertoken clientsecret "
    "cookie credential credentials dbpassword idtoken passcode passphrase passwd password privatekey "
    "proxyauthorization pwd refreshtoken secret secretaccesskey secretkey sessiontoken setcookie "
    "userpassword xapikey "
)
_TOKEN_KEYS: Final = frozenset({"token", "key", "auth", "signature"})


def redact(text: str) -> Redacted:
    """Return *text* with every secret replaced by ``[REDACTED:kind]``.

    Redacting twice changes nothing more.  Commit ids, UUIDs, base64 pictures, paths and prose stay.
    """
    found: list[str] = []
    for _round in range(_ROUNDS):
        spans = _merged(_spans(text))
        if not spans:
            break
        found += [span.kind for span in spans]
        text = _replace(text, spans)
    return Redacted(text=text, found=tuple(found))


def redact_value(value: Any) -> RedactedValue:
    """Return a copy of a JSON-like *value* with every string in it redacted, names of fields included.

    A string or number under a name such as ``password``, ``api_key`` or ``authorization`` is taken out
    whatever it looks like, unless it only stands for a secret (``$TOKEN``, ``<token>``, ``""``).
    """
    holder: list[Any] = [value]
    found: list[str] = []
    work: list[tuple[Any, Any, str]] = [(holder, 0, "")]
    while work:
        place, at, name = work.pop()
        item = place[at]
        if isinstance(item, dict):
            place[at] = fresh = {_redact_name(key, found): inner for key, inner in item.items()}
            work += [(fresh, key, _plain(key)) for key in fresh]
        elif isinstance(item, list | tuple):
            place[at] = many = list(item)
            work += [(many, index, name) for index in range(len(many))]
        else:
            place[at] = _redact_leaf(item, name, found)
    return RedactedValue(value=holder[0], found=tuple(found))


def _replace(text: str, spans: Sequence[_Span]) -> str:
    pieces: list[str] = []
    done = 0
    for span in spans:
        pieces += (text[done : span.start], f"[REDACTED:{span.kind}]")
        done = span.end
    return "".join(pieces) + text[done:]


def _redact_name(name: Any, found: list[str]) -> Any:
    if not isinstance(name, str) or (len(name) < _WORD and name.isascii() and name.isidentifier()):
        return name
    clean = redact(name)
    found += clean.found
    return clean.text


def _redact_leaf(item: Any, name: str, found: list[str]) -> Any:
    forced = name in _SECRET_KEYS
    if forced and isinstance(item, int | float) and not isinstance(item, bool):
        found.append("field")
        return "[REDACTED:field]"
    if not isinstance(item, str) or not item:
        return item
    if (forced and not is_stand_in(item)) or (name in _TOKEN_KEYS and is_token(item, at_least=16)):
        found.append("field")
        return "[REDACTED:field]"
    if len(item) < _WORD and item.isascii() and item.isalpha():
        return item
    clean = redact(item)
    found += clean.found
    return clean.text


def _plain(name: Any) -> str:
    return re.sub(r"[\W_]", "", name).casefold() if isinstance(name, str) else ""


def _spans(text: str) -> Iterator[_Span]:
    for run in RUN.finditer(text):
        for match in VENDOR.finditer(text, run.start(), run.end()):
            yield _Span(start=match.start(), end=match.end(), kind=match.lastgroup or "key")
    folded = text.lower()
    if len(folded) != len(text):  # "İ" becomes two letters: positions would drift
        folded = text.translate(_ASCII_LOWER)
    if len(text) > _SHORT or _ANY_HINT.search(folded):
        for row in NAMED:
            for hint in row.hints:
                yield from _named_spans(text, folded, row, hint)
    if "-----end" in folded:
        yield from _key_tails(text)


def _named_spans(text: str, folded: str, row: Named, hint: str) -> Iterator[_Span]:
    at = folded.find(hint)
    while at >= 0:
        match = row.pattern.match(text, at)
        if match and row.accept(match):
            start, end = match.span(match.lastgroup or 0)
            yield _Span(start=start, end=end, kind=row.kind)
        else:
            end = at + len(hint)
        at = folded.find(hint, end)


def _key_tails(text: str) -> Iterator[_Span]:
    """Find private keys whose first lines were cut off: read backwards from their last line."""
    floor = 0
    for end in _KEY_END.finditer(text):
        before = text[max(floor, end.start() - 16_384) : end.start()][::-1]
        body = _KEY_TAIL.match(before)
        size = len(before[: body.end()].rstrip()) if body else 0
        yield _Span(start=end.start() - size, end=end.end(), kind="private_key")
        floor = end.end()


def _merged(spans: Iterator[_Span]) -> list[_Span]:
    """Join overlapping spans; the one that starts first names the kind, the longer one on a tie."""
    kept: list[_Span] = []
    for span in sorted(spans, key=lambda item: (item.start, -item.end)):
        if kept and span.start < kept[-1].end:
            last = kept[-1]
            kept[-1] = _Span(start=last.start, end=max(last.end, span.end), kind=last.kind)
        else:
            kept.append(span)
    return kept
