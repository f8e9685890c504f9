"""The context that an OpenClaw session file holds: a tree of entries, walked from its leaf."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import Any, Final

from stenolith.interop.openclaw import read_openclaw, write_openclaw
from stenolith.interop.reading import Problem
from stenolith.interop.scan import Element
from stenolith.interop.timestamps import read_time
from stenolith.model.message import Message

NEWEST_VERSION: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    line: int
    value: Mapping[str, Any]
    parent: int | None  # the position of the entry before it on its branch


def is_entry(value: Any) -> bool:
    """Say whether *value* is a line of a session file rather than a bare message."""
    return isinstance(value, Mapping) and isinstance(value.get("type"), str) and "role" not in value


def read_entries(elements: Sequence[Element], zone: tzinfo) -> tuple[list[Message], list[Problem]]:
    """Return the messages on the way from the root to the leaf, and what was wrong.

    Behind a compaction stand its summary, the entries it kept (marked ``before_compaction``) and what came after.  An
    entry whose parent is gone hangs on the one before it in the file: a damaged line must not hide all that it
    followed.
    """
    problems: list[Problem] = []
    header: Mapping[str, Any] = next(
        (element.value for element in elements if element.value.get("type") == "session"), {}
    )
    version = header.get("version", 1)
    if isinstance(version, int) and version > NEWEST_VERSION:
        problems.append(Problem(line=1, message=f"session version {version} is newer than {NEWEST_VERSION}"))
    entries = _linked([element for element in elements if element.value.get("type") != "session"], problems)
    messages: list[Message] = []
    for entry, kept in _context(_path(entries), elements, problems):
        found, complaint = read_openclaw(_message_of(entry.value), zone)
        if complaint:
            told = "" if found else json.dumps(entry.value, ensure_ascii=False)
            problems.append(Problem(line=entry.line, message=complaint, text=told))
        mark = {"before_compaction": True} if kept else {}
        messages += [_placed(message, entry, mark, zone) for message in found]
    return messages, sorted(problems, key=lambda problem: problem.line)


def _linked(elements: Sequence[Element], problems: list[Problem]) -> list[_Entry]:
    """Give each entry the position of its parent: the nearest one before it that has the id it names."""
    seen: dict[str, int] = {}
    entries: list[_Entry] = []
    for at, element in enumerate(elements):
        value, before = element.value, at - 1 if at else None
        parent = value.get("parentId", before)
        if isinstance(parent, str):
            named = parent
            parent = seen.get(named, before)
            if named not in seen:
                problems.append(
                    Problem(line=element.line, message=f"parent {named!r} is missing; took the entry before")
                )
        entries.append(_Entry(line=element.line, value=value, parent=parent if isinstance(parent, int) else None))
        if isinstance(value.get("id"), str):
            seen[value["id"]] = at
    return entries


def _path(entries: Sequence[_Entry]) -> list[_Entry]:
    found: list[_Entry] = []
    at = len(entries) - 1 if entries else None
    while at is not None:
        found.append(entries[at])
        at = entries[at].parent
    return found[::-1]


def _context(
    path: Sequence[_Entry], elements: Sequence[Element], problems: list[Problem]
) -> Iterator[tuple[_Entry, bool]]:
    """Yield the entries that a model sees, in its order, each with whether a compaction kept it."""
    last = max((at for at, entry in enumerate(path) if entry.value.get("type") == "compaction"), default=None)
    if last is not None:
        yield path[last], False
        first = _first_kept(path[:last], path[last], elements)
        if first is None:
            problems.append(
                Problem(line=path[last].line, message="the first entry that the compaction kept is missing")
            )
        else:
            yield from ((entry, True) for entry in path[first:last] if _speaks(entry))
    rest = path if last is None else path[last + 1 :]
    yield from ((entry, False) for entry in rest if _speaks(entry))


def _speaks(entry: _Entry) -> bool:
    kind = str(entry.value.get("type"))
    return kind in {"message", "custom_message", "branch_summary"} or not {"message", "role"}.isdisjoint(entry.value)


def _first_kept(before: Sequence[_Entry], compaction: _Entry, elements: Sequence[Element]) -> int | None:
    named, index = compaction.value.get("firstKeptEntryId"), compaction.value.get("firstKeptEntryIndex")
    if named is None and isinstance(index, int) and 0 <= index < len(elements):  # version 1 counts the header too
        line = elements[index].line
        return next((at for at, entry in enumerate(before) if entry.line == line), None)
    return next((at for at, entry in enumerate(before) if entry.value.get("id") == named), None)


_KEPT_KEYS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "compaction": ("compactionSummary", ("summary", "tokensBefore", "details")),
    "branch_summary": ("branchSummary", ("summary", "fromId", "details")),
    "custom_message": ("custom", ("customType", "content", "display", "details")),
}


def _message_of(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the entry's message in the bare form."""
    if "role" in value:
        return value
    role, keys = _KEPT_KEYS.get(str(value.get("type")), ("", ()))
    if role:
        return {"role": role, **{key: value[key] for key in keys if key in value}}
    message = value.get("message")
    return message if isinstance(message, Mapping) else {}


def _placed(message: Message, entry: _Entry, mark: Mapping[str, Any], zone: tzinfo) -> Message:
    """Return *message* with its entry's id, and with the entry's time when it has none of its own."""
    known, stamp = entry.value.get("id"), message.timestamp
    return replace(
        message,
        id=known if isinstance(known, str) else message.id,
        timestamp=read_time(entry.value.get("timestamp"), zone=zone).ms if stamp is None else stamp,
        extra={**message.extra, **mark} if mark else message.extra,
    )


def write_session(messages: Sequence[Message], session_id: str, started_ms: int) -> list[dict[str, Any]]:
    """Return the lines of a version 3 session file that reads back as *messages*.

    Message ids become entry ids where they are unique; the others get a number.  *started_ms* (epoch milliseconds)
    dates the header and entries without a time.
    """
    header = {"type": "session", "version": NEWEST_VERSION, "id": session_id, "timestamp": _iso(started_ms), "cwd": ""}
    kept = [message for message in messages if message.extra.get("before_compaction")]
    summary = next((at for at, message in enumerate(messages) if message.extra.get("summary") == "compaction"), None)
    if kept and summary is not None:
        rest = [m for at, m in enumerate(messages) if at != summary and not m.extra.get("before_compaction")]
        messages = [*kept, messages[summary], *rest]
    names = _names(messages)
    lines: list[dict[str, Any]] = [header]
    for at, message in enumerate(messages):
        place = {"id": names[at], "parentId": names[at - 1] if at else None}
        stamp = _iso(started_ms if message.timestamp is None else message.timestamp)
        lines += [{**_entry_of(bare, names[0]), **place, "timestamp": stamp} for bare in _bare(message)]
    return lines


def _bare(message: Message) -> list[dict[str, Any]]:
    return write_openclaw([replace(message, id="")])


def _names(messages: Sequence[Message]) -> list[str]:
    counts = Counter(message.id for message in messages)
    return [m.id if m.id and counts[m.id] == 1 else f"entry-{at:08d}" for at, m in enumerate(messages)]


def _entry_of(bare: dict[str, Any], first: str) -> dict[str, Any]:
    for kind, (role, keys) in _KEPT_KEYS.items():
        if bare["role"] == role:
            more = {"firstKeptEntryId": first} if kind == "compaction" else {}
            return {"type": kind, **{key: bare[key] for key in keys if key in bare}, **more}
    return {"type": "message", "message": bare}


def _iso(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
