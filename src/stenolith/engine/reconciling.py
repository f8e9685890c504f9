"""What a model learned meets what is known: the gate, a ruling on each draft, and one checked transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from stenolith.curate.admission import AdmissionSettings, Refusal, admit
from stenolith.distill.arbiter import Case, Ruling, Verdict, arbitrate, by_rule, repeated, settle
from stenolith.distill.extract import Harvest
from stenolith.distill.reconcile import normal_form
from stenolith.engine.neighbours import Neighbours
from stenolith.engine.projections import Projections
from stenolith.engine.wiring import House
from stenolith.llm.port import LanguageModel, Unanswerable
from stenolith.model.atom import AtomDraft, AtomStatus
from stenolith.store.atom_rows import AtomChange, Filing
from stenolith.store.records import Record

BATCH: Final = 12
"""New memories that one call reconciles."""
ORIGIN: Final = "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to become of one admitted draft."""

    draft: AtomDraft
    ruling: Ruling


class Reconciling:
    """Plans outside the transaction, where a model may take its time, and commits what still holds inside."""

    def __init__(self, house: House, projections: Projections) -> None:
        self._house = house
        self._projections = projections
        self._neighbours = Neighbours(house, projections)
        self._gate = AdmissionSettings(redact_secrets=house.settings.capture.redact_secrets)

    async def plan(self, owner_id: int, harvest: Harvest, tally: Counter[str], model: LanguageModel) -> list[Plan]:
        """Pass drafts through the gate and have a ruling on each; nothing is written.

        Exact repeats and drafts without neighbours cost no call.  Raises `ModelUnavailable`.
        """
        tally.update(harvest.tally)
        drafts = []
        for draft in harvest.drafts:
            verdict = admit(draft, settings=self._gate)
            if isinstance(verdict, Refusal):
                tally[f"refused: {verdict.reason}"] += 1
            else:
                drafts.append(verdict.draft)
        near = await self._neighbours.near(owner_id, drafts)
        cases = [Case(draft=draft, near=tuple(atoms)) for draft, atoms in zip(drafts, near, strict=True)]
        doubtful = {at: case for at, case in enumerate(cases) if case.near and not await self._repeats(owner_id, case)}
        rulings = await self._rulings(doubtful, tally, model)
        return [Plan(draft=case.draft, ruling=rulings.get(at, Ruling(action="add"))) for at, case in enumerate(cases)]

    async def _repeats(self, owner_id: int, case: Case) -> bool:
        return repeated(case.draft, await self._neighbours.same(owner_id, case.draft)) is not None

    async def _rulings(self, cases: Mapping[int, Case], tally: Counter[str], model: LanguageModel) -> dict[int, Ruling]:
        """Ask about the cases in batches; a batch without a usable answer is decided by rule."""
        found: dict[int, Ruling] = {}
        places = list(cases)
        for start in range(0, len(places), BATCH):
            batch = places[start : start + BATCH]
            asked = [cases[at] for at in batch]
            try:
                settings = self._house.settings
                judged = await arbitrate(model, asked, settings.zone, settings.llm.deadline_ms)
            except Unanswerable as obstacle:
                tally[f"reconciled by rule: {obstacle.obstacle}"] += len(batch)
                found.update(zip(batch, map(by_rule, asked), strict=True))
                continue
            tally.update(judged.tally)
            found.update(zip(batch, judged.rulings, strict=True))
        return found

    async def commit(
        self, owner_id: int, plans: Sequence[Plan], records: Sequence[Record], tally: Counter[str]
    ) -> None:
        """Write what the plans come to beside what is known now; joins an open transaction."""
        home = records[0]
        for plan in plans:
            verdict = await self._verdict(owner_id, plan)
            change = await self._carry_out(owner_id, verdict, home)
            tally[verdict.note] += 1
            await self._projections.follow(owner_id, change)

    async def _verdict(self, owner_id: int, plan: Plan) -> Verdict:
        """Check a ruling against the atoms as they are now: since it was asked for, people may have changed them."""
        twin = repeated(plan.draft, await self._neighbours.same(owner_id, plan.draft))
        if twin == "retired":
            return Verdict(action="skip", draft=plan.draft, note="retired before")
        if twin is not None:
            return Verdict(action="cite", draft=plan.draft, targets=(twin.id,), note="said again")
        atoms = await self._house.atoms.get(owner_id, plan.ruling.targets)
        verdict = settle(plan.draft, plan.ruling, [atom for atom in atoms if atom.status is AtomStatus.ACTIVE])
        gone = await self._house.atoms.is_tombstoned(owner_id, normal_form(verdict.draft.text))
        if gone and verdict.action in {"add", "replace"}:
            return Verdict(action="skip", draft=plan.draft, note="forgotten before")
        if verdict.draft.text == plan.draft.text:
            return verdict
        # A sentence that the model united from several is new text, and passes the gate like any other.
        admitted = admit(verdict.draft, settings=self._gate)
        if isinstance(admitted, Refusal):
            return Verdict(action="add", draft=plan.draft, note=f"added, united text {admitted.reason}")
        return replace(verdict, draft=admitted.draft)

    async def _carry_out(self, owner_id: int, verdict: Verdict, home: Record) -> AtomChange:
        atoms, draft = self._house.atoms, verdict.draft
        filing = Filing(
            normal_form=normal_form(draft.text),
            origin=ORIGIN,
            session_key=home.session_key,
            session_id=home.session_id,
            valid_from=verdict.since,
        )
        match verdict.action:
            case "add":
                return AtomChange(added=(await atoms.add(owner_id, draft, filing),))
            case "cite":
                return AtomChange(confirmed=(await atoms.add_source(owner_id, verdict.targets[0], draft.sources),))
            case "replace":
                return await self._replace(owner_id, verdict, filing)
            case "skip":
                return AtomChange()

    async def _replace(self, owner_id: int, verdict: Verdict, filing: Filing) -> AtomChange:
        """Store the successor, then close what it replaces; a caller's own key goes with it."""
        atoms, first = self._house.atoms, verdict.targets[0]
        key = (await atoms.notes(owner_id, [first]))[first].caller_key
        change = await atoms.supersede(owner_id, first, verdict.draft, replace(filing, caller_key=key), verdict.reason)
        retired = list(change.retired)
        for other in verdict.targets[1:]:
            more = await atoms.supersede_by(owner_id, other, change.added[0].id, verdict.reason)
            retired += more.retired
        return AtomChange(added=change.added, retired=tuple(retired))
