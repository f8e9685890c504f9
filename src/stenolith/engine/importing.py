"""Conversations of foreign files come in through the same door as a host's turns."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stenolith.capture.align import alignment_digest
from stenolith.capture.record import Recorder
from stenolith.capture.turn import Turn
from stenolith.engine.wiring import House
from stenolith.errors import InvalidInput
from stenolith.interop import Choices, Conversation, conversations
from stenolith.interop.seed import SeedOptions
from stenolith.model.identity import Scope
from stenolith.store.cursors import Cursor
from stenolith.store.records import Record

STAGE = "import"
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

    async def run(
        self, files: Sequence[Path], scope: Scope, form: str, on_progress: Progress | None = None
    ) -> ImportReport:
        """Import *files* one conversation at a time; what cannot be read is named and the rest goes on."""
        report = ImportReport()
        owner_id = await self._house.owners.intern(scope)
        try:
            for conversation in self._conversations(files, scope, form, report):
                await self._take(owner_id, scope, conversation, report)
                if on_progress:
                    on_progress(report.messages, None)
        finally:
            await self._write_journal()
        return report

    def _conversations(
        self, files: Sequence[Path], scope: Scope, form: str, report: ImportReport
    ) -> Iterator[Conversation]:
        for path in files:
            yield from self._read(path, scope, form, report)

    def _read(self, path: Path, scope: Scope, form: str, report: ImportReport) -> Iterator[Conversation]:
        zone = self._house.settings.zone
        choices = Choices(session_key=scope.session_key, zone=zone, seed=SeedOptions(zone=zone))
        try:
            if path.is_file():
                yield from self._found(path, conversations(path, form, choices), report)
            else:
                report.errors.append({"file": str(path), "line": 0, "message": "there is no such file"})
        except InvalidInput as error:
            for fault in error.facts.get("errors") or [error]:
                line = int(getattr(fault, "line", 0) or error.facts.get("line") or 0)
                report.errors.append({"file": str(path), "line": line, "message": str(fault)})

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
        name = f"{conversation.session_key}\n{conversation.session_id}"
        digests = [alignment_digest(message) for message in conversation.messages]
        known = await self._house.cursors.get(owner_id, STAGE, name)
        seen = known.position if _fingerprint(digests[: known.position]) == known.state.get("digest") else 0
        if seen:
            report.skipped["already stored"] += seen
        if seen == len(digests):
            return
        within = scope.narrowed(conversation.session_key, conversation.session_id)
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


def _fingerprint(digests: Sequence[str]) -> str:
    """Return what a run of messages is recognised by when its file is imported again."""
    return hashlib.blake2b("\n".join(digests).encode(), digest_size=16).hexdigest() if digests else ""
