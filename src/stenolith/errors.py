"""One exception family. A class's docstring is its default message; facts ride as attributes."""

from __future__ import annotations

from typing import Any


class StenolithError(Exception):
    """Something went wrong inside stenolith."""

    exit_code = 1

    def __init__(self, message: str | None = None, **facts: Any) -> None:
        self.facts = facts
        super().__init__(message or (type(self).__doc__ or "").strip())


class InvalidInput(StenolithError):
    """What was handed in cannot be read; nothing was stored."""

    exit_code = 2


class NotFound(StenolithError):
    """There is no such thing under this scope."""

    exit_code = 1


class SceneMoved(InvalidInput):
    """The scene has changed since this text was taken from it; nothing was changed."""


class ScopeRequired(InvalidInput):
    """This call needs a scope with a team, a user and an agent."""


class SequenceConflict(StenolithError):
    """The session has moved on: the expected sequence number is not the current one."""


class StoreUnavailable(StenolithError):
    """The store cannot be opened or written."""


class HomeTooNew(StoreUnavailable):
    """This home was written by a newer stenolith; install that version to open it."""


class ModelUnavailable(StenolithError):
    """No language model or embedder answered in time."""


class Refused(StenolithError):
    """The admission policy refused this memory."""
