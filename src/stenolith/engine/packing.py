"""The lines of an export: each stored thing as one JSON object with a ``type``, in a fixed order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import asdict
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from stenolith.engine.wiring import House
from stenolith.errors import InvalidInput
from stenolith.model.atom import Atom
from stenolith.model.identity import Scope
from stenolith.model.message import message_from_dict, message_to_dict
from stenolith.pipeline.stages import DISTILL
from stenolith.store.atom_rows import AtomNotes
from stenolith.store.audit import Tombstone
from stenolith.store.cursors import Cursor
from stenolith.store.persona import Portrait
from stenolith.store.records import Record
from stenolith.store.scenes import KeptScene
from stenolith.store.transcripts import Mark, Session, StoredMessage, Turn

Line = dict[str, Any]
PAGE: Final = 1000
_READERS: Final[dict[str, TypeAdapter[Any]]] = {
    "turn": TypeAdapter(Turn),
    "mark": TypeAdapter(Mark),
    "record": TypeAdapter(Record),
    "atom": TypeAdapter(Atom),
    "notes": TypeAdapter(AtomNotes),
    "scene": TypeAdapter(KeptScene),
    "portrait": TypeAdapter(Portrait),
    "tombstone": TypeAdapter(Tombstone),
}
_LOCAL: Final = {"session_ref", "owner_id", "team_id", "user_id", "agent_id"}
"""What has another value in another home, and is given anew when a line is read."""


class Packing:
    """Turns stores into lines and lines into stores."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def session_lines(self, owner_id: int, session_key: str) -> AsyncIterator[Line]:
        """Yield the transcripts of one session key, losslessly, with their records."""
        for session in await self._house.transcripts.of_key(owner_id, session_key):
            async for line in self._session(owner_id, session):
                yield line

    async def lines(self, owner_id: int) -> AsyncIterator[Line]:
        """Yield everything the owner has; the same memory gives the same lines in the same order."""
        yield {"type": "home", "tombstone_key": await self._house.tombstones.key_of_home()}
        for stone in sorted(await self._house.tombstones.listing(owner_id), key=lambda item: (item.layer, item.hash)):
            yield {"type": "tombstone", **asdict(stone)}
        for session in sorted(await self._sessions(owner_id), key=lambda item: (item.session_key, item.session_id)):
            async for line in self._session(owner_id, session):
                yield line
        after = ""
        while page := await self._house.atoms.export(owner_id, after, PAGE):
            for atom, notes in page:
                yield {"type": "atom", **asdict(atom), "notes": asdict(notes)}
            after = page[-1][0].id
        for kept in await self._house.scenes.export(owner_id):
            yield {"type": "scene", **asdict(kept)}
        portrait = await self._house.personas.current(owner_id)
        if portrait.version:
            earlier = await self._house.personas.versions(owner_id)
            yield {"type": "persona", "current": asdict(portrait), "versions": [asdict(one) for one in earlier]}

    async def _sessions(self, owner_id: int) -> list[Session]:
        found: list[Session] = []
        while page := await self._house.transcripts.page(owner_id, found[-1].session_ref if found else 0, PAGE):
            found += page
        return found

    async def _session(self, owner_id: int, session: Session) -> AsyncIterator[Line]:
        ref = session.session_ref
        done = await self._house.cursors.get(owner_id, DISTILL, str(ref))
        yield {"type": "session", **_portable(session), "distilled": done.position}
        for turn in await self._house.transcripts.turns(ref):
            yield {"type": "turn", **_portable(turn)}
        digests = await self._house.transcripts.digests(ref)
        for stored in await self._house.transcripts.messages(ref):
            names = ("message_id", "seq", "turn_id", "status", "recorded_at")
            shape = {name: getattr(stored, name) for name in names}
            yield {"type": "message", **shape, "digest": digests[stored.seq], "body": message_to_dict(stored.message)}
        for mark in await self._house.transcripts.marks(ref):
            yield {"type": "mark", **asdict(mark)}
        after = 0
        while page := await self._house.records.of_session(ref, after=after, limit=PAGE):
            for record in page:
                yield {"type": "record", **_portable(record)}
            after = page[-1].seq

    async def restore(self, owner_id: int, scope: Scope, lines: Iterable[Line]) -> AsyncIterator[str]:
        """Store lines and yield the type of each thing that was not there yet; joins an open transaction."""
        session: Session | None = None
        for line in lines:
            kind = line.get("type")
            if kind == "session":
                session = await self._restore_session(owner_id, line)
                if session is not None:
                    yield "session"
            elif kind in {"turn", "message", "mark", "record"}:
                if session is not None:
                    await self._restore_part(scope, session, line)
                    yield str(kind)
            elif await self._restore_curated(owner_id, line):
                yield str(kind)

    async def _restore_session(self, owner_id: int, line: Line) -> Session | None:
        values = {name: line[name] for name in Session.__slots__ if name not in _LOCAL}
        session = await self._house.transcripts.restore(Session(session_ref=0, owner_id=owner_id, **values))
        if session is not None and line["distilled"]:
            cursor = Cursor(position=line["distilled"])
            await self._house.cursors.advance(owner_id, DISTILL, str(session.session_ref), cursor)
        return session

    async def _restore_part(self, scope: Scope, session: Session, line: Line) -> None:
        transcripts, ref = self._house.transcripts, session.session_ref
        match line["type"]:
            case "turn":
                await transcripts.restore_turn(_read("turn", {**line, "session_ref": ref}))
            case "mark":
                await transcripts.restore_mark(ref, _read("mark", line))
            case "message":
                names = ("message_id", "seq", "turn_id", "status", "recorded_at")
                body = message_from_dict(line["body"])
                stored = StoredMessage(**{name: line[name] for name in names}, message=body)
                await transcripts.restore_message(ref, stored, line["digest"])
            case _:
                owner = {"owner_id": session.owner_id, "team_id": scope.team, "user_id": scope.user}
                where = {**owner, "agent_id": scope.agent, "session_ref": ref}
                await self._house.records.append([_read("record", {**line, **where})])

    async def _restore_curated(self, owner_id: int, line: Line) -> bool:
        house = self._house
        match line.get("type"):
            case "home":
                await house.tombstones.key_of_home(line["tombstone_key"])
                return False
            case "tombstone":
                stone = _read("tombstone", line)
                known = await house.tombstones.has(owner_id, stone)
                await house.tombstones.restore(owner_id, [stone])
                return not known
            case "atom":
                return await house.atoms.restore(owner_id, _read("atom", line), _read("notes", line["notes"]))
            case "scene":
                return await house.scenes.restore(owner_id, _read("scene", line))
            case "persona":
                earlier = [_read("portrait", one) for one in line["versions"]]
                return await house.personas.restore(owner_id, _read("portrait", line["current"]), earlier)
            case other:
                raise InvalidInput(f"an export line has the unknown type {other!r}")


def _portable(value: Session | Turn | Record) -> Line:
    return {name: item for name, item in asdict(value).items() if name not in _LOCAL}


def _read(kind: str, line: Line) -> Any:
    try:
        return _READERS[kind].validate_python(
            {key: value for key, value in line.items() if key not in {"type", "notes"}}
        )
    except ValidationError as error:
        raise InvalidInput(f"an export line of type {kind!r} cannot be read: {error.errors()[0]['msg']}") from error
