"""Gemini's generateContent (``spec/replay.md`` sections 3.13.3 and 4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from stenolith.model.message import Image, Part, Thinking, ToolCall, ToolResult
from stenolith.replay.report import Hints
from stenolith.replay.roles import ASSISTANT, TOOL, USER
from stenolith.replay.signature import SENTINEL, is_signature
from stenolith.replay.wire.steps import Conversion, Step, arguments, images, result_words, shows, system_text

_PICTURE: Final = "Tool result image:"
_NOTHING: Final = " "  # stands for a content without any part


def convert(steps: Sequence[Step], conversion: Conversion) -> tuple[dict[str, Any], Hints]:
    """Return the request body: ``systemInstruction`` when there is one, ``contents``."""
    contents: list[dict[str, Any]] = []
    for step in steps:
        if step.role is ASSISTANT:
            _add_model(contents, _model(step, conversion))
        elif step.role is TOOL:
            contents += _results(step, conversion)
        elif step.role is USER:
            contents.append({"role": "user", "parts": _shown(step.parts) or [{"text": _NOTHING}]})
    for content in contents if conversion.policy.requires_thought_signature else ():
        _sign(content)
    system = system_text(steps)
    instruction = {"systemInstruction": {"parts": [{"text": system}]}} if system else {}
    return {**instruction, "contents": contents}, Hints()


def _add_model(contents: list[dict[str, Any]], parts: list[dict[str, Any]]) -> None:
    """Append to the model's content before: a function call may not follow another model turn (W-GEM-1)."""
    if contents and contents[-1]["role"] == "model":
        contents[-1]["parts"] += parts
    else:
        contents.append({"role": "model", "parts": parts})


def _shown(parts: Sequence[Part]) -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = []
    for part in parts:
        if shows(part):
            shown.append({"text": part.text})
        elif isinstance(part, Image):
            shown.append(_inline(part))
    return shown


def _inline(image: Image) -> dict[str, Any]:
    return {"inlineData": {"mimeType": image.mime, "data": image.data}}


def _model(step: Step, conversion: Conversion) -> list[dict[str, Any]]:
    carried = conversion.thinking(step.at, step.parts)
    parts: list[dict[str, Any]] = []
    for part in step.parts:
        if type(part) is ToolCall:
            call = _named(part.id, conversion.name(step.at, part), conversion)
            call["args"] = arguments(part)
            parts.append(_signed({"functionCall": call}, part.signature))
        elif type(part) is Thinking:
            if part in carried:
                parts.append(_signed({"text": part.text, "thought": True}, part.signature))
        elif shows(part):
            parts.append(_signed({"text": part.text}, part.signature))
    return parts or [{"text": _NOTHING}]


def _signed(part: dict[str, Any], signature: str | None) -> dict[str, Any]:
    if signature is not None and is_signature(signature):
        part["thoughtSignature"] = signature
    return part


def _named(raw: str, name: str, conversion: Conversion) -> dict[str, Any]:
    """Return what a call and its result begin with: an id, where the wire knows any, and the tool's name."""
    if conversion.policy.tool_call_ids_on_wire:
        return {"id": conversion.ids.answer(raw), "name": name}
    return {"name": name}


def _sign(content: dict[str, Any]) -> None:
    """Put Google's documented sentinel on the first call of a step that has no signature (W-GEM-4)."""
    for part in content["parts"]:
        if "functionCall" in part:
            part.setdefault("thoughtSignature", SENTINEL)
            return


def _results(step: Step, conversion: Conversion) -> list[dict[str, Any]]:
    results = [part for part in step.parts if type(part) is ToolResult]
    contents = [{"role": "user", "parts": [_response(result, conversion) for result in results]}]
    pictures = [piece for result in results for piece in result.content if type(piece) is Image]
    if pictures and not conversion.policy.images_in_tool_results:
        contents.append({"role": "user", "parts": [{"text": _PICTURE}, *map(_inline, pictures)]})
    return contents


def _response(result: ToolResult, conversion: Conversion) -> dict[str, Any]:
    shape = _named(result.id, conversion.result_name(result), conversion)
    shape["response"] = {"error" if result.is_error else "output": result_words(result)}
    pictures = images(result.content)
    if pictures and conversion.policy.images_in_tool_results:
        shape["parts"] = [_inline(picture) for picture in pictures]
    return {"functionResponse": shape}
