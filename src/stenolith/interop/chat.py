"""Read message arrays of OpenAI's chat completions and of Anthropic: role, content, and what hangs on them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import tzinfo
from typing import Any, Final, NoReturn

from stenolith.interop.blocks import REASONING_FIELDS, Piece, take
from stenolith.interop.drafts import TIME_KEYS, Draft
from stenolith.interop.reading import Dialect
from stenolith.interop.scan import MAX_DEPTH
from stenolith.model.message import Message, Opaque, Role, Text, Thinking, ToolCall

ROLES: Final[Mapping[str, Role]] = {
    "user": Role.USER, "human": Role.USER,
    "assistant": Role.ASSISTANT, "ai": Role.ASSISTANT, "model": Role.ASSISTANT, "bot": Role.ASSISTANT,
    "system": Role.SYSTEM, "developer": Role.SYSTEM,
    "tool": Role.TOOL, "function": Role.TOOL, "toolResult": Role.TOOL, "tool_result": Role.TOOL,
}  # fmt: skip


def read_role(said: Any) -> tuple[Role | None, str]:
    """Return the role that *said* names, and a complaint.

    An unknown name is kept as a system message, so that its words stay without being taken for a person's; no name at
    all gives None.
    """
    if not isinstance(said, str) or not said.strip():
        return None, "a message needs a role such as user, assistant, tool or system"
    role = ROLES.get(said)
    return (role, "") if role else (Role.SYSTEM, f"unknown role {said!r}; kept as a system message")


def read_chat(value: Mapping[str, Any], dialect: Dialect, zone: tzinfo) -> tuple[list[Message], str]:
    """Read one chat message.

    Returns no message and a complaint when it has no role.  A user message that holds tool results gives two: the
    results, then the rest.
    """
    role, complaint = read_role(value.get("role"))
    if role is None:
        return [], complaint
    draft = Draft(value, dialect)
    if draft.left.pop("role") != role.value:
        draft.extra["role"] = value["role"]
    _read_envelope(draft, role, zone)
    if role is Role.TOOL:
        draft.result()
        return [draft.finish(role)], complaint
    _read_reasoning(draft)
    draft.content()
    _read_spoken(draft)
    _read_refusal(draft)
    _read_calls(draft)
    return draft.split(role), complaint


def _read_envelope(draft: Draft, role: Role, zone: tzinfo) -> None:
    draft.word("id", "id")
    draft.time(TIME_KEYS, zone, guess_seconds=True)
    if role in {Role.USER, Role.SYSTEM}:
        draft.word("speaker", "name")
    if role is not Role.ASSISTANT:
        return
    draft.stop_reason("stop_reason", "finish_reason")
    draft.usage()
    api = "anthropic-messages" if draft.dialect is Dialect.ANTHROPIC else "openai-completions"
    draft.origin(None, api, take(draft.left, ("model",), str))


def _read_reasoning(draft: Draft) -> None:
    for name in REASONING_FIELDS:
        words = draft.left.get(name)
        if isinstance(words, str):
            del draft.left[name]
            draft.pieces.append(Piece(part=Thinking(text=words, signature=name)))
            return


def _read_spoken(draft: Draft) -> None:
    """Read what a model said aloud: its words stand in the transcript of its ``audio``, and nowhere else."""
    audio = draft.left.get("audio")
    words = audio.get("transcript") if isinstance(audio, Mapping) else None
    if isinstance(words, str) and not draft.pieces:
        draft.pieces.append(Piece(part=Text(text=words), rest={"~audio": True}))


def _read_refusal(draft: Draft) -> None:
    words = draft.left.get("refusal")
    if isinstance(words, str):
        del draft.left["refusal"]
        draft.pieces.append(Piece(part=Text(text=words), rest={"~refusal": True}))


def _read_calls(draft: Draft) -> None:
    calls = draft.left.get("tool_calls")
    if isinstance(calls, list):
        del draft.left["tool_calls"]
        draft.pieces += [_read_call(call) for call in calls]
        if not calls:
            draft.extra["no_calls"] = True
    legacy = draft.left.get("function_call")
    if isinstance(legacy, Mapping):
        del draft.left["function_call"]
        piece = read_function("", dict(legacy))
        draft.pieces.append(Piece(part=piece.part, rest={**piece.rest, "~legacy": True}))


def _read_call(value: Any) -> Piece:
    left = dict(value) if isinstance(value, Mapping) else {}
    holder = next((key for key in ("function", "custom") if isinstance(left.get(key), Mapping)), None)
    if holder is None:
        return Piece(part=Opaque(kind="tool_call", value=value), rest={"~call": True})
    call = read_function(take(left, ("id",), str) or "", dict(left.pop(holder)))
    part = replace(call.part, signature=_thought_signature(left)) if isinstance(call.part, ToolCall) else call.part
    kind = left.pop("type", None)
    spelled = {} if kind == holder else {"~no_type": True} if kind is None else {"type": kind}
    custom = {"~custom": True} if holder == "custom" else {}
    return Piece(part=part, rest={**left, **call.rest, **spelled, **custom})


def _thought_signature(left: Mapping[str, Any]) -> str | None:
    """Return the signature that Google's chat dialect hangs on a call (``extra_content.google``)."""
    extra = left.get("extra_content")
    google = extra.get("google") if isinstance(extra, Mapping) else None
    found = google.get("thought_signature") if isinstance(google, Mapping) else None
    return found if isinstance(found, str) else None


def read_function(call: str, left: dict[str, Any]) -> Piece:
    """Read ``{"name", "arguments"}`` (or ``input``) into a tool call with the id *call*."""
    name = take(left, ("name",), str) or ""
    said = left.pop("arguments", left.pop("input", None))
    arguments, spelled = read_arguments(said)
    rest = {**({"~function": left} if left else {}), **({"~arguments": said} if not spelled else {})}
    return Piece(part=ToolCall(id=call, name=name, arguments=arguments), rest=rest)


def read_arguments(said: Any) -> tuple[Any, bool]:
    """Return the object that a JSON text *said* holds, and whether `write_arguments` gives the same text again.

    Text that is not an object stays as it is: a model's broken JSON is evidence, not garbage.
    """
    if not isinstance(said, str):
        return said, said is not None
    try:
        value = json.loads(said, parse_constant=_refuse) if said.count("{") < MAX_DEPTH else None
    except (ValueError, RecursionError):
        return said, True
    if not isinstance(value, dict):
        return said, True
    return value, write_arguments(value) == said


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def write_arguments(arguments: Any) -> str:
    """Return the arguments as the JSON text that OpenAI's APIs want."""
    if isinstance(arguments, str):
        return arguments
    return json.dumps({} if arguments is None else arguments, ensure_ascii=False, separators=(",", ":"))
