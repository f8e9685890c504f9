"""The providers' own validators, called offline: code that we did not write judges what we emit.

They check shape, hardly ever meaning (mistral-common checks order and pairing too), so the linter
stands beside them.  Every library is imported when it is first needed and kept.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

__all__ = ["validate"]


def validate(api: str, payload: Mapping[str, Any], *, old_mistral: bool = False) -> list[str]:
    """Return what the provider's own code says against *payload*; an empty list is acceptance.

    *old_mistral* asks the validator that rejects content together with calls; the other one
    checks pairing by id. Both want ids of nine characters.
    """
    if api.startswith("mistral"):
        return _mistral(payload, old=old_mistral)
    return _CHECKS[api](payload)


def _drain(value: Any) -> Any:
    # Iterable fields come back lazy: without walking them nested content is not checked.
    if isinstance(value, dict):
        return {key: _drain(item) for key, item in value.items()}
    if value is None or isinstance(value, str | bytes):
        return value
    if isinstance(value, list | tuple) or hasattr(value, "__next__"):
        return [_drain(item) for item in value]
    return value


@cache  # the adapter must outlive the draining, or pydantic-core panics
def _adapter(name: str) -> Any:
    from pydantic import TypeAdapter

    if name == "anthropic":
        from anthropic.types import MessageParam

        return TypeAdapter(list[MessageParam])
    if name == "anthropic-system":
        from anthropic.types import TextBlockParam

        return TypeAdapter(str | list[TextBlockParam])
    if name == "chat":
        from openai.types.chat import ChatCompletionMessageParam

        return TypeAdapter(list[ChatCompletionMessageParam])
    from openai.types.responses import ResponseInputItemParam

    return TypeAdapter(list[ResponseInputItemParam])


def _typed(name: str, value: Any) -> list[str]:
    from pydantic import ValidationError

    try:
        _drain(_adapter(name).validate_python(value))
    except ValidationError as refusal:
        return [f"{name}: {item['loc']}: {item['msg']}" for item in refusal.errors()]
    return []


def _anthropic(payload: Mapping[str, Any]) -> list[str]:
    system = _typed("anthropic-system", payload["system"]) if "system" in payload else []
    return system + _typed("anthropic", payload["messages"])


def _gemini(payload: Mapping[str, Any]) -> list[str]:
    from google.genai import types
    from pydantic import ValidationError

    found = []
    system = payload.get("systemInstruction")
    for content in [*payload["contents"], *([system] if system else [])]:
        try:
            types.Content.model_validate(content)
        except ValidationError as refusal:
            found += [f"gemini: {item['loc']}: {item['msg']}" for item in refusal.errors()[:5]]
    return found


@cache
def _converse() -> Any:
    import botocore.session

    model = botocore.session.get_session().get_service_model("bedrock-runtime")
    return model.operation_model("Converse").input_shape


def _bedrock(payload: Mapping[str, Any]) -> list[str]:
    import botocore.validate

    shape = _converse()
    found: list[str] = []
    request = _walk({"modelId": "m", **payload}, shape, "", found)
    if found:
        return found
    report = botocore.validate.ParamValidator().validate(request, shape)
    return [report.generate_report()] if report.has_errors() else []


def _walk(value: Any, shape: Any, path: str, found: list[str]) -> Any:
    """Check what botocore ignores (pattern, max, enum) and turn base64 text into bytes."""
    if shape.type_name == "structure" and isinstance(value, dict) and not shape.metadata.get("document"):
        return {
            key: _walk(item, shape.members[key], f"{path}.{key}", found) if key in shape.members else item
            for key, item in value.items()
        }
    if shape.type_name == "list" and isinstance(value, list):
        return [_walk(item, shape.member, f"{path}[{at}]", found) for at, item in enumerate(value)]
    if shape.type_name == "blob" and isinstance(value, str):
        return _unpack(value, path, found)
    if shape.type_name == "string" and isinstance(value, str):
        _check_word(value, shape, path, found)
    return value


def _unpack(value: str, path: str, found: list[str]) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error as refusal:
        found.append(f"bedrock: {path}: {refusal}")
        return b"?"


def _check_word(value: str, shape: Any, path: str, found: list[str]) -> None:
    pattern, longest = shape.metadata.get("pattern"), shape.metadata.get("max")
    if pattern and not re.fullmatch(pattern, value):
        found.append(f"bedrock: {path}: {value!r} does not match {pattern}")
    if longest is not None and len(value) > longest:
        found.append(f"bedrock: {path}: longer than {longest}")
    if shape.enum and value not in shape.enum:
        found.append(f"bedrock: {path}: {value!r} is not one of {shape.enum}")


def _mistral(payload: Mapping[str, Any], *, old: bool) -> list[str]:
    from mistral_common.exceptions import MistralCommonException
    from mistral_common.protocol.instruct import validator
    from mistral_common.protocol.instruct.request import ChatCompletionRequest
    from pydantic import ValidationError

    # Pairing came with V13 (mistral-common 1.9) and is V11 since 1.10, where V13 takes ids of any length.
    paired = getattr(validator, "MistralRequestValidatorV11", validator.MistralRequestValidatorV13)
    judge = (validator.MistralRequestValidatorV3 if old else paired)(validator.ValidationMode.serving)
    try:
        request = ChatCompletionRequest.from_openai(messages=payload["messages"], model="mistral-large-latest")
        judge.validate_request(request)
    except (MistralCommonException, ValidationError, ValueError, KeyError) as refusal:
        return [f"mistral: {type(refusal).__name__}: {refusal}"]
    return []


_CHECKS: Mapping[str, Callable[[Mapping[str, Any]], list[str]]] = {
    "openai-chat": lambda payload: _typed("chat", payload["messages"]),
    "openai-responses": lambda payload: _typed("responses", payload["input"]),
    "anthropic-messages": _anthropic,
    "google-generative-ai": _gemini,
    "bedrock-converse": _bedrock,
}
