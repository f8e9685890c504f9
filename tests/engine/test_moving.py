"""A home moves to PostgreSQL and back, and answers the same in both."""

from __future__ import annotations

from pathlib import Path

import pytest
from saying import said

from stenolith import InvalidInput, Memory, Scope
from stenolith.engine.moving import move_home
from stenolith.settings import load
from stenolith.testing.backends import BACKENDS

T0 = 1_785_657_600_000
QUIET = {"timezone": "UTC", "embedder": {"kind": "none"}}


async def test_a_home_moves_there_and_back_with_the_same_export(tmp_path: Path) -> None:
    async with BACKENDS["postgres"](tmp_path):
        url = (tmp_path / "postgres.url").read_text(encoding="utf-8")
        first, second = tmp_path / "first", tmp_path / "second"
        async with Memory.open(settings=load(home=first, **QUIET)) as memory:
            await memory.capture(
                [said("user", "旧的鉴权模块先不要重构，移动端还在使用它。", T0)], scope=Scope(session_key="s")
            )
            await memory.work()
            await memory.export(tmp_path / "one.jsonl", scope=Scope())
        moved = await move_home(load(home=first, **QUIET), url)
        assert moved["rows"] > 5
        async with Memory.open(settings=load(home=first, database=url, **QUIET)) as memory:
            found = await memory.recall("鉴权 重构", scope=Scope())
            assert next(item.text for item in found.items).startswith("旧的鉴权模块")
            await memory.export(tmp_path / "two.jsonl", scope=Scope())
        await move_home(load(home=second, database=url, **QUIET), "sqlite")
        async with Memory.open(settings=load(home=second, **QUIET)) as memory:
            await memory.export(tmp_path / "three.jsonl", scope=Scope())
        exports = {(tmp_path / f"{name}.jsonl").read_bytes() for name in ("one", "two", "three")}
        assert len(exports) == 1
        with pytest.raises(InvalidInput, match="not empty"):
            await move_home(load(home=first, **QUIET), url)


async def test_a_database_that_is_no_url_is_refused_in_plain_words(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="postgresql://"):
        async with Memory.open(settings=load(home=tmp_path, database="mysql://x", **QUIET)):
            pass
