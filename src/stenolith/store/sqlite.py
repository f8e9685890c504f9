"""SQLite over apsw: one writer behind a lock, readers beside it, write-ahead log, 0600 files."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar, copy_context
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, cast

import apsw

from stenolith.errors import StoreUnavailable
from stenolith.store.database import Dialect, Row, T, to_its_end
from stenolith.store.files import make_private
from stenolith.store.sqlite_reading import Way, can_write, ways_to_read

BUSY_MS = 5000
"""How long a connection waits for another process's write before it gives up."""
_WRITING: Final = (
    "PRAGMA journal_mode = wal;"
    # What is forgotten must not linger in free pages of the file.
    " PRAGMA secure_delete = ON; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;"
    " PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8000;"
)
READERS = 2
"""Reader connections beside the writer: recall's arms read side by side on a small machine."""
_READING = frozenset({"SELECT", "EXPLAI", "PRAGMA"})


class SqliteDatabase:
    """A `Database` in one file.  Open it with `open_sqlite`, close it always: connections own threads."""

    def __init__(
        self, writer: apsw.AsyncConnection, readers: Sequence[apsw.AsyncConnection], *, read_only: bool = False
    ) -> None:
        self.read_only = read_only
        self._writer = writer
        self._readers: asyncio.Queue[apsw.AsyncConnection] = asyncio.Queue()
        self._all = [writer, *readers]
        for reader in readers:
            self._readers.put_nowait(reader)
        self._lock = asyncio.Lock()
        self._inside: ContextVar[Literal["", "task", "thread"]] = ContextVar("inside", default="")

    @property
    def dialect(self) -> Dialect:
        """SQLite's statements apply."""
        return "sqlite"

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """Open, or join, the write transaction of the current task."""
        if self._inside.get():
            yield
            return
        async with self._lock:
            # IMMEDIATE: a deferred transaction that turns into a write fails at once, whatever the busy timeout.
            await self._begin()
            token = self._inside.set("task")
            try:
                yield
                await asyncio.shield(self._run("COMMIT"))
            except BaseException:
                await asyncio.shield(self._writer.async_run(_roll_back, self._writer))
                raise
            finally:
                self._inside.reset(token)

    async def atomically(self, work: Callable[[], Coroutine[Any, Any, T]], /) -> T:
        """Run *work* from BEGIN to COMMIT in the writer's thread, or in the transaction that is open."""
        if self._inside.get():
            return await work()
        async with self._lock:
            with _in_words():
                return await to_its_end(self._writer.async_run(copy_context().run, self._whole, work))

    def _whole(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        self._inside.set("thread")
        writer = self._here()
        writer.execute("BEGIN IMMEDIATE")
        try:
            done = _drive(work())
            writer.execute("COMMIT")
        except BaseException:
            _roll_back(writer)
            raise
        return done

    def _here(self) -> apsw.Connection:
        """Return the writer as its own thread sees it: there its methods answer at once."""
        return cast("apsw.Connection", self._writer)

    async def lock(self, _owner_id: int, /) -> None:
        """Do nothing: whoever is inside a transaction is the only writer."""
        if not self._inside.get():
            raise RuntimeError("an owner is locked inside a transaction, whose end lets go of it")

    async def notifications(self) -> AsyncIterator[None]:
        """Never yield: SQLite tells one process nothing of another."""
        await asyncio.Event().wait()
        yield

    async def _begin(self) -> None:
        await self._run("BEGIN IMMEDIATE")

    async def _run(self, sql: str) -> None:
        await _rows(self._writer, sql, {})

    async def fetch(self, sql: str, /, **params: Any) -> list[Row]:
        """Run one statement and return its rows; writes open a transaction of their own."""
        match self._inside.get():
            case "thread":
                return _fetch(self._here(), sql, params)
            case "task":
                return await _rows(self._writer, sql, params)
        if not _reads(sql):
            return await self.atomically(partial(self.fetch, sql, **params))
        reader = await self._readers.get()
        try:
            return await _rows(reader, sql, params)
        finally:
            self._readers.put_nowait(reader)

    async def execute_many(self, sql: str, rows: Sequence[Mapping[str, Any]], /) -> None:
        """Run one statement for each of *rows*, in one transaction."""
        if rows:
            await self._write(partial(_write_many, sql=sql, rows=rows), partial(self.execute_many, sql, rows))

    async def script(self, sql: str, /) -> None:
        """Run several statements that take no parameters."""
        await self._write(partial(_run_all, sql=sql), partial(self.script, sql))

    async def _write(
        self, step: Callable[[apsw.Connection], None], whole: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        """Take one *step* of the transaction that is open, or do the *whole* of it in a transaction of its own."""
        match self._inside.get():
            case "thread":
                step(self._here())
            case "task":
                with _in_words():
                    await self._writer.async_run(step, self._writer)
            case "":
                await self.atomically(whole)

    async def copy_to(self, path: Path) -> None:
        """Write a whole, consistent copy to a new file (0600) while the store is in use."""
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        async with self._lock:
            await _rows(self._writer, "VACUUM INTO :path", {"path": str(path)})

    async def close(self) -> None:
        """Close every connection; running statements are interrupted."""
        for connection in self._all:
            await connection.aclose()


async def open_sqlite(path: Path) -> SqliteDatabase:
    """Open the store in *path*, making its folder (0700) and file (0600) when they are missing.

    A store whose file or folder this user may not write is opened for reading; writes then raise
    `StoreUnavailable`, as does a folder or a file that cannot be used at all.
    """
    closed = not can_write(path)
    if not closed:
        _prepare(path)
    opened: list[apsw.AsyncConnection] = []
    try:
        way = await _way_to_read(path) if closed else Way(name=str(path), set_up=_WRITING)
        for _ in range(1 + READERS):
            connection = await _connect(way)
            opened.append(connection)
    except apsw.Error as error:
        for connection in opened:
            await connection.aclose()
        words = next((said for kind, said in _TROUBLES.items() if isinstance(error, kind)), str(error))
        raise StoreUnavailable(f"{path} cannot be opened as a memory store: {words}") from error
    return SqliteDatabase(opened[0], opened[1:], read_only=closed)


async def _way_to_read(path: Path) -> Way:
    """Return the first way to read a store that nobody may write here; raises the error of the last one."""
    *first, last = ways_to_read(path)
    for way in first:
        try:
            await (await _connect(way)).aclose()
        except apsw.Error:
            continue
        return way
    return last


def _prepare(path: Path) -> None:
    try:
        make_private(path.parent)
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        if stat.S_IMODE(path.stat().st_mode) & 0o077 and os.access(path, os.W_OK):
            path.chmod(0o600)
    except OSError as error:
        raise StoreUnavailable(f"{path.parent} cannot hold a memory home: {error.strerror or error}") from error


async def _connect(way: Way) -> apsw.AsyncConnection:
    connection = await apsw.Connection.as_async(way.name, flags=way.flags)
    try:
        await connection.async_run(_set_up, connection, way.set_up)
    except BaseException:
        await connection.aclose()
        raise
    return connection


def _set_up(connection: apsw.Connection, statements: str) -> None:
    connection.set_busy_timeout(BUSY_MS)
    _run_all(connection, statements)


def _drive(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never has to wait."""
    try:
        work.send(None)
    except StopIteration as end:
        return cast("T", end.value)
    work.close()
    raise RuntimeError("what runs in one transaction waits for nothing but its database")


def _reads(sql: str) -> bool:
    return sql.lstrip()[:6].upper() in _READING


def _write_many(connection: apsw.Connection, sql: str, rows: Sequence[Mapping[str, Any]]) -> None:
    for _ in connection.executemany(sql, rows):
        pass  # a statement with RETURNING runs for the next row only when its results are read


def _run_all(connection: apsw.Connection, sql: str) -> None:
    for _ in connection.execute(sql):
        pass  # a statement that returns rows holds up those behind it until its rows are read


def _roll_back(connection: apsw.Connection) -> None:
    # SQLite has already rolled back by itself when a statement was interrupted or the disk was full.
    if not connection.get_autocommit():
        connection.execute("ROLLBACK")


def _fetch(connection: apsw.Connection, sql: str, params: Mapping[str, Any]) -> list[Row]:
    cursor = connection.execute(sql, params)
    names: tuple[str, ...] = ()
    rows: list[Row] = []
    for values in cursor:
        names = names or tuple(column[0] for column in cursor.get_description())
        rows.append(dict(zip(names, values, strict=True)))
    return rows


async def _rows(connection: apsw.AsyncConnection, sql: str, params: Mapping[str, Any]) -> list[Row]:
    """Run a statement in the connection's own thread: one hop for the whole result, not one a row."""
    with _in_words():
        found: list[Row] = await connection.async_run(_fetch, connection, sql, params)
    return found


@contextmanager
def _in_words() -> Iterator[None]:
    """Say in words for people what the disk or another process does to the store; our own faults stay as they are."""
    try:
        yield
    except tuple(_TROUBLES) as error:
        raise StoreUnavailable(next(words for kind, words in _TROUBLES.items() if isinstance(error, kind))) from error


_DAMAGED: Final = (
    "its database is damaged: put the file aside; `stenolith restore` brings back a backup, and without one"
    " `stenolith rebuild records` the conversations from the daily files"
)
_TROUBLES: Final[Mapping[type[apsw.Error], str]] = {
    apsw.BusyError: f"another process kept the memory store locked for {BUSY_MS / 1000:g} s; try again",
    apsw.FullError: "the disk is full; nothing was written: make room and try again",
    apsw.ReadOnlyError: "the memory store is read-only for this user; nothing was written",
    apsw.IOError: "the disk of the memory store failed to read or write, or a file may not grow; nothing was written",
    apsw.CantOpenError: "the memory store cannot be opened by this user",
    apsw.CorruptError: f"the memory store cannot be read, {_DAMAGED}",
    apsw.NotADBError: f"the memory store cannot be read, {_DAMAGED}",
}
