"""Messages and their parts: the canonical form that every host's dialect is read into.

The JSON form is the public contract of the command line (``docs/reference``): a message has
``id role parts timestamp origin stop_reason error provenance usage`` and, when a host gave them,
``speaker display extra``.  Identity is content and position: see `digest`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, assert_never

from stenolith.model.provenance import Provenance


class Role(StrEnum):
    """Who speaks."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"


class StopReason(StrEnum):
    """Why an assistant's turn ended."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_USE = "tool_use"
    ERROR = "error"
    ABORTED = "aborted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Plain words. *signature* is a provider's opaque tag that must be echoed back."""

    text: str
    signature: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A picture: *data* is base64 text, *mime* the declared media type."""

    data: str
    mime: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """A model's reasoning; *signature* may be opaque text or a JSON text of a reasoning item."""

    text: str = ""
    signature: str | None = None
    redacted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A request to run a tool. *partial* holds the unfinished JSON of a call cut off in flight."""

    id: str
    name: str
    arguments: Any = None
    signature: str | None = None
    partial: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool returned; *details* never reach a model."""

    id: str
    name: str = ""
    content: tuple[Text | Image, ...] = ()
    is_error: bool = False
    synthetic: bool = False
    details: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Opaque:
    """A part we do not know. It survives storage and export unchanged."""

    kind: str
    value: Any


Part = Text | Image | Thinking | ToolCall | ToolResult | Opaque


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Which model wrote an assistant message."""

    provider: str = ""
    api: str = ""
    model: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the canonical JSON form."""
        return {"provider": self.provider, "api": self.api, "model": self.model}

    @classmethod
    def from_dict(cls, value: Any) -> Origin | None:
        """Read the canonical JSON form; anything but an object means unknown."""
        if not isinstance(value, Mapping):
            return None
        return cls(**{key: _word(value.get(key)) for key in ("provider", "api", "model")})


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One entry of a conversation.

    *id* is the host's identifier and proves nothing: hosts repeat ids. *timestamp* is epoch
    milliseconds or None. *speaker* names who spoke in a room with several people. *display* is
    False for entries a person should not see. *extra* carries what a host sent beside the
    canonical fields (custom message types, for example).
    """

    role: Role
    parts: tuple[Part, ...] = ()
    id: str = ""
    timestamp: int | None = None
    origin: Origin | None = None
    stop_reason: StopReason | None = None
    error: str | None = None
    provenance: Provenance | None = None
    usage: Mapping[str, Any] | None = None
    speaker: str = ""
    display: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        """Return the words of all text parts, joined with line breaks."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))


def part_to_dict(part: Part) -> dict[str, Any]:
    """Return the canonical JSON form of one part."""
    match part:
        case Text():
            return _lean({"type": "text", "text": part.text, "signature": part.signature})
        case Image():
            return {"type": "image", "data": part.data, "mime": part.mime}
        case Thinking():
            shape = {"type": "thinking", "text": part.text, "signature": part.signature}
            return _lean({**shape, "redacted": part.redacted or None})
        case ToolCall():
            shape = {"type": "tool_call", "id": part.id, "name": part.name}
            rest = _lean({"signature": part.signature, "partial": part.partial})
            return {**shape, "arguments": part.arguments, **rest}
        case ToolResult():
            return _result_to_dict(part)
        case Opaque():
            return {"type": "opaque", "kind": part.kind, "value": part.value}
        case _ as never:
            assert_never(never)


def _result_to_dict(part: ToolResult) -> dict[str, Any]:
    content = [part_to_dict(piece) for piece in part.content]
    shape = {"type": "tool_result", "id": part.id, **_lean({"name": part.name or None})}
    rest = _lean({"synthetic": part.synthetic or None, "details": part.details})
    return {**shape, "content": content, "is_error": part.is_error, **rest}


def part_from_dict(value: Any) -> Part:
    """Read one canonical part; whatever is not canonical becomes `Opaque`."""
    if not isinstance(value, Mapping):
        return Text(text=value) if isinstance(value, str) else Opaque(kind=type(value).__name__, value=value)
    reader = _READERS.get(str(value.get("type")))
    part = reader(value) if reader else None
    return part if part is not None else Opaque(kind=str(value.get("type") or "unknown"), value=dict(value))


def _read_text(value: Mapping[str, Any]) -> Part | None:
    if not isinstance(value.get("text"), str):
        return None
    return Text(text=value["text"], signature=_optional(value.get("signature")))


def _read_image(value: Mapping[str, Any]) -> Part | None:
    if not isinstance(value.get("data"), str):
        return None
    return Image(data=value["data"], mime=str(value.get("mime") or ""))


def _read_thinking(value: Mapping[str, Any]) -> Part | None:
    words = str(value.get("text") or "")
    return Thinking(text=words, signature=_optional(value.get("signature")), redacted=bool(value.get("redacted")))


