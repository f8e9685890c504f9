"""Numbered migrations: plain SQL, one transaction each, recorded with a checksum."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Final

from stenolith.errors import HomeTooNew, StoreUnavailable
from stenolith.store.database import Database, Dialect

SCHEMA_LOCK = 0
"""The number that is locked while the schema changes; no owner has it."""
_FILE = re.compile(r"(?P<dialect>sqlite|postgres)_(?P<number>\d{4})_(?P<name>\w+)\.sql")
_LEDGER = """
CREATE TABLE IF NOT EXISTS schema_migrations (
  number INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL
)
"""
_HAS_LEDGER: Final[Mapping[Dialect, str]] = {
    "sqlite": "SELECT 1 AS found FROM sqlite_master WHERE name = 'schema_migrations'",
    "postgres": "SELECT 1 AS found WHERE to_regclass('schema_migrations') IS NOT NULL",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step of the schema. *checksum* is SHA-256 of its text."""

    number: int
    name: str
    sql: str
    checksum: str


def migrations(dialect: Dialect) -> list[Migration]:
    """Return the steps of *dialect* in order."""
    folder = resources.files("stenolith.store") / "sql" / "migrations"
    found = []
    for file in folder.iterdir():
        match = _FILE.fullmatch(file.name)
        if match and match["dialect"] == dialect:
            text = file.read_text(encoding="utf-8")
            checksum = hashlib.sha256(text.encode()).hexdigest()
            found.append(Migration(number=int(match["number"]), name=match["name"], sql=text, checksum=checksum))
    return sorted(found, key=lambda step: step.number)


async def migrate(database: Database) -> list[int]:
    """Bring the schema up to date and return the numbers of the steps that ran.

    Every step and its entry in the ledger are one transaction, so a crash leaves a whole schema.
    Raises `HomeTooNew` when the ledger knows steps that this version does not, and
    `StoreUnavailable` when a step that already ran has another text than ours.
    """
    steps = migrations(database.dialect)
    if await _stands(database, steps):
        return []
    if database.read_only:
        raise StoreUnavailable("the schema of this home must be brought up to date: open it once as who may write it")
    done: list[int] = []
    async with database.transaction():
        await database.lock(SCHEMA_LOCK)
        await database.fetch(_LEDGER)
    for step in steps:
        async with database.transaction():
            await database.lock(SCHEMA_LOCK)
            ledger = {row["number"]: row for row in await database.fetch("SELECT * FROM schema_migrations")}
            _check(steps, {number: row["checksum"] for number, row in ledger.items()})
            if step.number in ledger:
                continue
            await database.script(step.sql)
            record = "INSERT INTO schema_migrations (number, name, checksum) VALUES (:number, :name, :checksum)"
            await database.fetch(record, number=step.number, name=step.name, checksum=step.checksum)
            done.append(step.number)
    return done


async def _stands(database: Database, steps: list[Migration]) -> bool:
    """Say whether every step has run; nothing is written to find out, so that a home can be opened to be read."""
    if not await database.fetch(_HAS_LEDGER[database.dialect]):
        return False
    ledger = {row["number"]: row["checksum"] for row in await database.fetch("SELECT * FROM schema_migrations")}
    _check(steps, ledger)
    return len(ledger) == len(steps)


def _check(steps: list[Migration], ledger: dict[int, str]) -> None:
    ours = {step.number: step.checksum for step in steps}
    if unknown := sorted(ledger.keys() - ours.keys()):
        raise HomeTooNew(
            f"this home has schema step {unknown[-1]}, this stenolith knows {max(ours)}; upgrade stenolith"
        )
    for number, checksum in ledger.items():
        if ours[number] != checksum:
            raise StoreUnavailable(f"schema step {number} of this home differs from the released one; restore a backup")
