"""Text that cannot be encoded, or that a wire refuses, is taken out before anything is built from it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from stenolith.model.message import Image, Part, Text, Thinking, ToolCall, ToolResult
from stenolith.replay.policy import Api

_LONE: Final = "\ud800-\udfff"
# NUL ends a string in C and cannot be stored by PostgreSQL: no server does anything good with it.
_NUL: Final = "\x00"
_CONTROLS: Final = "\x00-\x08\x0b\x0c\x0e-\x1f"
# Bedrock and the storing Responses API refuse control characters; the others read them (ANSI colours of a tool).
_REFUSED: Final[Mapping[Api, str]] = {Api.BEDROCK: _CONTROLS, Api.OPENAI_RESPONSES: _CONTROLS}
_TOO_DEEP: Final = "[arguments omitted: nested too deeply]"


class Cleaner:
    """Clean parts for one api. *lost* gathers every text that lost something, as it was."""

    def __init__(self, api: Api) -> None:
        self.lost: list[str] = []
        self._unwanted = re.compile(f"[{_LONE}{_REFUSED.get(api, _NUL)}]")

    def part(self, part: Part) -> Part:
        """Return *part* itself when it is clean, else a clean copy."""
        kind = type(part)
        if kind is Text or kind is Thinking:
            return self._words(part)
        if kind is ToolCall:
            return self._call(part)
        if kind is ToolResult:
            return self._result(part)
        return self._image(part) if kind is Image else part

    def _words(self, part: Any) -> Part:
        text = self.text(part.text)
        found: Part = part if text is part.text else replace(part, text=text)
        return found

    def _result(self, result: Any) -> Part:
        content = tuple([self.part(piece) for piece in result.content])
        name = self.text(result.name)
        same = content == result.content and name is result.name
        found: Part = result if same else replace(result, content=content, name=name)
        return found

    def _image(self, image: Any) -> Part:
        if image.data.isascii() and image.mime.isascii():
            kept: Part = image
            return kept
        self.lost.append(f"image {image.mime!r} that is not base64")
        return Text(text="[image omitted: not base64]")

    def text(self, text: str) -> str:
        """Return *text* itself when it is clean, else what may be sent of it."""
        if text.isprintable() or self._unwanted.search(text) is None:
            return text
        self.lost.append(text.encode(errors="backslashreplace").decode())
        return self._unwanted.sub("", text)

    def _call(self, call: Any) -> Part:
        value, name = call.arguments, self.text(call.name)
        if (
            name is call.name
            and type(value) is dict
            and all(map(_is_word, value))
            and all(map(_is_plain, value.values()))
        ):
            kept: Part = call
            return kept
        try:
            arguments = self._value(_parsed(value) if isinstance(value, str) else value)
        except RecursionError:
            self.lost.append(_TOO_DEEP)
            arguments = {"input": _TOO_DEEP}
        changed: Part = replace(call, arguments=arguments, name=name)
        return changed

    def _value(self, value: Any) -> Any:
        """Return *value* as JSON has it: clean texts, text keys, no infinite numbers."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, float):
            return value if math.isfinite(value) else str(value)
        if isinstance(value, Mapping):
            return {self.text(str(key)): self._value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._value(item) for item in value]
        return value if value is None or isinstance(value, bool | int) else str(value)


def _is_word(value: Any) -> bool:
    """Say whether *value* is a text without anything odd in it: what most arguments hold."""
    return type(value) is str and value.isprintable()


def _is_plain(value: Any) -> bool:
    return _is_word(value) or type(value) is int or value is None or value is True or value is False


def _parsed(text: str) -> Any:
    """Return the value of a JSON text, or the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text
