"""Gemini's generateContent (``spec/replay.md`` sections 3.13.3 and 4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from stenolith.model.message import Image, Part, Thinking, ToolCall, ToolResult
from stenolith.replay import roles
from stenolith.replay.report import Hints
from stenolith.replay.signature import SENTINEL, is_signature
from stenolith.replay.wire.steps import Conversion, Step, arguments, images, result_words, shows, system_text

_PICTURE: Final = "Tool result image:"
_NOTHING: Final = " "  # stands for a content without any part


def convert(steps: Sequence[Step], conversion: Conversion) -> tuple[dict[str, Any], Hints]:
    """Return the request body: ``systemInstruction`` when there is one, ``contents``."""
    contents: list[dict[str, Any]] = []
    for step in steps:
        match step.role:
            case roles.SYSTEM:
                continue
            case roles.USER:
                contents.append({"role": "user", "parts": _shown(step.parts) or [{"text": _NOTHING}]})
            case roles.TOOL:
                contents += _results(step, conversion)
            case roles.ASSISTANT:
                _add_model(contents, _model(step, conversion))
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
            call = {**_id(part.id, conversion), "name": conversion.name(step.at, part), "args": arguments(part)}
            parts.append(_signed({"functionCall": call}, part.signature))
        elif type(part) is Thinking:
            parts += [_signed({"text": part.text, "thought": True}, part.signature)] if part in carried else []
        elif shows(part):
            parts.append(_signed({"text": part.text}, part.signature))
    return parts or [{"text": _NOTHING}]


def _signed(part: dict[str, Any], signature: str | None) -> dict[str, Any]:
    if signature is not None and is_signature(signature):
        part["thoughtSignature"] = signature
    return part


def _id(raw: str, conversion: Conversion) -> dict[str, Any]:
    return {"id": conversion.ids.answer(raw)} if conversion.policy.tool_call_ids_on_wire else {}


def _sign(content: dict[str, Any]) -> None:
    """Put Google's documented sentinel on the first call of a step that has no signature (W-GEM-4)."""
    for part in content["parts"]:
        if "functionCall" in part:
            part.setdefault("thoughtSignature", SENTINEL)
            return


def _results(step: Step, conversion: Conversion) -> list[dict[str, Any]]:
    results = [part for part in step.parts if isinstance(part, ToolResult)]
    contents = [{"role": "user", "parts": [_response(result, conversion) for result in results]}]
    pictures = [picture for result in results for picture in images(result.content)]
    if pictures and not conversion.policy.images_in_tool_results:
        contents.append({"role": "user", "parts": [{"text": _PICTURE}, *map(_inline, pictures)]})
    return contents


def _response(result: ToolResult, conversion: Conversion) -> dict[str, Any]:
    words = {"error" if result.is_error else "output": result_words(result)}
    shape = {**_id(result.id, conversion), "name": conversion.result_name(result), "response": words}
    pictures = images(result.content)
    if pictures and conversion.policy.images_in_tool_results:
        shape["parts"] = [_inline(picture) for picture in pictures]
    return {"functionResponse": shape}
