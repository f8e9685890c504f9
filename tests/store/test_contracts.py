"""Every contract suite, once for each backend that the `database` fixture knows."""

from __future__ import annotations

from stenolith.testing.dossiers import PersonasContract, ScenesContract
from stenolith.testing.queue import CursorContract, LeaseContract, QueueContract
from stenolith.testing.stores import AtomsContract, AuditContract, DatabaseContract


class TestDatabase(DatabaseContract):
    pass


class TestAtoms(AtomsContract):
    pass


class TestAudit(AuditContract):
    pass


class TestQueue(QueueContract):
    pass


class TestLeases(LeaseContract):
    pass


class TestCursors(CursorContract):
    pass


class TestScenes(ScenesContract):
    pass


class TestPersonas(PersonasContract):
    pass
