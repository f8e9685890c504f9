"""Commands that bring conversations in and take a memory out: import, export."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from stenolith.cli.options import COMMON, Common, refuse_existing
from stenolith.cli.output import emit, err, note, say
from stenolith.errors import InvalidInput

SHOWN = 20
"""Faults of a file that are named one by one."""
FormatName = Literal[
    "auto", "seed", "canonical", "openclaw", "openai", "anthropic", "chatgpt", "claude", "tdai", "stenolith"
]


async def import_(
    *files: Annotated[Path, Parameter(allow_leading_hyphen=True)],
    format_: Annotated[FormatName, Parameter(name="--format")] = "auto",
    common: Common = COMMON,
) -> int:
    """Read conversations from files; importing the same file again records nothing.

    Example: stenolith import history.json --format seed

    Parameters
    ----------
    files
        Files to read; `-` is standard input.
    format_
        How to read them; `auto` looks at the content.
    """
    if not files:
        raise InvalidInput("import needs at least one file")
    with tempfile.TemporaryDirectory(prefix="stenolith-import-") as folder:
        report = await _import(common, [_spooled(file, Path(folder)) for file in files], format_)
    emit(common.json, report, lambda: _tell_import(report))
    if report["errors"]:
        return 3 if report["messages"] else 2
    return 0


def _spooled(file: Path, folder: Path) -> Path:
    """Return a file that can be read twice: standard input is written to one first."""
    if str(file) != "-":
        return file
    spool = folder / "standard-input"
    with spool.open("wb") as handle:
        shutil.copyfileobj(sys.stdin.buffer, handle)
    return spool


async def _import(common: Common, files: list[Path], format_: str) -> dict[str, Any]:
    async with common.memory() as memory:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
            task = progress.add_task("importing", total=None)
            return await memory.import_files(
                files,
                scope=common.scope(),
                format_name=format_,
                on_progress=lambda done, total: progress.update(task, completed=done, total=total),
            )


def _tell_import(report: dict[str, Any]) -> None:
    say(f"{report['sessions']} sessions, {report['messages']} messages, {report['recorded']} recorded")
    for reason, count in report["skipped"].items():
        say(f"  {count} skipped: {reason}", "dim")
    for problem in report["errors"][:SHOWN]:
        place = f"{problem['file']}, line {problem['line']}" if problem["line"] else problem["file"]
        note(f"{place}: {problem['message']}", "yellow")
    if len(report["errors"]) > SHOWN:
        note(f"and {len(report['errors']) - SHOWN} more; --json names all", "yellow")


async def export(*, out: Path | None = None, common: Common = COMMON) -> int:
    """Write everything the scope owns as JSON lines, with a manifest and checksums; with --session one transcript.

    Examples: stenolith export --out memory.jsonl
              stenolith export --session agent:main --out session.jsonl

    Parameters
    ----------
    out
        File to write (0600); standard output without it.
    """
    if out is not None:
        refuse_existing(out)
    async with common.memory(create=False) as memory:
        report = await memory.export(out, scope=common.scope())
    if out is not None:
        emit(common.json, report, lambda: say(f"{report['lines']} lines in {out}"))
    return 0
