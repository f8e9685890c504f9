"""One day file of the journal: a record a line, under exactly the seed's keys, healed when torn."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stenolith.store.files import flush_folder, make_private

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_COLUMNS = {
    "sessionKey": "session_key",
    "sessionId": "session_id",
    "teamId": "team_id",
    "userId": "user_id",
    "agentId": "agent_id",
    "recordedAt": "recorded_at",
    "id": "record_id",
    "role": "role",
    "content": "message_text",
    "timestamp": "timestamp",
}
"""The keys of a line in their order, and the columns of ``l0_conversations`` that they show."""
_NEEDED = ("sessionKey", "id", "role", "content")
_ABSENT = {"teamId": "default", "userId": "default", "agentId": "default", "timestamp": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalLine:
    """One line. *recorded_at* is ISO 8601 in UTC, *timestamp* epoch milliseconds."""

    session_key: str
    session_id: str
    team_id: str
    user_id: str
    agent_id: str
    recorded_at: str
    record_id: str
    role: str
    message_text: str
    timestamp: int

    def to_bytes(self) -> bytes:
        """Return the line as it stands in the file, with its line break."""
        shape = {key: getattr(self, column) for key, column in _COLUMNS.items()}
        return json.dumps(shape, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedLine:
    """A line that cannot be read: its file, its number counted from 1, why, and its bytes."""

    file: str
    number: int
    reason: str
    raw: bytes


def line_of(value: Any) -> JournalLine:
    """Return the line of a record or of a row of ``l0_conversations``."""
    read = value.__getitem__ if isinstance(value, dict) else value.__getattribute__
    return JournalLine(**{column: read(column) for column in _COLUMNS.values()})


def parse(raw: bytes) -> JournalLine:
    """Read one line. Raises ValueError that says what is wrong with it.

    Lines of the reference system's first version have no tenancy; they belong to ``default``.
    """
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ValueError("not JSON") from error
    if not isinstance(value, dict):
        raise ValueError("not an object")  # noqa: TRY004  # one kind of error says "damaged" to the caller
    shape = {key: value.get(key, _ABSENT.get(key, "")) for key in _COLUMNS}
    missing = [key for key in _NEEDED if key not in value]
    wrong = [key for key, item in shape.items() if type(item) is not (int if key == "timestamp" else str)]
    if missing or wrong:
        raise ValueError(f"missing or wrong: {', '.join(dict.fromkeys(missing + wrong))}")
    return JournalLine(**{_COLUMNS[key]: item for key, item in shape.items()})


class DayFile:
    """The file of one day. Whoever writes holds the journal's lock."""

    def __init__(self, folder: Path, day: str) -> None:
        if not _DAY.fullmatch(day):
            raise ValueError(f"{day!r} is not a day")
        self.day = day
        self.path = folder / f"{day}.jsonl"
        self._aside = folder / f"{day}.jsonl.damaged"

    def lines(self) -> Iterator[JournalLine | DamagedLine]:
        """Yield what the file holds, in order; a missing file holds nothing."""
        if not self.path.exists():
            return
        with self.path.open("rb") as handle:
            for number, raw in enumerate(handle, start=1):
                try:
                    yield parse(raw)
                except ValueError as error:
                    yield DamagedLine(file=self.path.name, number=number, reason=str(error), raw=raw)

    def append(self, lines: Sequence[JournalLine], *, durable: bool) -> list[str]:
        """Append *lines* in one write and return warnings; an append that fails leaves nothing behind.

        *durable* waits for the disk.  Without it a power cut may lose the last lines, which `verify`
        then finds; a crash of the process loses none.
        """
        make_private(self.path.parent)
        fresh = not self.path.exists()
        handle = os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            warnings = self._heal(handle)
            end = os.lseek(handle, 0, os.SEEK_END)
            try:
                _write_all(handle, b"".join(line.to_bytes() for line in lines))
            except OSError:
                os.ftruncate(handle, end)
                raise
            if durable:
                os.fsync(handle)
        finally:
            os.close(handle)
        if durable and fresh:
            flush_folder(self.path.parent)
        return warnings

    def _heal(self, handle: int) -> list[str]:
        """End the file with a line break: a torn last line is finished when it is whole, else set aside."""
        size = os.lseek(handle, 0, os.SEEK_END)
        start, tail = _tail(handle, size)
        if not tail:
            return []
        try:
            parse(tail)
        except ValueError:
            self.set_aside([tail])
            os.ftruncate(handle, start)
            return [f"{self.path.name} ended in a torn line of {len(tail)} bytes; it was moved to {self._aside.name}"]
        _write_all(handle, b"\n")
        return []

    def set_aside(self, raw: Sequence[bytes]) -> None:
        """Keep damaged lines beside the file, so that nothing vanishes."""
        if raw:
            handle = os.open(self._aside, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
            try:
                _write_all(handle, b"".join(line.rstrip(b"\n") + b"\n" for line in raw))
                os.fsync(handle)
            finally:
                os.close(handle)

    def drop_aside(self) -> None:
        """Delete what was set aside, when words of this day are deleted."""
        self._aside.unlink(missing_ok=True)


def day_files(folder: Path) -> list[DayFile]:
    """Return the day files in *folder* by day; other files are none of ours."""
    days = sorted(path.stem for path in folder.glob("*.jsonl") if _DAY.fullmatch(path.stem))
    return [DayFile(folder, day) for day in days]


def _tail(handle: int, size: int) -> tuple[int, bytes]:
    """Return where the unfinished last line begins, and its bytes."""
    tail = b""
    start = size
    while start > 0 and b"\n" not in tail:
        step = min(start, 65536 if tail else 1)
        start -= step
        os.lseek(handle, start, os.SEEK_SET)
        tail = os.read(handle, step) + tail
    kept = tail.rpartition(b"\n")[2]
    os.lseek(handle, 0, os.SEEK_END)
    return size - len(kept), kept


def _write_all(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]
