"""The command `scene`: print a dossier, and make a person's edit of it memory."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from stenolith.cli.options import COMMON, Common, read_input
from stenolith.cli.output import emit, note, say
from stenolith.cli.reading import tell_ways
from stenolith.errors import InvalidInput, StenolithError

if TYPE_CHECKING:
    from stenolith.engine import Memory

scene = App(
    name="scene",
    help="Print the dossier of a project or topic, or edit it by hand.",
    help_epilogue='Examples: stenolith scene "鉴权模块" --json    stenolith scene edit "鉴权模块"',
    help_format="plaintext",
)
_SIGNS = {"add": ("+", "green"), "remove": ("-", "red"), "change": ("~", "yellow")}


@scene.default
async def show_scene(name: str, /, *, as_of: str | None = None, common: Common = COMMON) -> int:
    """Print a scene: the dossier of one project or topic, every line citing its atoms.

    Example: stenolith scene "鉴权模块"

    Parameters
    ----------
    name
        Name, title or id of the scene; `stenolith list scenes` shows them.
    as_of
        As it was written then: a date or time.
    """
    async with common.memory(create=False) as memory:
        when = memory.filters(as_of=as_of).as_of_ms
        found = await memory.scene(name, scope=common.scope(), as_of=when)
    emit(common.json, found, lambda: say(found["markdown"]))
    if not common.json:
        tell_ways(found)
    return 0


@scene.command
async def edit(
    name: str,
    source: Annotated[Path | None, Parameter(allow_leading_hyphen=True)] = None,
    /,
    *,
    file: Annotated[Path | None, Parameter(allow_leading_hyphen=True)] = None,
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    common: Common = COMMON,
) -> int:
    """Edit a scene by hand: what you write there becomes memory, recorded as yours.

    A line you change takes the place of what it said; a line you delete is withdrawn; a title you give stays. Without a
    file your editor (VISUAL, else EDITOR) opens the page. When the scene has changed meanwhile, or a line cannot be
    kept, nothing is changed and your text is left in a file.

    Examples: stenolith scene edit "鉴权模块"
              stenolith scene "鉴权模块" > page.md    stenolith scene edit "鉴权模块" --file page.md --dry-run

    Parameters
    ----------
    name
        Name, title or id of the scene.
    source
        `-` reads the edited page from standard input.
    file
        The edited page; it keeps its first line, which names the revision it was made from.
    dry_run
        Say what would change, and change nothing.
    """
    if source is not None and file is not None:
        raise InvalidInput("say either --file FILE or `-`, not both")
    async with common.memory(create=False) as memory:
        if (given := file or source) is None:
            return await _in_editor(memory, name, dry_run, common)
        report = await _from_file(memory, name, given, dry_run, common)
    emit(common.json, report, lambda: _tell_edit(report))
    return 0


async def _from_file(memory: Memory, name: str, given: Path, dry_run: bool, common: Common) -> dict[str, Any]:
    """Take an edited page; what came through standard input and was not taken is kept in a file."""
    text = _decoded(read_input(given), given)
    try:
        return await memory.edit_scene(name, text, scope=common.scope(), dry_run=dry_run)
    except StenolithError as error:
        lost = str(given) == "-" and text.strip() and not dry_run
        raise _with_place(error, _keep(memory, name, _without_secrets(memory, text)) if lost else None) from error


def _decoded(data: bytes, given: Path) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{given}: byte {error.start} is not UTF-8: save the page as UTF-8") from error


async def _in_editor(memory: Memory, name: str, dry_run: bool, common: Common) -> int:
    """Open the editor on a copy of the page; the copy goes when the edit was taken, and stays when not."""
    from stenolith.store.files import write_atomic

    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ("notepad" if os.name == "nt" else "vi")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidInput("there is no terminal to open an editor in: hand over the edited page with --file FILE or -")
    page = str((await memory.scene(name, scope=common.scope()))["markdown"])
    copy = _keep(memory, name, page)
    try:
        _run_editor(command, copy)
        text = _decoded(copy.read_bytes(), copy)
        report = await memory.edit_scene(name, text, scope=common.scope(), dry_run=dry_run)
    except StenolithError as error:
        if copy.read_bytes() == page.encode():
            shutil.rmtree(copy.parent)
            raise
        write_atomic(copy, _without_secrets(memory, _decoded(copy.read_bytes(), copy)).encode())
        raise _with_place(error, copy) from error
    if dry_run and report["changed"]:
        note(f"your text is in {copy}; `stenolith scene edit {shlex.quote(name)} --file` takes it")
    else:
        shutil.rmtree(copy.parent)
    emit(common.json, report, lambda: _tell_edit(report))
    return 0


def _run_editor(command: str, path: Path) -> None:
    try:
        done = subprocess.run([*shlex.split(command), str(path)], check=False)  # noqa: S603  # the person's own editor
    except (OSError, ValueError) as error:
        raise InvalidInput(f"the editor {command!r} cannot be started ({error}): set VISUAL or EDITOR") from error
    if done.returncode:
        raise InvalidInput(f"the editor ended with {done.returncode}; nothing was changed")


def _keep(memory: Memory, name: str, text: str) -> Path:
    """Write a page into a file of the home that only its owner can read, and return where."""
    from stenolith.store.files import EDITS, safe_name, write_atomic

    stamp = datetime.now(tz=UTC).strftime("%Y%m%dT%H%M%S%f")
    # A folder of its own, so that what the editor leaves beside the page goes with it.
    path = memory.settings.home / EDITS / stamp / f"{safe_name(name)[:60]}.md"
    write_atomic(path, text.encode())
    return path


def _without_secrets(memory: Memory, text: str) -> str:
    """Return a page as it may lie in the home: what the gate would take out is not written beside it either."""
    from stenolith.curate.secrets import redact

    return redact(text).text if memory.settings.capture.redact_secrets else text


def _with_place(error: StenolithError, place: Path | None) -> StenolithError:
    """Return the error with where the person's text is."""
    if place is None:
        return error
    return type(error)(f"{error}. Your text is kept in {place}", **error.facts)


def _tell_edit(report: dict[str, Any]) -> None:
    if not report["changed"]:
        say("Nothing was changed.", "dim")
        return
    for change in report["changes"]:
        if change["op"] in {"title", "summary"}:
            say(f"{change['op']}: {change['old']} → {change['new'] or '(drawn anew)'}", "yellow")
            continue
        sign, style = _SIGNS[change["op"]]
        say(f"{sign} {change['section']}: {change.get('new') or change['old']}", style)
        if change["op"] == "change":
            say(f"    was: {change['old']}", "dim")
    for other in report["needs_review"]:
        say(f"says otherwise, please look: {other}", "yellow")
    if report["dry_run"]:
        say("Nothing was changed: this was a dry run.", "dim")
    else:
        say(f"{report['name']} is at revision {report['version']}", "dim")
