"""One line to say something in a test."""

from __future__ import annotations

from stenolith import Message, Role, Text


def said(role: str, text: str, at: int | None = None) -> Message:
    """Return a message of one text; *at* is epoch milliseconds."""
    return Message(role=Role(role), parts=(Text(text=text),), timestamp=at)
