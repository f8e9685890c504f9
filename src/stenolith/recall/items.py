"""Stored things as items of an answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from stenolith.model.atom import Atom, Source
from stenolith.model.scene import Scene
from stenolith.model.text import cut
from stenolith.recall.context import Item
from stenolith.store.records import Record

Scan = Callable[[str], tuple[str, ...]]
"""Names what is suspicious about a text; the engine hands in the one that admission uses."""
ORDERS: Final = frozenset({"instruction", "exfiltration", "role", "fence"})
"""Findings that make a memory read like an order to the model."""
DOUBTED: Final = "doubted"
"""Flag of an atom that a later correction may refute."""
_SHOWN: Final = ORDERS | {DOUBTED}


LONGEST_TEXT: Final = 10_000
"""Characters of a record that an answer repeats; its id leads to the rest.  No prompt takes more of one memory."""


def no_scan(_text: str) -> tuple[str, ...]:
    """Find nothing."""
    return ()


def flagged(item: Item, scan: Scan) -> Item:
    """Return *item* with a flag for each way in which its text reads like an order."""
    return replace(item, flags=tuple(sorted({*scan(item.text), *item.flags} & _SHOWN)))


def admission_flags(atom: Atom) -> tuple[str, ...]:
    """Return what admission found suspicious about *atom*."""
    noted = atom.provenance.get("flags")
    return tuple(noted) if isinstance(noted, list) else ()


def atom_item(atom: Atom, score: float) -> Item:
    """Return an atom as an item; what admission flagged stays flagged."""
    doubts = (DOUBTED,) if atom.needs_review else ()
    return Item(
        id=atom.id,
        layer="atom",
        kind=atom.kind.value,
        text=atom.text,
        score=score,
        sources=atom.sources,
        occurred=atom.occurred_start if atom.occurred_start is not None else atom.valid_from,
        status=atom.status.value,
        speaker=atom.speaker,
        superseded_by=atom.superseded_by,
        flags=(*admission_flags(atom), *doubts),
        session_key=atom.session_key,
        needs_review=atom.needs_review,
    )


def record_item(record: Record, score: float) -> Item:
    """Return a record as an item; it is its own evidence."""
    return Item(
        id=record.record_id,
        layer="record",
        kind=record.role,
        text=cut(record.message_text, LONGEST_TEXT),
        score=score,
        sources=(Source(record_id=record.record_id, timestamp=record.timestamp),),
        occurred=record.timestamp,
        status="active",
        speaker=record.speaker,
        session_key=record.session_key,
    )


def scene_item(scene: Scene, score: float) -> Item:
    """Return a scene's entry as an item; its sources are the atoms that it cites."""
    cited = dict.fromkeys(atom for line in scene.lines for atom in line.atoms)
    return Item(
        id=scene.id,
        layer="scene",
        kind="scene",
        text=f"{scene.title}: {scene.summary}" if scene.summary else scene.title,
        score=score,
        sources=tuple(Source(record_id=atom) for atom in cited),
        occurred=scene.updated_at,
        status="archived" if scene.archived else "live",
    )
