"""Bring pictures within a provider's limits (``spec/replay.md`` section 3.5.1).

One oversized picture makes a provider refuse every later request of its session.  So each is checked by its bytes, not
by what it claims: type from the first bytes, size from the header, nothing decoded before the pixels are counted.
What cannot be sent leaves a text in its place.
"""

from __future__ import annotations

import base64
import hashlib
import re
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from stenolith.model.message import Image, Message, Part, Text, ToolResult
from stenolith.replay.image_codec import Codec, CodecMissing, Encoded, Room, Unreadable, default_codec
from stenolith.replay.lint.pictures import Picture, inspect
from stenolith.replay.plan import holding
from stenolith.replay.policy import ImageLimits
from stenolith.replay.report import Change

RULE: Final = "images"
EMPTY: Final = "[session:history] omitted empty image payload"
INVALID: Final = "[session:history] omitted image payload: invalid base64"
UNNAMED: Final = "[session:history] omitted image payload: missing data or mimeType"
FAILED: Final = "[session:history] omitted image payload: {}"
TOO_MANY: Final = "[image omitted: too many images]"
TOO_LARGE: Final = "[image omitted: request too large]"
NO_VISION: Final = "(image omitted: model does not support images)"
NO_VISION_TOOL: Final = "(tool image omitted: model does not support images)"
_INSTALL: Final = "install stenolith[images] to have pictures resized"

_DATA_URL: Final = re.compile(r"\s*data:([^;,]*)(?:;[^;,]*)*;base64,", re.IGNORECASE)
_SPACE: Final = re.compile(r"\s+")
_URL_SAFE: Final = str.maketrans("-_", "+/")
_ALPHABET: Final = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_MEMORY: Final = 32_000_000  # bytes of resized pictures that are kept for the next replay


class _Spot(NamedTuple):
    """Where a picture stands: message, part, and the piece of a tool result."""

    message: int
    part: int
    piece: int | None


class _Pictures:
    """The pictures of one request on their way: what each has become, and the lines of the report."""

    def __init__(self, messages: Sequence[Message]) -> None:
        found = [(spot, image) for at, message in enumerate(messages) for spot, image in _spots(at, message)]
        self.spots = [spot for spot, _ in found]
        self.now: list[Image | Text] = [image for _, image in found]
        self.changes: list[Change] = []

    def left(self) -> list[tuple[int, Image]]:
        """Return the pictures that are still pictures, oldest first."""
        return [(at, part) for at, part in enumerate(self.now) if isinstance(part, Image)]

    def put(self, at: int, part: Image | Text, action: str, detail: str) -> None:
        """Replace a picture and say so."""
        self.now[at] = part
        self.changes.append(Change(rule=RULE, index=self.spots[at].message, action=action, detail=detail))

    def omit(self, at: int, placeholder: str, more: str = "") -> None:
        """Put *placeholder* where the picture was."""
        detail = f"{placeholder}; {more}" if more else placeholder
        self.put(at, Text(text=placeholder), "replaced", detail)


def limit(
    messages: Sequence[Message], limits: ImageLimits, codec: Codec | None = None
) -> tuple[tuple[Message, ...], tuple[Change, ...]]:
    """Return as many messages with pictures that a provider with these *limits* takes, and the changes.

    A picture within the limits keeps its bytes; its declared type becomes the real one.  A larger one is written anew
    by *codec* (None: Pillow, if it is installed).  Too many pictures, or too many bytes of them, cost the oldest.
    The same messages, limits and codec give the same answer, and the answer comes back unchanged when it is limited
    again.
    """
    pictures = _Pictures(messages)
    if not pictures.spots:
        return tuple(messages), ()
    if limits.vision:
        _check(pictures)
        _count(pictures, limits)
        _fit(pictures, limits, codec or default_codec())
        _budget(pictures, limits)
    else:
        _blind(pictures)
    changes = sorted(pictures.changes, key=lambda change: change.index)
    return _rebuilt(messages, pictures, collapse=not limits.vision), tuple(changes)


def _spots(at: int, message: Message) -> Iterator[tuple[_Spot, Image]]:
    for number, part in enumerate(message.parts):
        if isinstance(part, Image):
            yield _Spot(at, number, None), part
        elif isinstance(part, ToolResult):
            pieces = ((index, piece) for index, piece in enumerate(part.content) if isinstance(piece, Image))
            yield from ((_Spot(at, number, index), piece) for index, piece in pieces)


def _blind(pictures: _Pictures) -> None:
    for at, _ in pictures.left():
        pictures.omit(at, NO_VISION if pictures.spots[at].piece is None else NO_VISION_TOOL)


def _check(pictures: _Pictures) -> None:
    """Write base64 in its one form, and replace what is none."""
    for at, image in pictures.left():
        link = _DATA_URL.match(image.data)
        data = _SPACE.sub("", image.data[link.end() :] if link else image.data).translate(_URL_SAFE)
        mime = image.mime.strip().lower() or (link[1].strip().lower() if link else "")
        data += "=" * (-len(data) % 4)
        if not data:
            pictures.omit(at, EMPTY)
        elif not _ALPHABET.fullmatch(data) or len(data.rstrip("=")) % 4 == 1:
            pictures.omit(at, INVALID)
        elif not mime:
            pictures.omit(at, UNNAMED)
        elif (data, mime) != (image.data, image.mime):
            pictures.put(at, Image(data=data, mime=mime), "rewritten", f"base64 of an {mime} in its plain form")


