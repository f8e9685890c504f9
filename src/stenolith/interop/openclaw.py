"""Read and write OpenClaw's messages, session entries apart (``spec/replay.md`` §1.2).

Roles that only OpenClaw has become user messages with a mark in ``extra``: ``custom_type`` and ``details`` for custom
messages, ``bash`` for commands a person ran, ``summary`` for what compaction and branching left, ``mirror`` for
assistant rows that only repeat what a tool delivered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import tzinfo
from typing import Any, Final, assert_never

from stenolith.interop.blocks import RESULT_IDS, Piece, take
from stenolith.interop.chat import read_role
from stenolith.interop.drafts import Draft, fields_of, pieces_of, said_role, shaped, stop_word
from stenolith.interop.outgoing import (
    is_silent,
    opaque,
    own_details,
    own_mark,
    plain_rest,
    result_content,
    signed,
    split_results,
)
from stenolith.interop.reading import Dialect
from stenolith.model.message import Image, Message, Opaque, Role, Text, Thinking, ToolCall, ToolResult
from stenolith.model.provenance import Provenance, ProvenanceKind

_CLAW: Final = Dialect.OPENCLAW
MIRRORS: Final = frozenset({"delivery-mirror", "gateway-injected"})
_SUMMARIES: Final[Mapping[str, tuple[str, str]]] = {
    "compactionSummary": (
        "compaction",
        "The conversation history before this point was compacted into the following summary:",
    ),
    "branchSummary": (
        "branch",
        "The following is a summary of a branch that this conversation came back from:",
    ),
}
_OWN_ROLES: Final = frozenset({*_SUMMARIES, "bashExecution", "custom", "hookMessage"})
_SUMMARY_ROLES: Final = {name: role for role, (name, _) in _SUMMARIES.items()}
_SUMMARY: Final = re.compile(r"[^\n]*\n\n<summary>\n(.*)\n</summary>", re.DOTALL)
_PLACES: Final = (("session", "sourceSessionKey"), ("channel", "sourceChannel"), ("tool", "sourceTool"))


def read_openclaw(value: Mapping[str, Any], zone: tzinfo) -> tuple[list[Message], str]:
    """Read one bare message. Returns no message and a complaint when it has no role."""
    said = value.get("role") if isinstance(value.get("role"), str) else ""
    draft = Draft(value, _CLAW)
    draft.left.pop("role", None)
    draft.word("id", "id")
    draft.time(("timestamp",), zone, guess_seconds=False)
    if said in _SUMMARIES:
        return [_read_summary(draft, str(said))], ""
    if said == "bashExecution":
        return [_read_bash(draft)], ""
    if said in {"custom", "hookMessage"}:
        return [_read_custom(draft)], ""
    role, complaint = read_role(said)
    if role is None:
        return [], complaint
    if said != _written_role(role):
        draft.extra["role"] = said
    _read_envelope(draft, role)
    if role is Role.TOOL:
        draft.result()
        return [draft.finish(role)], complaint
    draft.content()
    return draft.split(role), complaint


def _read_envelope(draft: Draft, role: Role) -> None:
    _read_display(draft)
    _read_provenance(draft)
    if role is Role.ASSISTANT:
        keys = [take(draft.left, (key,), str) for key in ("provider", "api", "model")]
        if any(key is not None for key in keys):
            draft.origin(keys[0] or "", keys[1], keys[2])
        if keys[0] == "openclaw" and keys[2] in MIRRORS:
            draft.extra["mirror"] = True
        draft.stop_reason("stopReason", "stop_reason")
        draft.word("error", "errorMessage")
        draft.usage()


def _read_display(draft: Draft) -> None:
    if draft.left.get("display") is False:
        draft.known["display"] = draft.left.pop("display")


def _read_provenance(draft: Draft) -> None:
    value = draft.left.get("provenance")
    if not isinstance(value, Mapping) or value.get("kind") not in list(ProvenanceKind):
        return
    left = {key: item for key, item in value.items() if key != "kind"}
    places = {name: left.pop(key).strip() for name, key in _PLACES if isinstance(left.get(key), str)}
    draft.known["provenance"] = Provenance(kind=ProvenanceKind(value["kind"]), extra=left or None, **places)
    del draft.left["provenance"]


def _read_custom(draft: Draft) -> Message:
    draft.extra["custom_type"] = take(draft.left, ("customType",), str) or ""
    draft.known["display"] = draft.left.pop("display", True) is not False
    details = draft.left.pop("details", None)
    if details is not None:
        draft.extra["details"] = details
    draft.content()
    return draft.finish(Role.USER)


def _read_bash(draft: Draft) -> Message:
    bash, draft.left = draft.left, {}
    draft.extra["bash"] = bash
    output = str(bash.get("output") or "")
    fence = "`" * (max(map(len, re.findall(r"`+", output)), default=2) + 1 if "```" in output else 3)
    shown = f"{fence}\n{output}\n{fence}" if output.strip() else "(no output)"
    lines = [f"Ran `{bash.get('command', '')}`", shown]
    if bash.get("exitCode") not in (None, 0):
        lines.append(f"Command exited with code {bash['exitCode']}")
    draft.pieces.append(Piece(part=Text(text="\n".join(lines))))
    return draft.finish(Role.USER)


def _read_summary(draft: Draft, said: str) -> Message:
    name, sentence = _SUMMARIES[said]
    draft.extra["summary"] = name
    words = take(draft.left, ("summary",), str) or ""
    draft.pieces.append(Piece(part=Text(text=f"{sentence}\n\n<summary>\n{words}\n</summary>")))
    return draft.finish(Role.USER)


def _written_role(role: Role) -> str:
    return "toolResult" if role is Role.TOOL else role.value


def write_openclaw(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Return the messages as OpenClaw's bare messages; each tool result becomes a message of its own."""
    return [written for message in messages for written in _write(message)]


