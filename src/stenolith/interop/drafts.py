"""A message on its way from a foreign object to `Message`: nothing that the object said is dropped.

Keys of ``extra`` hold what the canonical fields have no place for: ``fields`` (the other keys of the object),
``part_fields`` (the other keys of its blocks, by the part's index), ``shape`` (how the content was written, where it is
not the usual way), ``role`` (a name of its own), and ``dialect``, which says whose keys these are.  The writer of that
dialect reads them; nobody else needs to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo
from typing import Any, Final

from stenolith.interop.blocks import Piece, read_block, read_result
from stenolith.interop.reading import Dialect
from stenolith.interop.timestamps import read_time
from stenolith.model.message import Message, Origin, Part, Role, StopReason, Text, ToolResult

_RESIDUE: Final = frozenset({"fields", "part_fields", "shape", "role", "typed", "no_calls"})
TIME_KEYS: Final = ("timestamp", "created_at", "createdAt", "created", "create_time")
STOP_REASONS: Final[Mapping[str, StopReason]] = {
    "stop": StopReason.STOP, "end_turn": StopReason.STOP, "stop_sequence": StopReason.STOP,
    "pause_turn": StopReason.STOP, "length": StopReason.LENGTH, "max_tokens": StopReason.LENGTH,
    "toolUse": StopReason.TOOL_USE, "tool_use": StopReason.TOOL_USE, "tool_calls": StopReason.TOOL_USE,
    "function_call": StopReason.TOOL_USE, "error": StopReason.ERROR, "content_filter": StopReason.ERROR,
    "refusal": StopReason.ERROR, "aborted": StopReason.ABORTED,
}  # fmt: skip


class Draft:
    """The keys of a foreign message that are still *left*, and the canonical fields *known* so far."""

    def __init__(self, value: Mapping[str, Any], dialect: Dialect) -> None:
        self.left = dict(value)
        self.dialect = dialect
        self.known: dict[str, Any] = {}
        self.extra: dict[str, Any] = {}
        self.pieces: list[Piece] = []
        self.shape = ""
        self._content = slice(0)

    def word(self, field: str, *names: str) -> None:
        """Move the first string under *names* to the canonical *field*."""
        for name in names:
            if isinstance(self.left.get(name), str):
                self.known[field] = self.left.pop(name)
                return

    def time(self, names: Iterable[str], zone: tzinfo, *, guess_seconds: bool) -> None:
        """Read the time under the first of *names* that holds one.

        Only whole milliseconds under ``timestamp`` are taken away: every other spelling is kept to be written again.
        """
        for name in names:
            moment = read_time(self.left.get(name), zone=zone, guess_seconds=guess_seconds)
            if moment.ms is None:
                continue
            self.known["timestamp"] = moment.ms
            if moment.assumed:
                self.extra["timestamp_assumed"] = True
            if name == "timestamp" and type(self.left[name]) is int and self.left[name] == moment.ms:
                del self.left[name]
            return

    def stop_reason(self, *names: str) -> None:
        """Read why the turn ended; a reason that we cannot write back word for word stays beside it."""
        for name in names:
            said = self.left.get(name)
            reason = STOP_REASONS.get(said) if isinstance(said, str) else None
            if reason is None:
                continue
            self.known["stop_reason"] = reason
            if stop_word(reason, self.dialect) == said:
                del self.left[name]
            return

    def usage(self) -> None:
        """Move the token counts, when there are any."""
        if isinstance(self.left.get("usage"), Mapping):
            self.known["usage"] = self.left.pop("usage")

    def origin(self, provider: str | None, api: str | None, model: str | None) -> None:
        """Note which model wrote this, when anything is known about it."""
        if provider is not None or model is not None:
            self.known["origin"] = Origin(provider=provider or "", api=api or "", model=model or "")

    def content(self) -> None:
        """Read the blocks under ``content``."""
        self.shape = "absent"
        if "content" in self.left:
            value = self.left.pop("content")
            self.shape = _shape_of(value)
            items = value if isinstance(value, list) else [] if value is None else [value]
            self._content = slice(len(self.pieces), len(self.pieces) + len(items))
            self.pieces += [read_block(item) for item in items]

    def odd_shape(self, role: Role) -> str:
        """Return how the content was written, when that is not the usual way."""
        usual = usual_shape(self.dialect, role, self.pieces[self._content])
        return "" if self.shape == usual else self.shape

    def result(self) -> None:
        """Read what is left as the result of a tool."""
        plain = isinstance(self.left.get("content"), str)
        piece = read_result(self.left)
        ours = {key: value for key, value in piece.rest.items() if key.startswith("~")}
        self.left = {key: value for key, value in piece.rest.items() if key not in ours}
        if self.dialect is Dialect.OPENCLAW:  # it always says whether there was an error, and writes blocks
            ours.pop("~said_no_error", None)
            ours = {**ours, "~shape": "string"} if plain else {k: v for k, v in ours.items() if v != "blocks"}
        self.pieces.append(Piece(part=piece.part, rest=ours))

    def split(self, role: Role) -> list[Message]:
        """Return one message, or two when tool results stand among the blocks: the results, then the rest."""
        others = [piece for piece in self.pieces if not isinstance(piece.part, ToolResult)]
        if len(others) == len(self.pieces):
            return [self.finish(role)]
        self.pieces = [piece for piece in self.pieces if isinstance(piece.part, ToolResult)]
        self.shape = ""
        found = [self.finish(Role.TOOL)]
        if others:
            self.pieces, self.left = others, {}
            found.append(self.finish(role))
        return found

    def finish(self, role: Role) -> Message:
        """Return the message, with everything that found no place in ``extra``."""
        rests = {str(i): dict(piece.rest) for i, piece in enumerate(self.pieces) if piece.rest}
        more = {"fields": self.left, "part_fields": rests, "shape": self.odd_shape(role)}
        extra = {**self.extra, **{key: value for key, value in more.items() if value}}
        if not extra.keys().isdisjoint(_RESIDUE):
            extra["dialect"] = self.dialect.value
        return Message(role=role, parts=tuple(piece.part for piece in self.pieces), extra=extra, **self.known)


def _shape_of(value: Any) -> str:
    if value is None:
        return "null"
    return "string" if isinstance(value, str) else "blocks" if isinstance(value, list) else "object"


def usual_shape(dialect: Dialect, role: Role, pieces: Sequence[Piece]) -> str:
    """Return how *dialect* writes this content when nothing else is known about it."""
    if not pieces:
        return "null" if dialect is Dialect.OPENAI_CHAT and role is Role.ASSISTANT else "blocks"
    if dialect is Dialect.OPENCLAW and role in {Role.ASSISTANT, Role.TOOL}:
        return "blocks"
    return "string" if _is_plain(pieces) else "blocks"


def _is_plain(pieces: Sequence[Piece]) -> bool:
    if len(pieces) != 1 or pieces[0].rest:
        return False
    part = pieces[0].part
    return isinstance(part, Text) and part.signature is None


def residue_of(message: Message, dialect: Dialect) -> Mapping[str, Any]:
    """Return what is kept in ``extra`` for the writer of *dialect*; nothing when another dialect was read."""
    return message.extra if message.extra.get("dialect") == dialect else {}


def pieces_of(message: Message, dialect: Dialect) -> list[Piece]:
    """Return the parts of *message*, each with what its block said beside it in *dialect*."""
    found = _mapping(residue_of(message, dialect).get("part_fields"))
    return [Piece(part=part, rest=_mapping(found.get(str(i)))) for i, part in enumerate(message.parts)]


def fields_of(message: Message, dialect: Dialect) -> dict[str, Any]:
    """Return the keys that the object had in *dialect* beside the ones we know."""
    return dict(_mapping(residue_of(message, dialect).get("fields")))


def said_role(message: Message, usual: str, dialect: Dialect) -> str:
    """Return the role's name as the object had it in *dialect* (``developer``, ``function``), or the *usual* one."""
    said = residue_of(message, dialect).get("role")
    return said if isinstance(said, str) else usual


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def shaped(dialect: Dialect, message: Message, pieces: Sequence[Piece], blocks: Sequence[Any]) -> dict[str, Any]:
    """Return ``{"content": …}`` with *blocks* in the shape they came in, or in the usual one; absent stays absent."""
    usual = usual_shape(dialect, message.role, pieces)
    shape = residue_of(message, dialect).get("shape", usual)
    if shape == "absent" and not blocks:
        return {}
    if shape == "null" and not blocks:
        return {"content": None}
    if shape == "object" and len(blocks) == 1:
        return {"content": blocks[0]}
    if shape == "string" and _is_plain(pieces):
        return {"content": _words(pieces[0].part)}
    return {"content": list(blocks)}


def _words(part: Part) -> str:
    return part.text if isinstance(part, Text) else ""


def stop_word(reason: StopReason, dialect: Dialect) -> str:
    """Return how *dialect* says *reason*."""
    if dialect is Dialect.ANTHROPIC:
        words = {StopReason.STOP: "end_turn", StopReason.LENGTH: "max_tokens", StopReason.TOOL_USE: "tool_use"}
    elif dialect is Dialect.OPENCLAW:
        words = {StopReason.TOOL_USE: "toolUse"}
    else:
        words = {StopReason.TOOL_USE: "tool_calls"}
    return words.get(reason, reason.value)
