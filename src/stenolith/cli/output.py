"""What a command prints: one JSON document, or words for people."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any

from rich.console import Console
from rich.text import Text

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
out = Console(highlight=False, soft_wrap=True)
"""Standard output, for people."""
err = Console(stderr=True, highlight=False, soft_wrap=True)
"""Standard error: messages and progress."""


def emit(as_json: bool, document: Mapping[str, Any], tell: Callable[[], None]) -> None:
    """Print *document* as JSON, or let *tell* speak to a person."""
    if as_json:
        print_json(document)
    else:
        tell()


def print_json(document: Any) -> None:
    """Print one JSON document in UTF-8 whatever the terminal's encoding is."""
    text = json.dumps(document, ensure_ascii=False, indent=2)
    try:
        data = text.encode()
    except UnicodeEncodeError:
        data = json.dumps(document, indent=2).encode()
    if sys.stdout is None:
        raise OSError("standard output is closed")
    sys.stdout.flush()
    sys.stdout.buffer.write(data + b"\n")
    sys.stdout.buffer.flush()


def say(text: str, style: str = "") -> None:
    """Print a line for people on standard output; square brackets in *text* are just brackets."""
    out.print(Text(printable(text), style=style))


def printable(text: str) -> str:
    """Return *text* with control characters spelled out: a memory must not move the cursor or hide words."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match.group()):02x}", text)


def say_all(values: Mapping[str, Any]) -> None:
    """Print names and values, a line each; what is nested stands indented below its name."""
    for line in _lines(values):
        say(line)


def _lines(values: Mapping[str, Any], pad: str = "") -> Iterator[str]:
    for name, value in values.items():
        title = f"{pad}{str(name).replace('_', ' ')}:"
        match value:
            case Mapping() if any(isinstance(inner, Mapping) for inner in value.values()):
                yield title
                yield from _lines(value, pad + "  ")
            case [Mapping(), *_]:
                yield title
                yield from (f"{pad}  {_flat(row)}" for row in value)
            case Mapping() | list() | tuple():
                yield f"{title} {_flat(value) or 'none'}"
            case _:
                yield f"{title} {value}"


def _flat(value: Mapping[str, Any] | Sequence[Any]) -> str:
    cells = (f"{name} {cell}" for name, cell in value.items()) if isinstance(value, Mapping) else map(str, value)
    return ", ".join(cells)


def note(text: str, style: str = "dim") -> None:
    """Print a remark on standard error."""
    err.print(Text(printable(text), style=style))


def moment(epoch_ms: int | None, zone: tzinfo) -> str:
    """Return a time as people read it, or a dash."""
    if epoch_ms is None:
        return "-"
    try:
        return datetime.fromtimestamp(epoch_ms / 1000, zone).isoformat(" ", "minutes")[:16]
    except (OverflowError, ValueError, OSError):
        return f"{epoch_ms} ms"
