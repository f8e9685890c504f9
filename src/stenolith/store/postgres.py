"""PostgreSQL over psycopg 3: a pool of connections, one of which carries a task's transaction.

Transactions are READ COMMITTED.  Where a transaction reads and then writes what it read, it takes the
owner's `lock` first and so stands alone among the writers of that owner; writers of other owners go on.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import AsyncConnection
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from stenolith.errors import InvalidInput, StoreUnavailable
from stenolith.store.database import Dialect, Row, T, to_its_end
from stenolith.store.postgres_errors import in_plain_words
from stenolith.store.postgres_server import Server, prepare

LOCK_S: Final = 30
"""How long a statement waits for another transaction's lock before it gives up."""
WAIT_S: Final = 30.0
"""How long a task waits for a connection while all are in use."""
HUNG_S: Final = 300
"""After how long the server ends a transaction whose process says nothing, so that its locks are free again."""
CHANNEL: Final = "stenolith_jobs"
"""Where the database tells that there is something new to do."""
_RETRY_S: Final = 5.0
_SETTINGS: Final = (
    f"SET lock_timeout = '{LOCK_S}s'; SET idle_in_transaction_session_timeout = '{HUNG_S}s';"
    # Compiling a statement takes longer than ours run.
    " SET jit = off;"
    # Ours look rows up by key.  Nobody has counted the rows of a fresh home, and a planner that guesses walks them all.
    " SET enable_seqscan = off; SET random_page_cost = 1.1;"
    " SET client_min_messages = warning"
)
# String literals, quoted names, comments and casts are passed over; a per cent sign is doubled for the driver.
_PIECE: Final = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|::|:(?P<name>[A-Za-z_]\w*)|%")

Connection = AsyncConnection[Row]


class _Held:
    """An open transaction: its owners' locks, and its connection, None once it has ended.

    Tasks that it started may remember it longer than it lasts.
    """

    __slots__ = ("connection", "locked")

    def __init__(self, connection: Connection) -> None:
        self.connection: Connection | None = connection
        self.locked: set[int] = set()


