"""A home moves between the databases and back without a row, a number or a found word changing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import numpy as np
import pytest

from stenolith.errors import InvalidInput
from stenolith.model.identity import Scope
from stenolith.model.message import Message, Role, Text
from stenolith.store.audit import Audit, AuditEntry, Tombstones
from stenolith.store.cursors import Cursor, Cursors
from stenolith.store.database import Database
from stenolith.store.jobs import JobRequest, Jobs
from stenolith.store.owners import Owners
from stenolith.store.persona import Personas
from stenolith.store.search import Layer
from stenolith.store.transcripts import Entry, Transcripts
from stenolith.store.transfer import TABLES, compare_homes, migrate_home
from stenolith.store.vectors import Shelf, Vectors
from stenolith.testing.backends import BACKENDS
from stenolith.testing.dossiers import scene, trait
from stenolith.testing.search import World

NOW = 1_785_657_600_000
ROUTES = [("sqlite", "postgres", "sqlite"), ("postgres", "sqlite", "postgres")]


@pytest.fixture(params=ROUTES, ids="-".join)
async def homes(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[list[Database]]:
    async with AsyncExitStack() as stack:
        opened = []
        for place, name in enumerate(request.param):
            folder = tmp_path / str(place)
            folder.mkdir()
            opened.append(await stack.enter_async_context(BACKENDS[name](folder)))
        yield opened


async def furnish(database: Database) -> int:
    """Put at least one row into every table."""
    world = World(database)
    ana, ben = await world.owner("ana"), await world.owner("ben")
    transcripts = Transcripts(database)
    session = await transcripts.open(ana, "s", "s", task="", now=NOW)
    said = Message(role=Role.USER, parts=(Text(text="half a surrogate \ud83d, a \0 and 鉴权"),), timestamp=NOW)
    await transcripts.append(session, [Entry(message=said, digest="d")], state="complete", now=NOW)
    await transcripts.mark(session.session_ref, "compaction", 1, {"summary": "x"}, NOW)
    await world.say(ana, ["Where is the violin?", "In the attic", "100% sure"])
    ids = await world.remember(ana, [f"Port {n} belongs to the gateway" for n in range(60)])
    await world.remember(ben, ["旧的鉴权模块还在移动端用"])
    await world.atoms.forget(ana, ids[:1], "ana")
    await world.scenes.put(ana, scene(), "rules")
    await Personas(database, world.clock).replace(ana, [trait("Wants short answers")])
    await Jobs(database, world.clock).enqueue(ana, JobRequest(kind="distill", key="s"))
    await Cursors(database, world.clock).advance(ana, "distill", "s", Cursor(position=3, state={"turns": 1}))
    await Tombstones(database).bury(ben, "atoms", ["gone"], "ben")
    await Audit(database, world.clock).record(ana, [AuditEntry(actor="ana", action="look", target="x")])
    spent = (
        "INSERT INTO model_usage (day, owner_id, kind, model, cost) VALUES ('2026-08-02', :owner, 'distill', 'm', 0.1)"
    )
    await database.fetch(spent, owner=ana)
    rows = np.random.default_rng(1).standard_normal((60, 32)).astype(np.float32)
    shelf = Shelf(owner_id=ana, layer=Layer.ATOM, model_id="m")
    await Vectors(database).put(shelf, dict(zip(ids, rows, strict=True)))
    return ana


async def answers(database: Database, owner: int) -> list[object]:
    """Return what searches find and what a vector is near to."""
    world = World(database)
    ben = await Owners(database).find(Scope(user="ben"))
    query = np.random.default_rng(2).standard_normal(32).astype(np.float32)
    nearness = await Vectors(database).nearest(Shelf(owner_id=owner, layer=Layer.ATOM, model_id="m"), query)
    assert nearness is not None
    return [
        sorted(await world.find(owner, Layer.ATOM, "port 7 gateway")),
        sorted(await world.find(owner, Layer.RECORD, "violin")),
        await world.find(ben, Layer.ATOM, "鉴权"),
        nearness.best(10),
    ]


async def test_a_home_moves_there_and_back_and_answers_the_same(homes: list[Database]) -> None:
    first, second, third = homes
    owner = await furnish(first)
    before = await answers(first, owner)
    assert all(before)
    told: list[str] = []
    there = await migrate_home(first, second, lambda table: told.append(table.table))
    assert told == [table.name for table in TABLES]
    assert [copied.table for copied in there if not copied.rows] == []
    assert await answers(second, owner) == before
    assert await migrate_home(second, third) == there
    assert await answers(third, owner) == before
    assert await compare_homes(first, third) == []


async def test_new_rows_go_on_after_the_numbers_that_came_along(homes: list[Database]) -> None:
    first, second, _ = homes
    owner = await furnish(first)
    await migrate_home(first, second)
    world = World(second)
    assert await world.owner("eve") > max(number for number, _ in await Owners(first).every())
    await Transcripts(second).open(owner, "new", "new", task="", now=NOW)
    (new,) = await world.remember(owner, ["The harpsichord is out of tune"])
    assert await world.find(owner, Layer.ATOM, "harpsichord") == [new]


async def test_a_home_that_holds_something_is_not_copied_over(homes: list[Database]) -> None:
    first, second, third = homes
    await furnish(first)
    await Owners(second).intern(Scope(user="somebody"))
    with pytest.raises(InvalidInput, match="not empty"):
        await migrate_home(first, second)
    assert len(await Owners(second).every()) == 1
    differing = {ours.table: (ours.rows, theirs.rows) for ours, theirs in await compare_homes(second, third)}
    assert differing == {"owners": (1, 0)}


async def test_every_table_of_the_schema_is_copied(homes: list[Database]) -> None:
    """A table that a later schema adds must be given its place in `TABLES`."""
    listing = {
        "sqlite": "SELECT name FROM sqlite_schema WHERE type = 'table'",
        "postgres": "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'",
    }
    for database in homes:
        found = {row["name"] for row in await database.fetch(listing[database.dialect])}
        made_anew = {name for name in found if name.startswith(("search_fts", "search_df", "sqlite_"))}
        assert found - made_anew - {"schema_migrations"} == {table.name for table in TABLES}


async def test_rows_beyond_a_page_follow_without_gap(homes: list[Database]) -> None:
    first, second, _ = homes
    owner = await Owners(first).intern(Scope(user="ana"))
    rows = [{"name": f"n{number:05}", "value": str(owner)} for number in range(2001)]
    await first.execute_many("INSERT INTO meta (name, value) VALUES (:name, :value)", rows)
    copied = {table.table: table.rows for table in await migrate_home(first, second)}
    assert copied["meta"] == 2001
    assert await compare_homes(first, second) == []
