"""Text that cannot be encoded, or that a wire refuses, is taken out before anything is built from it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from stenolith.model.message import Image, Part, Text, Thinking, ToolCall, ToolResult
from stenolith.replay.policy import Api

_LONE: Final = "\ud800-\udfff"
# NUL ends a string in C and cannot be stored by PostgreSQL: no server does anything good with it.
_NUL: Final = b"\x00"
_CONTROLS: Final = bytes(byte for byte in range(32) if byte not in b"\t\n\r")
# Bedrock and the storing Responses API refuse control characters; the others read them (ANSI colours of a tool).
_REFUSED: Final[Mapping[Api, bytes]] = {Api.BEDROCK: _CONTROLS, Api.OPENAI_RESPONSES: _CONTROLS}
_SHORT: Final = 40  # characters; below it a look at each is quicker than making bytes of them
_TOO_DEEP: Final = "[arguments omitted: nested too deeply]"


class Cleaner:
    """Clean parts for one api. *lost* gathers every text that lost something, as it was."""

    def __init__(self, api: Api) -> None:
        self.lost: list[str] = []
        self._refused = _REFUSED.get(api, _NUL)
        self._unwanted = re.compile(f"[{_LONE}{re.escape(self._refused.decode())}]")

    def are_clean(self, parts: Sequence[Part]) -> bool:
        """Say whether *parts* are plainly clean, as nearly all are; what needs a closer look is not."""
        for part in parts:
            if type(part) is Text or type(part) is Thinking:
                if not self._reads(part.text):
                    return False
            elif type(part) is ToolResult:
                if not self._is_clean_result(part):
                    return False
            elif type(part) is not ToolCall or not _is_plain_call(part):
                return False
        return True

    def _is_clean_result(self, result: ToolResult) -> bool:
        for piece in result.content:
            if type(piece) is not Text or not self._reads(piece.text):
                return False
        return result.name.isprintable()

    def _reads(self, text: str) -> bool:
        """Say whether the wire takes *text* whole: as bytes this takes a quarter of a pattern's time."""
        if self._refused is _NUL and text.isascii():
            return "\x00" not in text
        if len(text) < _SHORT and text.isprintable():
            return True
        try:
            coded = text.encode()
        except UnicodeEncodeError:
            return False
        return len(coded.translate(None, self._refused)) == len(coded)

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
        if self._reads(text):
            return text
        self.lost.append(text.encode(errors="backslashreplace").decode())
        return self._unwanted.sub("", text)

    def _call(self, call: Any) -> Part:
        if _is_plain_call(call):
            kept: Part = call
            return kept
        value, name = call.arguments, self.text(call.name)
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


def _is_plain_call(call: Any) -> bool:
    """Say whether a call holds a flat object of texts without anything odd in them, as most do."""
    value = call.arguments
    if type(value) is not dict or not call.name.isprintable():
        return False
    for key, item in value.items():
        if type(key) is not str or not key.isprintable():
            return False
        if type(item) is str:
            if not item.isprintable():
                return False
        elif item is not None and type(item) is not int and type(item) is not bool:
            return False
    return True


def _parsed(text: str) -> Any:
    """Return the value of a JSON text, or the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text
