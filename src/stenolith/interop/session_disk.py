"""The files around a session file while it is repaired: lock, backup, copy, quarantine."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

KEPT_BACKUPS: Final = 3
QUARANTINE_MAX: Final = 16 << 20  # bytes; what does not fit stays in a backup that is kept
_BACKUP: Final = re.compile(r"\.bak-\d+-(\d+)")
_BLOCK: Final = 1 << 16
_STALE_S: Final = 1800  # a lock of a process that is gone, or older than this, protects nothing


class Locked(OSError):
    """Another process holds the file's lock."""


class Disk:
    """The writes of a repair. A test hands in one that fails where it wants."""

    def create(self, path: Path, like: os.stat_result) -> BinaryIO:
        """Create *path*, which must not exist, with the owner and mode of another file."""
        number = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), like.st_mode & 0o777)
        path.chmod(like.st_mode & 0o7777)  # the umask may have taken bits away
        with contextlib.suppress(OSError, AttributeError):
            os.chown(path, like.st_uid, like.st_gid)
        return os.fdopen(number, "wb")

    def copy(self, source: Path, target: Path, like: os.stat_result) -> None:
        """Copy bytes into a new file and make them durable."""
        with source.open("rb") as old, self.create(target, like) as new:
            shutil.copyfileobj(old, new, _BLOCK)
            self.sync(new)

    def sync(self, stream: BinaryIO) -> None:
        """Make what was written to *stream* durable."""
        stream.flush()
        os.fsync(stream.fileno())

    def replace(self, source: Path, target: Path) -> None:
        """Put *source* in the place of *target* in one step."""
        source.replace(target)

    def settle(self, folder: Path) -> None:
        """Make the names in *folder* durable."""
        if os.name == "posix":
            number = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(number)
            finally:
                os.close(number)

    def remove(self, path: Path) -> None:
        """Delete *path*; one that is not there is fine."""
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold ``<path>.lock``, the lock that OpenClaw's writers take too.

    Raises Locked while a living process holds it; a lock whose process is gone, or that is half an hour old, is taken.
    """
    lock = path.with_name(f"{path.name}.lock")
    body = json.dumps({"pid": os.getpid(), "createdAt": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())})
    for attempt in (1, 2):
        try:
            with lock.open("x") as stream:
                stream.write(body)
            break
        except FileExistsError as error:
            if attempt == 2 or not _is_stale(lock):
                raise Locked("another process is writing the file") from error
            lock.unlink(missing_ok=True)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)


def _is_stale(lock: Path) -> bool:
    try:
        holder = json.loads(lock.read_text()).get("pid")
        age = time.time() - lock.stat().st_mtime
    except FileNotFoundError:
        return True
    except (OSError, ValueError, AttributeError):
        return False
    return age > _STALE_S or (isinstance(holder, int) and not _is_alive(holder))


def _is_alive(process: int) -> bool:
    if os.name != "posix":
        return True  # there, signal 0 is no question
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


class Quarantine:
    """``<file>.rejected-lines``: what a repair took out of a file, at most `QUARANTINE_MAX` bytes of it.

    *overflowed* says that something did not fit.
    """

    def __init__(self, path: Path, like: os.stat_result, disk: Disk) -> None:
        self.path = path.with_name(f"{path.name}.rejected-lines")
        self.overflowed = False
        self._like, self._disk = like, disk
        self._before = self.path.stat().st_size if self.path.exists() else None
        self._size = self._before or 0
        self._stream: BinaryIO | None = None

    def add(self, rejected: bytes) -> None:
        """Append whole lines."""
        if self._size + len(rejected) > QUARANTINE_MAX:
            self.overflowed = True
            return
        if self._stream is None:
            new = self._before is None
            self._stream = self._disk.create(self.path, self._like) if new else self.path.open("ab")
        self._stream.write(rejected)
        self._size += len(rejected)

    def close(self) -> None:
        """Make everything durable."""
        if self._stream:
            stream, self._stream = self._stream, None
            with stream:
                self._disk.sync(stream)

    def undo(self) -> None:
        """Take back what was added."""
        with contextlib.suppress(OSError):
            self.close()
            if self._before is None:
                self._disk.remove(self.path)
            else:
                os.truncate(self.path, self._before)


def prune_backups(path: Path, disk: Disk) -> None:
    """Delete all but the newest leftover backups of *path*."""
    found = [
        other for other in path.parent.glob(f"{_escaped(path.name)}.bak-*") if _BACKUP.fullmatch(_ending(other, path))
    ]
    found.sort(key=lambda other: int(_ending(other, path).rpartition("-")[2]))
    for old in found[:-KEPT_BACKUPS]:
        with contextlib.suppress(OSError):
            disk.remove(old)


def _ending(other: Path, path: Path) -> str:
    return other.name[len(path.name) :]


def _escaped(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)


def data_end(stream: BinaryIO, size: int) -> int:
    """Return where the bytes end that are not the run of NULs which a crash leaves behind."""
    end = size
    while end:
        start = max(0, end - _BLOCK)
        stream.seek(start)
        kept = stream.read(end - start).rstrip(b"\x00")
        if kept:
            return start + len(kept)
        end = start
    return 0
