"""Prompts are Markdown files with a version; what they ask about stands in them as fenced data, never as text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

_FORM: Final = re.compile(r"version: (?P<version>\d+)\n+# system\n(?P<system>.*?)\n# user\n(?P<user>.*)", re.DOTALL)
_BLANK: Final = re.compile(r"\{\{(\w+)\}\}")
_TAG: Final = re.compile(r"<(?=[/!?|a-zA-Z])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """One prompt file: *system* as it is, *user* with blanks to fill."""

    name: str
    version: int
    system: str
    user: str

    @property
    def label(self) -> str:
        """Name and version, as they stand on what was made with it."""
        return f"{self.name}/{self.version}"

    def fill(self, values: Mapping[str, str]) -> str:
        """Return the user's side with its blanks filled, in one pass: a value cannot open a blank.

        Raises `KeyError` for a blank without a value.
        """
        return _BLANK.sub(lambda match: values[match[1]], self.user)


@cache
def read_prompt(name: str) -> Sheet:
    """Return the prompt file *name*. Raises ValueError when it has no version or lacks a side."""
    file = resources.files("stenolith.distill") / "prompts" / f"{name}.md"
    match = _FORM.fullmatch(file.read_text(encoding="utf-8"))
    if match is None:
        raise ValueError(f"the prompt {name} needs a version line, a system part and a user part")
    return Sheet(name=name, version=int(match["version"]), system=match["system"].strip(), user=match["user"].strip())


def data_line(value: Mapping[str, Any]) -> str:
    """Return *value* as one line of JSON in which no text can end its line, its string or a tag around it."""
    return _TAG.sub(r"\\u003c", json.dumps(value, ensure_ascii=False))
