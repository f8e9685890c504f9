"""`Memory`: the one object a program holds. Every method is a thin door to the flow that does the work."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from stenolith.capture.live import LiveTurns
from stenolith.capture.record import CaptureReport, Recorder, Scribe, Surroundings
from stenolith.capture.turn import Turn
from stenolith.engine import documents, moments
from stenolith.engine.asking import Asking
from stenolith.engine.curation import Curation, Statement
from stenolith.engine.editing import Editing
from stenolith.engine.editing import Wish as PageWish
from stenolith.engine.erasure import Erasure
from stenolith.engine.exporting import Exporting
from stenolith.engine.importing import Importing
from stenolith.engine.learning import Learning
from stenolith.engine.projections import Projections
from stenolith.engine.reading import ListedLayer, Page, Reading
from stenolith.engine.rebuilding import Rebuilding
from stenolith.engine.replaying import Wish, destination, wished
from stenolith.engine.scheduling import Schedule
from stenolith.engine.sessions import Sessions
from stenolith.engine.tending import Tending
from stenolith.engine.upkeep import Upkeep
from stenolith.engine.wiring import House, open_house
from stenolith.errors import InvalidInput, NotFound
from stenolith.llm.port import Embedder, LanguageModel
from stenolith.model.atom import Kind
from stenolith.model.clock import Clock, wall_ms
from stenolith.model.identity import Scope
from stenolith.model.message import Message, mended
from stenolith.model.text import cut
from stenolith.pipeline.stages import DISTILL, STAGES, staffed
from stenolith.pipeline.worker import Worker, WorkerOptions, WorkReport
from stenolith.recall.context import Context, Request
from stenolith.settings import Settings, load
from stenolith.store.jobs import JobRequest
from stenolith.store.records import Record
from stenolith.store.search import Filter, Layer
from stenolith.store.transcripts import Session

if TYPE_CHECKING:
    from stenolith.engine.blocking import BlockingMemory

SearchLayer = Literal["memories", "conversations", "scenes"]
View = dict[str, Any]


class Memory:
    """Long-term memory in one home.

    Open it with ``async with Memory.open(home=...) as memory``.  Every method takes the scope it
    serves; what the scope does not own does not exist for it.  Errors are `StenolithError`s with a
    sentence for people.
    """

    def __init__(self, house: House, model: LanguageModel | None = None) -> None:
        self._house = house
        self._projections = Projections(house)
        self._schedule = Schedule(house)
        self._scribe = Scribe(house.database, self._surroundings())
        self._recorder = Recorder(self._scribe)
        self._live = LiveTurns(self._scribe)
        self._curation = Curation(house, self._live, self._projections)
        self._reading = Reading(house, self._projections)
        self._editing = Editing(house, self._curation, self._projections)
        self._asking = Asking(house)
        self._rebuilding = Rebuilding(house, self._scribe, self._projections)
        self.sessions = Sessions(house, self._live)
        self._upkeep = Upkeep(house, self._rebuilding, self.sessions.recover)
        self._tending = Tending(house, self._projections, self.sessions.recover)
        learning = Learning(house, self._projections, model)
        options = WorkerOptions(stages=staffed(house.settings.pipeline.concurrency.model_dump()))
        self._worker = Worker(house.jobs, learning.handlers(), options, now_ms=house.now)

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        home: Path | str | None = None,
        *,
        settings: Settings | None = None,
        embedder: Embedder | None = None,
        model: LanguageModel | None = None,
        now: Clock = wall_ms,
    ) -> AsyncIterator[Memory]:
        """Open the memory in *home* (else the configured one), making it when there is none.

        *settings* replaces what file and environment say, *embedder* and *model* what they choose.  Raises
        `StoreUnavailable` when the folder cannot be used and `InvalidInput` for wrong settings.
        """
        found = settings or load(**({} if home is None else {"home": Path(home)}))
        async with open_house(found, embedder=embedder, now=now) as house:
            memory = cls(house, model)
            try:
                yield memory
            finally:
                await memory._asking.close()

    @classmethod
    @contextmanager
    def open_sync(cls, home: Path | str | None = None, *, settings: Settings | None = None) -> Iterator[BlockingMemory]:
        """Open the memory for a program without an event loop: the same methods, each waiting for its result."""
        from stenolith.engine.blocking import open_blocking

        with open_blocking(home, settings) as memory:
            yield memory

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._house.settings

    def _surroundings(self) -> Surroundings:
        house = self._house
        return Surroundings(
            redact=house.redact,
            index=self._index_records,
            enqueue=self._enqueue_learning,
            now=house.now,
            zone=house.settings.zone,
            tail=house.settings.capture.tail,
        )

    async def _index_records(self, records: Sequence[Record]) -> None:
        await self._house.index.index(documents.of_records(records, self._house.settings.zone))

    async def _enqueue_learning(self, session: Session, records: Sequence[Record]) -> None:
        await self._schedule.turn_recorded(session, records)
        await self._projections.request_vectors(session.owner_id, Layer.RECORD)

    async def capture(self, turn: Turn | Sequence[Message], *, scope: Scope) -> CaptureReport:
        """Record what is new of a turn under the session of *scope*; resent messages are recognised.

        When it returns, the words are durable.  A daily file that cannot be written is a warning in the
        report, caught up later.  Raises `InvalidInput` without a session key.
        """
        whole = turn if isinstance(turn, Turn) else Turn(messages=tuple(turn))
        owner_id = await self._house.owners.intern(scope)
        report = await self._recorder.record(owner_id, scope, whole)
        warnings = await self._house.journal.append(report.recorded)
        self._worker.wake()
        return replace(report, warnings=(*report.warnings, *warnings)) if warnings else report

    async def work(
        self,
        *,
        kinds: Sequence[str] | None = None,
        until_idle: bool = True,
        on_progress: Callable[[WorkReport], None] | None = None,
    ) -> WorkReport:
        """Run the pending jobs of every scope; with *until_idle* also those they make and those that still wait."""
        if unknown := set(kinds or ()) - STAGES.keys():
            raise InvalidInput(f"kinds of jobs are {', '.join(STAGES)}; got {', '.join(sorted(unknown))}")
        await self._tending.tidy()
        return await self._worker.run_until_idle(kinds, on_progress, eager=until_idle)

    async def serve(self, stop: asyncio.Event) -> WorkReport:
        """Run jobs as they become due until *stop* is set; running ones then end or are handed back."""
        await self._tending.tidy()
        beside = [asyncio.create_task(self._listen()), asyncio.create_task(self._tending.keep_tidy(self._worker.wake))]
        try:
            return await self._worker.run_forever(stop)
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)

    async def _listen(self) -> None:
        """Wake the worker for what other processes ask for, where the database tells."""
        async for _ in self._house.database.notifications():
            self._worker.wake()

    async def end_session(self, *, scope: Scope) -> WorkReport:
        """Distil what the session of *scope* still holds, and return when that is done.

        Other sessions are not touched.  What a failing model leaves behind is counted as pending.
        Raises `NotFound`.
        """
        total = WorkReport()
        for session in await self.sessions.of(scope):
            key = str(session.session_ref)
            async with self._house.database.transaction():
                await self._house.jobs.enqueue(session.owner_id, JobRequest(kind=DISTILL, key=key, hurry=True))
            total = total.plus(await self._worker.run_key(DISTILL, session.owner_id, key))
        return total

    async def recall(
        self,
        query: str,
        *,
        scope: Scope,
        limit: int | None = None,
        budget: int | None = None,
        deadline_ms: int | None = None,
        as_of: int | None = None,
    ) -> Context:
        """Return the context that belongs to a question, within a deadline, with a report of who answered.

        *limit* counts memories, *budget* characters of the changing part, *deadline_ms* milliseconds;
        *as_of* (epoch ms) asks for what held then.  Never raises for a slow or broken source: the
        report names it.
        """
        usual = self._house.settings.recall
        wish = Request(
            query=query,
            limit=usual.limit if limit is None else limit,
            budget_chars=usual.budget_chars if budget is None else budget,
            deadline_ms=usual.deadline_ms if deadline_ms is None else deadline_ms,
            session_key=scope.session_key,
            as_of_ms=as_of,
        )
        return await self._asking.recall(scope, wish)

    async def search(
        self, layer: SearchLayer, query: str, *, scope: Scope, limit: int = 10, filters: Filter | None = None
    ) -> View:
        """Return the best matches of one layer: ``items``, ``total``, ``degraded``. A smaller limit gives a prefix."""
        return await self._asking.search(layer, query, scope, limit=limit, filters=filters or self.filters())

    def filters(self, **narrowing: Any) -> Filter:
        """Make the filter of a search from ``kind since until scene include_history as_of session``."""
        return moments.read_filter(narrowing, self._house.now(), self._house.settings.zone)

    def moment(self, text: str) -> int:
        """Read a date or time as epoch milliseconds in the configured zone. Raises `InvalidInput`."""
        return moments.read_moment(text, self._house.now(), self._house.settings.zone)[0]

    async def remember(
        self,
        text: str,
        *,
        scope: Scope,
        kind: Kind | str = Kind.FACT,
        priority: int = 70,
        expires_at: int | None = None,
        key: str | None = None,
    ) -> View:
        """Keep one statement as an atom and return it; saying it again adds a source.

        Under a *key* of the caller's own the statement replaces what stood there.  Raises `Refused`.
        """
        if kind not in set(Kind):
            raise InvalidInput(f"kind is one of {', '.join(Kind)}; got {kind!r}")
        statement = Statement(text=text, kind=Kind(kind), priority=priority, expires_at=expires_at, key=key)
        return await self._curation.remember(scope, statement)

    async def correct(
        self, new_text: str, *, scope: Scope, atom_id: str | None = None, query: str | None = None
    ) -> View:
        """Replace one memory, named by id or found by *query*; the old version is kept as superseded.

        Raises `NotFound` when nothing matches; nothing is stored then.
        """
        if (atom_id is None) == (query is None):
            raise InvalidInput("correct needs either an atom's id or a query that finds it")
        if atom_id is None:
            found = await self.search("memories", str(query), scope=scope, limit=1)
            if not found["items"]:
                raise NotFound(f"no memory matches {cut(str(query), 80)!r}; nothing was changed")
            atom_id = str(found["items"][0]["id"])
        return await self._curation.correct(scope, new_text, atom_id)

    async def forget(self, ids: Sequence[str], *, scope: Scope, user: bool = False) -> View:
        """Delete atoms or records by id; without ids the session of *scope*; with *user* all of its user's."""
        return (await Erasure(self._house, self._projections).forget(scope, ids, user=user)).to_dict()

    async def history(self, atom_id: str, *, scope: Scope) -> list[View]:
        """Return every version of a memory, oldest first. Raises `NotFound`."""
        return await self._curation.history(scope, atom_id)

    async def show(self, identifier: str, *, scope: Scope, as_of: int | None = None) -> View:
        """Walk down from an id to the words that were said, when, and by whom. Raises `NotFound`.

        *as_of* (epoch ms, here and below) shows the version of an atom that held then.
        """
        return await self._reading.show(scope, identifier, as_of)

    async def list(
        self,
        layer: ListedLayer,
        *,
        scope: Scope,
        limit: int = 50,
        cursor: str | None = None,
        status: str | None = None,
        as_of: int | None = None,
    ) -> View:
        """Return one page of a layer as ``items`` and ``next``; atoms may be those that held at *as_of*."""
        page = Page(limit=limit, cursor=cursor, status=status, as_of=as_of)
        return await self._reading.listing(layer, scope, page)

    async def scene(self, name: str, *, scope: Scope, as_of: int | None = None) -> View:
        """Return a scene's Markdown with its citations, as it stands or as it stood. Raises `NotFound`."""
        return await self._reading.scene(scope, name, as_of)

    async def edit_scene(
        self, name: str, text: str, *, scope: Scope, revision: int | None = None, dry_run: bool = False
    ) -> View:
        """Make *text*, the edited page of a scene, memory: what a person wrote there is theirs from now on.

        The page names the revision it was made from in its first line, or *revision* does.  Raises `InvalidInput`
        for a page that cannot be read, `SceneMoved` when the scene has changed meanwhile, `Refused` for what the
        gate does not let through; nothing is changed then, nor with *dry_run*, which only says what would be.
        """
        wish = PageWish(text=mended(text), revision=revision, dry_run=dry_run)
        return await self._editing.edit(scope, await self._reading.scene_called(scope, name), wish)

    async def persona(self, *, scope: Scope, as_of: int | None = None) -> View:
        """Return the persona's Markdown with its citations, candidates included."""
        return await self._reading.persona(scope, as_of)

    async def replay(self, /, wish: Wish | None = None, *, scope: Scope, **wishes: Any) -> View:
        """Return the stored session as a payload for a provider: ``payload report hints violations``.

        Say a *wish*, or its fields: ``provider="openai", model="gpt-5.4"``.  Nothing stored is changed.  Raises
        `NotFound` and, for a wish nobody can fulfil, `InvalidInput`.
        """
        where = destination(wished(wish, wishes), self._house.settings)
        return where.replayed(await self.sessions.view(scope))

    async def import_files(
        self,
        files: Sequence[Path],
        *,
        scope: Scope,
        format_name: str = "auto",
        on_progress: Callable[[int, int | None], None] | None = None,
    ) -> View:
        """Import conversations, or an export of ours; a second run records nothing."""
        if format_name == "stenolith":
            return await Exporting(self._house).read_all(scope, files)
        importing = Importing(self._house, self._recorder)
        return (await importing.run(files, scope, format_name, on_progress)).to_dict()

    async def export(self, out: Path | None, *, scope: Scope) -> View:
        """Write everything the scope owns, or its session, to *out* (0600) or to standard output."""
        exporting = Exporting(self._house)
        if out is None:
            return await exporting.write(scope, sys.stdout.buffer)
        return await exporting.to_file(scope, out)

    async def health(self) -> View:
        """Return ``status`` (``ok`` or ``degraded``) with what is behind, dead or missing, in plain words."""
        return await self._upkeep.health()

    async def jobs(self, *, dead: bool = False) -> View:
        """Return the jobs of the home that wait or run, or those that were given up."""
        return await self._upkeep.jobs(dead=dead)

    async def retry_job(self, job_id: str) -> View:
        """Make a job that was given up, or waits for its time, due now with all its attempts. Raises `NotFound`."""
        return await self._upkeep.retry(job_id)

    async def doctor(self, *, fix: bool = False) -> View:
        """Examine the home and, with *fix*, repair what can be repaired without losing anything."""
        return await self._upkeep.doctor(fix=fix)

    async def rebuild(self, what: str = "all") -> View:
        """Make derived data anew: ``indexes journal records files all``."""
        return await self._rebuilding.run(what)

    async def stats(self, *, scope: Scope) -> View:
        """Count what the scope holds and how large the home is."""
        return await self._upkeep.stats(scope)

    async def backup(self, target: Path) -> View:
        """Write the whole home into one file while it is in use."""
        return await self._upkeep.backup(target)
