"""What PostgreSQL must do beyond the common contract: translation, plain errors, writers beside each other."""
# a transaction that fails is a block

from __future__ import annotations

import asyncio
import contextvars
import json
import re
import subprocess
import sys
import textwrap
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_plans import BY_KEY

from stenolith.errors import HomeTooNew, InvalidInput, SequenceConflict, StoreUnavailable
from stenolith.model.identity import Scope
from stenolith.model.message import Message, Role, Text
from stenolith.pipeline.worker import Lease, Worker, WorkerOptions
from stenolith.store.atoms import Atoms
from stenolith.store.database import Database, Halves, statements
from stenolith.store.jobs import Claim, JobRequest, Jobs, RetryDecision
from stenolith.store.migrations import migrate
from stenolith.store.owners import Owners
from stenolith.store.persona import Personas
from stenolith.store.scenes import Scenes
from stenolith.store.search import Layer
from stenolith.store.transcripts import Entry, Transcripts
from stenolith.store.vectors import Shelf, Vectors
from stenolith.testing.backends import BACKENDS
from stenolith.testing.dossiers import scene, trait
from stenolith.testing.search import World
from stenolith.testing.stores import draft, filing

psycopg = pytest.importorskip("psycopg", reason="the extra stenolith[postgres] is not installed here")
from stenolith.store.postgres import PostgresDatabase, open_postgres, translate  # noqa: E402  # psycopg may be missing
from stenolith.testing.postgres import create_database  # noqa: E402  # as above

SOURCE = str(Path(__file__).parents[2] / "src")


@pytest.fixture
async def postgres(tmp_path: Path) -> AsyncIterator[PostgresDatabase]:
    async with BACKENDS["postgres"](tmp_path) as opened:
        assert isinstance(opened, PostgresDatabase)
        yield opened


