"""The door: bytes in any dialect become messages, and messages become any dialect."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, tzinfo
from typing import Any, Final, assert_never

from stenolith.errors import InvalidInput
from stenolith.interop.anthropic_writer import joins, write_anthropic
from stenolith.interop.canonical import read_canonical, write_canonical
from stenolith.interop.chat import read_chat
from stenolith.interop.detect import detect
from stenolith.interop.openai_writer import write_openai
from stenolith.interop.openclaw import read_openclaw, write_openclaw
from stenolith.interop.reading import Dialect, Problem, Reading, dialect_named
from stenolith.interop.responses import read_responses
from stenolith.interop.responses_writer import write_responses
from stenolith.interop.scan import Element, scan
from stenolith.interop.session_tree import is_entry, read_entries
from stenolith.model.message import Message

_HOLDERS: Final = ("messages", "input", "items")
_LEADS: Final = ("system", "instructions")


def read_messages(
    data: bytes | str, *, dialect: str | None = None, zone: tzinfo = UTC, cut_off: bool = False
) -> Reading:
    """Read one conversation: a JSON array of messages, an object with ``messages``, or JSON lines.

    The dialect is the one that the messages bear marks of (`detect`), or the one given.  ISO times without
    an offset are read in *zone* and marked ``timestamp_assumed``.  A message that cannot be read is named in the
    problems and left out.  Raises InvalidInput when nothing can be read, for an unknown dialect, and for JSON that is
    broken in the middle of an array or object.  With *cut_off* an array whose writer was killed gives what it holds.
    """
    forced = dialect_named(dialect) if dialect else None
    elements: list[Element] = []
    problems: list[Problem] = []
    for found in _read_begun(data) if cut_off else scan(data):
        if isinstance(found, Problem):
            problems.append(found)
        else:
            elements += unfolded(found)
    reading = read_elements(elements, forced, zone)
    problems = sorted([*problems, *reading.problems], key=lambda problem: problem.line)
    if problems and not reading.messages:
        first = problems[0]
        raise InvalidInput(f"line {first.line}: {first.message}; no message could be read", line=first.line)
    return replace(reading, problems=tuple(problems))


def _read_begun(data: bytes | str) -> list[Element | Problem]:
    """Return what `scan` yields; the piece in which the text stops too early becomes a problem."""
    read: list[Element | Problem] = []
    try:
        read += scan(data)  # which stops at the first piece that is not whole, and keeps those before it
    except InvalidInput as error:
        if "rest" not in error.facts:
            raise
        read = [*read, _cut_off(error.facts["line"], error.facts["rest"])] if read else _closed(data)
        if not read:
            raise
    alone = read[0] if len(read) == 1 else None
    return (_closed(data) if isinstance(alone, Problem) else []) or read


def _closed(data: bytes | str) -> list[Element | Problem]:
    """Return what an object holds that stops inside its array of messages; nothing when it is no such object."""
    text = data if isinstance(data, str) else data.decode("utf-8", "replace")
    rest = text = "{\n" + text.lstrip().removeprefix("{")  # a line break, so that it is taken for one object
    try:
        list(scan(text, streamed=_HOLDERS))
    except InvalidInput as stop:
        rest = stop.facts.get("rest", text)
    try:
        read = list(scan(text.removesuffix(rest).rstrip().removesuffix(",") + "]}"))
    except InvalidInput:
        return []
    return [*read, _cut_off(1, rest)] if all(isinstance(found, Element) for found in read) else []


def _cut_off(line: int, rest: str) -> Problem:
    return Problem(line=line, message="the text stops here: it was cut off", text=rest)


def unfolded(element: Element) -> list[Element]:
    """Return the messages inside *element*: itself, or what an object holds under ``messages``.

    A payload's ``system`` or ``instructions`` comes first, as a system message.
    """
    value = element.value
    if not isinstance(value, Mapping) or "role" in value:
        return [element]
    holders = _HOLDERS[:1] if "type" in value else _HOLDERS
    holder = next((key for key in holders if isinstance(value.get(key), list | str)), None)
    if holder is None:
        return [element]
    items = value[holder] if isinstance(value[holder], list) else [{"role": "user", "content": value[holder]}]
    leads = [{"role": "system", "content": value[key]} for key in _LEADS if value.get(key)]
    return [Element(line=element.line, value=item, within=holder) for item in (*leads, *items)]


def read_elements(elements: Sequence[Element], forced: Dialect | None, zone: tzinfo) -> Reading:
    """Read the values of one conversation, each with the line it stands on."""
    dialect = forced or detect(element.value for element in elements)
    if any(element.within == "input" for element in elements) and not forced:
        dialect = Dialect.OPENAI_RESPONSES
    if dialect is Dialect.OPENAI_RESPONSES:
        messages, problems = read_responses(elements, zone)
    elif dialect is Dialect.OPENCLAW and any(is_entry(element.value) for element in elements):
        entries = [element for element in elements if isinstance(element.value, Mapping)]
        messages, problems = read_entries(entries, zone)
        problems += [_not_an_object(element) for element in elements if not isinstance(element.value, Mapping)]
    else:
        messages, problems = _read_one_by_one(elements, dialect, zone)
    return Reading(messages=tuple(messages), dialect=dialect.value, problems=tuple(problems))


def _read_one_by_one(
    elements: Sequence[Element], dialect: Dialect, zone: tzinfo
) -> tuple[list[Message], list[Problem]]:
    messages: list[Message] = []
    problems: list[Problem] = []
    for element in elements:
        if not isinstance(element.value, Mapping):
            problems.append(_not_an_object(element))
            continue
        found, complaint = _read_one(element.value, dialect, zone)
        messages += _told_apart(messages[-1:], found, dialect)
        if complaint:
            problems.append(Problem(line=element.line, message=complaint, text="" if found else _told(element)))
    return messages, problems


def _not_an_object(element: Element) -> Problem:
    said = f"a message must be an object, not {type(element.value).__name__}"
    return Problem(line=element.line, message=said, text=_told(element))


def _told(element: Element) -> str:
    return json.dumps(element.value, ensure_ascii=False)


def _read_one(value: Mapping[str, Any], dialect: Dialect, zone: tzinfo) -> tuple[list[Message], str]:
    if dialect is Dialect.CANONICAL:
        return read_canonical(value, zone)
    if dialect is Dialect.OPENCLAW:
        return read_openclaw(value, zone)
    return read_chat(value, dialect, zone)


def _told_apart(before: Sequence[Message], found: Sequence[Message], dialect: Dialect) -> Iterator[Message]:
    """Mark a user message that stood by itself behind tool results, where the writer would join the two."""
    for at, message in enumerate(found):
        alone = dialect is Dialect.ANTHROPIC and at == 0 and before and joins(before[0], message)
        yield replace(message, extra={**message.extra, "separate": True}) if alone else message


def write_messages(messages: Sequence[Message], dialect: str) -> list[dict[str, Any]]:
    """Return *messages* as JSON objects of *dialect*.

    What `read_messages` read in a dialect is written in it as it was; between dialects, what the other one cannot say
    is left out.  Raises InvalidInput for an unknown dialect.
    """
    named = dialect_named(dialect)
    match named:
        case Dialect.CANONICAL:
            return write_canonical(messages)
        case Dialect.OPENAI_CHAT:
            return write_openai(messages)
        case Dialect.OPENAI_RESPONSES:
            return write_responses(messages)
        case Dialect.ANTHROPIC:
            return write_anthropic(messages)
        case Dialect.OPENCLAW:
            return write_openclaw(messages)
        case _ as never:
            assert_never(never)
