"""What recall needs of the stores: the few reads it makes, each under an owner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from stenolith.model.atom import Atom
from stenolith.model.persona import PersonaLine
from stenolith.model.scene import Scene
from stenolith.recall.find import Finder
from stenolith.recall.items import Scan, no_scan
from stenolith.store.records import Record


class AtomReader(Protocol):
    """Reads atoms; `stenolith.store.atoms.Atoms` is one."""

    async def get(self, owner_id: int, ids: Sequence[str]) -> list[Atom]:
        """Return the owner's atoms with these ids, of any status, in the order asked."""

    async def doubts(self, owner_id: int, ids: Sequence[str]) -> dict[str, str]:
        """Return which of the owner's atoms with these ids are doubted, and the atom that speaks against each."""

    async def by_record(self, owner_id: int, record_ids: Sequence[str]) -> tuple[Atom, ...]:
        """Return the atoms, of any status, that rest on one of these records."""

    async def standing_instructions(self, owner_id: int, limit: int = 50) -> tuple[Atom, ...]:
        """Return active instructions that hold beyond one task."""

    async def recent(self, owner_id: int, limit: int) -> tuple[Atom, ...]:
        """Return the newest active atoms, newest first."""


class RecordReader(Protocol):
    """Reads records; `stenolith.store.records.Records` is one."""

    async def beginnings(self, owner_id: int, ids: Sequence[str], chars: int) -> list[Record]:
        """Return the owner's records with these ids, in the order asked, each with its first *chars* characters."""


class SceneReader(Protocol):
    """Reads scenes; `stenolith.store.scenes.Scenes` is one."""

    async def listing(self, owner_id: int, *, archived: bool = False, limit: int = 1000, skip: int = 0) -> list[Scene]:
        """Return live scenes, those changed last first."""


class Portrait(Protocol):
    """A persona as it stands."""

    @property
    def lines(self) -> tuple[PersonaLine, ...]:
        """All lines, candidates and withdrawn ones included."""


class PersonaReader(Protocol):
    """Reads personas; `stenolith.store.persona.Personas` is one."""

    async def current(self, owner_id: int) -> Portrait:
        """Return the portrait as it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Everything that recall and search read."""

    finder: Finder
    atoms: AtomReader
    records: RecordReader
    scenes: SceneReader
    persona: PersonaReader
    scan: Scan = no_scan
