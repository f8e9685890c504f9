"""Background work: records become atoms, atoms scenes, scenes a persona, and texts vectors.

Each method is a job handler: it reads, thinks, and writes inside ``lease.step`` or ``lease.commit``,
so a killed worker leaves nothing half done and nothing twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from stenolith.curate.admission import AdmissionSettings, Refusal, admit
from stenolith.distill.reconcile import Decision, normal_form, reconcile
from stenolith.distill.rules import Utterance, extract
from stenolith.engine.metering import metered
from stenolith.engine.projections import Projections
from stenolith.engine.redrafting import Redrafting
from stenolith.engine.studying import Study
from stenolith.engine.wiring import House
from stenolith.llm.choose import choose_model
from stenolith.llm.port import LanguageModel
from stenolith.model.atom import Atom, AtomDraft
from stenolith.pipeline.stages import DISTILL, EMBED, JOURNAL, PERSONA, SCENES
from stenolith.pipeline.worker import Handler, Lease
from stenolith.store.atom_rows import AtomChange, Filing
from stenolith.store.cursors import Cursor
from stenolith.store.inspection import Inspection
from stenolith.store.jobs import Job, JobRequest
from stenolith.store.records import Record
from stenolith.store.search import Layer

WINDOW = 200
"""Records distilled in one step; the cursor moves with each step."""
PERSONA_DELAY_MS = 10_000
"""How long the persona waits after changed scenes."""
EMBED_BATCH = 64
ALIKE = 24
"""Known atoms that a correction is held against, those that share most with it."""
REPLANS = 3
"""How often scenes are planned anew when atoms change meanwhile, before captures are made to wait."""


class Learning:
    """The handlers of a home's worker.

    *model* replaces the one that the settings name; without either, rules distil.
    """

    def __init__(self, house: House, projections: Projections, model: LanguageModel | None = None) -> None:
        self._house = house
        self._projections = projections
        self._inspection = Inspection(house.database)
        asked = model or choose_model(house.settings.llm)
        meter = metered(house, asked) if asked else None
        self._study = Study(house, projections, meter) if meter else None
        self._redrafting = Redrafting(house, projections, meter) if meter else None

    def handlers(self) -> dict[str, Handler]:
        """Return the handler of each kind of job; without an embedder nobody claims embed jobs."""
        found: dict[str, Handler] = {
            DISTILL: self.distill if self._study is None else self._study.distill,
            SCENES: self.write_scenes,
            PERSONA: self.judge_persona,
            JOURNAL: self.catch_up,
        }
        return found if self._house.embedder is None else {**found, EMBED: self.embed}

    async def distill(self, lease: Lease) -> None:
        """Draw atoms by rule from what a session said since the cursor; the key is the session's number."""
        job = lease.job
        if "/" in job.key:
            await self._one_record(lease)
            return
        session_ref = int(job.key)
        tally: Counter[str] = Counter()
        while True:
            cursor = await self._house.cursors.get(job.owner_id, DISTILL, job.key)
            records = await self._house.records.of_session(session_ref, after=cursor.position, limit=WINDOW)
            if not records:
                async with lease.commit(dict(tally)):
                    return
            drafts = extract([_utterance(record) for record in records], self._house.settings.zone)
            async with lease.step():
                await self._learn(job.owner_id, drafts, records, tally)
                await self._house.cursors.advance(job.owner_id, DISTILL, job.key, Cursor(position=records[-1].seq))

    async def _one_record(self, lease: Lease) -> None:
        """Draw atoms from a record that a model could not read; the key ends with its id."""
        job, tally = lease.job, Counter[str]()
        records = await self._house.records.get(job.owner_id, [job.key.partition("/")[2]])
        drafts = extract([_utterance(record) for record in records], self._house.settings.zone)
        async with lease.step():
            await self._learn(job.owner_id, drafts, records, tally)
        async with lease.commit(dict(tally)):
            return

    async def _learn(
        self, owner_id: int, drafts: Sequence[AtomDraft], records: Sequence[Record], tally: Counter[str]
    ) -> None:
        settings = AdmissionSettings(redact_secrets=self._house.settings.capture.redact_secrets)
        by_id = {record.record_id: record for record in records}
        for draft in drafts:
            verdict = admit(draft, settings=settings)
            if isinstance(verdict, Refusal):
                tally[f"refused: {verdict.reason}"] += 1
                continue
            record = by_id[verdict.draft.sources[0].record_id]
            for decision in reconcile([verdict.draft], await self._candidates(owner_id, verdict.draft)):
                tally[decision.action] += 1
                await self._projections.follow(owner_id, await self.apply(owner_id, decision, record))

    async def _candidates(self, owner_id: int, draft: AtomDraft) -> list[Atom]:
        """Return what *draft* may repeat, replace or re-tell: same words, same property, same evidence.

        A correction may mean what shares some of its words.
        """
        atoms, form = self._house.atoms, normal_form(draft.text)
        near = await atoms.candidates(owner_id, draft, form)
        told = await atoms.by_record(owner_id, [source.record_id for source in draft.sources])
        alike = await self._projections.similar_atoms(owner_id, draft.text, ALIKE) if draft.corrects else []
        meant = await atoms.get(owner_id, alike)
        return list({atom.id: atom for atom in (*near, *told, *meant)}.values())

    async def apply(self, owner_id: int, decision: Decision, record: Record | None) -> AtomChange:
        """Carry out one decision; joins the open transaction."""
        atoms, draft = self._house.atoms, decision.draft
        form = normal_form(draft.text)
        filing = Filing(
            normal_form=form,
            session_key=record.session_key if record else "",
            session_id=record.session_id if record else "",
        )
        match decision.action:
            case "add":
                if await atoms.is_tombstoned(owner_id, form):
                    return AtomChange()
                return AtomChange(added=(await atoms.add(owner_id, draft, filing),))
            case "add_source":
                atom = await atoms.add_source(owner_id, str(decision.target), draft.sources)
                return AtomChange(confirmed=(atom,))
            case "supersede":
                return await atoms.supersede(owner_id, str(decision.target), draft, filing, decision.reason)
            case "skip":
                return AtomChange()

    async def write_scenes(self, lease: Lease) -> None:
        """Sort an owner's atoms into scenes and write their files; then let the persona be judged."""
        if lease.job.key:
            await self._with_words(lease)
            return
        owner_id = lease.job.owner_id
        for attempt in range(REPLANS + 1):
            # Planned outside the transaction, so that a large owner does not make captures wait; if something was
            # said, forgotten, edited or merged meanwhile, the plan is thrown away.
            before = await self._inspection.fingerprint(owner_id)
            changes = await self._projections.plan_scenes(owner_id)
            async with lease.step():
                await self._house.database.lock(owner_id)
                moved = await self._inspection.fingerprint(owner_id) != before
                if moved and attempt < REPLANS:
                    continue
                final = await self._projections.plan_scenes(owner_id) if moved else changes
                await self._projections.store_scenes(owner_id, final)
                later = JobRequest(kind=PERSONA, key="", run_after=self._house.now() + PERSONA_DELAY_MS)
                await self._house.jobs.enqueue(owner_id, later)
                if self._redrafting is not None:
                    await self._redrafting.request_dossiers(owner_id)
                break
        # Files before the end of the job: whoever dies between the two writes them in the next attempt.
        await self._projections.write_files(owner_id)
        async with lease.commit():
            return

    async def _with_words(self, lease: Lease) -> None:
        """Do a job in which a model words what rules wrote; without a model there is nothing to do."""
        if self._redrafting is None:
            async with lease.commit():
                return
        do = {SCENES: self._redrafting.edit_dossiers, PERSONA: self._redrafting.word_lines}
        await do[lease.job.kind](lease)

    async def judge_persona(self, lease: Lease) -> None:
        """Draw the portrait anew from what now holds."""
        if lease.job.key:
            await self._with_words(lease)
            return
        owner_id = lease.job.owner_id
        async with lease.step():
            lines = await self._projections.judge(owner_id)
            if self._redrafting is not None:
                lines = await self._redrafting.keep_wording(owner_id, lines)
            await self._house.personas.replace(owner_id, lines)
        await self._projections.write_files(owner_id)
        async with lease.commit():
            return

    async def embed(self, lease: Lease) -> None:
        """Compute the vectors that an owner's layer lacks; the key is the layer."""
        job: Job = lease.job
        done = await self._projections.embed_missing(job.owner_id, Layer(job.key), EMBED_BATCH, lease.step)
        async with lease.commit({"vectors": done}):
            return

    async def catch_up(self, lease: Lease) -> None:
        """Write the lines that a failed append left out of the daily files."""
        caught = await self._house.journal.catch_up()
        async with lease.commit({"written": caught.written}):
            return


def _utterance(record: Record) -> Utterance:
    return Utterance(
        record_id=record.record_id,
        role=record.role,
        text=record.message_text,
        timestamp=record.timestamp,
        speaker=record.speaker,
        failed=not record.distillable,
    )
