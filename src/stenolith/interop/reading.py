"""What reading a foreign file gives: messages, the dialect they were in, and what could not be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from stenolith.errors import InvalidInput
from stenolith.model.message import Message


class Dialect(StrEnum):
    """The forms of a message that we read and write (``spec/cli.md``, "Messages that commands read")."""

    CANONICAL = "canonical"
    OPENAI_CHAT = "openai-chat"
    OPENAI_RESPONSES = "openai-responses"
    ANTHROPIC = "anthropic"
    OPENCLAW = "openclaw"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something in a file that was left out or guessed.

    *line* counts from 1; 0 means the whole file. *text* is what was left out, as far as it is text.
    """

    line: int
    message: str
    text: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The messages of one conversation, in order, and what was wrong with the file."""

    messages: tuple[Message, ...]
    dialect: str
    problems: tuple[Problem, ...] = ()


def dialect_named(name: str) -> Dialect:
    """Return the dialect called *name*. Raises InvalidInput that lists the names there are."""
    try:
        return Dialect(name)
    except ValueError:
        names = ", ".join(Dialect)
        raise InvalidInput(f"unknown dialect {name!r}; use one of {names}", dialect=name) from None
