"""What doctor and stats ask the database: where two tables disagree, and how much there is."""

from __future__ import annotations

from typing import Final

from stenolith.store.database import Database, statements

SHOWN: Final = 50
"""How many disagreements of one kind are named."""


class Inspection:
    """Questions that span tables; those without an owner are for upkeep only."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements(database.dialect)

    async def damage(self) -> list[str]:
        """Return what the database itself finds wrong with its pages; empty when it is sound."""
        found = await self._check()
        if found:
            # SQLite checks full text by what a connection remembers of it, which is old after another one has
            # merged the index.  A look brings it up to date, here on the one connection that a transaction has.
            async with self._database.transaction():
                await self._database.fetch(self._sql["look_at_text"])
                found = await self._check()
        return found

    async def _check(self) -> list[str]:
        rows = await self._database.fetch(self._sql["integrity"])
        return [line for row in rows for line in row.values() if line != "ok"]

    async def disagreements(self, question: str) -> list[str]:
        """Return the ids that a named question finds (``records_without_row`` and its kin)."""
        return [str(row["id"]) for row in await self._database.fetch(self._sql[question], limit=SHOWN)]

    async def empty_log(self) -> None:
        """Write the database's log into its pages and empty it: old pages in it still hold deleted words."""
        await self._database.fetch(self._sql["empty_log"])

    async def totals(self, owner_id: int) -> dict[str, int]:
        """Return how many things of each layer an owner has."""
        rows = await self._database.fetch(self._sql["owner_totals"], owner_id=owner_id)
        return {name: int(value) for name, value in rows[0].items()}

    async def fingerprint(self, owner_id: int) -> tuple[int, ...]:
        """Return what changes whenever the owner's atoms or scenes do: numbers, last change, versions, merges."""
        row = (await self._database.fetch(self._sql["fingerprint"], owner_id=owner_id))[0]
        return tuple(int(value) for value in dict(row).values())
