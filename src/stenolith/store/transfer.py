"""A whole home from one database to another, in either direction, counted and compared table by table.

Every row is copied with its number, the derived ones too, so that search answers the same at once and
no embedder is needed.  Only the full-text table is made anew: its shape is each database's own.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from stenolith.errors import InvalidInput, StoreUnavailable
from stenolith.store.database import Database, Halves, Row
from stenolith.store.indexing import SearchWriter

PAGE: Final = 1000
"""Rows copied at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table and the columns that order it. *numbered*: new rows take their number from the database."""

    name: str
    key: tuple[str, ...]
    numbered: bool = False


TABLES: Final = (
    Table(name="owners", key=("owner_id",), numbered=True),
    Table(name="sessions", key=("session_ref",), numbered=True),
    Table(name="turns", key=("turn_id",)),
    Table(name="messages", key=("message_id",)),
    Table(name="session_marks", key=("mark_id",)),
    Table(name="l0_conversations", key=("record_id",)),
    Table(name="atoms", key=("atom_id",)),
    Table(name="atom_sources", key=("atom_id", "record_id")),
    Table(name="scenes", key=("scene_id",)),
    Table(name="scene_versions", key=("scene_id", "version")),
    Table(name="persona_lines", key=("line_id",)),
    Table(name="persona_versions", key=("owner_id", "version")),
    Table(name="jobs", key=("job_id",)),
    Table(name="cursors", key=("stage", "owner_id", "key")),
    Table(name="meta", key=("name",)),
    Table(name="model_usage", key=("day", "owner_id", "kind", "model")),
    Table(name="tombstones", key=("layer", "owner_id", "hash")),
    Table(name="audit", key=("audit_id",)),
    Table(name="search_rows", key=("row_id",), numbered=True),
    Table(name="vectors", key=("layer", "ref_id")),
    Table(name="vector_means", key=("owner_id", "layer", "model_id")),
)
"""Every table but the ledger of the schema and the full text, each after those that it refers to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """One table's share: how many *rows*, and the SHA-256 that both databases give for them."""

    table: str
    rows: int
    checksum: str


class _Tally:
    """Counts and hashes rows in the order of their key."""

    def __init__(self) -> None:
        self.rows = 0
        self._hash = hashlib.sha256()

    def add(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self._hash.update(repr(sorted(row.items())).encode("utf-8", "surrogatepass"))
        self.rows += len(rows)

    def of(self, table: Table) -> Copied:
        return Copied(table=table.name, rows=self.rows, checksum=self._hash.hexdigest())


async def migrate_home(
    source: Database, target: Database, on_table: Callable[[Copied], None] | None = None
) -> list[Copied]:
    """Copy everything in *source* to the migrated and empty *target*, and return what each table held.

    One transaction on each side: nobody writes to the source meanwhile, and the target holds all of it
    or nothing.  *on_table* is told of each table once both sides agree on it.  Raises `InvalidInput`
    when the target is not empty and `StoreUnavailable` when the two do not agree; nothing is stored then.
    """
    found: list[Copied] = []
    async with source.transaction(), target.transaction():
        await _stand_still(source)
        await _stand_still(target)
        for table in TABLES:
            if await target.fetch(f"SELECT 1 AS one FROM {table.name} LIMIT 1"):  # noqa: S608  # a name of ours
                raise InvalidInput(f"the home to copy to is not empty: it has {table.name}")
        for table in TABLES:
            sent = await _copy(source, target, table)
            if await _tally(target, table) != sent:
                raise StoreUnavailable(f"{table.name} was not copied faithfully; nothing was stored")
            found.append(sent)
            if on_table:
                on_table(sent)
    return found


async def compare_homes(one: Database, other: Database) -> list[tuple[Copied, Copied]]:
    """Return the tables in which two homes differ, as each of them has it; empty when they hold the same."""
    pairs = [(await _tally(one, table), await _tally(other, table)) for table in TABLES]
    return [(ours, theirs) for ours, theirs in pairs if ours != theirs]


async def _stand_still(database: Database) -> None:
    """Keep other writers out until the transaction ends: SQLite does so anyway, PostgreSQL when it is told."""
    if database.dialect == "postgres":
        names = ", ".join(table.name for table in TABLES)
        await database.fetch(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE")


async def _copy(source: Database, target: Database, table: Table) -> Copied:
    tally = _Tally()
    writer = SearchWriter(target)
    async for page in _pages(source, table):
        names = list(page[0])
        places = ", ".join(f":{name}" for name in names)
        insert = f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({places})"  # noqa: S608  # names of ours
        await target.execute_many(insert, page)
        tally.add(page)
        if table.name == "search_rows":
            await writer.put_text([(row, row["context"]) for row in page])
    if table.numbered and target.dialect == "postgres":
        await _continue_numbers(target, table.name, table.key[0])
    return tally.of(table)


async def _continue_numbers(target: Database, table: str, column: str) -> None:
    """Let PostgreSQL number new rows after those copied; SQLite looks for itself."""
    highest = f"SELECT COALESCE(MAX({column}), 1) FROM {table}"  # noqa: S608  # names of ours
    await target.fetch(f"SELECT setval(pg_get_serial_sequence('{table}', '{column}'), ({highest})) AS number")


async def _tally(database: Database, table: Table) -> Copied:
    tally = _Tally()
    async for page in _pages(database, table):
        tally.add(page)
    return tally.of(table)


async def _pages(database: Database, table: Table) -> AsyncIterator[list[Row]]:
    """Yield the rows of a table in the order of its key."""
    order = ", ".join(table.key)
    after = f"({order}) > ({', '.join(f':{name}' for name in table.key)})"
    where, last = "", dict[str, Any]()
    while True:
        query = f"SELECT * FROM {table.name} {where} ORDER BY {order} LIMIT {PAGE}"  # noqa: S608  # names of ours
        rows = [_portable(table, row) for row in await database.fetch(query, **last)]
        if rows:
            yield rows
        if len(rows) < PAGE:
            return
        where, last = f"WHERE {after}", {name: rows[-1][name] for name in table.key}


def _portable(table: Table, row: Mapping[str, Any]) -> Row:
    """Return a row as both databases hold it: PostgreSQL knows no NUL in a text."""
    kept: Row = {name: _without_nul(value) for name, value in row.items()}
    if table.name == "vectors":
        kept["vector"] = Halves(row["vector"])
    return kept


def _without_nul(value: Any) -> Any:
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value
