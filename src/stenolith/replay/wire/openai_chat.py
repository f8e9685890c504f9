"""OpenAI chat completions and the servers that speak it (``spec/replay.md`` sections 3.13.2 and 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from stenolith.model.message import Image, Part, Text, ToolCall, ToolResult
from stenolith.replay.policy import Reasoning
from stenolith.replay.report import Hints
from stenolith.replay.roles import ASSISTANT, TOOL, USER
from stenolith.replay.signature import is_signature
from stenolith.replay.wire.mistral import chunks, without_doubles
from stenolith.replay.wire.steps import (
    Conversion,
    Step,
    arguments_text,
    data_url,
    images,
    result_words,
    shows,
    system_text,
    texts,
)

_ATTACHED: Final = "Attached image(s) from tool result:"
_PROCESSED: Final = "I have processed the tool results."
_CHUNKS: Final = Reasoning.CHUNKS
_FIELD: Final = Reasoning.FIELD
_NOTHING: Final = "."  # stands for a message without any content


def convert(steps: Sequence[Step], conversion: Conversion) -> tuple[dict[str, Any], Hints]:
    """Return the request body of chat completions and of Mistral: ``messages``."""
    found = _opening(steps, conversion)
    for step in steps:
        if step.role is ASSISTANT:
            found.append(_assistant(step, conversion))
        elif step.role is TOOL:
            _add_results(found, step, conversion)
        elif step.role is USER:
            _add_user(found, step.parts, conversion)
        else:
            found += _note(step, conversion)
    return {"messages": without_doubles(found) if conversion.policy.content_xor_tool_calls else found}, Hints()


def _opening(steps: Sequence[Step], conversion: Conversion) -> list[dict[str, Any]]:
    words = "" if conversion.policy.system_anywhere else system_text(steps)
    return [{"role": "system", "content": words}] if words else []


def _note(step: Step, conversion: Conversion) -> list[dict[str, Any]]:
    words = system_text([step]) if conversion.policy.system_anywhere else ""
    return [{"role": "system", "content": words}] if words else []


def _add_user(found: list[dict[str, Any]], parts: Sequence[Part], conversion: Conversion) -> None:
    """Append a user's words; behind a tool result some servers want an assistant first, and never two users."""
    policy = conversion.policy
    separator = policy.separator_after_tool or (_PROCESSED if policy.requires_assistant_after_tool_result else "")
    last = found[-1] if found else {}
    if last.get("role") == "tool" and separator:
        found.append({"role": "assistant", "content": separator})
    if last.get("role") == "user" and policy.merges_users:
        last["content"] = _joined(last["content"], _content(parts))
    else:
        found.append({"role": "user", "content": _content(parts)})


def _content(parts: Sequence[Part]) -> str | list[dict[str, Any]]:
    """Return words as one text, which every server reads, and pictures as a list of parts."""
    if not images(parts):
        return "\n".join([part.text for part in texts(parts)]) or _NOTHING
    shown: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, Image):
            shown.append({"type": "image_url", "image_url": {"url": data_url(part)}})
        elif shows(part):
            shown.append({"type": "text", "text": part.text})
    return shown


def _joined(before: str | list[dict[str, Any]], after: str | list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    if isinstance(before, str) and isinstance(after, str):
        return f"{before}\n{after}"
    return [*_listed(before), *_listed(after)]


def _listed(content: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _assistant(step: Step, conversion: Conversion) -> dict[str, Any]:
    words = "\n".join([part.text for part in texts(step.parts)])
    calls = [_call(step.at, part, conversion) for part in step.parts if type(part) is ToolCall]
    thoughts = conversion.thinking(step.at, step.parts)
    policy = conversion.policy
    message: dict[str, Any] = {"role": "assistant", "content": words or (None if calls else _NOTHING)}
    if policy.reasoning is _CHUNKS:
        message["content"] = chunks(thoughts, words) or message["content"]
    elif policy.reasoning is _FIELD:
        # The key that carries reasoning beside the content, where the server wants it.
        thought = "\n".join([part.text for part in thoughts])
        if thought or (calls and policy.reasoning_required):
            message[policy.reasoning_field] = thought or policy.reasoning_fill
    if calls:
        message["tool_calls"] = calls
    return message


def _call(index: int, call: ToolCall, conversion: Conversion) -> dict[str, Any]:
    name = conversion.name(index, call)
    function = {"name": name, "arguments": arguments_text(call)}
    shape = {"id": conversion.ids[call.id], "type": "function", "function": function}
    if conversion.policy.sanitize_thought_signatures and is_signature(call.signature):
        # Google's chat dialect wants its thought signatures back here.
        return {**shape, "extra_content": {"google": {"thought_signature": call.signature}}}
    return shape


def _add_results(found: list[dict[str, Any]], step: Step, conversion: Conversion) -> None:
    results = [part for part in step.parts if type(part) is ToolResult]
    found += [_result(result, conversion) for result in results]
    pictures = [piece for result in results for piece in result.content if type(piece) is Image]
    if pictures:
        _add_user(found, [Text(text=_ATTACHED), *pictures], conversion)


def _result(result: ToolResult, conversion: Conversion) -> dict[str, Any]:
    shape = {"role": "tool", "tool_call_id": conversion.ids.answer(result.id), "content": result_words(result)}
    if conversion.policy.requires_tool_result_name:
        shape["name"] = conversion.result_name(result)
    return shape
