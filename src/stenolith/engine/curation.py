"""What a person does to memory: remember, correct, and the history of a fact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from stenolith.capture.live import LiveTurns
from stenolith.curate.admission import AdmissionSettings, Reason, Refusal, admit
from stenolith.distill.reconcile import conflicts, normal_form, reconcile
from stenolith.engine.projections import Projections
from stenolith.engine.views import atom_view
from stenolith.engine.wiring import House
from stenolith.errors import InvalidInput, NotFound, Refused
from stenolith.model.atom import Atom, AtomDraft, AtomStatus, Kind, Source
from stenolith.model.identity import Scope
from stenolith.model.message import Message, Role, Text, mended
from stenolith.model.provenance import Provenance, ProvenanceKind
from stenolith.store.atom_rows import AtomChange, Filing
from stenolith.store.records import Record

BY_HAND = "stenolith:remember"
"""Session of the statements that people make outside a conversation."""
PERSON = "person"
USUAL_PRIORITY = 70
REVIEWED = 40
"""How many neighbouring atoms a correction is held against."""
HOPELESS = 10
"""Times the longest memory that no cleaning makes short enough: such a text is refused before anything reads it."""
_REASON_CORRECTED = "corrected by a person"
TOOL = "remember"
EDIT_TOOL = "scene edit"
"""What the provenance of a message says that a person made to be remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What a person wants kept. *expires_at* is epoch milliseconds; *key* a name of the caller's own."""

    text: str
    kind: Kind = Kind.FACT
    priority: int = USUAL_PRIORITY
    expires_at: int | None = None
    key: str | None = None


class Curation:
    """Writes of curated memory by hand. Every statement is recorded first, so that the atom has evidence."""

    def __init__(self, house: House, live: LiveTurns, projections: Projections) -> None:
        self._house = house
        self._live = live
        self._projections = projections

    async def remember(self, scope: Scope, statement: Statement) -> dict[str, object]:
        """Keep a statement as an atom; saying it again adds a source, not an atom.

        Raises `InvalidInput` for an empty text, a priority outside 0 to 100 or an end in the past,
        `Refused` with the gate's reason.
        """
        if not 0 <= statement.priority <= 100:
            raise InvalidInput(f"priority runs from 0 to 100; got {statement.priority}")
        if statement.expires_at is not None and statement.expires_at <= self._house.now():
            raise InvalidInput("what has ended already cannot be remembered: the time of its end is past")
        owner_id = await self._house.owners.intern(scope)
        async with self._house.database.transaction():
            await self._house.database.lock(owner_id)
            record = await self.witness(owner_id, scope, statement.text)
            draft = self.admitted(draft_of(statement, record), statement)
            await self._house.tombstones.lift(owner_id, "atoms", normal_form(draft.text))
            change = await self._keep(owner_id, draft, filing_of(draft, record, mended(statement.key or "") or None))
            await self._projections.follow(owner_id, change)
        await self._house.journal.append([record])
        kept = (*change.added, *change.confirmed)[0]
        replaced = [atom.id for atom in change.retired]
        return atom_view((await self._house.atoms.get(owner_id, [kept.id]))[0]) | {"superseded": replaced}

    async def correct(self, scope: Scope, new_text: str, atom_id: str) -> dict[str, object]:
        """Replace one atom; copies of the old claim in other words are marked for review.

        The same words change nothing.  Raises `NotFound` when the owner has no such active atom.
        """
        owner_id = await self._house.owners.intern(scope)
        old = await self._active(owner_id, atom_id)
        if old.text == new_text.strip():
            return atom_view(old) | {"superseded": [], "needs_review": []}
        near = await self.neighbours(owner_id, old, new_text)
        async with self._house.database.transaction():
            await self._house.database.lock(owner_id)
            record = await self.witness(owner_id, scope, new_text)
            statement = Statement(text=new_text, kind=old.kind, priority=old.priority)
            draft = replace(draft_of(statement, record), subject=old.subject, attribute=old.attribute, corrects=True)
            draft = self.admitted(draft, statement)
            filing = filing_of(draft, record, None)
            change = await self._house.atoms.supersede(owner_id, old.id, draft, filing, _REASON_CORRECTED)
            successor = change.added[0]
            doubtful = doubted(old, draft, [atom for atom in near if atom.id != successor.id])
            await self._house.atoms.flag(owner_id, doubtful, successor.id)
            await self._projections.follow(owner_id, change)
        await self._house.journal.append([record])
        return atom_view(successor) | {"superseded": [old.id], "needs_review": doubtful}

    async def history(self, scope: Scope, atom_id: str) -> list[dict[str, object]]:
        """Return every version, oldest first. Raises `NotFound`."""
        owner_id = await self._house.owners.find(scope)
        versions = await self._house.atoms.history(owner_id, mended(atom_id))
        if not versions:
            raise NotFound(f"there is no atom {atom_id} under this scope")
        return [atom_view(atom) for atom in versions]

    async def witness(self, owner_id: int, scope: Scope, text: str, tool: str = TOOL) -> Record:
        """Record the statement as a message, so that the atom can cite words that were said."""
        if not text.strip():
            raise InvalidInput("there is nothing to remember: the text is empty")
        if len(text) > HOPELESS * AdmissionSettings().max_chars:
            raise _too_long(AdmissionSettings().max_chars, len(text))
        within = scope.narrowed(scope.session_key or BY_HAND, scope.session_id)
        said = Message(
            role=Role.USER,
            parts=(Text(text=text),),
            timestamp=self._house.now(),
            provenance=Provenance(kind=ProvenanceKind.EXTERNAL_USER, tool=tool),
        )
        session = await self._house.transcripts.find(owner_id, within.session_key, within.session_id)
        # Not to be distilled: the statement becomes an atom here, as it was put, and not once more by rules.
        expected = session.head_seq if session else 0
        progress = await self._live.append(owner_id, within, [said], expected, distillable=False)
        if not progress.records:
            raise Refused(f"{text[:60]!r} is not a statement that can be kept")
        return progress.records[0]

    def admitted(self, draft: AtomDraft, statement: Statement) -> AtomDraft:
        """Return the draft of a statement as the gate lets it through. Raises `Refused` with the gate's reason."""
        settings = AdmissionSettings(redact_secrets=self._house.settings.capture.redact_secrets)
        verdict = admit(draft, settings=settings)
        if isinstance(verdict, Refusal):
            if verdict.reason is Reason.TOO_LONG:
                raise _too_long(settings.max_chars, len(draft.text))
            raise Refused(f"not kept: {verdict.reason.replace('_', ' ')}", reason=str(verdict.reason))
        # A person who names no end means it to last: the gate's own guess of a task does not bind them.
        admitted = verdict.draft
        return admitted if statement.expires_at else replace(admitted, task_only=False, expires_at=None)

    async def _keep(self, owner_id: int, draft: AtomDraft, filing: Filing) -> AtomChange:
        atoms = self._house.atoms
        if filing.caller_key:
            return await atoms.put_under_key(owner_id, draft, filing, "remembered anew under the same key")
        near = await atoms.candidates(owner_id, draft, filing.normal_form)
        decision = reconcile([draft], near)[0]
        if decision.action == "add_source" and decision.target:
            return AtomChange(confirmed=(await atoms.add_source(owner_id, decision.target, draft.sources),))
        return AtomChange(added=(await atoms.add(owner_id, draft, filing),))

    async def _active(self, owner_id: int, atom_id: str) -> Atom:
        found = await self._house.atoms.get(owner_id, [mended(atom_id)])
        if not found or found[0].status is not AtomStatus.ACTIVE:
            raise NotFound(f"there is no active atom {atom_id} under this scope")
        return found[0]

    async def neighbours(self, owner_id: int, old: Atom, new_text: str) -> list[Atom]:
        """Return the active atoms that may make the claim of *old*, or speak against what replaces it."""
        refs = await self._projections.similar_atoms(owner_id, f"{old.text} {new_text}", REVIEWED)
        found = await self._house.atoms.get(owner_id, refs)
        return [atom for atom in found if atom.status is AtomStatus.ACTIVE and atom.id != old.id]