def _count(pictures: _Pictures, limits: ImageLimits) -> None:
    left = pictures.left()
    for at, _ in left[: max(0, len(left) - limits.max_count)]:
        pictures.omit(at, TOO_MANY)


def _fit(pictures: _Pictures, limits: ImageLimits, codec: Codec) -> None:
    left = pictures.left()
    side = min(limits.max_side, limits.many_side) if len(left) > limits.many_count else limits.max_side
    room = Room(side=max(1, int(side)), size=limits.max_bytes, pixels=limits.max_pixels)
    for at, image in left:
        try:
            _fit_one(pictures, at, image, _Case(room, limits.formats, codec))
        except Unreadable as error:
            pictures.omit(at, FAILED.format(error), _INSTALL if isinstance(error, CodecMissing) else "")


class _Case(NamedTuple):
    room: Room
    formats: tuple[str, ...]
    codec: Codec


def _fit_one(pictures: _Pictures, at: int, image: Image, case: _Case) -> None:
    real = _real(image, case.codec)
    if real.width * real.height > case.room.pixels:
        raise Unreadable(f"{real.width}x{real.height} is more than {case.room.pixels // 1_000_000} megapixels")
    size = len(image.data) // 4 * 3 - image.data.count("=", -2)
    fits = 0 < max(real.width, real.height) <= case.room.side and size <= case.room.size
    if not (fits and real.mime in case.formats):
        found = _cache.shrink(base64.b64decode(image.data), case.room, case.codec)
        shown = Image(data=base64.b64encode(found.data).decode(), mime=found.mime)
        before = f"{real.mime or image.mime} {real.width}x{real.height} {size} bytes"
        after = f"{found.mime} {found.width}x{found.height} {len(found.data)} bytes"
        pictures.put(at, shown, "resized", f"{before} became {after}")
    elif real.mime != image.mime:
        pictures.put(at, replace(image, mime=real.mime), "retyped", f"{image.mime} is {real.mime}")


def _real(image: Image, codec: Codec) -> Picture:
    """Return what the picture is by its bytes. Raises `Unreadable` when it is nothing that can be read."""
    found = inspect(image.data) or Picture()
    if found.width and found.height:
        return found
    width, height = codec.measure(base64.b64decode(image.data))
    return replace(found, width=width, height=height)


class _Cache:
    """Pictures that were resized lately: a session shows the same ones in every request."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: OrderedDict[tuple[bytes, Room, type], Encoded] = OrderedDict()

    def shrink(self, raw: bytes, room: Room, codec: Codec) -> Encoded:
        key = (hashlib.sha256(raw).digest(), room, type(codec))
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        made = codec.shrink(raw, room)
        with self._lock:
            self._found[key] = made
            while sum(len(known.data) for known in self._found.values()) > _MEMORY:
                self._found.popitem(last=False)
        return made


_cache: Final = _Cache()


def _budget(pictures: _Pictures, limits: ImageLimits) -> None:
    left = pictures.left()
    total = sum(len(image.data) for _, image in left)
    for at, image in left:
        if total <= limits.request_bytes:
            return
        total -= len(image.data)
        pictures.omit(at, TOO_LARGE)


def _rebuilt(messages: Sequence[Message], pictures: _Pictures, *, collapse: bool) -> tuple[Message, ...]:
    """Return the messages with what their pictures have become; untouched ones stay the same objects."""
    rebuilt = list(messages)
    changed = {change.index for change in pictures.changes}
    becomes = dict(zip(pictures.spots, pictures.now, strict=True))
    for at in changed:
        parts = [_part(part, _Spot(at, number, None), becomes) for number, part in enumerate(messages[at].parts)]
        if collapse:
            parts = [_collapsed_result(part) if isinstance(part, ToolResult) else part for part in _collapsed(parts)]
        rebuilt[at] = holding(messages[at], parts)
    return tuple(rebuilt)


def _part(part: Part, spot: _Spot, becomes: dict[_Spot, Image | Text]) -> Part:
    if not isinstance(part, ToolResult):
        return becomes.get(spot, part)
    content = tuple(becomes.get(spot._replace(piece=index), piece) for index, piece in enumerate(part.content))
    return replace(part, content=content)


def _collapsed_result(result: ToolResult) -> ToolResult:
    pieces = _collapsed(result.content)
    return replace(result, content=tuple(piece for piece in pieces if isinstance(piece, Text | Image)))


def _collapsed(parts: Sequence[Part]) -> list[Part]:
    """Return *parts* with neighbouring placeholders of a model without eyes said once."""
    omitted = {Text(text=NO_VISION), Text(text=NO_VISION_TOOL)}
    repeats = [
        at > 0 and part == parts[at - 1] and isinstance(part, Text) and part in omitted for at, part in enumerate(parts)
    ]
    return [part for part, again in zip(parts, repeats, strict=True) if not again]
