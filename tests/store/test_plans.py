"""What a statement must not do on a large home, told by SQLite's own plan for it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stenolith.store.database import Database, statements
from stenolith.testing.backends import BACKENDS

BY_KEY = [
    "atoms_by_id",
    "sources_of_atoms",
    "atoms_by_record",
    "delete_evidence",
    "superseded_by_atoms",
    "delete_atoms",
    "lineage_of_atom",
    "touch_atom",
    "retire_atom",
    "revive_atom",
    "atom_of_caller_key",
    "atoms_by_normal_form",
    "atoms_by_attribute",
    "atoms_of_scene",
    "page_atoms",
    "export_atoms",
    "due_atoms",
    "get_scene",
    "find_scene",
    "scene_versions",
    "get_job",
    "enqueue_job",
    "claim_jobs",
    "steal_jobs",
    "beat_job",
    "finish_job",
    "requeue_job",
    "absorb_pending_job",
    "pending_twin",
    "outstanding_jobs",
    "get_cursor",
    "advance_cursor",
    "find_tombstone",
    "still_unjournaled",
    "mark_journaled",
    "lines_of_day",
    "unjournaled_lines",
    "records_by_id",
    "page_records",
]


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with BACKENDS["sqlite"](tmp_path) as opened:
        yield opened


@pytest.mark.parametrize("name", BY_KEY)
async def test_a_statement_that_names_its_rows_walks_no_others(database: Database, name: str) -> None:
    """Neither the whole table nor all rows of the owner: 100,000 atoms make no difference to one."""
    sql = statements("sqlite")[name]
    bound = dict.fromkeys(re.findall(r"(?<![:\w]):(\w+)", sql))
    steps = [row["detail"] for row in await database.fetch(f"EXPLAIN QUERY PLAN {sql}", **bound)]
    walks = [step for step in steps if re.match(r"SCAN (?!json_each|lineage)", step) or step.endswith("(owner_id=?)")]
    assert walks == []
