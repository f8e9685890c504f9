"""Files that are whole or absent: atomic writes, and the Markdown that a person reads.

Everything here is a projection. It is written beside its place, flushed, and renamed, so a crash
leaves the old file or the new one; mode 0600 in folders of mode 0700.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from stenolith.model.identity import Scope

_UNSAFE = re.compile(r'[\x00-\x1f\x7f\ud800-\udfff"%*/:<>?\\|]|^[.~]|[. ]$')
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
_LITTER_S = 600
"""Age of a half-written file after which whoever wrote it is dead, in seconds."""
EDITS = "edits"
"""Folder in a home of the pages that people edited and that were not taken."""
_LONGEST_NAME = 200
"""Bytes of a file name before its ending; file systems allow 255."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """What a projection did to the folder, by file name."""

    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class ProjectedFiles:
    """The Markdown of one owner: ``persona.md`` and ``scenes/<name>.md`` in *folder*."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._scenes = folder / "scenes"

    def write_persona(self, markdown: str) -> FileReport:
        """Write ``persona.md``; an empty text removes it."""
        path = self._folder / "persona.md"
        _sweep(self._folder)
        if markdown:
            return FileReport(written=(path.name,) if write_atomic(path, markdown.encode()) else ())
        existed = path.exists()
        path.unlink(missing_ok=True)
        return FileReport(removed=(path.name,) if existed else ())

    def write_scenes(self, pages: Mapping[str, str]) -> FileReport:
        """Make the folder hold exactly *pages*, by scene name; files that say the same are not touched."""
        wanted = {f"{safe_name(name)}.md": text.encode() for name, text in pages.items()}
        written = [name for name, data in wanted.items() if write_atomic(self._scenes / name, data)]
        _sweep(self._scenes)
        extra = [path for path in self._scenes.glob("*.md") if path.name not in wanted]
        for path in extra:
            path.unlink(missing_ok=True)
        return FileReport(written=tuple(sorted(written)), removed=tuple(sorted(path.name for path in extra)))

    def differing(self, pages: Mapping[str, str]) -> dict[str, Path]:
        """Return the files that are there and do not say what *pages* say, by scene name."""
        found = {}
        for name, text in pages.items():
            path = self._scenes / f"{safe_name(name)}.md"
            if path.is_file() and path.read_bytes() != text.encode():
                found[name] = path
        return found


def _sweep(folder: Path) -> None:
    """Remove what a killed process left half written: it may repeat words that were forgotten since."""
    for path in folder.glob(".*.tmp"):
        with suppress(OSError):
            if path.stat().st_mtime < time.time() - _LITTER_S:
                path.unlink()


def drop_edits(home: Path, ids: Collection[str]) -> None:
    """Remove the kept pages whose stamp or footnotes name one of *ids*: what was forgotten stands there, too."""
    for path in [path for path in (home / EDITS).rglob("*") if path.is_file()]:
        with suppress(OSError):
            text = path.read_text(encoding="utf-8", errors="replace")
            if any(one in text for one in ids):
                path.unlink()


def folder_of(home: Path, scope: Scope) -> Path:
    """Return the folder of an owner's files: the home itself for the default owner."""
    if scope.owner() == Scope():
        return home
    return home / "owners" / safe_name(scope.team) / safe_name(scope.user) / safe_name(scope.agent)


def safe_name(name: str) -> str:
    """Return *name* as a file name of every system: readable, different names staying different.

    What no file name may hold is percent-encoded; a name that is too long is cut and ends with part
    of its hash.
    """
    text = _UNSAFE.sub(lambda match: _percent(match.group()), name)
    if _DEVICE.fullmatch(text) or not text:
        text = f"%{text and f'{ord(text[0]):02X}'}{text[1:]}"
    data = text.encode()
    if len(data) <= _LONGEST_NAME:
        return text
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:12]
    return f"{data[: _LONGEST_NAME - 13].decode(errors='ignore')}~{digest}"


def _percent(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode(errors="surrogatepass"))


def make_private(folder: Path) -> None:
    """Make *folder* and every missing folder above it readable for its owner alone.

    ``mkdir`` gives the mode to the last folder only; those above it would be open to everybody.
    """
    if not folder.is_dir():
        make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def write_atomic(path: Path, data: bytes) -> bool:
    """Write *data* to *path*, whole or not at all; False when the file held exactly that already."""
    with suppress(OSError):
        if path.read_bytes() == data:
            return False
    with open_atomic(path) as handle:
        handle.write(data)
    return True


@contextmanager
def open_atomic(path: Path) -> Iterator[BinaryIO]:
    """Open a new file that takes the place of *path* when the block ends well."""
    make_private(path.parent)
    beside = path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        with os.fdopen(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    flush_folder(path.parent)


def flush_folder(folder: Path) -> None:
    """Make the names in *folder* durable, where the system can (Windows cannot open a folder)."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