def _write(message: Message) -> list[dict[str, Any]]:
    results, others = split_results(pieces_of(message, _CLAW))
    found = [_write_result(message, piece, piece.part) for piece in results if isinstance(piece.part, ToolResult)]
    if found and is_silent(message):
        return found
    return [*found, {**_write_words(message, others), **_envelope(message)}]


def _envelope(message: Message) -> dict[str, Any]:
    fields = fields_of(message, _CLAW)
    known: dict[str, Any] = {"id": message.id} if message.id else {}
    if message.timestamp is not None and "timestamp" not in fields:
        known["timestamp"] = message.timestamp
    return {**known, **fields}


def _write_result(message: Message, piece: Piece, result: ToolResult) -> dict[str, Any]:
    role = said_role(message, "toolResult", _CLAW) if message.role is Role.TOOL else "toolResult"
    known: dict[str, Any] = {"role": role, RESULT_IDS[0]: result.id}
    known |= {"toolName": result.name} if result.name else {}
    shaped_piece = piece if piece.rest.get("~shape") else Piece(part=result, rest={**piece.rest, "~shape": "blocks"})
    known |= result_content(shaped_piece, result, write_block)
    known |= {"isError": result.is_error, **own_mark(result)}
    return {**known, **own_details(piece, result), **_envelope(message)}


def _write_words(message: Message, pieces: list[Piece]) -> dict[str, Any]:
    extra = message.extra
    if isinstance(extra.get("bash"), Mapping):
        return {"role": "bashExecution", **extra["bash"]}
    summary = _SUMMARY.fullmatch(message.text()) if extra.get("summary") in _SUMMARY_ROLES else None
    if summary:
        return {"role": _SUMMARY_ROLES[extra["summary"]], "summary": summary[1]}
    content = shaped(_CLAW, message, pieces, [write_block(piece) for piece in pieces])
    if isinstance(extra.get("custom_type"), str):
        details = {"details": extra["details"]} if "details" in extra else {}
        return {"role": "custom", "customType": extra["custom_type"], **content, "display": message.display, **details}
    usual = _written_role(message.role)
    said = said_role(message, usual, _CLAW)
    known = {"role": usual if said in _OWN_ROLES else said, **content}
    known |= {} if message.display else {"display": False}
    known |= {"provenance": _write_provenance(message.provenance)} if message.provenance else {}
    return {**known, **(_write_state(message) if message.role is Role.ASSISTANT else {})}


def _write_provenance(value: Provenance) -> dict[str, Any]:
    places = {key: getattr(value, name) for name, key in _PLACES}
    return {"kind": value.kind.value, **{key: text for key, text in places.items() if text}, **(value.extra or {})}


def _write_state(message: Message) -> dict[str, Any]:
    known: dict[str, Any] = {}
    if message.origin:
        known = {key: text for key, text in message.origin.to_dict().items() if text}
    if message.usage is not None:
        known["usage"] = dict(message.usage)
    if message.stop_reason and "stopReason" not in fields_of(message, _CLAW):
        known["stopReason"] = stop_word(message.stop_reason, _CLAW)
    return known if message.error is None else {**known, "errorMessage": message.error}


def write_block(piece: Piece) -> Any:
    """Return one content block."""
    part = piece.part
    match part:
        case Text():
            kind = piece.rest.get("~type", "text")
            words = {"refusal" if kind == "refusal" else "text": part.text}
            return {"type": kind, **words, **signed(piece, "textSignature", part.signature), **plain_rest(piece)}
        case Image():
            return {"type": "image", "data": part.data, "mimeType": part.mime, **plain_rest(piece)}
        case Thinking():
            return _write_thinking(piece, part)
        case ToolCall():
            known = {"type": "toolCall", "id": part.id, "name": part.name}
            known |= {} if part.arguments is None else {"arguments": part.arguments}
            known |= {} if part.partial is None else {"partialJson": part.partial}
            return {**known, **signed(piece, "thoughtSignature", part.signature), **plain_rest(piece)}
        case Opaque():
            return opaque(part)
        case ToolResult():
            raise ValueError("a tool's result is a message of its own")
        case _ as never:
            assert_never(never)


def _write_thinking(piece: Piece, part: Thinking) -> dict[str, Any]:
    if part.redacted and not part.text:
        data = {} if part.signature is None else {"data": part.signature}
        return {"type": "redacted_thinking", **data, **plain_rest(piece)}
    known: dict[str, Any] = {"type": "thinking", "thinking": part.text}
    known |= {"redacted": True} if part.redacted else {}
    return {**known, **signed(piece, "thinkingSignature", part.signature), **plain_rest(piece)}
