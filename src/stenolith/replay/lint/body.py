"""The whole request body: how large it is as JSON, and text in it that cannot be encoded.

The list that holds the conversation is looked at a slice at a time. One string of many megabytes would be
copied over and over while it grows, and it would push everything else out of the processor's caches.
"""

from __future__ import annotations

import json
import marshal
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from stenolith.replay.lint.rule import Finding

_SLICE: Final = 512
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_HALF: Final = re.compile(rb"\xed[\xa0-\xbf]")  # the same in UTF-8
_write: Final = json.JSONEncoder(ensure_ascii=False, check_circular=False, default=repr).encode


class Packed(NamedTuple):
    """About how many bytes a request body has as JSON, and whether there may be halves of surrogate pairs in it."""

    size: int
    halves: bool


def pack(payload: Mapping[str, Any], field: str) -> Packed:
    """Look at a payload whose conversation stands under *field*, several times faster than JSON is written."""
    size, halves = 0, False
    for piece in _slices(payload, field):
        body = _packed(piece)
        size += len(body)
        halves = halves or _HALF.search(body) is not None
    return Packed(size, halves)


def _slices(payload: Mapping[str, Any], field: str) -> Iterator[Any]:
    """Yield the payload without its conversation, then that in slices."""
    items = payload.get(field)
    if type(items) is not list:
        yield payload
        return
    yield {**payload, field: []}
    for at in range(0, len(items), _SLICE):
        yield items[at : at + _SLICE]


def _packed(value: Any) -> bytes:
    """Return *value* as bytes that hold its text in UTF-8. What is no JSON value is shown by its name."""
    try:
        return marshal.dumps(value, 2)  # version 2 writes every text where it stands
    except ValueError:
        return _serialised(value).encode(errors="surrogatepass")


def _serialised(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=repr)


def measure(payload: Mapping[str, Any], field: str) -> int:
    """Return how many bytes a request body has as JSON. It was packed before, so it holds no circle."""
    frame, *rest = [_length(piece) for piece in _slices(payload, field)]
    # Each slice has brackets of its own, and ", " joins it to the one before.
    return frame + sum(rest) - 2 * len(rest) + 2 * max(0, len(rest) - 1)


def _length(value: Any) -> int:
    text = _write(value)
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def lone_surrogates(payload: Mapping[str, Any], packed: Packed) -> Iterator[Finding]:
    """Find text that cannot be encoded. Only on suspicion the payload is walked with paths."""
    found = _SURROGATE.search(_serialised(payload)) if packed.halves else None
    for path, text in strings(payload, "") if found else ():
        if found and _SURROGATE.search(text):
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
            waiting += [(f"{here}.{key}", key) for key in item if isinstance(key, str) and _SURROGATE.search(key)]
        elif isinstance(item, list | tuple):
            waiting += [(f"{here}[{at}]", inner) for at, inner in enumerate(item)]
