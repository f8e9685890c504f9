"""What is searched of each row: the words of records, atoms and scenes as search documents."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo

from stenolith.model.atom import Atom
from stenolith.model.scene import Scene
from stenolith.store.indexing import Document, day_words
from stenolith.store.records import Record
from stenolith.store.search import Layer


def of_records(records: Sequence[Record], zone: tzinfo) -> list[Document]:
    """Return the documents of records: their words, and speaker and day as a label.

    What is not distilled (a statement made to be remembered, a turn that failed or that nobody asked for) has no
    neighbours whose words would say something about it.
    """
    return [
        Document(
            owner_id=record.owner_id,
            layer=Layer.RECORD,
            ref_id=record.record_id,
            text=record.message_text,
            label=f"{record.speaker} {day_words(record.timestamp, zone)}".strip(),
            speaker=record.speaker or record.role,
            occurred_ms=record.timestamp,
            session_ref=record.session_ref if record.distillable else None,
            seq=record.seq if record.distillable else None,
        )
        for record in records
    ]


def of_atoms(owner_id: int, atoms: Sequence[Atom], zone: tzinfo) -> list[Document]:
    """Return the documents of atoms; an event is found by the day it happened."""
    found = []
    for atom in atoms:
        at = atom.occurred_start if atom.occurred_start is not None else atom.valid_from
        subject = "" if atom.subject in {"", "user"} else atom.subject
        label = f"{atom.speaker} {subject} {day_words(at, zone)}".strip()
        found.append(
            Document(
                owner_id=owner_id,
                layer=Layer.ATOM,
                ref_id=atom.id,
                text=atom.text,
                label=label,
                speaker=atom.speaker or atom.role,
                occurred_ms=at,
            )
        )
    return found


def of_scenes(owner_id: int, scenes: Sequence[Scene]) -> list[Document]:
    """Return the documents of scenes: title, summary and lines."""
    return [
        Document(
            owner_id=owner_id,
            layer=Layer.SCENE,
            ref_id=scene.id,
            text="\n".join([scene.title, scene.summary, *(line.text for line in scene.lines)]),
            label=" ".join(scene.terms),
            occurred_ms=scene.updated_at,
        )
        for scene in scenes
    ]