def _read_call(value: Mapping[str, Any]) -> Part | None:
    extra = {key: _optional(value.get(key)) for key in ("signature", "partial")}
    return ToolCall(id=_word(value.get("id")), name=_word(value.get("name")), arguments=value.get("arguments"), **extra)


def _read_result(value: Mapping[str, Any]) -> Part | None:
    pieces = [part_from_dict(piece) for piece in _pieces(value.get("content"))]
    content = tuple(piece for piece in pieces if isinstance(piece, Text | Image))
    lost = [part_to_dict(piece) for piece in pieces if not isinstance(piece, Text | Image)]
    details = value.get("details")
    return ToolResult(
        id=_word(value.get("id")),
        name=_word(value.get("name")),
        content=content,
        is_error=bool(value.get("is_error")),
        synthetic=bool(value.get("synthetic")),
        details={"unknown_parts": lost, "details": details} if lost else details,
    )


def _read_opaque(value: Mapping[str, Any]) -> Part | None:
    return Opaque(kind=str(value.get("kind") or "unknown"), value=value.get("value"))


_READERS = {
    "text": _read_text,
    "image": _read_image,
    "thinking": _read_thinking,
    "tool_call": _read_call,
    "tool_result": _read_result,
    "opaque": _read_opaque,
}


def _pieces(value: Any) -> Sequence[Any]:
    if isinstance(value, str):
        return [value]
    return value if isinstance(value, list | tuple) else []


def _optional(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _lean(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if item is not None}


def message_to_dict(message: Message) -> dict[str, Any]:
    """Return the canonical JSON form: every contract key is present, others only when set."""
    shape: dict[str, Any] = {
        "id": message.id,
        "role": message.role.value,
        "parts": [part_to_dict(part) for part in message.parts],
        "timestamp": message.timestamp,
        "origin": message.origin.to_dict() if message.origin else None,
        "stop_reason": message.stop_reason.value if message.stop_reason else None,
        "error": message.error,
        "provenance": message.provenance.to_dict() if message.provenance else None,
        "usage": dict(message.usage) if message.usage is not None else None,
    }
    more = {"speaker": message.speaker or None, "display": None if message.display else False}
    return {**shape, **_lean({**more, "extra": dict(message.extra) or None})}


def message_from_dict(value: Mapping[str, Any]) -> Message:
    """Read the canonical JSON form. Raises ValueError with the reason when it has no known role."""
    role = value.get("role")
    if not isinstance(role, str) or role not in set(Role):
        raise ValueError(f"role must be one of user, assistant, tool, system; got {role!r}")
    origin = value.get("origin")
    reason = value.get("stop_reason")
    stamp = value.get("timestamp")
    usage, extra = value.get("usage"), value.get("extra")
    return Message(
        role=Role(role),
        parts=tuple(part_from_dict(part) for part in _pieces(value.get("parts"))),
        id=_word(value.get("id")),
        timestamp=stamp if isinstance(stamp, int) and not isinstance(stamp, bool) else None,
        origin=Origin.from_dict(origin),
        stop_reason=StopReason(reason) if isinstance(reason, str) and reason in set(StopReason) else None,
        error=_optional(value.get("error")),
        provenance=Provenance.from_dict(value.get("provenance")),
        usage=usage if isinstance(usage, Mapping) else None,
        speaker=_word(value.get("speaker")),
        display=value.get("display") is not False,
        extra=extra if isinstance(extra, Mapping) else {},
    )


def compact_json(value: Any) -> str:
    """Return JSON without blanks, keys in their own order: what a store writes.

    Lone surrogates are escaped, so any Python text can be stored and read back.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if _encodes(text) else json.dumps(value, separators=(",", ":"))


def canonical_json(value: Any) -> str:
    """Return JSON with sorted keys and no blanks: the bytes that digests are taken of.

    Lone surrogates are escaped, so any Python text can be stored and read back.
    """
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text if _encodes(text) else json.dumps(value, sort_keys=True, separators=(",", ":"))


def mended(text: str) -> str:
    """Return *text* with U+FFFD for each half of a surrogate pair, which no file and no database takes."""
    return text if _encodes(text) else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def digest(message: Message) -> str:
    """Return what makes a message the same message wherever a host puts it.

    Role and content count; ids, timestamps, usage, and whether text came as a string or as blocks
    do not.  Neighbouring texts are joined, so a host that turns blocks into one string (OpenClaw
    does between two processes, ``spec/hosts.md`` section 2) still sends the same message.
    """
    content: list[Any] = [message.role.value]
    words = message.text().strip()
    if words:
        content.append(words)
    content += [part_to_dict(part) for part in message.parts if not isinstance(part, Text)]
    return "b2:" + hashlib.blake2b(canonical_json(content).encode(), digest_size=16).hexdigest()
