"""Vectors from any server that speaks OpenAI's ``/v1/embeddings``."""

from __future__ import annotations

import base64
import binascii
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
import numpy as np

from stenolith.errors import InvalidInput, ModelUnavailable
from stenolith.llm.port import Floats, Purpose

KEY_VARIABLE: Final = "STENOLITH_EMBEDDER_KEY"
KEY_FILE_VARIABLE: Final = "STENOLITH_EMBEDDER_KEY_FILE"
_BATCH: Final = 64
_LONGEST_TEXT: Final = 8000
_DEADLINE_S: Final = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where and what to ask. *url* is the base address, such as ``http://127.0.0.1:8080/v1``."""

    url: str
    model: str
    dimensions: int | None = None
    deadline_s: float = _DEADLINE_S


class OpenAIEmbedder:
    """Asks an OpenAI-compatible server. The vector length is whatever it answers with, and stays so."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._dim = endpoint.dimensions or 0

    @property
    def model_id(self) -> str:
        """The model's name and the length that was asked for; the address may change with the machine."""
        asked = self._endpoint.dimensions
        return f"openai/{self._endpoint.model}" + (f"/{asked}" if asked else "")

    @property
    def dim(self) -> int:
        """Length of a vector, 0 before the first answer."""
        return self._dim

    async def embed(self, texts: Sequence[str], _purpose: Purpose, /) -> Floats:
        """Return one vector a text. Raises `ModelUnavailable` with the reason; nothing is retried here."""
        if not texts:
            return np.zeros((0, self._dim), np.float32)
        parts = [await self._ask(texts[at : at + _BATCH]) for at in range(0, len(texts), _BATCH)]
        rows = np.concatenate(parts)
        if self._dim not in {0, rows.shape[1]}:
            raise ModelUnavailable(f"{self.model_id} now gives {rows.shape[1]} numbers a text, before {self._dim}")
        self._dim = rows.shape[1]
        return unit_rows(rows, self.model_id)

    async def _ask(self, texts: Sequence[str]) -> Floats:
        body: dict[str, Any] = {"model": self._endpoint.model, "input": [_clean(text) for text in texts]}
        if self._endpoint.dimensions:
            body["dimensions"] = self._endpoint.dimensions
        key = read_key()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        address = self._endpoint.url.rstrip("/") + "/embeddings"
        try:
            async with httpx2.AsyncClient(timeout=self._endpoint.deadline_s, headers=headers) as client:
                answer = await client.post(address, json=body)
                answer.raise_for_status()
                return _vectors(answer.json(), len(texts))
        except httpx2.HTTPStatusError as error:
            raise ModelUnavailable(f"{address} answered {error.response.status_code}") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ModelUnavailable(f"{address} cannot be reached: {type(error).__name__}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise ModelUnavailable(f"{address} answered something that is no list of embeddings") from error


def unit_rows(rows: Floats, model_id: str) -> Floats:
    """Return *rows* as float32 of unit length. Raises `ModelUnavailable` for a row without a direction."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths < 1e-6).any():
        raise ModelUnavailable(f"{model_id} returned a vector without a direction (zero, or not numbers)")
    unit: Floats = (rows / lengths).astype(np.float32)
    return unit


def read_key() -> str:
    """Return the key from the environment, or from a file that only its owner can read.

    A key is never a setting: settings are printed and copied.  Raises `InvalidInput` when the file
    is missing or open to others.
    """
    name = os.environ.get(KEY_FILE_VARIABLE, "")
    if not name:
        return os.environ.get(KEY_VARIABLE, "").strip()
    try:
        if os.name == "posix" and stat.S_IMODE(Path(name).stat().st_mode) & 0o077:
            raise InvalidInput(f"{KEY_FILE_VARIABLE}: {name} can be read by others; run chmod 600 on it")
        return Path(name).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise InvalidInput(f"{KEY_FILE_VARIABLE}: {name} cannot be read: {error.strerror}") from error


def _vectors(answer: Mapping[str, Any], count: int) -> Floats:
    rows = sorted(answer["data"], key=lambda row: int(row["index"]))
    if len(rows) != count:
        raise ValueError("one embedding a text was asked for")
    found: Floats = np.stack([_numbers(row["embedding"]) for row in rows])
    return found


def _numbers(value: Any) -> Floats:
    """Read an embedding: a list of numbers, or base64 of little-endian float32."""
    if not isinstance(value, str):
        return np.asarray(value, dtype=np.float32)
    try:
        return np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4").astype(np.float32)
    except binascii.Error as error:
        raise ValueError("the embedding is no base64") from error


def _clean(text: str) -> str:
    # Servers refuse empty input, and JSON cannot carry lone surrogates.
    return text[:_LONGEST_TEXT].encode(errors="replace").decode().strip() or "."
