"""What calls to language models cost, by day, owner, kind of job and model. Counts only: no words."""

from __future__ import annotations

from dataclasses import dataclass

from stenolith.store.database import Database, Row, statements


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """A sum of calls: how many, how many of them failed, tokens read and written, and their cost."""

    calls: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Whose calls, on which day (ISO 8601, in the configured zone), for which kind of job, to which model."""

    day: str
    owner_id: int
    kind: str
    model: str


class ModelUsage:
    """The ledger of a home; owners' rows are read with their number, sums over everybody for the budget."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements(database.dialect)

    async def add(self, account: Account, spending: Spending) -> None:
        """Add *spending* to an account."""
        await self._database.fetch(
            self._sql["add_model_usage"],
            day=account.day,
            owner_id=account.owner_id,
            kind=account.kind,
            model=account.model,
            **{name: getattr(spending, name) for name in Spending.__slots__},
        )

    async def of_day(self, day: str) -> Spending:
        """Return what everybody's calls of one day came to."""
        return _spending((await self._database.fetch(self._sql["model_usage_of_day"], day=day))[0])

    async def of_owner(self, owner_id: int, since: str = "") -> dict[Account, Spending]:
        """Return an owner's accounts from the day *since* on, oldest first."""
        rows = await self._database.fetch(self._sql["model_usage_of_owner"], owner_id=owner_id, since=since)
        return {Account(**{name: row[name] for name in Account.__slots__}): _spending(row) for row in rows}

    async def of_home(self, since: str = "") -> dict[str, Spending]:
        """Return everybody's sums from the day *since* on, by model. For upkeep."""
        rows = await self._database.fetch(self._sql["model_usage_of_home"], since=since)
        return {row["model"]: _spending(row) for row in rows}


def _spending(row: Row) -> Spending:
    counts = {name: int(row[name]) for name in ("calls", "failed", "tokens_in", "tokens_out")}
    return Spending(**counts, cost=float(row["cost"]))
