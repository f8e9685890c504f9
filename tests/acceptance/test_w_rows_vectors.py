# ruff: noqa: N802  # the rows keep the names that the specification gives them
"""W8-W10 and C30: vectors are a projection; what happens to them costs neither a row nor a word, and heals."""

from __future__ import annotations

from typing import Any

from reader import ME, rows
from stage import MINUTE, said

from stenolith import Memory
from stenolith.recall.context import Context
from stenolith.settings import Settings
from stenolith.testing.clock import FrozenClock
from stenolith.testing.embedder import HashEmbedder, TroubledEmbedder

FACTS = ("I keep bees on the roof.", "My sister lives in Graz.", "We use PostgreSQL for the ledger.")
VECTORS = "SELECT DISTINCT model_id, dim FROM vectors WHERE layer <> 'anchor'"
BARE = "SELECT s.ref_id FROM search_rows s LEFT JOIN vectors v ON v.layer = s.layer AND v.ref_id = s.ref_id WHERE v.ref_id IS NULL"


class Renamed:
    """A server that answers under the old model's name with vectors of another length."""

    model_id = "hash/64"
    dim = 0

    def __init__(self, inner: HashEmbedder) -> None:
        self._inner = inner

    async def embed(self, texts: Any, purpose: Any, /) -> Any:
        found = await self._inner.embed(texts, purpose)
        self.dim = found.shape[1]
        return found


async def tell(memory: Memory, clock: FrozenClock, *facts: str) -> None:
    for fact in facts:
        await memory.capture([said("user", fact, clock.advance(MINUTE))], scope=ME)


async def asked(memory: Memory) -> Context:
    return await memory.recall("where does my sister live", scope=ME)


def finds(context: Context) -> bool:
    return any("Graz" in item.text for item in context.items)


def degraded(context: Context) -> str:
    return "; ".join(context.report.degraded)


async def test_W08_vectors_of_another_length_lose_no_row_and_are_all_made_anew(settings: Settings) -> None:
    clock = FrozenClock()
    async with Memory.open(settings=settings, embedder=HashEmbedder(64), now=clock) as memory:
        await tell(memory, clock, *FACTS[:2])
        await memory.work()
        assert await rows(memory, VECTORS) == [{"model_id": "hash/64", "dim": 64}]
    async with Memory.open(settings=settings, embedder=Renamed(HashEmbedder(32)), now=clock) as memory:
        await tell(memory, clock, FACTS[2])
        context = await asked(memory)
        assert finds(context), "words are found without vectors"
        assert "vectors" in degraded(context)
        assert len((await memory.list("records", scope=ME))["items"]) == 3
        clock.advance(MINUTE)
        report = await memory.work()
        assert (report.failed, report.dead, report.pending) == ({}, {}, 0)
        assert await rows(memory, VECTORS) == [{"model_id": "hash/64", "dim": 32}]
        assert await rows(memory, BARE) == []
        context = await asked(memory)
        assert finds(context)
        assert degraded(context) == ""
        assert (await memory.doctor())["healthy"]


async def test_W08_two_lengths_in_one_answer_store_nothing_and_are_tried_again(settings: Settings) -> None:
    class Broken(HashEmbedder):
        whole = False

        async def embed(self, texts: Any, purpose: Any, /) -> Any:
            found = await super().embed(texts, purpose)
            return found if self.whole else [vector[: 64 - at] for at, vector in enumerate(found)]

    clock, embedder = FrozenClock(), Broken(64)
    async with Memory.open(settings=settings, embedder=embedder, now=clock) as memory:
        await tell(memory, clock, *FACTS)
        report = await memory.work()
        assert report.done["distill"] == 1
        assert (await memory.health())["status"] == "degraded"
        assert await rows(memory, VECTORS) == []
        assert finds(await asked(memory))
        embedder.whole = True
        clock.advance(60 * MINUTE)
        await memory.work()
        assert await rows(memory, BARE) == []


async def test_W09_embeddings_that_failed_are_filled_in_when_the_embedder_answers(settings: Settings) -> None:
    clock = FrozenClock()
    embedder = TroubledEmbedder(HashEmbedder(64), broken=True)
    async with Memory.open(settings=settings, embedder=embedder, now=clock) as memory:
        for fact in FACTS:
            await tell(memory, clock, fact)
            await memory.work()
        health = await memory.health()
        assert health["status"] == "degraded"
        assert any(reason.startswith("embed: ") for reason in health["reasons"])
        context = await asked(memory)
        assert finds(context)
        embedder.broken = False
        clock.advance(60 * MINUTE)
        await memory.work()
        assert await rows(memory, BARE) == []
        assert (await memory.health())["status"] == "ok"
        assert degraded(await asked(memory)) == ""


