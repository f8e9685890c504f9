"""Owners: a scope's team, user and agent, interned to a number that every row and search term carries."""

from __future__ import annotations

from stenolith.errors import InvalidInput, NotFound, ScopeRequired
from stenolith.model.identity import Scope
from stenolith.model.message import mended
from stenolith.store.database import Database, statements


class Owners:
    """Numbers for owners.  A number is never reused and never changes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements(database.dialect)
        self._known: dict[tuple[str, str, str], int] = {}

    async def intern(self, scope: Scope) -> int:
        """Return the owner's number, making one on first sight."""
        return await self._look_up(scope, "intern_owner") or 0

    async def find(self, scope: Scope) -> int:
        """Return the owner's number, or 0 (nobody's rows) when nothing was ever stored for it."""
        return await self._look_up(scope, "find_owner") or 0

    async def _look_up(self, scope: Scope, statement: str) -> int | None:
        if not (scope.team and scope.user and scope.agent):
            raise ScopeRequired
        for name in scope.__slots__:
            if mended(getattr(scope, name)) != getattr(scope, name):
                raise InvalidInput(f"{name} holds half of a surrogate pair: it is no valid text")
        key = (scope.team, scope.user, scope.agent)
        if key not in self._known:
            rows = await self._database.fetch(self._sql[statement], team=scope.team, user=scope.user, agent=scope.agent)
            if not rows:
                return None
            self._known[key] = int(rows[0]["owner_id"])
        return self._known[key]

    async def scope_of(self, owner_id: int) -> Scope:
        """Return the scope of an owner's number. Raises `NotFound`."""
        rows = await self._database.fetch(self._sql["get_owner"], owner_id=owner_id)
        if not rows:
            raise NotFound(f"there is no owner {owner_id}")
        return Scope(team=rows[0]["team_id"], user=rows[0]["user_id"], agent=rows[0]["agent_id"])

    async def every(self) -> list[tuple[int, Scope]]:
        """Return all owners of the home.  For upkeep (doctor, rebuild, export); never for a reader."""
        rows = await self._database.fetch(self._sql["list_owners"])
        return [
            (int(row["owner_id"]), Scope(team=row["team_id"], user=row["user_id"], agent=row["agent_id"]))
            for row in rows
        ]
