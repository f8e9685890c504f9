"""Walk through a JSON file piece by piece: an array, JSON lines, or one object, of any size.

Nothing here knows what a message is.  Pieces come with the line they start on, so that every complaint can say where.
"""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Container, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Any, BinaryIO, Final, NoReturn

from stenolith.errors import InvalidInput
from stenolith.interop.reading import Problem

MAX_DEPTH: Final = 128  # deeper values overflow the stack of whoever writes them again
_NESTED: Final = frozenset({dict, list})
_CHUNK: Final = 1 << 20
_HEAD: Final = 1 << 20
_BLANK: Final = b" \t\r\n\x00"  # NUL: what a crash leaves behind a file's last block
_BOM: Final = codecs.BOM_UTF8
_WIDE_BOMS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)

Source = bytes | str | Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """One value, the line it starts on, and where it stood: ``[]`` in the top array, a key's array, or by itself."""

    line: int
    value: Any
    within: str = ""


class _Layout(Enum):
    ARRAY = auto()
    OBJECT = auto()
    LINES = auto()


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER: Final = json.JSONDecoder(strict=False, parse_constant=_refuse_constant)


def open_source(source: Source) -> BinaryIO:
    """Return a seekable stream of UTF-8 bytes. Raises InvalidInput for a file that cannot be opened."""
    if isinstance(source, bytes):
        return io.BytesIO(source)
    if isinstance(source, str):
        return io.BytesIO(source.encode("utf-8", "surrogatepass"))
    try:
        return source.open("rb")
    except OSError as error:
        raise InvalidInput(f"{source}: cannot be read: {error.strerror or error}", file=str(source)) from error


def scan(source: Source, streamed: Container[str] = ()) -> Iterator[Element | Problem]:
    """Yield the values of *source* in order.

    Elements of a top-level array and of an array under one of the *streamed* keys of a top-level object come one by
    one; any other object comes whole.  In JSON lines a line that cannot be read gives a `Problem` and reading goes on;
    two objects glued together on a line come as two.  Raises InvalidInput, with the line in its facts, for an empty
    source, for text that is not UTF-8 and for broken JSON in an array or object: behind it nothing can be trusted.
    Where the text only stops too early, what was begun stands in the error's facts as ``rest``.
    """
    errors = "surrogatepass" if isinstance(source, str) else "strict"
    with open_source(source) as stream:
        head = stream.read(_HEAD)
        if head.startswith(_WIDE_BOMS):
            raise InvalidInput("the file is UTF-16 or UTF-32; save it as UTF-8", line=1)
        start = len(_BOM) if head.startswith(_BOM) else 0
        layout = _layout_of(head[start:])
        stream.seek(start)
        if layout is _Layout.LINES:
            yield from _lines(stream, errors)
            return
        window = _Window(stream, errors)
        if layout is _Layout.ARRAY:
            yield from _array(window, "[]")
        while window.peek() == "{":
            yield from _object(window, streamed)
        if window.peek():
            yield Problem(line=window.line, message="text after the end of the JSON value was not read")


def _layout_of(head: bytes) -> _Layout:
    """Judge by the first two lines: in JSON lines one of them is a whole object, or the first one is damaged."""
    body = head.strip(_BLANK)
    if not body:
        raise InvalidInput("the file is empty; it needs a JSON array of messages or one JSON object a line", line=1)
    first, _, rest = body.partition(b"\n")
    second = rest.lstrip(_BLANK).partition(b"\n")[0].strip(_BLANK)
    goes_on = first.rstrip(_BLANK).endswith((b"[", b"{", b",", b":"))
    if body.startswith(b"["):
        return _Layout.LINES if _is_whole(first) and second.startswith(b"{") else _Layout.ARRAY
    if not second:
        short = len(head) < _HEAD and not _is_whole(first)
        return _Layout.LINES if short or not body.startswith(b"{") else _Layout.OBJECT
    if _is_whole(first) or (not goes_on and _is_whole(second)):
        return _Layout.LINES
    return _Layout.OBJECT if body.startswith(b"{") else _Layout.LINES


def _is_whole(line: bytes) -> bool:
    try:
        json.loads(line, strict=False)
    except (ValueError, RecursionError):
        return False
    return True


def _lines(stream: BinaryIO, errors: str) -> Iterator[Element | Problem]:
    for number, raw in enumerate(stream, 1):
        line = raw.strip(_BLANK)
        if line:
            yield from _values_of_line(line, number, errors)


def _values_of_line(line: bytes, number: int, errors: str) -> Iterator[Element | Problem]:
    try:
        text = line.decode("utf-8", errors)
    except UnicodeDecodeError as error:
        shown = line.decode("utf-8", "backslashreplace")
        yield Problem(line=number, message=f"not UTF-8 at byte {error.start + 1} of the line", text=shown)
        return
    position = 0
    while position < len(text):
        try:
            value, position = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            yield Problem(line=number, message=_reason(error), text=text[position:])
            return
        yield _checked(value, number, "") or Problem(line=number, message=_TOO_DEEP, text=text)
        while position < len(text) and text[position].isspace():
            position += 1


