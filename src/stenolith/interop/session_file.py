"""Repair an OpenClaw session file on its bytes (``spec/replay.md`` section 3.16).

Lines that are sound stay byte for byte.  What cannot be read moves to ``<file>.rejected-lines``; the file is replaced
in one step, with a backup beside it until the new one is durable; memory holds one line at a time.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Final

from stenolith.interop.session_disk import Disk, Quarantine, data_end, locked, prune_backups
from stenolith.interop.session_lines import Judged, judge
from stenolith.interop.session_pairs import Pairs, aborted_entries, encoded, reparented
from stenolith.interop.session_tree import NEWEST_VERSION

_ATTEMPTS: Final = 3  # while somebody else appends
_SHOWN: Final = 40  # characters of a value that a reason quotes
_SETTLED_NS: Final = 2_000_000_000  # a younger file may be written again within one tick of its clock
_REMEMBERED: Final = 8  # sound files whose state is known (section 3.16)


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairReport:
    """What a repair did, or why it did nothing.

    *dropped_lines* counts records that are no longer in the file, *rewritten* what was mended, by rule.  *quarantine*
    and *backup* are files that stay: the bytes that were set aside, and the original where it could not be removed or
    where the quarantine was too small for it all.
    """

    repaired: bool = False
    reason: str | None = None
    dropped_lines: int = 0
    rewritten: Mapping[str, int] = field(default_factory=dict)
    quarantine: str | None = None
    backup: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form that the command line prints."""
        return {
            "repaired": self.repaired,
            "reason": self.reason,
            "dropped_lines": self.dropped_lines,
            "rewritten": dict(self.rewritten),
            "quarantine": self.quarantine,
            "backup": self.backup,
        }


class _Changed(OSError):
    """The file changed while it was read."""


@dataclass(slots=True, kw_only=True)
class _Survey:
    """What one reading of the file found, and the state of the file it is true for."""

    stat: os.stat_result
    start: int = 0
    end: int = 0
    rewritten: Counter[str] = field(default_factory=Counter)
    dropped: int = 0
    rejected: int = 0
    entries: int = 0
    refusal: str = ""
    missing: Mapping[int, Mapping[str, str]] = field(default_factory=dict)

    @property
    def is_sound(self) -> bool:
        return not self.rewritten and not self.dropped

    def is_outdated(self, path: Path) -> bool:
        """Say whether the file was written since it was read."""
        now, then = path.stat(), self.stat
        return (now.st_ino, now.st_size, now.st_mtime_ns) != (then.st_ino, then.st_size, then.st_mtime_ns)

    def report(self, *, repaired: bool = False, reason: str | None = None) -> RepairReport:
        found = {rule: self.rewritten[rule] for rule in sorted(self.rewritten)}
        return RepairReport(repaired=repaired, reason=reason, dropped_lines=self.dropped, rewritten=found)


class _Sound:
    """The state in which the last few sound files were seen: whoever repairs before every load reads each once."""

    def __init__(self) -> None:
        self._states: dict[Path, tuple[int, ...]] = {}

    def knows(self, path: Path) -> bool:
        """Say whether the file at *path* was sound and has not been written since."""
        return path in self._states and self._states[path] == _state(path.stat())

    def add(self, path: Path, stat: os.stat_result) -> None:
        """Note a file that was sound while *stat* held; the oldest is forgotten."""
        if time.time_ns() - stat.st_mtime_ns < _SETTLED_NS:
            return
        self._states.pop(path, None)
        self._states[path] = _state(stat)
        for oldest in list(self._states)[:-_REMEMBERED]:
            self._states.pop(oldest, None)


def _state(stat: os.stat_result) -> tuple[int, ...]:
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


_sound: Final = _Sound()


def repair(path: Path, *, dry_run: bool = False, root: Path | None = None, disk: Disk | None = None) -> RepairReport:
    """Repair the session file at *path* and report.

    Never raises for what the file holds or the disk does: the report's reason says it, and the original is then in its
    place.  A sound file is not written.  With *dry_run* nothing is written and the counts say what would be.  A
    symbolic link is followed only inside *root* (by default the folder of *path*).
    """
    try:
        real = _located(path, root or path.parent)
        if _sound.knows(real):
            return RepairReport()
        survey = _survey(real)
    except FileNotFoundError:
        return RepairReport(reason="missing session file")
    except OSError as error:
        return RepairReport(reason=f"failed to read session file: {error.strerror or error}")
    if survey.refusal:
        return RepairReport(reason=survey.refusal)
    if survey.is_sound:
        _sound.add(real, survey.stat)
    if survey.is_sound or dry_run:
        return survey.report(reason=None if survey.is_sound else "dry run")
    return _repair_locked(real, survey, disk or Disk())


def _located(path: Path, root: Path) -> Path:
    try:
        real = path.resolve(strict=True)
    except RuntimeError as error:  # what Python before 3.13 says of links that lead to themselves
        raise OSError(f"{path.name} is a symbolic link that leads to itself") from error
    if not real.is_relative_to(root.resolve()):
        raise OSError(f"{path.name} is a symbolic link out of its folder")
    if not real.is_file():
        raise OSError("not a regular file")
    return real


def _repair_locked(path: Path, survey: _Survey, disk: Disk) -> RepairReport:
    try:
        with locked(path):
            return _try_repair(path, survey, disk)
    except OSError as error:
        return survey.report(reason=f"repair failed: {error.strerror or error}")


def _try_repair(path: Path, survey: _Survey, disk: Disk) -> RepairReport:
    for _ in range(_ATTEMPTS):
        if survey.is_outdated(path):
            survey = _survey(path)
        if survey.refusal or survey.is_sound:
            return survey.report(reason=survey.refusal or None)
        with contextlib.suppress(_Changed):
            return _Rewrite(path, survey, disk).run()
    return survey.report(reason="repair failed: the file is being written")


