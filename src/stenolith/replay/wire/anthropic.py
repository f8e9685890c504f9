"""Anthropic Messages, and the servers that speak it (``spec/replay.md`` sections 3.13.1 and 4.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from stenolith.model.message import Image, Part, Thinking, ToolCall, ToolResult
from stenolith.replay.plan import EMPTY
from stenolith.replay.policy import Reasoning
from stenolith.replay.report import Hints
from stenolith.replay.roles import ASSISTANT, SYSTEM, TOOL
from stenolith.replay.wire.steps import IMAGE_BELOW, Conversion, Step, arguments, shows, system_text

Test = Callable[[Mapping[str, Any]], bool]
_NOTHING: Final = "."  # stands for a message without any content
_FIELD: Final = Reasoning.FIELD
_THINKING: Final = frozenset({"thinking", "redacted_thinking"})


def convert(steps: Sequence[Step], conversion: Conversion) -> tuple[dict[str, Any], Hints]:
    """Return the request body: ``system`` when there is one, ``messages``, stub ``tools`` where a proxy wants them."""
    messages: list[dict[str, Any]] = []
    for step in steps:
        if step.role is ASSISTANT:
            messages.append(_assistant(step, conversion))
        elif step.role is not SYSTEM:
            _add_user(messages, _results(step, conversion) if step.role is TOOL else _said(step), conversion)
    _trim_last(messages)
    system = system_text(steps)
    payload: dict[str, Any] = {**({"system": system} if system else {}), "messages": messages}
    declared = bool(conversion.called) and conversion.policy.tools_required_in_request
    if declared:
        names = dict.fromkeys(conversion.called.values())
        payload["tools"] = [{"name": name, "input_schema": {"type": "object"}} for name in names]
    unthinking = conversion.target.thinking and lacks_thinking(messages, _is_thinking, _is_result)
    return payload, Hints(disable_thinking=unthinking, tool_config_required=declared)


def lacks_thinking(messages: Sequence[Mapping[str, Any]], thinks: Test, answers: Test) -> bool:
    """Say whether the request continues a tool turn whose first assistant message has no thinking (W-ANT-12).

    *thinks* and *answers* tell thinking blocks and tool results of the wire. A turn begins after
    the last user message that holds anything but results.
    """
    at = len(messages)
    running = False
    while at and messages[at - 1]["role"] == "user":
        at -= 1
        running = running or any(answers(block) for block in messages[at]["content"])
    while at and (messages[at - 1]["role"] != "user" or all(answers(block) for block in messages[at - 1]["content"])):
        at -= 1
    opening = next((message for message in messages[at:] if message["role"] == "assistant"), None)
    return running and opening is not None and not thinks(opening["content"][0])


def _is_thinking(block: Mapping[str, Any]) -> bool:
    return block["type"] in _THINKING


def _is_result(block: Mapping[str, Any]) -> bool:
    return bool(block["type"] == "tool_result")


def _add_user(messages: list[dict[str, Any]], blocks: list[dict[str, Any]], conversion: Conversion) -> None:
    """Append to the user message before, as the server would; a result never shares one where that is refused."""
    last = messages[-1] if messages else None
    apart = conversion.policy.result_only_user_messages and last is not None and any(map(_is_result, last["content"]))
    if last is None or last["role"] != "user" or apart or blocks[0]["type"] == "tool_result":
        messages.append({"role": "user", "content": blocks})
    else:
        last["content"] += blocks


def _said(step: Step) -> list[dict[str, Any]]:
    return _shown(step.parts) or [{"type": "text", "text": _NOTHING}]


def _shown(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Return a block for every picture and every text that is not blank."""
    blocks: list[dict[str, Any]] = []
    for part in parts:
        if shows(part):
            blocks.append({"type": "text", "text": part.text})
        elif isinstance(part, Image):
            source = {"type": "base64", "media_type": part.mime, "data": part.data}
            blocks.append({"type": "image", "source": source})
    return blocks


def _results(step: Step, conversion: Conversion) -> list[dict[str, Any]]:
    return [_result(part, conversion) for part in step.parts if isinstance(part, ToolResult)]


def _result(result: ToolResult, conversion: Conversion) -> dict[str, Any]:
    content = _shown(result.content)
    if not content or (content[0]["type"] != "text" and not any(block["type"] == "text" for block in content)):
        content.insert(0, {"type": "text", "text": IMAGE_BELOW if content else EMPTY})
    shape: dict[str, Any] = {"type": "tool_result", "tool_use_id": conversion.ids.answer(result.id), "content": content}
    if result.is_error:
        shape["is_error"] = True
    return shape


def _assistant(step: Step, conversion: Conversion) -> dict[str, Any]:
    carried = conversion.thinking(step.at, step.parts)
    beside = conversion.policy.reasoning is _FIELD
    content: list[dict[str, Any]] = []
    for part in step.parts:
        if type(part) is ToolCall:
            content.append(_call(step.at, part, conversion))
        elif type(part) is Thinking:
            if part in carried and not beside:
                content.append(_thinking(part))
        elif shows(part):
            content.append({"type": "text", "text": part.text})
    if not content:
        content = [{"type": "text", "text": _NOTHING}]
    message = {"role": "assistant", "content": content}
    if not beside:
        return message
    words = "\n".join(part.text for part in carried)
    if not words and conversion.policy.reasoning_required and _calls(step):
        words = conversion.policy.reasoning_fill
    return {**message, conversion.policy.reasoning_field: words} if words else message


def _calls(step: Step) -> bool:
    return any(isinstance(part, ToolCall) for part in step.parts)


def _thinking(part: Thinking) -> dict[str, Any]:
    if part.redacted:
        return {"type": "redacted_thinking", "data": part.signature}
    return {"type": "thinking", "thinking": part.text, "signature": part.signature}


def _call(index: int, call: ToolCall, conversion: Conversion) -> dict[str, Any]:
    name = conversion.name(index, call)
    return {"type": "tool_use", "id": conversion.ids[call.id], "name": name, "input": arguments(call)}


def _trim_last(messages: Sequence[dict[str, Any]]) -> None:
    """Cut white space at the end of a final assistant's last text (W-ANT-8)."""
    if messages and messages[-1]["role"] == "assistant":
        for block in [block for block in messages[-1]["content"] if block["type"] == "text"][-1:]:
            block["text"] = block["text"].rstrip()
