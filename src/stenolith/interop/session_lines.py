"""Judge one line of a session file: keep it as it is, mend it, or set it aside (``spec/replay.md`` section 3.16)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from stenolith.interop.spans import LENIENT, STRICT, elements, find, put

CONTINUE: Final = "(continue)"
FAILED: Final = "[assistant turn failed before producing content]"
CORRUPT: Final = "[image omitted: corrupted base64 payload]"
_BASE64: Final = re.compile(r"\s*(?:data:[^,]*;base64,)?([A-Za-z0-9+/_\-\s]*)={0,2}\s*")
_GAP: Final = re.compile(r"[\s\x00]*")


class Entry(NamedTuple):
    """One object of a line: its exact text and what it says."""

    text: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What becomes of a line.

    *raw* is the line with its ending.  *entries* are the objects to keep, *rules* what was mended in them, *dropped*
    how many records were lost, *rejected* the bytes to set aside.  Without rules and losses the line stays byte for
    byte.
    """

    raw: bytes
    entries: tuple[Entry, ...] = ()
    rules: tuple[str, ...] = ()
    dropped: int = 0
    rejected: bytes = b""

    @property
    def is_clean(self) -> bool:
        """Whether the line stays as it is."""
        return not self.rules and not self.dropped

    def written(self) -> bytes:
        """Return the bytes that stand in the repaired file."""
        if self.is_clean:
            return self.raw
        return b"".join(entry.text.encode("utf-8", "surrogatepass") + b"\n" for entry in self.entries)


def judge(raw: bytes) -> Judged:
    """Judge one line of a file, with or without its ending.

    Objects glued together are parted; a damaged piece is set aside and the whole ones beside it stay.  Bytes that are
    not UTF-8 become U+FFFD, with the original set aside.  A line nested too deeply to be read here is left alone.
    """
    body = raw.rstrip(b"\r\n")
    inner = body.strip(b"\x00")
    if not inner.strip():
        return Judged(raw=raw, rules=("nul",) if inner != body else ())
    rules = ["nul"] if inner != body else []
    try:
        text, rejected = inner.decode(), b""
    except UnicodeDecodeError:
        text, rejected = inner.decode("utf-8", "replace"), body + b"\n"
        rules.append("utf-8")
    try:
        pieces, rest = _pieces(text, rules)
    except RecursionError:
        return Judged(raw=raw)
    judged = [_judge_entry(piece) for piece in pieces]
    kept = [entry for entry, _ in judged if entry is not None]
    rules += [rule for _, found in judged for rule in found]
    lost = [piece.text for piece, (entry, _) in zip(pieces, judged, strict=True) if entry is None]
    lost += [rest] if rest else []
    if lost and not rejected:
        rejected = b"".join(piece.encode("utf-8", "surrogatepass") + b"\n" for piece in lost)
    return Judged(raw=raw, entries=tuple(kept), rules=tuple(rules), dropped=len(lost), rejected=rejected)


def _pieces(text: str, rules: list[str]) -> tuple[list[Entry], str]:
    """Return the JSON values that stand on a line, and the rest that is none."""
    found: list[Entry] = []
    at = len(text) - len(text.lstrip())
    while at < len(text):
        value, end, plain = _decode(text, at)
        if end == at:
            break
        rules += [] if plain else ["control-characters"]
        found.append(Entry(text[at:end] if plain else json.dumps(value, ensure_ascii=False), value))
        gap = _GAP.match(text, end)
        rules += ["nul"] if gap and "\x00" in gap[0] else []
        at = gap.end() if gap else end
    rest = text[at:].strip()
    if len(found) > 1 or (found and rest):
        rules.append("glued")
    return found, rest


def _decode(text: str, at: int) -> tuple[Any, int, bool]:
    """Return a value, where it ends, and whether it was strictly JSON; the end is *at* when there is none."""
    for decoder in (STRICT, LENIENT):
        try:
            value, end = decoder.raw_decode(text, at)
        except ValueError:
            continue
        return value, end, decoder is STRICT
    return None, at, True


def _judge_entry(entry: Entry) -> tuple[Entry | None, list[str]]:
    """Return the entry, mended if need be, and the rules that did it; None for what no session holds."""
    value = entry.value
    if not isinstance(value, Mapping):
        return None, []
    if value.get("type") != "message":
        return entry, []
    message = value.get("message")
    role = message.get("role") if isinstance(message, Mapping) else None
    if not isinstance(message, Mapping) or not isinstance(role, str) or not role.strip():
        return None, []
    text, rules = entry.text, []
    for rule, mend in _MENDS.items():
        changed = mend(text, message)
        if changed is not None:
            text = changed
            rules.append(rule)
            message = LENIENT.decode(text)["message"]
    return Entry(text, value), rules


def _mend_user(text: str, message: Mapping[str, Any]) -> str | None:
    """Say ``(continue)`` where a user said nothing: strict servers want a user's words."""
    content = message.get("content")
    if message["role"] != "user" or not isinstance(content, str | list | None):
        return None
    if not isinstance(content, list):
        return None if content and content.strip() else _with_content(text, json.dumps(CONTINUE))
    blanks = [_is_blank(block) for block in content]
    if content and not any(blanks):
        return None
    if all(blanks):
        return _with_content(text, json.dumps([_text(CONTINUE)]))
    return _with_blocks(text, [None if blank else "" for blank in blanks])


def _mend_failed(text: str, message: Mapping[str, Any]) -> str | None:
    """Give a failed turn without content a sentence; finished and cut-off turns are left alone."""
    if message["role"] != "assistant" or message.get("stopReason") != "error" or message.get("content") != []:
        return None
    return _with_content(text, json.dumps([_text(FAILED)]))


def _mend_images(text: str, message: Mapping[str, Any]) -> str | None:
    """Replace pictures whose base64 is damaged: a provider would refuse every request that holds them."""
    content = message.get("content")
    if not isinstance(content, list):
        return None
    corrupt = [_is_corrupt(block) for block in content]
    if not any(corrupt):
        return None
    return _with_blocks(text, [json.dumps(_text(CORRUPT)) if bad else "" for bad in corrupt])


_MENDS: Final[Mapping[str, Callable[[str, Mapping[str, Any]], str | None]]] = {
    "blank-user": _mend_user,
    "failed-assistant": _mend_failed,
    "corrupt-image": _mend_images,
}


def _text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def _is_blank(block: Any) -> bool:
    if not isinstance(block, Mapping) or block.get("type") != "text":
        return False
    words = block.get("text")
    return not isinstance(words, str) or not words.strip()


def _is_corrupt(block: Any) -> bool:
    if not isinstance(block, Mapping) or block.get("type") != "image":
        return False
    source = block.get("source")
    data = source.get("data") if isinstance(source, Mapping) and source.get("type") == "base64" else block.get("data")
    if not isinstance(data, str):
        return False
    match = _BASE64.fullmatch(data)
    return match is None or len("".join(match[1].split())) % 4 == 1


def _with_content(text: str, content: str) -> str | None:
    span = find(text, "message", "content")
    return put(text, span, content) if span else None


def _with_blocks(text: str, blocks: list[str | None]) -> str | None:
    """Return *text* with other content blocks: an empty string keeps a block's characters, None removes the block."""
    span = find(text, "message", "content")
    if span is None:
        return None
    spans = elements(text, span.start)
    kept = [block or text[at.start : at.end] for at, block in zip(spans, blocks, strict=True) if block is not None]
    return put(text, span, f"[{','.join(kept)}]")