# ---- reading ----
def _lines(stream: BinaryIO, survey: _Survey) -> Iterator[Judged]:
    stream.seek(survey.start)
    at = survey.start
    while at < survey.end:
        line = stream.readline(survey.end - at)
        if not line:
            return
        at += len(line)
        yield judge(line)


def _survey(path: Path) -> _Survey:
    with path.open("rb") as stream:
        survey = _Survey(stat=os.fstat(stream.fileno()))
        size = survey.stat.st_size
        survey.end = data_end(stream, size)
        stream.seek(0)
        survey.start = len(codecs.BOM_UTF8) if stream.read(3) == codecs.BOM_UTF8 else 0
        survey.rewritten.update({"bom": 1} if survey.start else {})
        survey.rewritten.update({"nul": 1} if survey.end < size else {})
        pairs = Pairs()
        for judged in _lines(stream, survey):
            _take_note(judged, survey, pairs)
            if survey.refusal:
                return survey
    if not survey.entries:
        survey.refusal = "empty session file"
    survey.missing = pairs.missing()
    inserted = sum(len(calls) for calls in survey.missing.values())
    survey.rewritten.update({"aborted-result": inserted} if inserted else {})
    return survey


def _take_note(judged: Judged, survey: _Survey, pairs: Pairs) -> None:
    survey.rewritten.update(judged.rules)
    survey.dropped += judged.dropped
    survey.rejected += len(judged.rejected)
    for entry in judged.entries:
        if not survey.entries:
            survey.refusal = _refusal(entry.value)
        pairs.note(survey.entries, entry.value)
        survey.entries += 1


def _refusal(header: Mapping[str, Any]) -> str:
    if header.get("type") != "session" or not isinstance(header.get("id"), str) or not header["id"]:
        return "invalid session header"
    version = header.get("version", 1)
    if not isinstance(version, int) or version > NEWEST_VERSION:
        return f"unsupported session version {str(version)[:_SHOWN]}"
    return ""


# ---- writing ----
class _Rewrite:
    """One attempt to replace a file by its repaired copy."""

    def __init__(self, path: Path, survey: _Survey, disk: Disk) -> None:
        stamp = f"{os.getpid()}-{time.time_ns() // 1_000_000}"
        self._path, self._survey, self._disk = path, survey, disk
        self._backup = path.with_name(f"{path.name}.bak-{stamp}")
        self._copy = path.with_name(f"{path.name}.tmp-{stamp}")
        self._quarantine = Quarantine(path, survey.stat, disk)
        self._moved: dict[str, str] = {}

    def run(self) -> RepairReport:
        """Do it. Raises _Changed when the file was written meanwhile; the original then stands as it was."""
        with self._path.open("rb") as old:
            try:
                self._disk.copy(self._path, self._backup, self._survey.stat)
                self._write(old)
                if self._survey.is_outdated(self._path):
                    raise _Changed("the file changed while it was repaired")
                self._disk.replace(self._copy, self._path)
            except OSError as error:
                return self._undone(error)
            return self._settled(old)

    def _settled(self, old: BinaryIO) -> RepairReport:
        """Finish behind the replacement: from here on the new file is the file, whatever happens."""
        report = self._survey.report(repaired=True)
        if self._survey.rejected:
            report = replace(report, quarantine=str(self._quarantine.path))
        kept = self._quarantine.overflowed
        try:
            self._disk.settle(self._path.parent)
            self._catch_up(old)
            if not kept:
                self._disk.remove(self._backup)
        except OSError:
            kept = True
        prune_backups(self._path, self._disk)
        return replace(report, backup=str(self._backup)) if kept else report

    def _undone(self, error: OSError) -> RepairReport:
        """Take back what was written beside the original, and say what could not be."""
        self._quarantine.undo()
        left = [path for path in (self._copy, self._backup) if not self._removed(path)]
        if isinstance(error, _Changed) and not left:
            raise error
        report = self._survey.report(reason=f"repair failed: {error.strerror or error}")
        return replace(report, backup=str(self._backup)) if self._backup in left else report

    def _removed(self, path: Path) -> bool:
        try:
            self._disk.remove(path)
        except OSError:
            return not path.exists()
        return True

    def _write(self, old: BinaryIO) -> None:
        index = 0
        with self._disk.create(self._copy, self._survey.stat) as new:
            for judged in _lines(old, self._survey):
                new.write(self._lines_of(judged, index))
                index += len(judged.entries)
                if judged.rejected:
                    self._quarantine.add(judged.rejected)
            self._quarantine.close()
            self._disk.sync(new)

    def _lines_of(self, judged: Judged, index: int) -> bytes:
        concerned = any(at in self._survey.missing for at in range(index, index + len(judged.entries)))
        if not judged.entries or not (concerned or self._moved):
            return judged.written()
        lines = b""
        for at, entry in enumerate(judged.entries, index):
            text = reparented(entry, self._moved)
            same = text is None and judged.is_clean and judged.raw.endswith(b"\n")
            lines += judged.raw if same else (text or entry.text).encode("utf-8", "surrogatepass") + b"\n"
            calls = self._survey.missing.get(at)
            if calls:
                found = aborted_entries(entry.value, calls)
                lines += encoded(found)
                self._moved[entry.value["id"]] = found[-1]["id"]
        return lines

    def _catch_up(self, old: BinaryIO) -> None:
        """Add what an appender wrote into the old file between the last look and its replacement."""
        old.seek(self._survey.stat.st_size)
        late = old.read()
        if late:
            with self._path.open("ab") as new:
                new.write(late)
                self._disk.sync(new)
