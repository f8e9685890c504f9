"""What stenolith asks of models: text to vectors, and messages to one structured answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

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

    *schema* is the JSON Schema that the answer has to satisfy and *name* what it is called in logs
    and in providers that want a name.  *deadline_ms* bounds the whole call, retries included.
    """

    name: str
    system: str
    user: str
    schema: Mapping[str, Any]
    deadline_ms: int = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What came back: the *value* that was read from *text*, and what it cost."""

    value: Any
    text: str
    model: str
    usage: Mapping[str, int] = field(default_factory=dict)


class LanguageModel(Protocol):
    """Answers a prompt with JSON.

    Obligations: ``complete`` returns a value that its schema describes as far as the provider can
    promise it (the caller checks again), or raises `ModelUnavailable` with the reason.
    """

    @property
    def model_id(self) -> str:
        """Provider and model."""

    async def complete(self, prompt: Prompt, /) -> Completion:
        """Return one answer."""
