"""C21: a file may not grow any more (``ulimit -f``): what was acknowledged is kept, and the home opens afterwards."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from stenolith import Memory, Scope
from stenolith.settings import load

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a limit of POSIX")
WRITER = Path(__file__).with_name("writer_at_the_limit.py")
SOURCE = Path(__file__).parents[2] / "src"
TURNS = 2000
KB = 1024


@pytest.mark.parametrize("above_kb", [0, 1, 40, 300, 900])
async def test_a_file_that_may_not_grow_loses_nothing_that_was_acknowledged(tmp_path: Path, above_kb: int) -> None:
    settings = load(home=tmp_path / "home", timezone="UTC", embedder={"kind": "none"})
    async with Memory.open(settings=settings):
        pass
    limit = (tmp_path / "home" / "memory.db").stat().st_size + above_kb * KB
    told, said = await _write(settings.home, limit)
    *stored, ended = told
    assert ended.startswith("StoreUnavailable: "), (ended, said)
    assert "a file may not grow; nothing was written" in ended
    assert "Traceback" not in said
    assert stored == [str(number) for number in range(len(stored))]
    async with Memory.open(settings=settings) as memory:
        scope = Scope(session_key="s")
        kept = [message.text().split()[1] for message in await memory.sessions.raw(scope)] if stored else []
        assert kept == stored
        assert (await memory.doctor(fix=True))["healthy"]
        assert (await memory.doctor())["healthy"]
        await memory.remember("It goes on", scope=scope)
    lines = [line for file in (tmp_path / "home").rglob("*.jsonl") for line in file.read_text().splitlines()]
    assert len(lines) == len(stored) + 1


async def _write(home: Path, limit: int) -> tuple[list[str], str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        WRITER,
        str(home),
        str(limit),
        str(TURNS),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode().splitlines(), err.decode()
