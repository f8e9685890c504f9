"""Commands that keep a home in order: work, jobs, doctor, rebuild, stats, backup, restore."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from stenolith.cli.options import COMMON, SEVERAL, Common, refuse_existing
from stenolith.cli.output import emit, err, moment, note, say, say_all

if TYPE_CHECKING:
    from stenolith.pipeline.worker import WorkReport


async def work(
    *,
    until_idle: Annotated[bool, Parameter(negative="")] = False,
    kinds: Annotated[list[str] | None, SEVERAL] = None,
    common: Common = COMMON,
) -> int:
    """Run the pending jobs of every scope: distil atoms, write scenes and persona, compute vectors.

    Examples: stenolith work --until-idle
              stenolith work --kinds distill embed

    Parameters
    ----------
    until_idle
        Go on with the jobs that these jobs make, until nothing is due.
    kinds
        Only jobs of these kinds.
    """
    async with common.memory() as memory:
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
            task = progress.add_task("working")
            found = await memory.work(
                kinds=kinds,
                until_idle=until_idle,
                on_progress=lambda so_far: progress.update(task, description=_progress(so_far)),
            )
    report = found.to_dict()
    emit(common.json, report, lambda: _tell_work(report))
    return 3 if report["dead"] or report["failed"] else 0


def _progress(so_far: WorkReport) -> str:
    done = ", ".join(f"{kind} {count}" for kind, count in so_far.done.items())
    return f"{done or 'working'}; {so_far.pending} pending"


def _tell_work(report: dict[str, Any]) -> None:
    for kind, count in report["done"].items():
        say(f"{kind}: {count} done")
    for kind, count in report["failed"].items():
        say(f"{kind}: {count} failed, will be tried again", "yellow")
    for kind, count in report["dead"].items():
        say(f"{kind}: {count} given up; see `stenolith jobs dead`", "red")
    say(f"{report['pending']} pending{'; see `stenolith jobs`' if report['pending'] else ''}", "dim")


async def worker(*, common: Common = COMMON) -> int:
    """Run jobs as they become due, for every scope of the home, until the process is told to stop.

    Any number of workers may serve one home. SIGTERM and Ctrl-C let running jobs end.

    Example: stenolith worker --home /srv/memory
    """
    stop = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # Windows has no signal handlers in event loops
            asyncio.get_running_loop().add_signal_handler(name, stop.set)
    async with common.memory() as memory:
        note(f"working for {memory.settings.home}; Ctrl-C stops")
        report = (await memory.serve(stop)).to_dict()
    emit(common.json, report, lambda: _tell_work(report))
    return 0


jobs = App(name="jobs", help="See the queue: what is pending, what failed, what was given up.")


@jobs.default
@jobs.command(name="list")
async def list_jobs(*, common: Common = COMMON) -> int:
    """List the jobs that are pending or running.

    Example: stenolith jobs list
    """
    return await _tell_jobs(common, dead=False)


@jobs.command
async def dead(*, common: Common = COMMON) -> int:
    """List the jobs that were given up, with their last error.

    Example: stenolith jobs dead
    """
    return await _tell_jobs(common, dead=True)


async def _tell_jobs(common: Common, *, dead: bool) -> int:
    async with common.memory(create=False) as memory:
        found = await memory.jobs(dead=dead)
        zone = memory.settings.zone
    emit(common.json, found, lambda: _list_jobs(found["items"], zone))
    if found["health"]["status"] != "ok":
        note(f"degraded: {'; '.join(found['health']['reasons'])}", "yellow")
    return 0


def _list_jobs(items: list[dict[str, Any]], zone: tzinfo) -> None:
    for item in items:
        due = moment(item["run_after"], zone)
        say(f"{item['id']}  {item['kind']:<8} {item['state']:<8} due {due}  attempts {item['attempts']}")
        if item["error"]:
            say(f"    {item['error']}", "yellow")
    if not items:
        say("No such jobs.", "dim")


@jobs.command
async def retry(job_id: str, /, *, common: Common = COMMON) -> int:
    """Run a job again that was given up, or at once one that waits after a failure.

    Example: stenolith jobs retry job_01k...

    Parameters
    ----------
    job_id
        Its id, as `stenolith jobs` and `stenolith jobs dead` print it.
    """
    async with common.memory(create=False) as memory:
        found = await memory.retry_job(job_id)
    emit(common.json, found, lambda: say(f"{found['id']} is due now"))
    return 0


async def doctor(*, fix: Annotated[bool, Parameter(negative="")] = False, common: Common = COMMON) -> int:
    """Examine the home: database, JSONL files, indexes and queue agree, or say what does not.

    Example: stenolith doctor --fix

    Parameters
    ----------
    fix
        Repair what can be repaired without losing anything.
    """
    async with common.memory(create=False) as memory:
        report = await memory.doctor(fix=fix)
    emit(common.json, report, lambda: _tell_doctor(report))
    return 0 if report["healthy"] else 1


def _tell_doctor(report: dict[str, Any]) -> None:
    for check in report["checks"]:
        mark, style = ("ok", "green") if check["ok"] else ("!!", "red")
        say(f"{mark}  {check['name']}: {check['detail']}", style)
        for line in check["problems"][:10]:
            say(f"      {line}")
    if not report["healthy"]:
        note("`stenolith doctor --fix` repairs what can be repaired.")


async def rebuild(
    what: Literal["indexes", "journal", "records", "files", "all"] = "all", /, *, common: Common = COMMON
) -> int:
    """Make derived data anew: search rows and vectors, JSONL files, records, Markdown files.

    Example: stenolith rebuild indexes

    Parameters
    ----------
    what
        `records` makes the L0 rows from the daily JSONL files; the others go from the database outwards.
    """
    async with common.memory(create=False) as memory:
        report = await memory.rebuild(what)
    emit(common.json, report, lambda: say_all(report))
    return 3 if report.get("damaged_lines") or report.get("set_aside") else 0


async def stats(*, common: Common = COMMON) -> int:
    """Count what the scope holds, and how large the home is.

    Example: stenolith stats --json
    """
    async with common.memory(create=False) as memory:
        report = await memory.stats(scope=common.scope())
    emit(common.json, report, lambda: say_all(report))
    return 0


async def backup(file: Path, /, *, common: Common = COMMON) -> int:
    """Write the whole home into one file while it is in use.

    Example: stenolith backup memory-2026-11-30.zip

    Parameters
    ----------
    file
        Where to write; an existing file is not overwritten.
    """
    refuse_existing(file)
    async with common.memory(create=False) as memory:
        report = await memory.backup(file)
    emit(common.json, report, lambda: say(f"{report['files']} files, {report['bytes']} bytes in {file}"))
    return 0


async def restore(file: Path, /, *, common: Common = COMMON) -> int:
    """Make a home from a backup; the home must be empty or absent.

    Example: stenolith restore memory-2026-11-30.zip --home /srv/memory

    Parameters
    ----------
    file
        The backup.
    """
    from stenolith.engine import restore_home

    report = await restore_home(file, common.settings())
    emit(common.json, report, lambda: say(f"{report['files']} files restored to {report['home']}"))
    return 0


async def migrate(*, to: str, common: Common = COMMON) -> int:
    """Copy the home's tables to another database, and verify every table by count and checksum.

    The source is left as it is. Afterwards set `database` (or STENOLITH_DATABASE) to use the copy.

    Example: stenolith migrate --to postgresql://memory@db.internal/stenolith

    Parameters
    ----------
    to
        URL of an empty PostgreSQL database, or `sqlite` for the home's own file.
    """
    from stenolith.engine.moving import move_home

    report = await move_home(common.settings(), to, lambda table: note(f"{table.table}: {table.rows} rows agree"))
    emit(
        common.json, report, lambda: say(f"{report['rows']} rows in {len(report['tables'])} tables copied and verified")
    )
    return 0