async def test_W09_rows_from_before_there_was_an_embedder_are_embedded_without_a_new_word(settings: Settings) -> None:
    """Nor does a dead letter leave a hole: whatever has no vector is asked for again."""
    clock = FrozenClock()
    async with Memory.open(settings=settings, now=clock) as memory:
        await tell(memory, clock, *FACTS)
        await memory.work()
    async with Memory.open(settings=settings, embedder=HashEmbedder(64), now=clock) as memory:
        await memory.work()
        assert await rows(memory, BARE) == []
        assert await rows(memory, VECTORS) == [{"model_id": "hash/64", "dim": 64}]
        await memory.work()
        assert [job for job in (await memory.jobs())["items"] if job["kind"] == "embed"] == []


async def test_W10_a_changed_model_re_embeds_behind_lexical_recall_that_says_so(settings: Settings) -> None:
    clock = FrozenClock()
    async with Memory.open(settings=settings, embedder=HashEmbedder(64, name="small"), now=clock) as memory:
        await tell(memory, clock, *FACTS)
        await memory.work()
        assert degraded(await asked(memory)) == ""
    large = HashEmbedder(96, name="large")
    async with Memory.open(settings=settings, embedder=large, now=clock) as memory:
        context = await asked(memory)
        assert finds(context)
        assert "small/64" in degraded(context)
        assert "large/96" in degraded(context)
        health = await memory.health()
        assert health["status"] == "degraded"
        assert any("small/64" in reason for reason in health["reasons"])
        await memory.work()
        assert await rows(memory, VECTORS) == [{"model_id": "large/96", "dim": 96}]
        assert await rows(memory, BARE) == []
        assert degraded(await asked(memory)) == ""
        assert (await memory.health())["status"] == "ok"
        calls = large.calls
        await memory.work()
        assert large.calls == calls, "once it is done, nothing is asked for again"


async def test_W10_the_change_is_noticed_at_every_start_until_it_is_done(settings: Settings) -> None:
    clock = FrozenClock()
    async with Memory.open(settings=settings, embedder=HashEmbedder(64, name="small"), now=clock) as memory:
        await tell(memory, clock, *FACTS)
        await memory.work()
    for broken in (True, True, False):
        embedder = TroubledEmbedder(HashEmbedder(96, name="large"), broken=broken)
        async with Memory.open(settings=settings, embedder=embedder, now=clock) as memory:
            clock.advance(60 * MINUTE)
            await memory.work()
            assert await rows(memory, VECTORS) == [
                {"model_id": "small/64", "dim": 64} if broken else {"model_id": "large/96", "dim": 96}
            ]


async def test_C30_an_embedder_that_is_away_at_the_start_heals_when_it_answers(settings: Settings) -> None:
    clock = FrozenClock()
    embedder = TroubledEmbedder(HashEmbedder(64), broken=True)
    async with Memory.open(settings=settings, embedder=embedder, now=clock) as memory:
        await tell(memory, clock, *FACTS)
        await memory.work(kinds=["distill"])
        assert finds(await asked(memory))
        embedder.broken = False
        await memory.work()
        context = await asked(memory)
        assert degraded(context) == ""
        assert {arm.name for arm in context.report.arms if arm.hits} >= {"atoms_vector"}


async def test_C30_scenes_have_vectors_too_and_new_ones_when_they_are_rewritten(settings: Settings) -> None:
    clock, embedder = FrozenClock(), HashEmbedder(64)
    async with Memory.open(settings=settings, embedder=embedder, now=clock) as memory:
        await tell(memory, clock, *FACTS)
        await memory.work()
        scene = "SELECT ref_id, vector FROM vectors WHERE layer = 'scene'"
        before = {row["ref_id"]: bytes(row["vector"]) for row in await rows(memory, scene)}
        assert before
        await tell(memory, clock, "I prefer green tea.", "We use Redis for the ledger cache.")
        await memory.work()
        after = {row["ref_id"]: bytes(row["vector"]) for row in await rows(memory, scene)}
        assert after != before
        assert await rows(memory, BARE) == []
