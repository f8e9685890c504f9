"""What stenolith asks of models: text to vectors, and messages to one structured answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from stenolith.errors import InvalidInput

Floats = NDArray[np.floating]
Purpose = Literal["query", "passage"]
"""Some models turn a question and the text that answers it into vectors in different ways."""


class Embedder(Protocol):
    """Turns text into vectors.

    Obligations:
    * ``model_id`` names everything that decides a vector: two embedders with one id can be mixed.
    * ``embed`` returns one row of ``dim`` float32 numbers for each text, in their order, of unit
      length, or raises `ModelUnavailable`; never a row of zeros and never a number that is none.
    * ``dim`` comes from the model.  An embedder that has to ask for it first says 0 until it knows.
    * ``embed`` does not block the event loop, and may be called from several tasks at once.
    """

    @property
    def model_id(self) -> str:
        """Name of the model and of what was asked of it."""

    @property
    def dim(self) -> int:
        """Length of a vector, 0 when it is not known yet."""

    async def embed(self, texts: Sequence[str], purpose: Purpose, /) -> Floats:
        """Return one vector a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One structured question to a language model.

    *schema* is the JSON Schema that the answer has to satisfy and *name* what it is called in logs,
    in the ledger and in providers that want a name.  *deadline_ms* bounds the whole call, retries
    included; *max_tokens* the answer (0: as the client is configured).
    """

    name: str
    system: str
    user: str
    schema: Mapping[str, Any]
    deadline_ms: int = 60_000
    max_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What calls cost: tokens read and written, and money in the currency of the configured price."""

    input: int = 0
    output: int = 0
    cost: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        """Return the sum of two bills."""
        return Usage(input=self.input + other.input, output=self.output + other.output, cost=self.cost + other.cost)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What came back: the answer's *text*, and what it cost.

    *truncated* says that the provider stopped before the model had finished.
    """

    text: str
    model: str
    usage: Usage = field(default_factory=Usage)
    truncated: bool = False


class Obstacle(StrEnum):
    """Why a model that works cannot answer one prompt."""

    TOO_LONG = "too long"
    REFUSED = "refused"
    UNREADABLE = "unreadable"


class Unanswerable(InvalidInput):
    """The model works, but gave no usable answer about this text."""

    def __init__(self, message: str, obstacle: Obstacle) -> None:
        super().__init__(message, obstacle=obstacle.value)
        self.obstacle = obstacle


class LanguageModel(Protocol):
    """Answers a prompt with JSON.

    Obligations:
    * ``complete`` asks for what the schema describes as firmly as the provider allows; the caller
      reads and checks the text again.
    * It raises `ModelUnavailable` with a plain sentence when no answer can be had now (the fact
      ``retry_after_ms`` when the provider named a time), and `Unanswerable` when this prompt will
      not be answered at any time.  Neither holds a key or the words of the prompt.
    """

    @property
    def model_id(self) -> str:
        """Provider and model."""

    async def complete(self, prompt: Prompt, /) -> Completion:
        """Return one answer."""
