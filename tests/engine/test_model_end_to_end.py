"""The whole way with a model behind a real socket: capture, work, recall, by settings alone, on both protocols."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stenolith.capture.turn import from_texts
from stenolith.engine.memory import Memory
from stenolith.llm.keys import VARIABLE
from stenolith.model.identity import Scope
from stenolith.settings import load
from stenolith.testing.clock import FrozenClock
from stenolith.testing.fake_openai import Asked, Fault, fake_server

KEY = "sk-test-4f9aTHISISNOTAKEY"
ME = Scope(user="u1", session_key="chat")
SAID = (
    "旧的鉴权模块先不要重构，移动端还在使用它。",
    "The Orion gateway runs on port 8443.",
    "The Orion gateway must not be restarted at noon.",
    "The Orion gateway logs go to Loki.",
)


def brain(asked: Asked) -> Any:
    """Answer as a modest model would, and invent a source now and then."""
    if asked.body.get("model") == "sick":
        return Fault(status=401, message=f"Incorrect API key provided: {KEY}")
    if "<conversation>" in asked.words:
        body = asked.words.split("<conversation>\n")[1].split("\n</conversation>")[0]
        lines = [json.loads(line) for line in body.split("\n")]
        told = [
            {"text": line["text"], "kind": "constraint", "sources": [line["id"]], "subject": "project"}
            for line in lines
            if line["role"] == "user"
        ]
        return {"scenes": [{"name": "Work", "memories": [*told, {"text": "Invented", "sources": [99]}]}]}
    if "<known>" in asked.words:
        return {"decisions": []}
    return {"title": "", "summary": "", "edits": [], "lines": []}


def _bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_a_home_learns_from_a_server_that_the_settings_name(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, KEY)
    async with fake_server(brain) as server:
        url = server.openai_url if kind == "openai" else server.anthropic_url
        llm = {"kind": kind, "url": url, "model": "modest"}
        settings = load(home=tmp_path, timezone="UTC", llm=llm, embedder={"kind": "none"})
        clock = FrozenClock()
        async with Memory.open(settings=settings, now=clock) as memory:
            for text in SAID:
                at = clock.advance(60_000)
                await memory.capture(from_texts(text, "Noted.", started=at, ended=at + 1), scope=ME)
            report = await memory.work()
            assert (report.pending, report.dead) == (0, {})
            listed = await memory.list("atoms", scope=ME)
            assert sorted(item["text"] for item in listed["items"]) == sorted(SAID)
            context = await memory.recall("这次能不能顺便重构登录逻辑", scope=ME)
            assert SAID[0] in context.dynamic
    assert {asked.headers.get("authorization", asked.headers.get("x-api-key", "")) for asked in server.asked} <= {
        KEY,
        f"Bearer {KEY}",
    }
    stored = _bytes_of(tmp_path)
    assert KEY.encode() not in stored
    assert b"refused: invented source" in stored


async def test_a_refused_key_is_said_in_the_queue_without_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, KEY)
    async with fake_server(brain) as server:
        llm = {"kind": "openai", "url": server.openai_url, "model": "sick"}
        settings = load(home=tmp_path, timezone="UTC", llm=llm, embedder={"kind": "none"})
        async with Memory.open(settings=settings) as memory:
            await memory.capture(from_texts(SAID[1], "Noted."), scope=ME)
            report = await memory.work()
            assert report.dead == {}
            (job,) = [job for job in (await memory.jobs())["items"] if job["kind"] == "distill"]
            assert f"set {VARIABLE}" in job["error"]
            assert KEY not in json.dumps(await memory.jobs())
            context = await memory.recall("Orion port", scope=ME)
            assert "8443" in context.dynamic, "recall goes on with the words that were said"
    stored = _bytes_of(tmp_path)
    assert KEY.encode() not in stored
