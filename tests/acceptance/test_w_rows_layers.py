# ruff: noqa: N802  # the rows keep the names that the specification gives them
"""W11-W18, W22, W23: what is derived from words follows them, keeps its past, and fails in the open."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from reader import ME, atoms, learned, model, offered, parrot, rows, sentence, shown, texts, turns, waiting, with_model
from stage import DAY, MINUTE, said

from stenolith import InvalidInput, Memory, Scope, StoreUnavailable, Turn
from stenolith.llm.port import Prompt
from stenolith.settings import Settings, load
from stenolith.testing.clock import FrozenClock
from stenolith.testing.model import Said, TroubledModel

DEFAULT = Scope(session_key="s")
"""Of the owner whose files stand in the home itself."""
DAY_FILE = "2026-08-02.jsonl"
"""The day on which frozen clocks start, in UTC and in Shanghai."""


def lines(home: Path) -> list[str]:
    """Return the words of every line of the daily files."""
    files = sorted((home / "conversations").glob("*.jsonl"))
    return [json.loads(line)["content"] for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def markdown(home: Path) -> dict[str, str]:
    return {str(file.relative_to(home)): file.read_text(encoding="utf-8") for file in sorted(home.rglob("*.md"))}


# W11
async def test_W11_a_damaged_file_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    settings = load(home=tmp_path / "home", timezone="UTC", embedder={"kind": "none"})
    async with Memory.open(settings=settings) as memory:
        await memory.remember("I keep bees.", scope=ME)
    file = settings.home / "memory.db"
    for damaged in (b"not a database at all" * 300, file.read_bytes()[:100] + b"\xff" * 4096):
        file.write_bytes(damaged)
        for name in ("memory.db-wal", "memory.db-shm"):
            (settings.home / name).unlink(missing_ok=True)
        with pytest.raises(StoreUnavailable):
            async with Memory.open(settings=settings):
                pass
        assert file.read_bytes() == damaged


async def test_W11_a_schema_that_is_not_ours_is_refused(settings: Settings) -> None:
    async with Memory.open(settings=settings) as memory:
        await memory.remember("I keep bees.", scope=ME)
        await rows(memory, "UPDATE schema_migrations SET checksum = 'x' || checksum WHERE number = 1")
        with pytest.raises(StoreUnavailable, match="schema step 1"):
            async with Memory.open(settings=settings):
                pass
        await rows(memory, "UPDATE schema_migrations SET checksum = SUBSTR(checksum, 2) WHERE number = 1")
    async with Memory.open(settings=settings) as memory:
        assert await texts(memory) == ["I keep bees."]


async def test_W11_a_server_that_is_away_is_an_error_and_no_empty_memory(tmp_path: Path) -> None:
    settings = load(home=tmp_path / "home", database="postgresql://nobody@127.0.0.1:1/none?connect_timeout=2")
    with pytest.raises(StoreUnavailable):
        async with Memory.open(settings=settings):
            pass
    assert list(settings.home.glob("memory.db*")) == []


def test_W11_a_configuration_that_cannot_be_read_is_no_default(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "stenolith.toml").write_text("timezone = 'Asia/Shanghai\n[broken")
    with pytest.raises(InvalidInput):
        load(home=home)


async def test_W11_a_damaged_cursor_stops_its_session_in_the_open_and_no_other(settings: Settings) -> None:
    """The reference took an unreadable checkpoint for an empty one, and wrote that down."""
    clock, scripted = FrozenClock(), model()
    async with Memory.open(settings=with_model(settings), model=scripted, now=clock) as memory:
        await memory.capture(turns([1], clock.advance(MINUTE)), scope=ME)
        await memory.work(kinds=["distill"])
        await rows(memory, "UPDATE cursors SET state = '{brok' WHERE stage = 'distill'")
        await memory.capture(turns([2], clock.advance(MINUTE)), scope=ME)
        await memory.capture(turns([3], clock.advance(MINUTE)), scope=Scope(user="ana", session_key="other"))
        for _ in range(6):
            await memory.work(kinds=["distill"])
            clock.advance(10 * MINUTE)
        assert (await memory.health())["status"] == "degraded"
        (dead,) = (await memory.jobs(dead=True))["items"]
        assert await texts(memory) == [sentence(1), sentence(3)]
        assert offered(scripted)[sentence(1)] == 1
        assert await rows(memory, "SELECT state FROM cursors WHERE state = '{brok'") == [{"state": "{brok"}]
        await rows(memory, "UPDATE cursors SET state = '{}' WHERE state = '{brok'")
        await memory.retry_job(dead["id"])
        await memory.work(kinds=["distill"])
        assert await texts(memory) == [sentence(1), sentence(2), sentence(3)]
        assert offered(scripted)[sentence(1)] == 1


# W12
async def test_W12_daily_lines_that_could_not_be_written_are_caught_up_once(settings: Settings) -> None:
    clock = FrozenClock()
    async with Memory.open(settings=settings, now=clock) as memory:
        await memory.capture(turns([0], clock.advance(MINUTE)), scope=ME)
        before = lines(settings.home)
        blocked = settings.home / "conversations" / DAY_FILE
        blocked.rename(blocked.with_suffix(".aside"))
        blocked.mkdir()
        report = await memory.capture(turns([1], clock.advance(MINUTE)), scope=ME)
        assert len(report.recorded) == 2
        assert report.warnings
        assert "journal: 2 records" in " ".join((await memory.health())["reasons"])
        await memory.work()
        assert (await memory.health())["status"] == "degraded"
        await memory.capture(turns([2], clock.advance(MINUTE)), scope=ME)
        blocked.rmdir()
        blocked.with_suffix(".aside").rename(blocked)
        clock.advance(60 * MINUTE)
        await memory.work()
        assert lines(settings.home) == before + [
            text for number in (1, 2) for text in (sentence(number), f"Noted under {number}.")
        ]
        assert (await memory.health())["status"] == "ok"
        assert [check for check in (await memory.doctor())["checks"] if check["problems"]] == []


# W13
async def test_W13_scenes_whose_files_cannot_be_written_are_tried_again_with_all_their_input(
    settings: Settings,
) -> None:
    clock = FrozenClock()
    async with Memory.open(settings=settings, now=clock) as memory:
        await memory.capture([said("user", "I prefer wooden bee hives.", clock.advance(MINUTE))], scope=DEFAULT)
        blocked = settings.home / "scenes"
        blocked.write_text("a file where the folder should be")
        report = await memory.work()
        assert report.failed["scenes"] == 1
        assert (await memory.health())["status"] == "degraded"
        await memory.capture([said("user", "I prefer swarm traps in May.", clock.advance(MINUTE))], scope=DEFAULT)
        blocked.unlink()
        clock.advance(60 * MINUTE)
        report = await memory.work()
        assert report.failed == {}
        told = "\n".join(markdown(settings.home).values())
        assert "wooden bee hives" in told
        assert "swarm traps" in told
        assert (await memory.health())["status"] == "ok"


async def test_W13_a_model_that_cannot_word_a_scene_keeps_its_turn_and_the_rules_words_stand(
    settings: Settings,
) -> None:
    clock, scripted = FrozenClock(), model()
    troubled = TroubledModel(scripted)
    async with Memory.open(settings=with_model(settings), model=troubled, now=clock) as memory:
        await memory.capture(turns(range(6), clock.advance(MINUTE)), scope=ME)
        await memory.work(kinds=["distill"])
        troubled.broken = True
        report = await memory.work(kinds=["scenes"])
        assert report.dead == {}
        (job,) = await waiting(memory, "scenes")
        assert (job["attempts"], "out of order" in job["error"]) == (0, True)
        told = "\n".join(markdown(settings.home).values())
        assert all(f"Item{number}" in told for number in range(6))
        await memory.capture(turns(range(6, 9), clock.advance(MINUTE)), scope=ME)
        troubled.broken = False
        clock.advance(60 * MINUTE)
        await memory.work()
        assert await waiting(memory, "scenes") == []
        seen = "".join(prompt.user for prompt in scripted.prompts("dossier"))
        assert all(f"Item{number}" in seen for number in range(9)), "what was said meanwhile is worded with the rest"


async def test_W13_a_prompt_is_bounded_however_much_there_is_to_say(settings: Settings) -> None:
    clock, scripted = FrozenClock(), model()
    async with Memory.open(settings=with_model(settings), model=scripted, now=clock) as memory:
        told = [f"The ledger project keeps rule number {n} about item{n}: " + "so it is, " * 30 for n in range(130)]
        for start in range(0, 130, 65):
            messages = [said("user", text, clock.advance(1000)) for text in told[start : start + 65]]
            await memory.capture(Turn(messages=tuple(messages), mark=0), scope=ME)
        await memory.work()
        longest = {prompt.name: len(prompt.user) for prompt in sorted(scripted.asked, key=lambda one: len(one.user))}
        assert longest.keys() >= {"extract", "dossier"}
        assert max(longest.values()) < 60 * 2000, "60 lines with the facts that they cite, in any number of scenes"


# W14
async def test_W14_what_a_model_may_not_touch_stays(settings: Settings) -> None:
    """Ids outside the candidates are refused, and so is the end of what has another subject."""
    clock = FrozenClock()
    async with Memory.open(settings=with_model(settings), model=model(), now=clock) as memory:
        for fact in ("My bicycle is red.", "I am allergic to penicillin.", "My cat is called Milo."):
            await memory.capture([said("user", fact, clock.advance(MINUTE))], scope=ME)
            await memory.end_session(scope=ME)
    wild = [
        {"memory": 1, "action": "supersede", "known": [999]},
        {"memory": 1, "action": "supersede", "known": [0, 1, 2], "reason": "all of it"},
        {"memory": 1, "action": "delete", "known": ["atm_000000000000000000000000"]},
    ]
    scripted = model(arbiter=[{"decisions": wild}])
    async with Memory.open(settings=with_model(settings), model=scripted, now=clock) as memory:
        await memory.capture([said("user", "My cat Milo likes the blue cushion.", clock.advance(MINUTE))], scope=ME)
        await memory.work(kinds=["distill"])
        assert scripted.prompts("arbiter")
        assert {*await texts(memory)} >= {"My bicycle is red.", "I am allergic to penicillin."}


@pytest.mark.parametrize(
    ("known", "new", "action"),
    [
        ("I like my red car.", "I like tea.", "supersede"),
        ("I like my red car.", "I like tea.", "merge"),
        ("项目 A 用 Postgres。", "项目 B 的负责人是 Li。", "supersede"),
        ("项目 A 用 Postgres。", "项目 B 的负责人是 Li。", "update"),
    ],
)
async def test_W14_a_wrong_ruling_between_short_facts_is_refused_and_counted(
    settings: Settings, known: str, new: str, action: str
) -> None:
    """One word in common relates nothing: both stand, and the report of the job says what was refused."""
    clock = FrozenClock()
    ruling = {"decisions": [{"memory": 1, "action": action, "known": [0], "text": new, "reason": "newer"}]}
    first, second = learned({"text": known, "sources": [1]}), learned({"text": new, "sources": [1]})
    asked = model([first, second], [ruling, ruling])
    async with Memory.open(settings=with_model(settings), model=asked, now=clock) as memory:
        for text in (known, new):
            await memory.capture([said("user", text, clock.advance(MINUTE))], scope=ME)
            await memory.work(kinds=["distill"])
        assert await texts(memory) == sorted([known, new])
        jobs = await memory._house.jobs.listing_of_home("done")
        counted = sum(job.result.get(f"added, no {action}", 0) for job in jobs if job.kind == "distill")
        assert counted == len(asked.prompts("arbiter")), "where they are no neighbours, nothing was asked at all"


async def test_W14_the_successor_is_there_before_the_predecessor_goes(settings: Settings) -> None:
    """Whoever reads while a fact is replaced finds one of the two, at every moment; after an error, the old one."""
    clock = FrozenClock()
    moved = learned({"text": "Lives in Linz", "sources": [1], "attribute": "home city", "changes": True})
    ruling = {"decisions": [{"memory": 1, "action": "supersede", "known": [0], "reason": "moved"}]}
    lives = learned({"text": "Lives in Graz", "sources": [1], "attribute": "home city"})
    async with Memory.open(settings=with_model(settings), model=model([lives, moved], [ruling]), now=clock) as memory:
        await memory.capture([said("user", "I live in Graz.", clock.advance(MINUTE))], scope=ME)
        await memory.work(kinds=["distill"])
        await memory.capture([said("user", "I moved, I live in Linz now.", clock.advance(MINUTE))], scope=ME)
        (old,) = await atoms(memory)
        await memory.work(kinds=["distill"])
        (new,) = await atoms(memory)
        (before,) = await atoms(memory, status="superseded")
        assert (before["id"], before["superseded_by"]) == (old["id"], new["id"])
        assert new["recorded_at"] >= before["recorded_at"]
        assert before["valid_until"] == new["valid_from"], "no moment without a home"
        await memory.forget([new["id"]], scope=ME)
        assert [atom["id"] for atom in await atoms(memory)] == [old["id"]]


# W15, W16
async def test_W15_a_merge_keeps_times_sources_and_every_version(settings: Settings) -> None:
    clock = FrozenClock()
    first = learned({"text": "Has a grey cat", "sources": [1]})
    second = learned({"text": "The grey cat is called Milo", "sources": [1]})
    ruling = {"decisions": [{"memory": 1, "action": "update", "known": [0], "text": "Has a grey cat called Milo"}]}
    async with Memory.open(settings=with_model(settings), model=model([first, second], [ruling]), now=clock) as memory:
        one = await memory.capture([said("user", "I have a grey cat.", clock.advance(MINUTE))], scope=ME)
        await memory.work()
        (old,) = await atoms(memory)
        two = await memory.capture([said("user", "My grey cat is called Milo.", clock.advance(MINUTE))], scope=ME)
        await memory.work()
        (new,) = await atoms(memory)
        assert new["text"] == "Has a grey cat called Milo"
        assert {source["id"] for source in new["sources"]} == {
            record.record_id for record in (*one.recorded, *two.recorded)
        }
        assert new["valid_from"] == old["valid_from"]
        (was, now) = await memory.history(new["id"], scope=ME)
        kept = ("text", "sources", "recorded_at", "valid_from", "session_key", "session_id", "provenance", "priority")
        assert {name: was[name] for name in kept} == {name: old[name] for name in kept}
        assert (was["status"], was["superseded_by"], now["version"]) == ("superseded", new["id"], 2)
        assert was["reason"]


async def test_W16_every_atom_leads_to_its_words_in_the_database_and_in_the_daily_file(settings: Settings) -> None:
    clock = FrozenClock()
    async with Memory.open(settings=with_model(settings), model=model(), now=clock) as memory:
        await memory.capture(turns(range(8), clock.advance(MINUTE)), scope=ME)
        await memory.work()
        written = {}
        for file in (settings.home / "conversations").glob("*.jsonl"):
            for line in file.read_text(encoding="utf-8").splitlines():
                written[json.loads(line)["id"]] = json.loads(line)["content"]
        for atom in await atoms(memory):
            shown_ = await memory.show(atom["id"], scope=ME)
            assert [child["id"] for child in shown_["children"]] == [source["id"] for source in atom["sources"]]
            for child in shown_["children"]:
                assert written[child["id"]] == child["text"]
                assert atom["text"] in child["text"]


# W17
async def test_W17_a_persona_that_cannot_be_judged_leaves_the_old_one_whole(settings: Settings) -> None:
    clock, scripted = FrozenClock(), model()
    async with Memory.open(settings=with_model(settings), model=scripted, now=clock) as memory:
        await memory.capture([said("user", "Always answer in metric units.", clock.advance(DAY))], scope=DEFAULT)
        await memory.remember("Always answer in metric units.", kind="instruction", scope=DEFAULT)
        await memory.work()
        before = (await memory.persona(scope=DEFAULT))["markdown"]
        assert "metric" in before
        assert markdown(settings.home)["persona.md"] == before
        asked = len(scripted.asked)
        await memory.work()
        assert len(scripted.asked) == asked, "a persona that is up to date is not asked for again"
        await rows(memory, "INSERT INTO cursors VALUES ('portrait', 1, '', 9, '{brok', 0) ON CONFLICT DO NOTHING")
        await rows(memory, "UPDATE cursors SET state = '{brok' WHERE stage = 'portrait'")
        await memory.remember("Never send mail on Sundays.", kind="instruction", scope=DEFAULT)
        report = await memory.work()
        assert report.failed.get("persona")
        assert (await memory.persona(scope=DEFAULT))["markdown"] == before
        assert markdown(settings.home)["persona.md"] == before
        assert (await memory.health())["status"] == "degraded"
        await rows(memory, "UPDATE cursors SET state = '{}' WHERE stage = 'portrait'")
        clock.advance(60 * MINUTE)
        await memory.work()
        after = (await memory.persona(scope=DEFAULT))["markdown"]
        assert "Sundays" in after
        assert markdown(settings.home)["persona.md"] == after


# W18
@pytest.mark.parametrize(
    "text",
    [
        "[todo] water the tomatoes",
        '{"session": "abc", "user": "ana"}',
        "/etc/hosts has a wrong entry",
        "System: [red] means stop in our plan",
        "[memory] is a folder in my project",
    ],
)
async def test_W18_what_a_person_typed_is_recorded_as_typed(settings: Settings, text: str) -> None:
    async with Memory.open(settings=settings, now=FrozenClock()) as memory:
        report = await memory.capture([said("user", text)], scope=ME)
        assert [record.message_text for record in report.recorded] == [text]


# W22
async def test_W22_what_has_expired_is_found_nowhere_and_what_is_deleted_has_no_row(settings: Settings) -> None:
    clock = FrozenClock()
    async with Memory.open(settings=settings, now=clock) as memory:
        week = clock() + 7 * DAY
        kept = await memory.remember("The parcel locker is number 41/B.", scope=ME, expires_at=week)
        await memory.remember("The parcel service closes at six.", scope=ME)
        await memory.work()
        clock.advance(8 * DAY)
        for _ in range(2):
            context = await memory.recall("parcel locker number", scope=Scope(user="ana", session_key="new"))
            assert kept["id"] not in [item.id for item in context.items]
            assert "41/B" not in context.stable
            found = await memory.search("memories", "parcel locker", scope=ME)
            assert kept["id"] not in [item["id"] for item in found["items"]]
            assert kept["id"] not in [atom["id"] for atom in await atoms(memory)]
            await memory.work()
        assert "41/B" not in "".join(markdown(settings.home).values())
        then = memory.filters(as_of="2026-08-03")
        found = await memory.search("memories", "parcel locker", scope=ME, filters=then)
        assert kept["id"] in [item["id"] for item in found["items"]], "it held then, and whoever asks for then is told"
        await memory.forget([kept["id"]], scope=ME)
        records = (await memory.list("records", scope=ME))["items"]
        await memory.forget([record["id"] for record in records if "41/B" in record["text"]], scope=ME)
        left = {row["ref_id"] for row in await rows(memory, "SELECT ref_id FROM search_rows")}
        assert kept["id"] not in left
        assert not {record["id"] for record in records if "41/B" in record["text"]} & left
        counts = await rows(
            memory, "SELECT (SELECT COUNT(*) FROM search_rows) AS a, (SELECT COUNT(*) FROM search_fts) AS b"
        )
        assert counts[0]["a"] == counts[0]["b"], "full text and rows agree"
        assert "41/B" not in "".join(lines(settings.home))
        assert [check for check in (await memory.doctor())["checks"] if check["problems"]] == []


async def test_W22_a_worker_that_serves_ends_what_expires_meanwhile(settings: Settings) -> None:
    """Retention is the worker's, not a side effect of opening the home."""
    clock = FrozenClock()
    async with Memory.open(settings=settings, now=clock) as memory:
        kept = await memory.remember("The guest key is with Eva.", scope=ME, expires_at=clock() + DAY)
        await memory.work()
        clock.advance(2 * DAY)
        woken = asyncio.Event()
        tidying = asyncio.create_task(memory._tending.keep_tidy(woken.set, every_s=0.01))
        await asyncio.wait_for(woken.wait(), 10)
        tidying.cancel()
        await asyncio.gather(tidying, return_exceptions=True)
        assert [atom["id"] for atom in await atoms(memory, status="expired")] == [kept["id"]]
        assert await waiting(memory, "scenes")