def _too_long(most: int, length: int) -> Refused:
    return Refused(
        f"not kept: too long: a memory has {most} characters at most, this has {length}", reason=Reason.TOO_LONG
    )


def is_statement(message: Message) -> bool:
    """Say whether a message was made here, as the evidence of what somebody wanted kept."""
    return message.provenance is not None and message.provenance.tool in {TOOL, EDIT_TOOL}


def draft_of(statement: Statement, record: Record) -> AtomDraft:
    """Return the draft of a statement that *record* witnesses."""
    source = Source(record_id=record.record_id, quote=record.message_text, timestamp=record.timestamp)
    return AtomDraft(
        kind=statement.kind,
        text=record.message_text,
        sources=(source,),
        priority=statement.priority,
        expires_at=statement.expires_at,
    )


def filing_of(draft: AtomDraft, record: Record, key: str | None) -> Filing:
    """Return how a person's draft is filed, under a *key* of the caller's own."""
    return Filing(
        normal_form=normal_form(draft.text),
        origin=PERSON,
        session_key=record.session_key,
        session_id=record.session_id,
        caller_key=key,
    )


def doubted(old: Atom, draft: AtomDraft, near: Sequence[Atom]) -> list[str]:
    """Return the ids of atoms *near* that a person should look at, when *draft* takes the place of *old*."""
    found = [one for one in conflicts(draft, near) if one != old.id]
    return found + [atom.id for atom in near if atom.id != old.id and _same_claim(old, atom, found)]


def _same_claim(old: Atom, other: Atom, known: list[str]) -> bool:
    """Say whether *other* makes the claim that was just corrected."""
    draft = AtomDraft(kind=old.kind, text=old.text, sources=old.sources, subject=old.subject, attribute=old.attribute)
    return other.id not in known and other.id in conflicts(draft, [other])
