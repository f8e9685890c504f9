"""JSON Schemas in the dialect that every provider's strict mode and every grammar compiler accepts.

All properties are required, nothing else is allowed, and no string has a ``maxLength``: OpenAI's strict
mode refuses optional properties, and grammars of local servers grow with every counted character.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

Schema = Mapping[str, Any]

TEXT: Final[Schema] = {"type": "string"}
WHOLE: Final[Schema] = {"type": "integer"}
TRUTH: Final[Schema] = {"type": "boolean"}


def one_of(words: Sequence[str]) -> Schema:
    """Return the schema of one of *words*."""
    return {"type": "string", "enum": list(words)}


def list_of(item: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": item}


def record(**fields: Schema) -> Schema:
    """Return the schema of an object with exactly *fields*."""
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