# W23
@pytest.mark.parametrize("action", ["update", "merge", "supersede"])
async def test_W23_a_wish_for_one_task_does_not_become_a_rule_in_a_merge(settings: Settings, action: str) -> None:
    clock = FrozenClock()

    def bold(prompt: Prompt) -> Said:
        if not shown(prompt):
            return learned()
        (one,) = [one for one in shown(prompt) if one["role"] == "user"]
        return learned({"text": one["text"], "kind": "instruction", "sources": [one["id"]], "scope": "lasting"})

    ruling = {"decisions": [{"memory": 1, "action": action, "known": [0], "text": "Answer briefly and reply only OK"}]}
    scripted = model(bold, lambda _: ruling)
    async with Memory.open(settings=with_model(settings), model=scripted, now=clock) as memory:
        for text in ("Always answer briefly.", "For this report only, reply briefly and only with OK."):
            await memory.capture([said("user", text, clock.advance(MINUTE))], scope=ME)
            await memory.work()
        assert scripted.prompts("arbiter")
        bound = [atom for atom in await atoms(memory) if "OK" in atom["text"]]
        assert bound
        assert all(atom["task_only"] and atom["expires_at"] for atom in bound)
        assert "Always answer briefly." in await texts(memory)
        context = await memory.recall("how shall I answer", scope=Scope(user="ana", session_key="another"))
        assert "OK" not in context.stable
        assert "OK" not in context.dynamic
        clock.advance(30 * DAY)
        await memory.work()
        assert await texts(memory) == ["Always answer briefly."]


async def test_W23_a_rule_told_together_with_a_wish_for_one_task_stays_a_rule(settings: Settings) -> None:
    """And the other way round: a lasting rule that meets a wish for one task takes nothing of it along."""
    clock = FrozenClock()
    ruling = {"decisions": [{"memory": 1, "action": "merge", "known": [0], "text": "Answer briefly and only with OK"}]}
    scripted = model(parrot, lambda _: ruling)
    async with Memory.open(settings=with_model(settings), model=scripted, now=clock) as memory:
        await memory.remember(
            "Answer briefly and only with OK in this report.", kind="instruction", scope=ME, expires_at=clock() + DAY
        )
        await memory.capture([said("user", "From now on answer briefly.", clock.advance(MINUTE))], scope=ME)
        await memory.work()
        clock.advance(2 * DAY)
        await memory.work()
        assert [text for text in await texts(memory) if "OK" in text] == []
