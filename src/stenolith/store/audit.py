"""Who changed what, and what was deleted: neither holds the content of a memory."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stenolith.model.clock import Clock, wall_ms
from stenolith.model.identity import new_id
from stenolith.store.database import Database, Row, statements

_KEY_NAME = "tombstone.key"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One act: *actor* did *action* to *target* (an id). *detail* names ids, counts and reasons, never words."""

    actor: str
    action: str
    target: str
    detail: Mapping[str, Any] = field(default_factory=dict)
    at: int = 0
    id: str = ""


class Audit:
    """The log of acts, written in the transaction of the act."""

    def __init__(self, database: Database, now_ms: Clock = wall_ms) -> None:
        self._database = database
        self._sql = statements(database.dialect)
        self._now = now_ms

    async def record(self, owner_id: int, entries: Sequence[AuditEntry]) -> None:
        """Append *entries*; id and time are given here."""
        now = self._now()
        rows = [
            {
                "audit_id": new_id("aud", now),
                "at": now,
                "owner_id": owner_id,
                "actor": entry.actor,
                "action": entry.action,
                "target": entry.target,
                "detail": json.dumps(dict(entry.detail), ensure_ascii=False),
            }
            for entry in entries
        ]
        await self._database.execute_many(self._sql["insert_audit"], rows)

    async def entries(self, owner_id: int, since: int = 0, after: str = "", limit: int = 100) -> list[AuditEntry]:
        """Return the owner's entries from *since* (epoch ms) on and after the entry *after*, oldest first."""
        rows = await self._database.fetch(
            self._sql["page_audit"], owner_id=owner_id, since=since, after=after, limit=limit
        )
        return [_entry(row) for row in rows]

    async def entries_of_home(self, since: int = 0, after: str = "", limit: int = 100) -> list[AuditEntry]:
        """Return everybody's entries. For upkeep."""
        rows = await self._database.fetch(self._sql["page_audit_of_home"], since=since, after=after, limit=limit)
        return [_entry(row) for row in rows]


def _entry(row: Row) -> AuditEntry:
    named = {name: row[name] for name in ("actor", "action", "target", "at")}
    return AuditEntry(**named, detail=json.loads(row["detail"]), id=row["audit_id"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """A deleted thing of one *layer*: the keyed hash of its normal form, who deleted it and when."""

    layer: str
    hash: str
    actor: str
    deleted_at: int


class Tombstones:
    """Remembers what was deleted without remembering what it said.

    The hash is HMAC-SHA-256 under a random key of the home.  The key is a row of the same database:
    every process of a home and every backup of it then agree, and what it guards against is reading
    a deletion list, not reading the disk.
    """

    def __init__(self, database: Database, now_ms: Clock = wall_ms) -> None:
        self._database = database
        self._sql = statements(database.dialect)
        self._now = now_ms
        self._key = b""

    async def bury(self, owner_id: int, layer: str, forms: Sequence[str], actor: str) -> None:
        """Remember that things with these normal forms were deleted."""
        now = self._now()
        rows = [
            {
                "layer": layer,
                "owner_id": owner_id,
                "hash": await self._hash(form),
                "actor": actor,
                "deleted_at": now,
            }
            for form in dict.fromkeys(forms)
        ]
        await self._database.execute_many(self._sql["insert_tombstone"], rows)

    async def holds(self, owner_id: int, layer: str, form: str) -> bool:
        """Say whether a thing with this normal form was deleted."""
        return bool(await self._database.fetch(self._sql["find_tombstone"], **await self._name(owner_id, layer, form)))

    async def lift(self, owner_id: int, layer: str, form: str) -> bool:
        """Forget that it was deleted, when a person states it anew; False when it was not."""
        named = await self._name(owner_id, layer, form)
        return bool(await self._database.fetch(self._sql["delete_tombstone"], **named))

    async def listing(self, owner_id: int) -> list[Tombstone]:
        """Return the owner's tombstones, for an export."""
        rows = await self._database.fetch(self._sql["list_tombstones"], owner_id=owner_id)
        return [Tombstone(**row) for row in rows]

    async def has(self, owner_id: int, stone: Tombstone) -> bool:
        """Say whether the owner has this tombstone of an export already."""
        named = {"layer": stone.layer, "owner_id": owner_id, "hash": stone.hash}
        return bool(await self._database.fetch(self._sql["find_tombstone"], **named))

    async def restore(self, owner_id: int, stones: Sequence[Tombstone]) -> None:
        """Put back tombstones of an export; they hold only where the key came along (see `key_of_home`)."""
        rows = [
            {
                "layer": stone.layer,
                "owner_id": owner_id,
                "hash": stone.hash,
                "actor": stone.actor,
                "deleted_at": stone.deleted_at,
            }
            for stone in stones
        ]
        await self._database.execute_many(self._sql["insert_tombstone"], rows)

    async def key_of_home(self, proposed: str = "") -> str:
        """Return the home's key in hexadecimal; a home that has none yet takes *proposed* or a random one."""
        found = await self._database.fetch(self._sql["get_meta"], name=_KEY_NAME)
        if not found:
            value = proposed or secrets.token_hex(32)
            found = await self._database.fetch(self._sql["insert_meta"], name=_KEY_NAME, value=value)
        return str(found[0]["value"])

    async def fingerprint(self, form: str) -> str:
        """Return the keyed hash that stands for *form* where the words themselves may not."""
        return await self._hash(form)

    async def _name(self, owner_id: int, layer: str, form: str) -> dict[str, Any]:
        return {"layer": layer, "owner_id": owner_id, "hash": await self._hash(form)}

    async def _hash(self, form: str) -> str:
        """Return the keyed hash. It leaves the owner out: an import gives owners other numbers."""
        self._key = self._key or bytes.fromhex(await self.key_of_home())
        return hmac.new(self._key, form.encode(), hashlib.sha256).hexdigest()
