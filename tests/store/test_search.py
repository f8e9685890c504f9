"""The full-text index on every backend, and Chinese, Japanese and Korean words in it."""

from __future__ import annotations

import json
from datetime import UTC
from pathlib import Path

import pytest

from stenolith.recall.query import read_question
from stenolith.recall.score import score
from stenolith.store.database import Database
from stenolith.store.search import Filter, Layer
from stenolith.testing.search import SearchContract, World

LABELLED = json.loads((Path(__file__).parents[1] / "data" / "cjk_queries.json").read_text(encoding="utf-8"))


class TestSearch(SearchContract):
    pass


async def _ranking(world: World, owner: int, query: str) -> list[str]:
    question = read_question(query, world.clock(), UTC)
    matches = await world.index.look_up(owner, Layer.ATOM, question.whole, Filter(now_ms=world.clock()))
    ranked = score(question, matches.asked, matches.statistics, matches.candidates, {})
    assert all(row.coverage > 0 for row in ranked)
    return [row.ref_id for row in ranked]


async def test_every_labelled_cjk_query_finds_its_memory_by_words_alone(database: Database) -> None:
    world = World(database)
    ana = await world.owner("ana")
    ids = await world.remember(ana, LABELLED["memories"])
    assert len(LABELLED["memories"]) >= 40
    assert len(LABELLED["queries"]) >= 76
    missed, first = [], 0
    for item in LABELLED["queries"]:
        ranking = await _ranking(world, ana, item["query"])
        wanted = ids[item["hit"]]
        if wanted not in ranking[:10]:
            missed.append(item["query"])
        first += ranking[:1] == [wanted]
    assert missed == []
    assert first / len(LABELLED["queries"]) >= 0.97


@pytest.mark.parametrize("query", LABELLED["absent"])
async def test_words_that_nobody_said_find_nothing(database: Database, query: str) -> None:
    world = World(database)
    ana = await world.owner("ana")
    await world.remember(ana, LABELLED["memories"])
    assert await _ranking(world, ana, query) == []


# spec/cases.md C22: query, indexes of the memories that hit.
C22 = ["把用户身份校验放到网关", "这位同事的花名是小云", "步2 重跑gen-itgc后50条悬空引用清零", "设备清单在 NAS 上"]
C22_HITS = {"用户": {0}, "花名": {1}, "小云": {1}, "itgc": {2}, "悬空": {2}, "设备": {3}, "db": set()}


async def test_two_character_words_and_glued_identifiers_are_found_exactly(database: Database) -> None:
    world = World(database)
    ana = await world.owner("ana")
    ids = await world.remember(ana, C22)
    found = {query: {ids.index(ref) for ref in await _ranking(world, ana, query)} for query in C22_HITS}
    assert found == C22_HITS
    both = {ids.index(ref) for ref in await _ranking(world, ana, "用户 NAS")}
    assert both in (set(), {0, 3})
