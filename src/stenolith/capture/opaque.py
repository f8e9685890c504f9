"""Secrets out, a provider's opaque tags kept: a signature looks like a token, and nobody can log in with it.

Without its signature a model's thinking cannot be replayed, so a transcript that lost it would not be whole
(``spec/authority.md`` section 2.6).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from stenolith.model.message import Message, Part, Text, Thinking, ToolCall, message_from_dict, message_to_dict

_OPAQUE: Final = re.compile(r"[A-Za-z0-9+/_=.:-]+")


def without_secrets(message: Message, redact: Callable[[Any], Any]) -> Message:
    """Return *message* as *redact* leaves it, with the signatures of its parts as they were.

    A signature that is JSON (a reasoning item) holds words, so it is redacted like any text. Thinking whose words
    changed loses its signature: it covers them.
    """
    kept = message_from_dict(redact(message_to_dict(message)))
    parts = tuple(_tagged(old, new) for old, new in zip(message.parts, kept.parts, strict=True))
    return kept if parts == kept.parts else replace(kept, parts=parts)


def _tagged(old: Part, new: Part) -> Part:
    if not isinstance(old, Text | Thinking | ToolCall) or not isinstance(new, Text | Thinking | ToolCall):
        return new
    if old.signature is None or not _OPAQUE.fullmatch(old.signature):
        return new
    if isinstance(old, Thinking) and isinstance(new, Thinking) and old.text != new.text:
        return replace(new, signature=None)
    return replace(new, signature=old.signature)