def elsewhere(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """Run *work* as another process would: outside the transaction of this task."""
    return asyncio.create_task(work, context=contextvars.Context())


async def waits(task: asyncio.Task[Any]) -> bool:
    done, _ = await asyncio.wait({task}, timeout=0.1)
    return not done


# --- translation -------------------------------------------------------------------------------------------------

TRANSLATED = [
    ("SELECT :a, :a_1", "SELECT %(a)s, %(a_1)s"),
    ("SELECT :a::text", "SELECT %(a)s::text"),
    ("SELECT '10:30', \"b:c\", 'it''s :a'", "SELECT '10:30', \"b:c\", 'it''s :a'"),
    ("SELECT 5 % :n, 'a%' -- 50% of :x\n, :y", "SELECT 5 %% %(n)s, 'a%%' -- 50%% of :x\n, %(y)s"),
    ("VALUES (:a,:b)", "VALUES (%(a)s,%(b)s)"),
]


@pytest.mark.parametrize(("ours", "theirs"), TRANSLATED)
def test_named_parameters_are_translated_and_nothing_else(ours: str, theirs: str) -> None:
    assert translate(ours).decode() == theirs


async def test_values_of_every_kind_come_back_as_on_sqlite(database: Database) -> None:
    row = (await database.fetch("SELECT :t AS t, :n AS n, :f AS f, 7.5 AS d, '%' AS p", t="鉴权", n=2**62, f=0.1))[0]
    assert row == {"t": "鉴权", "n": 2**62, "f": 0.1, "d": 7.5, "p": "%"}
    total = (await database.fetch("SELECT SUM(n) AS n FROM (SELECT 3 AS n UNION ALL SELECT 4) AS two"))[0]["n"]
    assert (total, type(total)) == (7, int)


# --- errors ------------------------------------------------------------------------------------------------------

UNREACHABLE = [
    "postgresql://ana:secret@localhost:1/home",
    "postgresql://ana:secret@/home?host=/nowhere",
    "postgresql://ana:secret@host.invalid/home",
    "host=/nowhere user=ana password=secret dbname=home",
]
UNREADABLE = ["postgresql://ana:sec@ret@localhost/home", "postgres//ana:secret@x", "postgresql://a:secret@h/d?nope=1"]


@pytest.mark.parametrize("url", UNREACHABLE)
async def test_a_server_that_is_away_is_told_in_a_plain_sentence_without_the_password(url: str) -> None:
    with pytest.raises(StoreUnavailable, match=r"PostgreSQL at .* cannot be used: (it|nothing)") as caught:
        await open_postgres(url)
    assert "secret" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("url", UNREADABLE)
async def test_a_url_that_cannot_be_read_is_not_repeated(url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        await open_postgres(url)
    told = "".join(traceback.format_exception(caught.value)).partition("stenolith.errors")[2]
    assert told
    assert not re.search("sec|ret@", told)


async def test_an_unknown_database_is_named(postgres: PostgresDatabase, tmp_path: Path) -> None:
    url = (tmp_path / "postgres.url").read_text()
    other = re.sub(r"/[^/?]+\?", "/nobody_s?", url)
    with pytest.raises(StoreUnavailable, match="nobody_s cannot be used: the database or the role does not exist"):
        await open_postgres(other)


async def test_a_database_without_utf_8_is_refused() -> None:
    url = await create_database(template="template0", options="ENCODING 'LATIN1' LOCALE 'C'")
    with pytest.raises(StoreUnavailable, match="LATIN1"):
        await open_postgres(url)


async def test_a_connection_that_breaks_is_reported_and_replaced(postgres: PostgresDatabase) -> None:
    with pytest.raises(StoreUnavailable, match="lost"):
        async with postgres.transaction():
            await Owners(postgres).intern(Scope(user="ana"))
            await postgres.fetch("SELECT pg_terminate_backend(pg_backend_pid())")
    assert await Owners(postgres).every() == []


async def test_what_postgres_cannot_hold_is_replaced_or_refused(postgres: PostgresDatabase) -> None:
    await postgres.fetch("INSERT INTO meta (name, value) VALUES ('a', :value)", value="a\0b")
    assert await postgres.fetch("SELECT value FROM meta") == [{"value": "a\ufffdb"}]
    long = "".join(map(chr, np.random.default_rng(1).integers(0x4E00, 0x9FFF, 9000)))
    with pytest.raises(InvalidInput, match="cannot hold one of these values"):
        await Transcripts(postgres).open(await Owners(postgres).intern(Scope()), long, "s", task="", now=1)


async def test_a_copy_is_refused_with_the_tool_that_makes_one(postgres: PostgresDatabase, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="pg_dump"):
        await postgres.copy_to(tmp_path / "copy")


# --- transactions ------------------------------------------------------------------------------------------------


async def test_a_reader_does_not_wait_for_a_writer(postgres: PostgresDatabase) -> None:
    owners = Owners(postgres)
    await owners.intern(Scope(user="ana"))
    async with postgres.transaction():
        await owners.intern(Scope(user="ben"))
        assert len(await owners.every()) == 2
        assert len(await elsewhere(owners.every())) == 1


async def test_a_server_that_takes_no_writes_is_read() -> None:
    url = await create_database()
    closed = f"{url}{'&' if '?' in url else '?'}options=-c%20default_transaction_read_only%3Don"
    database = await open_postgres(closed)
    try:
        assert await migrate(database) == []
        assert await Owners(database).find(Scope(user="ana")) == 0
        with pytest.raises(StoreUnavailable, match="read-only"):
            await Owners(database).intern(Scope(user="ana"))
    finally:
        await database.close()


async def test_a_cancelled_writer_rolls_back_and_lets_the_next_one_in(postgres: PostgresDatabase) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1), postgres.transaction():
            await Owners(postgres).intern(Scope(user="ana"))
            await postgres.fetch("SELECT pg_sleep(60)")
    assert await Owners(postgres).every() == []
    await Owners(postgres).intern(Scope(user="ben"))


async def test_a_transaction_whose_error_was_swallowed_says_that_nothing_was_written(
    postgres: PostgresDatabase,
) -> None:
    with pytest.raises(StoreUnavailable, match="nothing was written"):
        async with postgres.transaction():
            await Owners(postgres).intern(Scope(user="ana"))
            with pytest.raises(psycopg.Error):
                await postgres.fetch("SELECT nonsense")
    assert await Owners(postgres).every() == []


async def test_a_task_that_outlives_its_transaction_uses_a_connection_of_its_own(postgres: PostgresDatabase) -> None:
    ended = asyncio.Event()

    async def late() -> None:
        await ended.wait()
        await Owners(postgres).intern(Scope(user="late"))

    async with postgres.transaction():
        task = asyncio.create_task(late())
    with pytest.raises(LookupError):
        async with postgres.transaction():
            ended.set()
            await task
            raise LookupError
    assert len(await Owners(postgres).every()) == 1


async def test_an_owner_is_locked_inside_a_transaction_only(database: Database) -> None:
    with pytest.raises(RuntimeError, match="inside a transaction"):
        await database.lock(1)


async def test_writers_of_one_owner_take_turns_and_of_others_do_not(postgres: PostgresDatabase) -> None:
    async def writes(owner: int) -> None:
        async with postgres.transaction():
            await postgres.lock(owner)

    async with postgres.transaction():
        await postgres.lock(1)
        await postgres.lock(1)
        same, other = elsewhere(writes(1)), elsewhere(writes(2))
        await asyncio.wait_for(other, 5)
        assert await waits(same)
    await asyncio.wait_for(same, 5)


# --- migrations --------------------------------------------------------------------------------------------------


async def test_several_processes_may_migrate_the_same_new_database() -> None:
    url = await create_database(template="template0")
    code = textwrap.dedent("""
        import asyncio, sys
        from stenolith.store.migrations import migrate
        from stenolith.store.postgres import open_postgres
        async def main():
            database = await open_postgres(sys.argv[1])
            try:
                print(await migrate(database))
            finally:
                await database.close()
        asyncio.run(main())
    """)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": {"PYTHONPATH": SOURCE}}
    running = [await asyncio.create_subprocess_exec(sys.executable, "-c", code, url, **pipes) for _ in range(3)]
    outcomes = [await asyncio.wait_for(process.communicate(), 60) for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], outcomes
    steps = [step for said, _ in outcomes for step in json.loads(said)]
    assert sorted(steps) == sorted(set(steps))
    assert steps


async def test_both_schemas_have_the_same_tables_and_columns(postgres: PostgresDatabase, tmp_path: Path) -> None:
    """A column added to one migration and not to the other is found here."""
    folder = tmp_path / "sqlite"
    folder.mkdir()
    ours = "SELECT table_name AS t, column_name AS c FROM information_schema.columns WHERE table_schema = 'public'"
    theirs = "SELECT m.name AS t, c.name AS c FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table'"
    async with BACKENDS["sqlite"](folder) as sqlite:
        columns = [
            {(row["t"], row["c"]) for row in rows if not row["t"].startswith(("search_fts", "search_df"))}
            for rows in (await postgres.fetch(ours), await sqlite.fetch(theirs))
        ]
    assert columns[0] == columns[1]


async def test_a_newer_home_is_refused() -> None:
    database = await open_postgres(await create_database())
    try:
        assert await migrate(database) == []
        await database.fetch("INSERT INTO schema_migrations (number, name, checksum) VALUES (9999, 'future', 'x')")
        with pytest.raises(HomeTooNew, match="9999"):
            await migrate(database)
    finally:
        await database.close()


# --- writers beside each other -----------------------------------------------------------------------------------


async def test_scenes_of_one_name_written_at_once_are_one_scene(postgres: PostgresDatabase) -> None:
    owner = await Owners(postgres).intern(Scope())
    await asyncio.gather(*(Scenes(postgres).put(owner, scene(summary=f"s{n}"), "rules") for n in range(6)))
    (only,) = await Scenes(postgres).listing(owner)
    assert only.version == len(await Scenes(postgres).versions(owner, only.id)) == 6


async def test_one_key_of_a_caller_written_at_once_has_one_active_atom(postgres: PostgresDatabase) -> None:
    owner = await Owners(postgres).intern(Scope())
    atoms = Atoms(postgres)
    await asyncio.gather(
        *(atoms.put_under_key(owner, draft(f"v{n}"), filing(f"v{n}", caller_key="k"), "new") for n in range(6))
    )
    (active,) = await atoms.recent(owner, 10)
    assert active.version == 6
    assert len(await atoms.history(owner, active.id)) == 6


async def test_corrections_of_one_atom_at_once_have_one_winner(postgres: PostgresDatabase) -> None:
    owner = await Owners(postgres).intern(Scope())
    atoms = Atoms(postgres)
    old = await atoms.add(owner, draft("a"), filing("a"))
    corrections = [atoms.supersede(owner, old.id, draft(f"b{n}"), filing(f"b{n}"), "r") for n in range(5)]
    outcomes = Counter(type(found).__name__ for found in await asyncio.gather(*corrections, return_exceptions=True))
    assert outcomes == {"AtomChange": 1, "NotFound": 4}
    assert len(await atoms.recent(owner, 10)) == 1


async def test_portraits_written_at_once_keep_every_version(postgres: PostgresDatabase) -> None:
    owner = await Owners(postgres).intern(Scope())
    await asyncio.gather(*(Personas(postgres).replace(owner, [trait(f"trait {n}")]) for n in range(5)))
    assert [one.version for one in await Personas(postgres).versions(owner)] == [1, 2, 3, 4, 5]
    assert len((await Personas(postgres).current(owner)).lines) == 1


async def test_rows_indexed_at_once_have_numbers_of_their_own(postgres: PostgresDatabase) -> None:
    world = World(postgres)
    owners = [await world.owner(name) for name in ("ana", "ben", "cid")]
    texts = [f"the gateway of hall {n}" for n in range(20)]
    found = await asyncio.gather(*(world.remember(owner, texts) for owner in owners * 2))
    for at, owner in enumerate(owners):
        assert sorted(await world.find(owner, Layer.ATOM, "gateway")) == sorted(found[at] + found[at + 3])


async def test_vectors_counted_at_once_are_all_counted(postgres: PostgresDatabase) -> None:
    owner = await Owners(postgres).intern(Scope())
    shelf = Shelf(owner_id=owner, layer=Layer.ATOM, model_id="m")
    rows = np.random.default_rng(3).standard_normal((60, 8)).astype(np.float32)
    parts = [{f"a{n:02}": rows[n] for n in range(start, start + 10)} for start in range(0, 60, 10)]
    await asyncio.gather(*(Vectors(postgres).put(shelf, part) for part in parts))
    (mean,) = await postgres.fetch("SELECT n, mean FROM vector_means")
    assert mean["n"] == 60
    assert len(np.frombuffer(mean["mean"], np.float32)) == 8


async def test_of_two_appends_to_one_position_one_is_refused(postgres: PostgresDatabase) -> None:
    store = Transcripts(postgres)
    session = await store.open(await Owners(postgres).intern(Scope()), "s", "s", task="", now=1)

    async def append(text: str) -> None:
        message = Message(role=Role.USER, parts=(Text(text=text),))
        await store.append(session, [Entry(message=message, digest=text)], state="complete", now=1)

    outcomes = await asyncio.gather(append("a"), append("b"), return_exceptions=True)
    assert Counter(map(type, outcomes)) == {type(None): 1, SequenceConflict: 1}
    assert len(await store.messages(session.session_ref)) == 1


async def test_a_second_opener_of_a_session_sees_what_the_first_one_stored(postgres: PostgresDatabase) -> None:
    """Capture reads the tail to tell what is new: it must not read one that is about to grow."""
    store = Transcripts(postgres)
    owner = await Owners(postgres).intern(Scope())
    await store.open(owner, "s", "s", task="", now=1)

    async def capture(text: str) -> int:
        async with postgres.transaction():
            session = await store.open(owner, "s", "s", task="", now=2)
            known = len(await store.tail(session.session_ref, 10))
            message = Message(role=Role.USER, parts=(Text(text=text),))
            await store.append(session, [Entry(message=message, digest=text)], state="complete", now=2)
            return known

    assert sorted(await asyncio.gather(*(capture(f"t{n}") for n in range(5)))) == [0, 1, 2, 3, 4]


# --- nearest rows of large shelves -------------------------------------------------------------------------------


def clustered(count: int, dim: int = 64) -> np.ndarray:
    """Rows like those of real text: topics, and what is said around them."""
    generator = np.random.default_rng(4)
    topics = generator.standard_normal((max(count // 20, 1), dim))
    rows = topics[generator.integers(0, len(topics), count)] + 0.8 * generator.standard_normal((count, dim)) + 1
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("layer", [Layer.ATOM, Layer.RECORD])
async def test_the_index_finds_what_a_scan_finds_and_measures_it_alike(layer: Layer) -> None:
    database = await open_postgres(await create_database())
    try:
        world = World(database)
        owner = await world.owner("ana")
        count = 1500
        said = [f"atm_{n:04}" for n in range(count)]
        if layer is Layer.RECORD:
            said = await world.say(owner, [f"line {n}" for n in range(count)])
        shelf = Shelf(owner_id=owner, layer=layer, model_id="m")
        rows = clustered(len(said))
        await Vectors(database).put(shelf, dict(zip(said, rows, strict=True)))
        scanning, indexed = Vectors(database), Vectors(database, indexed_rows=1000)
        await indexed.tend()
        await indexed.tend()
        asked: list[str] = []

        async def also() -> list[str]:
            asked.append("")
            return said[:30]

        kept, pairs = [], []
        for at in range(0, count, 75):
            query = rows[at] + 0.05 * np.random.default_rng(at).standard_normal(64).astype(np.float32)
            exact, found = await scanning.nearest(shelf, query, also), await indexed.nearest(shelf, query, also)
            assert exact is not None
            assert found is not None
            best = exact.best(10)
            kept.append(len(set(best) & set(found.best(10))) / 10)
            refs = [*best[:3], *said[:30]]
            one, other = exact.closeness(refs), found.closeness(refs)
            pairs += [(one[ref], other[ref]) for ref in refs if ref in said[:30] or ref in other]
        assert len(asked) == 20
        assert np.mean(kept) >= 0.97
        assert [pair for pair in pairs if pair[1] != pytest.approx(pair[0], rel=0.1, abs=0.15)] == []
        async with database.transaction():
            await database.fetch("SET LOCAL enable_sort = off")
            ordered = "ORDER BY CAST(vector AS HALFVEC(64)) <#> CAST(:query AS HALFVEC(64)) LIMIT 9"
            search = f"EXPLAIN SELECT ref_id FROM vectors WHERE dim = 64 {ordered}"
            plan = await database.fetch(search, query=Halves(rows[0].astype(np.float16).tobytes()))
            assert any("using vectors_hnsw_64" in row["QUERY PLAN"] for row in plan)
    finally:
        await database.close()


async def test_a_shelf_that_is_small_or_has_no_index_is_scanned(postgres: PostgresDatabase) -> None:
    rows = clustered(300)
    shelf = Shelf(owner_id=1, layer=Layer.ATOM, model_id="m")
    names = {f"a{n:03}": row for n, row in enumerate(rows)}
    await Vectors(postgres).put(shelf, names)
    for limit in (100, 1000):
        vectors = Vectors(postgres, indexed_rows=limit)
        if limit == 1000:
            await vectors.tend()
        found = await vectors.nearest(shelf, rows[7])
        assert found is not None
        assert len(found.best(300)) == 300
    assert await postgres.fetch("SELECT 1 AS n FROM pg_class WHERE relname LIKE 'vectors_hnsw%'") == []


# --- the queue ---------------------------------------------------------------------------------------------------


async def test_a_claim_passes_over_what_another_one_is_taking(postgres: PostgresDatabase) -> None:
    owner = await Owners(postgres).intern(Scope())
    jobs = Jobs(postgres)
    names = [await jobs.enqueue(owner, JobRequest(kind="distill", key=f"s{n}")) for n in range(4)]

    async def claim(limit: int) -> list[str]:
        return [job.id for job in await jobs.claim(Claim(worker="w", rooms={"distill": limit}, lease_ms=1000))]

    async with postgres.transaction():
        first = await claim(2)
        second = await asyncio.wait_for(elsewhere(claim(9)), 5)
    assert (len(first), sorted(first + second)) == (2, sorted(names))


async def test_a_job_put_back_while_its_key_is_asked_for_again_stays_one(postgres: PostgresDatabase) -> None:
    owner = await Owners(postgres).intern(Scope())
    jobs = Jobs(postgres)
    for _ in range(8):
        await jobs.enqueue(owner, JobRequest(kind="distill", key="s"))
        (held,) = await jobs.claim(Claim(worker="w", rooms={"distill": 1}, lease_ms=1000))
        again = [jobs.enqueue(owner, JobRequest(kind="distill", key="s")) for _ in range(3)]
        await asyncio.gather(*again, jobs.fail(held, "x", RetryDecision(after_ms=0)))
        assert await jobs.outstanding(owner, "distill", "s") == 1


async def test_an_idle_worker_is_woken_by_what_another_process_enqueues(postgres: PostgresDatabase) -> None:
    owner = await Owners(postgres).intern(Scope())
    jobs = Jobs(postgres)
    done, listening, stop = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def handle(_lease: Lease) -> None:
        done.set()

    worker = Worker(jobs, {"distill": handle}, WorkerOptions(poll_ms=60_000))

    async def listen() -> None:
        async for _ in postgres.notifications():
            listening.set()
            worker.wake()

    tasks = [asyncio.create_task(worker.run_forever(stop)), asyncio.create_task(listen())]
    await asyncio.wait_for(listening.wait(), 5)
    await asyncio.sleep(0.05)
    await jobs.enqueue(owner, JobRequest(kind="distill", key="s"))
    await asyncio.wait_for(done.wait(), 5)
    stop.set()
    worker.wake()
    await asyncio.wait_for(tasks[0], 5)
    tasks[1].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_request_that_changes_nothing_wakes_nobody(postgres: PostgresDatabase) -> None:
    owner = await Owners(postgres).intern(Scope())
    jobs = Jobs(postgres)
    heard: list[str] = []

    async def listen() -> None:
        async for _ in postgres.notifications():
            heard.append("")  # noqa: PERF401  # it is looked at while it grows

    task = asyncio.create_task(listen())
    while not heard:  # noqa: ASYNC110  # it says once that it listens
        await asyncio.sleep(0.01)
    for key in ("a", "a", "a", "b"):
        await jobs.enqueue(owner, JobRequest(kind="distill", key=key, run_after=5))
    while len(heard) < 3:  # noqa: ASYNC110  # as above
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert len(heard) == 3


# --- plans -------------------------------------------------------------------------------------------------------

FILL = """
INSERT INTO owners (owner_id, user_id) VALUES (1, 'ana');
INSERT INTO sessions (session_ref, owner_id, session_key, session_id, created_at, updated_at)
  SELECT n, 1, 's' || n, 's', n, n FROM generate_series(1, 2000) AS n;
INSERT INTO l0_conversations (record_id, owner_id, session_key, session_ref, seq, message_text, message_id, journal_day)
  SELECT 'rec_' || n, 1, 's', 1, n, 'words', 'msg_' || n, '2026-08-02' FROM generate_series(1, 20000) AS n;
INSERT INTO atoms
  (atom_id, owner_id, kind, text, normal_form, root_id, superseded_by, subject, attribute, recorded_at, valid_from, updated_at)
  SELECT 'atm_' || n, 1, 'fact', 'words', 'words ' || n, 'atm_' || n, 'atm_' || n + 1, 'user', 'a' || n, n, n, n
  FROM generate_series(1, 20000) AS n;
INSERT INTO atom_sources (atom_id, record_id) SELECT 'atm_' || n, 'rec_' || n FROM generate_series(1, 20000) AS n;
INSERT INTO scenes (scene_id, owner_id, name, title, created_at, updated_at)
  SELECT 'scn_' || n, 1, 'n' || n, 't', n, n FROM generate_series(1, 2000) AS n;
INSERT INTO jobs (job_id, kind, key, owner_id, state, run_after, lease_until, created_at, updated_at)
  SELECT 'job_' || n, 'distill', 's' || n, 1, CASE WHEN n < 20 THEN 'running' WHEN n < 2000 THEN 'pending' ELSE 'done' END, n, n, n, n
  FROM generate_series(1, 20000) AS n;
INSERT INTO search_rows (row_id, owner_id, layer, ref_id, terms, length)
  SELECT n, 1, 'record', 'rec_' || n, 'words |', 1 FROM generate_series(1, 20000) AS n;
"""
WALKS = re.compile(r"Seq Scan on (?!schema_)|Index Cond: \((\w+\.)?owner_id = \$\d+\)$")
"""A walk through a table, or through all that an owner has in it."""
SEARCHES = ["rows_record", "rows_scene", "search_rows_known", "drop_search_rows", "vectors_by_ref", "drop_vectors"]


async def test_a_statement_that_names_its_rows_walks_no_others_before_anybody_counted_them(
    postgres: PostgresDatabase,
) -> None:
    """A fresh home has no statistics yet, and the planner must not need them."""
    await postgres.script(FILL)
    walking = {}
    async with postgres._connection() as connection:
        for name in BY_KEY + SEARCHES:
            sql = statements("postgres")[name]
            numbers = {name: at for at, name in enumerate(dict.fromkeys(re.findall(r"(?<![:\w]):(\w+)", sql)), 1)}
            generic = re.sub(r"(?<![:\w]):(\w+)", lambda found, numbers=numbers: f"${numbers[found[1]]}", sql)
            cursor = await connection.execute(f"EXPLAIN (GENERIC_PLAN) {generic}".encode())
            steps = [row["QUERY PLAN"].strip() for row in await cursor.fetchall()]
            if any(WALKS.search(step) for step in steps):
                walking[name] = "\n".join(steps)
    assert not walking, "\n\n".join(f"{name}\n{plan}" for name, plan in walking.items())