class PostgresDatabase:
    """A `Database` on a server.  Open it with `open_postgres` and close it."""

    def __init__(self, pool: AsyncConnectionPool[Connection], server: Server) -> None:
        self._pool = pool
        self._server = server
        self._inside: ContextVar[_Held | None] = ContextVar("inside", default=None)

    @property
    def dialect(self) -> Dialect:
        """PostgreSQL's statements apply."""
        return "postgres"

    @property
    def read_only(self) -> bool:
        """Who may write is the server's business; a standby says so when it is written to."""
        return False

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """Open, or join, the transaction of the current task."""
        if self._current() is not None:
            yield
            return
        async with self._borrow() as connection:
            held = _Held(connection)
            token = self._inside.set(held)
            try:
                await connection.execute("BEGIN")
                yield
                await to_its_end(_commit(connection))
            except BaseException:
                await to_its_end(_roll_back(connection))
                raise
            finally:
                held.connection = None
                self._inside.reset(token)

    async def atomically(self, work: Callable[[], Coroutine[Any, Any, T]], /) -> T:
        """Run *work* in a transaction, or in the one that is open."""
        async with self.transaction():
            return await work()

    async def lock(self, owner_id: int, /) -> None:
        """Wait until no other transaction holds the owner's lock, and hold it until this one ends."""
        held = self._inside.get()
        if held is None or held.connection is None:
            raise RuntimeError("an owner is locked inside a transaction, whose end lets go of it")
        if owner_id not in held.locked:
            await self.fetch("SELECT pg_advisory_xact_lock(:owner_id)", owner_id=owner_id)
            held.locked.add(owner_id)

    async def fetch(self, sql: str, /, **params: Any) -> list[Row]:
        """Run one statement and return its rows."""
        async with self._connection() as connection:
            cursor = await connection.execute(translate(sql), params, binary=True)
            return await cursor.fetchall() if cursor.description else []

    async def execute_many(self, sql: str, rows: Sequence[Mapping[str, Any]], /) -> None:
        """Run one statement for each of *rows*, in one transaction."""
        if not rows:
            return
        async with self.transaction(), self._connection() as connection, connection.cursor() as cursor:
            await cursor.executemany(translate(sql), rows)

    async def script(self, sql: str, /) -> None:
        """Run several statements that take no parameters."""
        async with self.transaction(), self._connection() as connection:
            await connection.execute(sql.encode())

    async def copy_to(self, path: Path, /) -> None:
        """Refuse: a server is copied with its own tool. Raises `InvalidInput` that names it."""
        raise InvalidInput(f"a PostgreSQL home is copied with pg_dump (pg_dump --format=custom --file {path} URL)")

    async def notifications(self) -> AsyncIterator[None]:
        """Yield whenever any process has given the queue something new to do; never ends by itself.

        One connection listens as long as this is iterated.  Whenever it begins to listen, at first and
        after a loss, there is one notification for what may have been missed.  For a worker's wake-up::

            async for _ in database.notifications():
                worker.wake()
        """
        while True:
            try:
                async for _ in self._listen():
                    yield
            except psycopg.Error:
                await asyncio.sleep(_RETRY_S)

    async def _listen(self) -> AsyncIterator[None]:
        async with await self._server.connect(autocommit=True) as connection:
            await connection.execute(f"LISTEN {CHANNEL}")
            yield
            async for _ in connection.notifies():
                yield

    async def close(self) -> None:
        """Let go of every connection; those in use end when they are given back."""
        await self._pool.close(timeout=1.0)

    def _current(self) -> Connection | None:
        held = self._inside.get()
        return held.connection if held else None

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Connection]:
        current = self._current()
        if current is None:
            async with self._borrow() as connection:
                yield connection
        else:
            with in_plain_words():
                yield current

    @asynccontextmanager
    async def _borrow(self) -> AsyncIterator[Connection]:
        with in_plain_words():
            async with self._pool.connection() as connection:
                yield connection


async def open_postgres(url: str, *, min_size: int = 1, max_size: int = 8) -> PostgresDatabase:
    """Open the database at *url* (``postgresql://user:password@host:port/name``) with a pool of connections.

    Makes the extension ``vector`` when it is missing.  Raises `InvalidInput` for a URL that cannot be
    read and `StoreUnavailable` with the reason when the server is away or not fit; neither repeats the
    password.
    """
    server = await prepare(url)
    pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
        url,
        connection_class=AsyncConnection[Row],
        kwargs={**server.options, "autocommit": True, "row_factory": dict_row},
        min_size=min_size,
        max_size=max_size,
        timeout=WAIT_S,
        configure=_configure,
        open=False,
        name="stenolith",
    )
    with in_plain_words():
        await pool.open(wait=True, timeout=WAIT_S)
    return PostgresDatabase(pool, server)


@cache
def translate(sql: str) -> bytes:
    """Return *sql* with ``:name`` written as the driver wants it."""
    return _PIECE.sub(_translated, sql).encode()


def _translated(match: re.Match[str]) -> str:
    name = match["name"]
    return f"%({name})s" if name else match.group().replace("%", "%%")


async def _configure(connection: Connection) -> None:
    await connection.execute(_SETTINGS)


async def _commit(connection: Connection) -> None:
    # PostgreSQL answers COMMIT after a failed statement with a silent rollback.
    if connection.info.transaction_status is TransactionStatus.INERROR:
        raise StoreUnavailable("a statement of this transaction had failed; nothing was written")
    await connection.execute("COMMIT")


async def _roll_back(connection: Connection) -> None:
    if connection.info.transaction_status in {TransactionStatus.INTRANS, TransactionStatus.INERROR}:
        await connection.execute("ROLLBACK")
