"""What an image really is, read from its first bytes, and the limits that providers state.

The linter judges what others prepared, so it reads headers by itself and needs no image library.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from stenolith.replay.lint.rule import Finding

_HEAD: Final = 1_048_576  # base64 characters; a JPEG states its size after its metadata, which may be long
_ALPHABET: Final = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_GREETINGS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
# Start-of-frame markers of JPEG (ITU T.81, table B.1): C0-CF without C4, C8 and CC.
_FRAMES: Final = frozenset({0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one API takes: *text* is base64 characters, *side* pixels; *many* images narrow the side."""

    text: int
    side: int
    count: int
    many: int
    many_side: int
    mimes: frozenset[str] = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


# 5 MB is measured on the base64 text: field reports show refusals from about 3.7 MB of raw bytes.
ANTHROPIC: Final = Limits(text=5_242_880, side=8000, count=100, many=20, many_side=2000)
# 3.75 MiB of raw bytes are the same length of base64.
BEDROCK: Final = Limits(text=5_242_880, side=8000, count=20, many=20, many_side=8000)


class Embedded(NamedTuple):
    """An image in a payload: its place, its base64 text and the media type it claims."""

    path: str
    data: str
    mime: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """An image's real media type ("" = not known) and its size in pixels (0 = not known)."""

    mime: str = ""
    width: int = 0
    height: int = 0


def inspect(data: str) -> Picture | None:
    """Read the header of a base64 image; None when the text is not base64 at all."""
    if not data or len(data) % 4 or _ALPHABET.fullmatch(data) is None:
        return None
    try:
        head = base64.b64decode(data[:_HEAD], validate=True)
    except binascii.Error:
        return None
    for greeting, mime in _GREETINGS:
        if head.startswith(greeting):
            width, height = _SIZES[mime](head)
            return Picture(mime=mime, width=width, height=height)
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        width, height = _webp(head)
        return Picture(mime="image/webp", width=width, height=height)
    return Picture()


def _png(head: bytes) -> tuple[int, int]:
    return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")


def _gif(head: bytes) -> tuple[int, int]:
    return int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")


def _jpeg(head: bytes) -> tuple[int, int]:
    at = 2
    while at + 9 <= len(head):
        if head[at] != 0xFF:
            return 0, 0
        if head[at + 1] in _FRAMES:
            return int.from_bytes(head[at + 7 : at + 9], "big"), int.from_bytes(head[at + 5 : at + 7], "big")
        at += 1 if head[at + 1] == 0xFF else 2 + int.from_bytes(head[at + 2 : at + 4], "big")
    return 0, 0


def _webp(head: bytes) -> tuple[int, int]:
    kind = head[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
    if kind == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    return int.from_bytes(head[26:28], "little") & 0x3FFF, int.from_bytes(head[28:30], "little") & 0x3FFF


_SIZES: Final = {"image/png": _png, "image/jpeg": _jpeg, "image/gif": _gif}


def misnamed(images: Sequence[Embedded], limits: Limits) -> Iterator[Finding]:
    """Find images of a type that the API does not know, or that are not what they claim."""
    for image in images:
        real = inspect(image.data)
        if image.mime not in limits.mimes or real is None or real.mime not in {"", image.mime}:
            yield Finding(image.path, {"mime": image.mime, "real": (real and real.mime) or "no known image type"})


def too_long(images: Sequence[Embedded], limits: Limits) -> Iterator[Finding]:
    """Find images whose base64 text is over the limit."""
    for image in images:
        if len(image.data) > limits.text:
            yield Finding(image.path, {"size": len(image.data), "limit": limits.text})


def too_wide(images: Sequence[Embedded], limits: Limits) -> Iterator[Finding]:
    """Find images with a side over the limit of any request."""
    return (Finding(image.path, {"side": limits.side}) for image in images if _side(image) > limits.side)


def too_wide_among_many(images: Sequence[Embedded], limits: Limits) -> Iterator[Finding]:
    """Find images with a side over the limit of a request with many images."""
    if len(images) > limits.many:
        for image in images:
            if limits.many_side < _side(image) <= limits.side:
                yield Finding(image.path, {"side": limits.many_side})


def too_many(images: Sequence[Embedded], limits: Limits) -> Iterator[Finding]:
    """Find the first image beyond the number that one request may hold."""
    if len(images) > limits.count:
        yield Finding(images[limits.count].path, {"count": len(images), "limit": limits.count})


def _side(image: Embedded) -> int:
    real = inspect(image.data)
    return max(real.width, real.height) if real else 0
