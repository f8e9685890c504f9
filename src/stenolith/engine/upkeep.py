"""Examining a home and keeping it in order: doctor, stats, backup, restore."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import tempfile
import zipfile
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from stenolith.engine.rebuilding import Rebuilding
from stenolith.engine.wiring import DATABASE, House
from stenolith.errors import InvalidInput, NotFound
from stenolith.model.identity import Scope
from stenolith.settings import Settings
from stenolith.store.files import make_private
from stenolith.store.inspection import Inspection
from stenolith.store.jobs import Job, State
from stenolith.store.usage import ModelUsage

LATE_MS: Final = 15 * 60_000
"""Age after which a due job says that no worker runs."""
STUCK_MS: Final = 6 * 3_600_000
"""Age after which an open turn is taken for abandoned: no exchange lasts six hours."""
LISTED_JOBS: Final = 10_000
"""Jobs of one state that a listing shows; the counts beside it are of all."""
_AGREEMENTS: Final = {
    "every record is searchable": "records_without_row",
    "every atom is searchable": "atoms_without_row",
    "every search row has its source": "rows_without_source",
    "every record has its message": "records_without_message",
    "every active atom has evidence": "atoms_without_evidence",
    "sessions have no gaps": "gaps_in_sessions",
}
_PAGES: Final = "pages of scenes say what memory says"
_INDEX_FAULTS: Final = frozenset({"records_without_row", "atoms_without_row", "rows_without_source"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was examined."""

    name: str
    problems: tuple[str, ...] = ()
    detail: str = ""
    fixed: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return its JSON."""
        sound = not self.problems
        detail = self.detail or ("sound" if sound else f"{len(self.problems)} problems")
        shape = {"name": self.name, "ok": sound or self.fixed, "fixed": self.fixed, "detail": detail}
        return {**shape, "problems": list(self.problems)}


@dataclass(slots=True)
class Upkeep:
    """Doctor, stats and backups of one home."""

    house: House
    rebuilding: Rebuilding
    recover: Callable[[int], Awaitable[list[str]]]
    """Closes the turns left open since before a moment (epoch ms) and returns their ids."""
    inspection: Inspection = field(init=False)

    def __post_init__(self) -> None:
        """Make what examines the database."""
        self.inspection = Inspection(self.house.database)

    async def doctor(self, *, fix: bool) -> dict[str, Any]:
        """Examine everything; with *fix* repair what can be repaired without losing anything."""
        checks = [await self._pages(), self._modes(fix=fix), await self._journal(fix=fix)]
        checks += await self._agreements(fix=fix)
        checks += [await self._turns(fix=fix), await self._queue(), await self._pages_of_scenes()]
        shown = [check.to_dict() for check in checks]
        return {"healthy": all(check["ok"] for check in shown), "fixed": fix, "checks": shown}

    async def _pages(self) -> Check:
        return Check(name="database pages", problems=tuple(await self.inspection.damage()))

    def _modes(self, *, fix: bool) -> Check:
        """Find files of the home that other people of the machine could read."""
        loose: list[str] = []
        for path in [self.house.home, *self.house.home.rglob("*")]:
            mode = stat.S_IMODE(path.lstat().st_mode)
            if path.is_symlink() or not mode & 0o077:
                continue
            loose.append(f"{path} is {mode:04o}")
            if fix:
                path.chmod(0o700 if path.is_dir() else 0o600)
        return Check(name="files are private", problems=tuple(loose), fixed=fix)

    async def _journal(self, *, fix: bool) -> Check:
        try:
            return await self._daily_files(fix=fix)
        except OSError as error:
            problem = f"{error.filename or self.house.home}: {error.strerror or error}"
            return Check(name="database and JSONL agree", problems=(problem,))

    async def _daily_files(self, *, fix: bool) -> Check:
        days = [day for day in await self.house.journal.verify() if not day.agrees]
        problems = []
        for day in days:
            parts = {
                "missing in the file": len(day.missing_in_file),
                "missing in the database": len(day.missing_in_database),
                "saying something else": len(day.differing),
                "written twice": len(day.repeated),
                "damaged": len(day.damaged),
            }
            problems.append(f"{day.day}: " + ", ".join(f"{count} {what}" for what, count in parts.items() if count))
            problems += [f"{line.file}, line {line.number}: {line.reason}" for line in day.damaged]
        if fix and days:
            # Lines first: what only the file knows becomes a record again before the file is written anew.
            await self.rebuilding.records()
            await self.house.journal.rebuild_files([day.day for day in days])
            days = [day for day in await self.house.journal.verify() if not day.agrees]
        return Check(name="database and JSONL agree", problems=tuple(problems), fixed=fix and not days)

    async def _agreements(self, *, fix: bool) -> list[Check]:
        found = {name: await self.inspection.disagreements(question) for name, question in _AGREEMENTS.items()}
        broken = {_AGREEMENTS[name] for name, problems in found.items() if problems}
        mended = fix and bool(broken & _INDEX_FAULTS)
        if mended:
            await self.rebuilding.indexes()
        return [
            Check(name=name, problems=tuple(problems), fixed=mended and _AGREEMENTS[name] in _INDEX_FAULTS)
            for name, problems in found.items()
        ]

    async def _pages_of_scenes(self) -> Check:
        """Find pages that were changed on disk: no repair touches them, for it could only throw the change away."""
        try:
            edited = await self.rebuilding.edited_outside()
        except OSError as error:
            why = f"{error.filename or self.house.home}: {error.strerror or error}"
            return Check(name=_PAGES, problems=(why,))
        problems = [
            f"{path} was changed on disk, which is not memory: `stenolith scene edit {name} --file {path}` makes it"
            " memory; `stenolith rebuild files` would overwrite it"
            for name, path in edited
        ]
        return Check(name=_PAGES, problems=tuple(problems))

    async def _turns(self, *, fix: bool) -> Check:
        before = self.house.now() - STUCK_MS
        if fix:
            closed = await self.recover(before)
            return Check(name="no turn is left open", detail=f"{len(closed)} closed" if closed else "")
        stuck = await self.house.transcripts.abandoned(before)
        return Check(name="no turn is left open", problems=tuple(turn_id for _, turn_id in stuck))

    async def _queue(self) -> Check:
        counts = await self.house.jobs.counts_of_home()
        dead = {kind: states["dead"] for kind, states in counts.items() if states.get("dead")}
        waiting = sum(states.get("pending", 0) for states in counts.values())
        problems = tuple(f"{kind}: {count} given up (stenolith jobs dead)" for kind, count in dead.items())
        return Check(name="queue", problems=problems, detail="" if problems else f"{waiting} pending")

    async def health(self) -> dict[str, Any]:
        """Say whether anything is behind, dead or missing, with counts and reasons."""
        now, counts = self.house.now(), await self.house.jobs.counts_of_home()
        waiting = await self.house.jobs.waiting()
        failed = Counter(job.kind for job in await self.house.jobs.listing_of_home("pending", limit=1000) if job.error)
        troubles = {
            "given up": {kind: states["dead"] for kind, states in counts.items() if states.get("dead")},
            "due for long, so no worker runs": {item.kind: item.count for item in waiting if item.at < now - LATE_MS},
            "failed and will be tried again": failed,
        }
        reasons = [f"{kind}: {count} {what}" for what, found in troubles.items() for kind, count in found.items()]
        reasons += await self._projections_behind()
        return {"status": "degraded" if reasons else "ok", "reasons": reasons, "jobs": counts}

    async def _projections_behind(self) -> list[str]:
        """Say which projections do not show everything, though work may be under way to catch up."""
        house, reasons = self.house, []
        if lines := sum((await house.journal.behind()).values()):
            reasons.append(f"journal: {lines} records have no line in the daily files yet")
        if house.embedder is not None:
            mine = house.embedder.model_id
            others = [model for model in await house.vectors.models() if model != mine]
            reasons += [f"embed: vectors of {model} wait to be replaced by those of {mine}" for model in others]
        return reasons

    async def jobs(self, *, dead: bool) -> dict[str, Any]:
        """Return the jobs of the home that wait or run, or those that were given up."""
        states: tuple[State, ...] = ("dead",) if dead else ("running", "pending")
        found = [job for state in states for job in await self.house.jobs.listing_of_home(state, limit=LISTED_JOBS)]
        return {"items": [_job_view(job) for job in found], "health": await self.health()}

    async def retry(self, job_id: str) -> dict[str, Any]:
        """Make a job of any owner that was given up, or waits for its time, due now. Raises `NotFound`."""
        states: tuple[State, ...] = ("dead", "pending")
        for job in [job for state in states for job in await self.house.jobs.listing_of_home(state, limit=100_000)]:
            if job.id == job_id:
                return {"id": await self.house.jobs.retry(job.owner_id, job_id), "state": "pending"}
        raise NotFound(f"there is no job {job_id} that was given up or waits for its time")

    async def stats(self, scope: Scope) -> dict[str, Any]:
        """Count what the owner has and how large the home is (bytes)."""
        owner_id = await self.house.owners.find(scope)
        totals = await self.inspection.totals(owner_id)
        atoms = await self.house.atoms.counts(owner_id)
        by_status: dict[str, int] = {}
        for states in atoms.values():
            for status, count in states.items():
                by_status[status] = by_status.get(status, 0) + count
        files = [path for path in self.house.home.rglob("*") if path.is_file()]
        return {
            **totals,
            "atoms": by_status,
            "atoms_by_kind": {kind: sum(states.values()) for kind, states in atoms.items()},
            "jobs": await self.house.jobs.counts(owner_id),
            "embedder": self.house.embedder.model_id if self.house.embedder else None,
            "model_usage": await self._usage(owner_id),
            "bytes": sum(path.stat().st_size for path in files),
        }

    async def _usage(self, owner_id: int) -> list[dict[str, Any]]:
        """Return what language models cost this owner, by day, kind of work and model."""
        spent = await ModelUsage(self.house.database).of_owner(owner_id)
        return [
            {"day": account.day, "kind": account.kind, "model": account.model, **asdict(spending)}
            for account, spending in spent.items()
        ]

    async def backup(self, target: Path) -> dict[str, Any]:
        """Write the database's snapshot and every other file of the home into one zip file (0600).

        Raises `InvalidInput` for a home whose tables are on a server.
        """
        if self.house.settings.database:
            raise InvalidInput(
                "the tables of this home are on PostgreSQL: copy them with pg_dump, or use `stenolith export`"
            )
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".stenolith-backup-") as folder:
            copy = Path(folder) / DATABASE
            await self.house.database.copy_to(copy)
            count = await asyncio.to_thread(_zip, self.house.home, copy, Path(folder) / "backup.zip")
            size = (Path(folder) / "backup.zip").stat().st_size
            (Path(folder) / "backup.zip").replace(target)
        return {"files": count, "bytes": size, "file": str(target)}


def _job_view(job: Job) -> dict[str, Any]:
    names = ("id", "kind", "key", "state", "attempts", "run_after", "error", "created_at", "updated_at")
    return {name: getattr(job, name) for name in names}


def _zip(home: Path, database: Path, target: Path) -> int:
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    names = [path for path in sorted(home.rglob("*")) if path.is_file() and not _is_database(path, home)]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(database, DATABASE)
        for path in names:
            archive.write(path, path.relative_to(home))
    return 1 + len(names)


def _is_database(path: Path, home: Path) -> bool:
    return path.parent == home and (path.name.startswith(DATABASE) or path.suffix == ".lock")


async def restore_home(file: Path, settings: Settings) -> dict[str, Any]:
    """Make a home from a backup. Raises `InvalidInput` when the home is not empty or the file is no backup."""
    home = settings.home
    if home.exists() and any(home.iterdir()):
        raise InvalidInput(f"{home} is not empty; a backup is restored into a new home")
    try:
        with zipfile.ZipFile(file) as archive:
            return {"files": await asyncio.to_thread(_unpack, archive, home), "home": str(home)}
    except (OSError, zipfile.BadZipFile) as error:
        raise InvalidInput(f"{file} is not a readable backup: {error}") from error


def _unpack(archive: zipfile.ZipFile, home: Path) -> int:
    names = archive.namelist()
    if DATABASE not in names:
        raise InvalidInput("this is not a backup of a memory: it holds no database")
    for name in names:
        if not (home / name).resolve().is_relative_to(home.resolve()):
            raise InvalidInput(f"this backup names a file outside its home: {name}")
    make_private(home)
    for name in names:
        path = home / name
        make_private(path.parent)
        with archive.open(name) as source, os.fdopen(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as sink:
            shutil.copyfileobj(source, sink)
    return len(names)
