"""Conversations of foreign files come in through the same door as a host's turns."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stenolith.capture.align import alignment_digest
from stenolith.capture.record import Recorder
from stenolith.capture.turn import Turn
from stenolith.engine.wiring import House
from stenolith.errors import InvalidInput, StoreUnavailable
from stenolith.interop import Choices, Conversation, conversations
from stenolith.interop.seed import SeedOptions
from stenolith.model.identity import Scope
from stenolith.model.message import mended
from stenolith.store.cursors import Cursor
from stenolith.store.records import Record

STAGE = "import"
_PACKED = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
JOURNAL_BATCH = 500
"""Records whose journal lines are written together."""
Progress = Callable[[int, int | None], None]


@dataclass(slots=True, kw_only=True)
class ImportReport:
    """What an import did."""

    sessions: int = 0
    messages: int = 0
    recorded: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    errors: list[dict[str, Any]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of ``stenolith import --json``."""
        return {
            "sessions": self.sessions,
            "messages": self.messages,
            "recorded": self.recorded,
            "skipped": dict(self.skipped),
            "errors": self.errors,
        }


class Importing:
    """Streams files into the recorder; the second run of the same file records nothing."""

    def __init__(self, house: House, recorder: Recorder) -> None:
        self._house = house
        self._recorder = recorder
        self._unwritten: list[Record] = []
        self._path = Path()

    async def run(
        self, files: Sequence[Path], scope: Scope, form: str, on_progress: Progress | None = None
    ) -> ImportReport:
        """Import *files* one conversation at a time; what cannot be read is named and the rest goes on.

        A store that fails on the way is named too: what was imported before stays, and a second run goes on there.
        """
        report = ImportReport()
        owner_id = await self._house.owners.intern(scope)
        try:
            for conversation in self._conversations(files, scope, form, report):
                await self._take(owner_id, scope, conversation, report)
                if on_progress:
                    on_progress(report.messages, None)
            await self._write_journal()
        except StoreUnavailable as error:
            if not report.recorded:
                raise
            said = f"stopped in conversation {report.sessions}: {error}; what came before it is kept: run it again"
            report.errors.append({"file": str(self._path), "line": 0, "message": said})
        finally:
            with suppress(StoreUnavailable):  # the daily files catch up when there is room again
                await self._write_journal()
        return report

    def _conversations(
        self, files: Sequence[Path], scope: Scope, form: str, report: ImportReport
    ) -> Iterator[Conversation]:
        for path in files:
            self._path = path
            yield from self._read(path, scope, form, report)

    def _read(self, path: Path, scope: Scope, form: str, report: ImportReport) -> Iterator[Conversation]:
        zone = self._house.settings.zone
        choices = Choices(session_key=scope.session_key, zone=zone, seed=SeedOptions(zone=zone))
        try:
            if obstacle := unreadable(path):
                report.errors.append({"file": str(path), "line": 0, "message": obstacle})
            else:
                yield from self._found(path, conversations(path, form, choices), report)
        except InvalidInput as error:
            for fault in error.facts.get("errors") or [error]:
                line = int(getattr(fault, "line", 0) or error.facts.get("line") or 0)
                message = str(fault).removeprefix(f"line {line}: ")
                report.errors.append({"file": str(path), "line": line, "message": message})

    def _found(self, path: Path, found: Iterator[Conversation], report: ImportReport) -> Iterator[Conversation]:
        for conversation in found:
            for problem in conversation.problems:
                report.errors.append({"file": str(path), "line": problem.line, "message": problem.message})
            yield conversation

    async def _take(self, owner_id: int, scope: Scope, conversation: Conversation, report: ImportReport) -> None:
        if not conversation.messages:
            return
        report.sessions += 1
        report.messages += len(conversation.messages)
        key, instance = mended(conversation.session_key), mended(conversation.session_id)
        name = f"{key}\n{instance}"
        digests = [alignment_digest(message) for message in conversation.messages]
        known = await self._house.cursors.get(owner_id, STAGE, name)
        seen = known.position if _fingerprint(digests[: known.position]) == known.state.get("digest") else 0
        if seen:
            report.skipped["already stored"] += seen
        if seen == len(digests):
            return
        within = scope.narrowed(key, instance)
        # Behind what an earlier run imported everything is new: the mark says so, content still has the last word.
        turn = Turn(messages=conversation.messages[seen:], mark=0 if seen else None)
        captured = await self._recorder.record(owner_id, within, turn)
        note = Cursor(position=len(digests), state={"digest": _fingerprint(digests)})
        await self._house.cursors.reset(owner_id, STAGE, name)
        await self._house.cursors.advance(owner_id, STAGE, name, note)
        report.recorded += len(captured.recorded)
        report.skipped.update(reason for _, reason in captured.skipped)
        self._unwritten += captured.recorded
        if len(self._unwritten) >= JOURNAL_BATCH:
            await self._write_journal()

    async def _write_journal(self) -> None:
        batch, self._unwritten = self._unwritten, []
        if batch:
            await self._house.journal.append(batch)


def unreadable(path: Path) -> str:
    """Say why *path* cannot be read as text, and what to do; empty when nothing speaks against it."""
    try:
        if path.is_dir():
            return "this is a folder: name the files in it"
        if not path.exists():
            return "there is no such file"
        if not path.is_file():
            return "this is no regular file: save what it gives to one, and read that"
        with path.open("rb") as handle:
            packer = packer_of(handle.read(8))
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    return f"the file is compressed ({packer}): unpack it first" if packer else ""


def packer_of(head: bytes) -> str:
    """Return the name of the program that packed a file which begins with *head*, or an empty text."""
    return next((name for mark, name in _PACKED.items() if head.startswith(mark)), "")


def _fingerprint(digests: Sequence[str]) -> str:
    """Return what a run of messages is recognised by when its file is imported again."""
    return hashlib.blake2b("\n".join(digests).encode(), digest_size=16).hexdigest() if digests else ""
