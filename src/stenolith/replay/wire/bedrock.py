"""Bedrock Converse (``spec/replay.md`` sections 3.13.4 and 4.4). Image bytes stand as base64 text."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

from stenolith.model.message import Image, Thinking, ToolCall, ToolResult
from stenolith.replay.plan import EMPTY
from stenolith.replay.report import Hints
from stenolith.replay.roles import ASSISTANT, SYSTEM
from stenolith.replay.wire.anthropic import lacks_thinking
from stenolith.replay.wire.steps import IMAGE_BELOW, Conversion, Step, arguments, shows, system_text


def convert(steps: Sequence[Step], conversion: Conversion) -> tuple[dict[str, Any], Hints]:
    """Return the request body: ``system``, ``messages``, and a ``toolConfig`` with stub schemas if calls need one."""
    messages: list[dict[str, Any]] = []
    for step in steps:
        blocks = _blocks(step, conversion)
        role = "assistant" if step.role is ASSISTANT else "user"
        if step.role is SYSTEM or not blocks:
            continue
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        else:
            messages.append({"role": role, "content": blocks})
    system = system_text(steps)
    payload: dict[str, Any] = {**({"system": [{"text": system}]} if system else {}), "messages": messages}
    if conversion.called:
        payload["toolConfig"] = {"tools": [_stub(name) for name in dict.fromkeys(conversion.called.values())]}
    unthinking = conversion.target.thinking and lacks_thinking(messages, _is_thinking, _is_result)
    return payload, Hints(disable_thinking=unthinking, tool_config_required=bool(conversion.called))


def _is_thinking(block: Mapping[str, Any]) -> bool:
    return "reasoningContent" in block


def _is_result(block: Mapping[str, Any]) -> bool:
    return "toolResult" in block


def _stub(name: str) -> dict[str, Any]:
    return {"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object"}}}}


def _blocks(step: Step, conversion: Conversion) -> list[dict[str, Any]]:
    """Return a block for every part; a text that is blank and thinking that the wire cannot carry have none."""
    blocks: list[dict[str, Any]] = []
    for part in step.parts:
        if type(part) is ToolCall:
            blocks.append(_call(step.at, part, conversion))
        elif type(part) is ToolResult:
            blocks.append(_result(part, conversion))
        elif type(part) is Thinking:
            blocks += _thinking(step.at, part, conversion)
        elif shows(part):
            blocks.append({"text": part.text})
        elif type(part) is Image:
            blocks.append(_picture(part))
    return blocks


def _picture(image: Image) -> dict[str, Any]:
    return {"image": {"format": image.mime.removeprefix("image/"), "source": {"bytes": image.data}}}


def _call(index: int, call: ToolCall, conversion: Conversion) -> dict[str, Any]:
    name = conversion.name(index, call)
    return {"toolUse": {"toolUseId": conversion.ids[call.id], "name": name, "input": arguments(call)}}


def _result(result: ToolResult, conversion: Conversion) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    for piece in result.content:
        if shows(piece):
            content.append({"text": piece.text})
        elif type(piece) is Image:
            content.append(_picture(piece))
    if not content or ("text" not in content[0] and not any("text" in block for block in content)):
        content.insert(0, {"text": IMAGE_BELOW if content else EMPTY})
    status = "error" if result.is_error else "success"
    return {"toolResult": {"toolUseId": conversion.ids.answer(result.id), "content": content, "status": status}}


def _thinking(index: int, part: Thinking, conversion: Conversion) -> Sequence[dict[str, Any]]:
    if not conversion.thinking(index, (part,)):
        return ()
    if not part.redacted:
        return [{"reasoningContent": {"reasoningText": {"text": part.text, "signature": part.signature}}}]
    if _is_bytes(part.signature or ""):
        return [{"reasoningContent": {"redactedContent": part.signature}}]
    conversion.note(index, "dropped", "redacted thinking that is not base64")
    return []


def _is_bytes(text: str) -> bool:
    try:
        return bool(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return False
