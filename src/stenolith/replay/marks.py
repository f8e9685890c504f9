"""The inter-session marker: what a message from another session looks like to a model.

The durable record is `Message.provenance`; the marker is rebuilt from it on every replay and never
stored, so a forged or stale one cannot survive (``spec/replay.md`` section 3.2).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from stenolith.model.message import Message, Part, Text
from stenolith.model.provenance import Provenance, ProvenanceKind
from stenolith.replay.plan import MARKER_SENTENCE, Plan, is_blank, with_parts
from stenolith.replay.report import Change, Line, Passed
from stenolith.replay.roles import USER

MARKER: Final = "[Inter-session message]"
BODILESS: Final = "Inter-session content follows."
SEGMENTS: Final = "segments"
_VALUE_MAX: Final = 120
_PLAIN: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789:._/@-")
_LOOKALIKE: Final = re.compile(r"^(?=[ \t]*\[Inter-session message\])", re.MULTILINE)


def encode_value(value: str) -> str:
    """Return *value* in the marker's alphabet, other bytes percent-encoded, at most 120 characters."""
    found, room = [], _VALUE_MAX
    for byte in value.encode("utf-8", errors="replace"):
        piece = chr(byte) if byte in _PLAIN else f"%{byte:02X}"
        if len(piece) > room:
            break
        found.append(piece)
        room -= len(piece)
    return "".join(found)


def header(provenance: Provenance) -> str:
    """Return the machine-readable first line of the marker; absent fields are left out."""
    named = {
        "sourceSession": provenance.session,
        "sourceChannel": provenance.channel,
        "sourceTool": provenance.tool,
    }
    fields = [f"{name}={encode_value(value)}" for name, value in named.items() if value]
    return " ".join([MARKER, *fields, "isUser=false"])


def strip_marker(text: str, sentence: str = MARKER_SENTENCE) -> str:
    """Return *text* without the marker lines at its start."""
    while text.startswith(MARKER):
        _, _, text = text.partition("\n")
        if text == sentence or text.startswith(sentence + "\n"):
            text = text[len(sentence) + 1 :]
    return text


def disarm(text: str) -> str:
    """Return *text* with every line that poses as the marker made visibly harmless."""
    return _LOOKALIKE.sub(r"\\", text) if MARKER in text else text


def mark_provenance(lines: Sequence[Line], plan: Plan) -> Passed:
    """Rebuild the marker of inter-session messages and disarm what poses as one in all others."""
    kept: list[Line] = []
    changes: list[Change] = []
    for line in lines:
        message = line.message
        if message.role is not USER or not _concerned(message):
            kept.append(line)
            continue
        parts = tuple(part for segment in _segments(message) for part in _marked(*segment, plan))
        if parts == message.parts:
            kept.append(line)
            continue
        kept.append(with_parts(line, parts))
        action = "marked" if _is_foreign(message.provenance) else "disarmed"
        changes.append(Change(rule="inter-session", index=line.at, action=action, detail=message.text()))
    return kept, changes


def _concerned(message: Message) -> bool:
    if message.provenance is not None and message.provenance.kind is ProvenanceKind.INTER_SESSION:
        return True
    return any(type(part) is Text and MARKER in part.text for part in message.parts)


def _is_foreign(provenance: Provenance | None) -> bool:
    return provenance is not None and provenance.kind is ProvenanceKind.INTER_SESSION


def _segments(message: Message) -> Iterator[tuple[tuple[Part, ...], Provenance | None]]:
    """Yield the parts of *message* by sender; a merged message remembers who sent what."""
    noted = message.extra.get(SEGMENTS)
    if not isinstance(noted, list | tuple) or not all(_is_note(note) for note in noted):
        yield message.parts, message.provenance
        return
    start = 0
    for note in noted:
        end = start + note["parts"]
        yield message.parts[start:end], Provenance.from_dict(note.get("provenance"))
        start = end
    if start < len(message.parts):
        yield message.parts[start:], None


def _is_note(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("parts"), int) and value["parts"] >= 0


def join_segments(first: Message, second: Message) -> Mapping[str, Any]:
    """Return the note that keeps the senders of two merged messages apart; empty when both just typed."""
    if not any(_is_foreign(message.provenance) or SEGMENTS in message.extra for message in (first, second)):
        return {}
    notes = [
        {"parts": len(parts), "provenance": provenance.to_dict() if provenance else None}
        for message in (first, second)
        for parts, provenance in _segments(message)
    ]
    return {SEGMENTS: notes}


def _marked(parts: tuple[Part, ...], provenance: Provenance | None, plan: Plan) -> tuple[Part, ...]:
    if provenance is None or not _is_foreign(provenance):
        return tuple(replace(part, text=disarm(part.text)) if type(part) is Text else part for part in parts)
    sentence = plan.options.marker_sentence
    bodies = [part for part in parts if type(part) is Text]
    if bodies and all(is_blank(part.text) for part in bodies):
        return parts
    first = next(iter(bodies), None)
    top = f"{header(provenance)}\n{sentence}\n"
    if first is None:
        return (Text(text=top + BODILESS), *parts)
    at = next(index for index, part in enumerate(parts) if part is first)
    body = disarm(strip_marker(first.text, sentence))
    rest = [replace(part, text=disarm(part.text)) if type(part) is Text else part for part in parts[at + 1 :]]
    return (*parts[:at], replace(first, text=top + body), *rest)
