"""Embedders for tests: one that needs no model, and one that is slow or broken on demand."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence

import numpy as np

from stenolith.errors import ModelUnavailable
from stenolith.llm.port import Floats, Purpose
from stenolith.model.text import terms


class HashEmbedder:
    """Adds up a fixed random direction for each term: texts that share words are near each other.

    *synonyms* maps a term to another whose direction it takes, so that a test can make a paraphrase
    that only vectors find.
    """

    def __init__(self, dim: int = 64, synonyms: dict[str, str] | None = None, name: str = "hash") -> None:
        self._dim = dim
        self._synonyms = synonyms or {}
        self._name = name
        self.calls = 0

    @property
    def model_id(self) -> str:
        """Name and length."""
        return f"{self._name}/{self._dim}"

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self._dim

    async def embed(self, texts: Sequence[str], _purpose: Purpose, /) -> Floats:
        """Return one vector a text; a text without terms has a direction of its own."""
        self.calls += 1
        rows = [sum((self._direction(term) for term in terms(text)), self._direction("")) for text in texts]
        found = np.asarray(rows, np.float32).reshape(len(texts), self._dim)
        unit: Floats = found / np.linalg.norm(found, axis=1, keepdims=True)
        return unit

    def _direction(self, term: str) -> Floats:
        word = self._synonyms.get(term, term)
        seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest())
        found: Floats = np.random.default_rng(seed).standard_normal(self._dim).astype(np.float32)
        return found * (0.1 if not word else 1.0)


class TroubledEmbedder:
    """Another embedder with a delay, or out of order: set *delay_s* and *broken* at any time."""

    def __init__(self, inner: HashEmbedder, *, delay_s: float = 0.0, broken: bool = False) -> None:
        self._inner = inner
        self.delay_s = delay_s
        self.broken = broken
        self.calls = 0

    @property
    def model_id(self) -> str:
        """The inner embedder's."""
        return self._inner.model_id

    @property
    def dim(self) -> int:
        """The inner embedder's."""
        return self._inner.dim

    async def embed(self, texts: Sequence[str], purpose: Purpose, /) -> Floats:
        """Wait, fail, or answer."""
        self.calls += 1
        await asyncio.sleep(self.delay_s)
        if self.broken:
            raise ModelUnavailable("the embedder is out of order")
        return await self._inner.embed(texts, purpose)
