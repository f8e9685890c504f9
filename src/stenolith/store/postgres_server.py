"""Getting to a PostgreSQL server: read the URL, see that it is fit, teach the driver our values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import psycopg
from psycopg import AsyncConnection
from psycopg.adapt import AdaptersMap, Loader
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Format
from psycopg.types import TypeInfo
from psycopg.types.numeric import NumericBinaryLoader
from psycopg.types.string import BytesBinaryDumper, StrDumperUnknown

from stenolith.errors import InvalidInput, StoreUnavailable
from stenolith.store.database import Halves, Row
from stenolith.store.migrations import SCHEMA_LOCK
from stenolith.store.postgres_errors import explain_refusal

CONNECT_S: Final = 10
"""How long a server may take to accept a connection."""
_HEADER: Final = np.dtype(">i2")
_WIRE: Final = np.dtype(">f2")
_OURS: Final = np.dtype("<f2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """How to connect: the URL, and the options that every connection takes."""

    url: str
    options: dict[str, Any]

    async def connect(self, **more: Any) -> AsyncConnection[Row]:
        """Open one connection beside the pool."""
        return await AsyncConnection.connect(self.url, **{**self.options, **more})


async def prepare(url: str) -> Server:
    """Look at the server, make the extension ``vector`` when it is missing, and return how to connect.

    Raises `InvalidInput` for a URL that cannot be read, `StoreUnavailable` when the server is away,
    does not speak UTF-8, or has no pgvector.
    """
    where = _name(url)
    options: dict[str, Any] = {"connect_timeout": CONNECT_S, "application_name": "stenolith"}
    try:
        connection = await AsyncConnection.connect(url, **options, autocommit=True)
    except psycopg.Error as error:
        raise StoreUnavailable(f"PostgreSQL at {where} cannot be used: {explain_refusal(error)}") from None
    async with connection:
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise StoreUnavailable(f"the database at {where} is encoded in {encoding}; make one with ENCODING 'UTF8'")
        half = await TypeInfo.fetch(connection, "halfvec") or await _extend(connection, where)
    return Server(url=url, options={**options, "context": _Adapted(half)})


def _name(url: str) -> str:
    """Return what may be said of *url*: host, port and database."""
    try:
        read = conninfo_to_dict(url)
    except psycopg.Error:
        raise InvalidInput(
            "the PostgreSQL URL cannot be read; write postgresql://user:password@host:port/name"
        ) from None
    host = str(read.get("host") or "localhost")
    if "@" in host:
        raise InvalidInput("the PostgreSQL URL holds more than one @; write the one in the password as %40")
    return f"{host}:{read.get('port') or 5432}/{read.get('dbname') or read.get('user') or ''}"


async def _extend(connection: AsyncConnection[Any], where: str) -> TypeInfo:
    try:
        async with connection.transaction():
            # Several processes may open a new database at once, and IF NOT EXISTS alone does not make that safe.
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", [SCHEMA_LOCK])
            await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except psycopg.errors.InsufficientPrivilege:
        raise StoreUnavailable(
            f"the database at {where} lacks the extension vector and this role may not make it;"
            " let an administrator run CREATE EXTENSION vector"
        ) from None
    except psycopg.Error:
        raise StoreUnavailable(f"the PostgreSQL server at {where} has no pgvector; install it there") from None
    found = await TypeInfo.fetch(connection, "halfvec")
    if found is None:
        raise StoreUnavailable(f"the pgvector of the PostgreSQL server at {where} is older than 0.7; update it there")
    return found


class _Adapted:
    """The driver's adapters with ours: an `AdaptContext`."""

    def __init__(self, half: TypeInfo) -> None:
        self.connection = None
        self.adapters = AdaptersMap(psycopg.adapters)
        self.adapters.types.add(half)
        dumper = type("HalvesDumper", (_HalvesDumper,), {"oid": half.oid})
        self.adapters.register_dumper(Halves, dumper)
        self.adapters.register_loader(half.oid, _HalvesLoader)
        self.adapters.register_loader("numeric", _NumberLoader)
        self.adapters.register_dumper(str, _TextDumper)


class _TextDumper(StrDumperUnknown):
    """Text without NUL, which PostgreSQL cannot hold: its place is kept by U+FFFD."""

    def dump(self, obj: str) -> Any:
        return super().dump(obj.replace("\0", "\ufffd") if "\0" in obj else obj)


class _HalvesDumper(BytesBinaryDumper):
    """Halves as pgvector receives them: number, zero, values from the big end."""

    def dump(self, obj: Any) -> Any:
        values = np.frombuffer(obj, _OURS)
        return np.array([len(values), 0], _HEADER).tobytes() + values.astype(_WIRE).tobytes()


class _HalvesLoader(Loader):
    format = Format.BINARY

    def load(self, data: Any) -> bytes:
        return np.frombuffer(bytes(data), _WIRE, offset=4).astype(_OURS).tobytes()


class _NumberLoader(NumericBinaryLoader):
    """Sums and averages as SQLite gives them: whole numbers as int, others as float."""

    def load(self, data: Any) -> Any:
        found = super().load(data)
        return int(found) if found == found.to_integral_value() else float(found)