def _array(window: _Window, within: str) -> Iterator[Element | Problem]:
    window.expect("[")
    if window.peek() == "]":
        window.expect("]")
        return
    while True:
        window.peek()
        line = window.line
        yield _checked(window.take(), line, within) or Problem(line=line, message=_TOO_DEEP)
        if window.peek() != ",":
            break
        window.expect(",")
    window.expect("]")


def _object(window: _Window, streamed: Container[str]) -> Iterator[Element | Problem]:
    window.peek()
    line, fields, handed_on = window.line, {}, False
    window.expect("{")
    while window.peek() != "}":
        key = window.take()
        window.expect(":")
        if isinstance(key, str) and key in streamed and window.peek() == "[":
            handed_on = True
            yield from _array(window, key)
        else:
            window.peek()
            fields[str(key)] = window.take()
        if window.peek() != ",":
            break
        window.expect(",")
    window.expect("}")
    if not handed_on:
        yield _checked(fields, line, "") or Problem(line=line, message=_TOO_DEEP)


_TOO_DEEP: Final = f"nested more than {MAX_DEPTH} levels deep"


def _checked(value: Any, line: int, within: str) -> Element | None:
    """Return the element, or None when its value is nested too deeply to be handled safely."""
    level = [value]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for item in level:
            inside = item.values() if type(item) is dict else item if type(item) is list else ()
            below += [inner for inner in inside if type(inner) in _NESTED]
        if not below:
            return Element(line=line, value=value, within=within)
        level = below
    return None


def _reason(error: ValueError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return _TOO_DEEP
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg.lower()} (character {error.colno})"
    if "integer string conversion" in str(error):
        return "not JSON that can be read: a number has more than 4,300 digits"
    return f"not JSON: {error}"


class _Window:
    """The part of a text that is being read; grows when a value does not fit."""

    def __init__(self, stream: BinaryIO, errors: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)
        self._text = ""
        self._at = 0
        self._chunk = _CHUNK
        self._ended = False
        self.line = 1

    def peek(self) -> str:
        """Step over blanks and return the next character, or an empty string at the end."""
        while True:
            while self._at < len(self._text):
                character = self._text[self._at]
                if character not in " \t\r\n\x00":
                    return character
                self._advance(self._at + 1)
            if not self._grow():
                return ""

    def expect(self, character: str) -> None:
        """Step over *character*. Raises InvalidInput when something else stands there."""
        found = self.peek()
        if found != character:
            self._fail(f"expected {character!r}, found {found!r}" if found else f"ends before {character!r}")
        self._advance(self._at + 1)

    def take(self) -> Any:
        """Read one whole value. Raises InvalidInput when it is broken or cut off."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except RecursionError:
                self._fail(_TOO_DEEP)
            except ValueError as error:
                if not (_cut_off(error, len(self._text)) and self._grow()):
                    self._fail(_reason(error), error)
                continue
            if end == len(self._text) and not isinstance(value, dict | list | str) and self._grow():
                continue  # a number may go on in the next chunk
            self._advance(end)
            self._chunk = _CHUNK
            return value

    def _advance(self, end: int) -> None:
        self.line += self._text.count("\n", self._at, end)
        self._at = end

    def _grow(self) -> bool:
        if self._ended:
            return False
        raw = self._stream.read(self._chunk)
        self._chunk *= 2  # so that a value of any size is parsed a few times only
        self._ended = not raw
        try:
            fresh = self._decoder.decode(raw, self._ended)
        except UnicodeDecodeError as error:
            line = self.line + self._text.count("\n", self._at) + error.object.count(b"\n", 0, error.start)
            raise InvalidInput(f"line {line}: not UTF-8; save the file as UTF-8", line=line) from error
        self._text, self._at = self._text[self._at :] + fresh, 0
        return True

    def _fail(self, reason: str, error: ValueError | None = None) -> NoReturn:
        end = error.pos if isinstance(error, json.JSONDecodeError) else self._at
        line = self.line + self._text.count("\n", self._at, end)
        facts = {"line": line, "rest": self._text[self._at :]} if self._stops(error) else {"line": line}
        raise InvalidInput(f"line {line}: {reason}; nothing behind this point can be read", **facts)

    def _stops(self, error: ValueError | None) -> bool:
        """Say whether the text simply stops here, as a file does whose writer was killed."""
        return self._ended and (_cut_off(error, len(self._text)) if error else not self._text[self._at :])


def _cut_off(error: ValueError, length: int) -> bool:
    """Say whether more text could mend *error*: it stands at the end, or inside a string without an end."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.pos >= length - 16 or error.msg.startswith("Unterminated string")
