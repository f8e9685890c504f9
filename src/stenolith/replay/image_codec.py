"""Decode a picture and write it smaller. Pillow does it, where the extra ``images`` is installed."""

from __future__ import annotations

import importlib.util
import io
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

# The steps in which OpenClaw shrinks a picture until it fits (spec/replay.md section 3.5.1).
_SIDES: Final = (1800, 1600, 1400, 1200, 1000, 800)
_QUALITIES: Final = (85, 75, 65, 55, 45, 35)


class Unreadable(Exception):
    """This picture cannot be decoded, or not be made to fit; the text says why."""


class CodecMissing(Unreadable):
    """Nothing that decodes pictures is installed."""


class Encoded(NamedTuple):
    """A picture's bytes, its media type and its size in pixels."""

    data: bytes
    mime: str
    width: int
    height: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What a picture has to fit into: *side* in pixels, *size* in bytes; more than *pixels* is never decoded."""

    side: int
    size: int
    pixels: int


class Codec(Protocol):
    """Something that can decode pictures.

    `measure` returns width and height from the header, without decoding; `shrink` returns a picture that fits *room*.
    Both raise `Unreadable`, and are deterministic: the same bytes and room give the same answer.
    """

    def measure(self, data: bytes) -> tuple[int, int]:
        """Return width and height in pixels."""
        ...

    def shrink(self, data: bytes, room: Room) -> Encoded:
        """Return the picture, small enough for *room*."""
        ...


class PillowCodec:
    """Pictures through Pillow: upright by EXIF, an animation's first frame, PNG where alpha makes it smaller."""

    def measure(self, data: bytes) -> tuple[int, int]:
        """Return width and height in pixels."""
        size: tuple[int, int] = _open(data).size
        return size

    def shrink(self, data: bytes, room: Room) -> Encoded:
        """Return the picture, small enough for *room*."""
        opened = _open(data)
        width, height = opened.size
        if width * height > room.pixels:
            raise Unreadable(f"{width}x{height} is more than {room.pixels // 1_000_000} megapixels")
        full = _decode(opened)
        for side in _sides(max(full.size), room.side):
            found = _encode(_scaled(full, side), room.size)
            if found:
                return found
        raise Unreadable(f"cannot be made smaller than {room.size} bytes")


class NoCodec:
    """What stands in where the extra ``images`` is not installed."""

    def measure(self, data: bytes) -> tuple[int, int]:
        """Refuse: the header was not one of the types that are read without help."""
        raise CodecMissing(f"{len(data)} bytes of a type that cannot be read here")

    def shrink(self, data: bytes, room: Room) -> Encoded:
        """Refuse: nothing here can resize."""
        raise CodecMissing(f"{len(data)} bytes do not fit {room.side} pixels a side and {room.size} bytes")


@cache
def default_codec() -> Codec:
    """Return Pillow's codec where it is installed, else one that refuses."""
    return PillowCodec() if importlib.util.find_spec("PIL") else NoCodec()


def _open(data: bytes) -> Picture:
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            return Image.open(io.BytesIO(data))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise Unreadable("not a picture that can be read") from error


def _decode(opened: Picture) -> Picture:
    from PIL import ImageOps

    try:
        opened.seek(0)
        upright = ImageOps.exif_transpose(opened)
        see_through = upright.mode in {"RGBA", "LA", "PA"} or "transparency" in upright.info
        return upright.convert("RGBA" if see_through else "RGB")
    except (OSError, ValueError, SyntaxError, EOFError) as error:
        raise Unreadable("the picture is damaged") from error


def _sides(longest: int, limit: int) -> Iterator[int]:
    """Yield the sides to try: the picture's own where it is allowed, then ever smaller steps."""
    first = min(longest, limit)
    yield first
    yield from (side for side in _SIDES if side < first)


def _scaled(full: Picture, side: int) -> Picture:
    from PIL.Image import Resampling

    longest = max(full.size)
    if longest <= side:
        return full
    width, height = (max(1, round(length * side / longest)) for length in full.size)
    return full.resize((width, height), Resampling.LANCZOS)


def _encode(picture: Picture, size: int) -> Encoded | None:
    flat = _on_white(picture) if picture.mode == "RGBA" else picture
    jpeg = next((data for q in _QUALITIES if len(data := _saved(flat, "JPEG", q)) <= size), None)
    if picture.mode == "RGBA":
        png = _saved(picture, "PNG", 0)
        if len(png) <= min(size, size if jpeg is None else len(jpeg)):
            return Encoded(png, "image/png", *picture.size)
    return None if jpeg is None else Encoded(jpeg, "image/jpeg", *picture.size)


def _on_white(picture: Picture) -> Picture:
    from PIL import Image

    paper = Image.new("RGBA", picture.size, "white")
    return Image.alpha_composite(paper, picture).convert("RGB")


def _saved(picture: Picture, form: str, quality: int) -> bytes:
    target = io.BytesIO()
    options = {"quality": quality} if quality else {"optimize": True}
    picture.save(target, form, **options)
    return target.getvalue()
