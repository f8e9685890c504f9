"""The JSON of stored things, one shape per thing, the same for the library and the command line."""

from __future__ import annotations

from typing import Any

from stenolith.model.atom import Atom
from stenolith.model.scene import Scene
from stenolith.store.records import Record
from stenolith.store.transcripts import Session

View = dict[str, Any]


def atom_view(atom: Atom) -> View:
    """Return an atom with its validity, its sources and its place among its versions."""
    return {
        "id": atom.id,
        "layer": "atom",
        "kind": atom.kind.value,
        "text": atom.text,
        "priority": atom.priority,
        "subject": atom.subject,
        "attribute": atom.attribute,
        "speaker": atom.speaker,
        "status": atom.status.value,
        "version": atom.version,
        "supersedes": atom.supersedes,
        "superseded_by": atom.superseded_by,
        "reason": atom.reason,
        "needs_review": atom.needs_review or None,
        "recorded_at": atom.recorded_at,
        "valid_from": atom.valid_from,
        "valid_until": atom.valid_until,
        "occurred": atom.occurred_start,
        "occurred_end": atom.occurred_end,
        "expires_at": atom.expires_at,
        "task_only": atom.task_only,
        "scene": atom.scene_id,
        "origin": atom.origin,
        "session_key": atom.session_key,
        "session_id": atom.session_id,
        "provenance": dict(atom.provenance),
        "sources": [
            {"id": source.record_id, "quote": source.quote, "timestamp": source.timestamp} for source in atom.sources
        ],
    }


def record_view(record: Record) -> View:
    """Return a record: who said what, when, and in which session."""
    return {
        "id": record.record_id,
        "layer": "record",
        "message_id": record.message_id,
        "session_key": record.session_key,
        "session_id": record.session_id,
        "role": record.role,
        "speaker": record.speaker,
        "text": record.message_text,
        "timestamp": record.timestamp,
        "timestamp_source": record.timestamp_source,
        "recorded_at": record.recorded_at,
        "seq": record.seq,
    }


def scene_view(scene: Scene) -> View:
    """Return a scene's entry in the directory."""
    return {
        "id": scene.id,
        "layer": "scene",
        "name": scene.name,
        "title": scene.title,
        "text": scene.summary,
        "status": "archived" if scene.archived else "live",
        "version": scene.version,
        "lines": len(scene.lines),
        "created_at": scene.created_at,
        "updated_at": scene.updated_at,
    }


def session_view(session: Session) -> View:
    """Return a session with the number of its messages."""
    return {
        "id": f"{session.session_key}\u241f{session.session_id}",
        "layer": "session",
        "session_key": session.session_key,
        "session_id": session.session_id,
        "messages": session.head_seq,
        "created_at": session.created_at,
        "updated_at": session.updated_at,
    }
