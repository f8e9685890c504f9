"""Stream the conversations of a file, whatever exported it: one at a time in memory, with stable keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from itertools import chain
from pathlib import Path
from typing import Any, Final

from stenolith.errors import InvalidInput
from stenolith.interop.detect import detect
from stenolith.interop.dialects import read_elements, unfolded
from stenolith.interop.exports import read_chatgpt, read_claude
from stenolith.interop.reading import Dialect, Problem
from stenolith.interop.scan import Element, Source, scan
from stenolith.interop.seed import SeedOptions, read_sessions
from stenolith.model.message import Message

FORMATS: Final = ("auto", "seed", "canonical", "openclaw", "openai", "anthropic", "chatgpt", "claude", "tdai")
_KEYS: Final = ("sessionKey", "session_key", "conversation_id", "session", "uuid", "id")
_IDS: Final = ("sessionId", "session_id", "conversation_id", "uuid", "id")
_DIALECTS: Final[Mapping[str, Dialect]] = {
    "canonical": Dialect.CANONICAL,
    "openclaw": Dialect.OPENCLAW,
    "openai": Dialect.OPENAI_CHAT,
    "anthropic": Dialect.ANTHROPIC,
}
_EXPORTS: Final[Mapping[str, Callable[[Mapping[str, Any]], tuple[list[Message], list[str]]]]] = {
    "chatgpt": read_chatgpt,
    "claude": read_claude,
}

Found = Element | Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One conversation of a file.

    *source_line* is where it starts; *problems* name what was left out of it.  A part of the file that belongs to no
    conversation comes as one without messages.
    """

    session_key: str
    session_id: str
    messages: tuple[Message, ...]
    source_line: int
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """How conversations are named and their times read.

    *session_key* stands in for the file's name, from which a conversation without a key of its own is called; *zone*
    reads ISO times without an offset; *seed* is how a seed file is read.
    """

    session_key: str = ""
    zone: tzinfo = UTC
    seed: SeedOptions | None = None


def conversations(source: Source, form: str = "auto", choices: Choices | None = None) -> Iterator[Conversation]:
    """Yield the conversations of *source*, in its order.

    *form* is one of `FORMATS`.  A plain array of messages is one conversation, called after the file; conversations
    without a key in a file of several are called ``name#1``, ``name#2`` and so on, so that a second run meets the same
    keys.  Raises InvalidInput for an unknown form, for a file that cannot be read and, in the middle, where broken JSON
    ends what can be read; a damaged JSON line is a problem and reading goes on.
    """
    if form not in FORMATS:
        raise InvalidInput(f"unknown format {form!r}; use one of {', '.join(FORMATS)}", format=form)
    choices = choices or Choices()
    kind = _kind_of(source) if form == "auto" else form
    if kind == "seed":
        return _from_seed(source, choices)
    name = choices.session_key or (source.stem if isinstance(source, Path) else "import")
    found = scan(source)
    if kind in _EXPORTS:
        return _from_export(found, name, kind)
    if kind == "tdai":
        return _from_lines(found, choices.zone)
    return _from_messages(found, name, _Reader(zone=choices.zone, forced=_DIALECTS.get(kind)))


def _kind_of(source: Source) -> str:
    """Judge by the first value of the file."""
    first = next((found for found in scan(source, {"sessions"}) if isinstance(found, Element)), None)
    value = first.value if first else None
    if first and (first.within == "sessions" or _has(value, "sessionKey", "conversations")):
        return "seed"
    if _has(value, "mapping"):
        return "chatgpt"
    if _has(value, "chat_messages"):
        return "claude"
    return "tdai" if _has(value, "sessionKey", "role", "content") else "auto"


def _has(value: Any, *keys: str) -> bool:
    return isinstance(value, Mapping) and all(key in value for key in keys)


def _from_seed(source: Source, choices: Choices) -> Iterator[Conversation]:
    options = choices.seed or SeedOptions(zone=choices.zone)
    for session in read_sessions(source, options):
        yield Conversation(
            session_key=session.session_key,
            session_id=session.session_id,
            messages=session.messages,
            source_line=session.source_line,
        )


def _lost(problem: Problem, name: str) -> Conversation:
    return Conversation(session_key=name, session_id=name, messages=(), source_line=problem.line, problems=(problem,))


def _from_export(found: Iterable[Found], name: str, kind: str) -> Iterator[Conversation]:
    for number, element in enumerate(found, 1):
        if isinstance(element, Problem) or not isinstance(element.value, Mapping):
            yield _lost(_as_problem(element), name)
            continue
        messages, complaints = _EXPORTS[kind](element.value)
        yield Conversation(
            session_key=_named(element.value, _KEYS, f"{name}#{number}"),
            session_id=_named(element.value, _IDS, f"{name}#{number}"),
            messages=tuple(messages),
            source_line=element.line,
            problems=tuple(Problem(line=element.line, message=complaint) for complaint in complaints),
        )


def _as_problem(found: Found) -> Problem:
    return found if isinstance(found, Problem) else Problem(line=found.line, message="a conversation must be an object")


def _named(value: Mapping[str, Any], keys: tuple[str, ...], otherwise: str) -> str:
    return next((value[key] for key in keys if isinstance(value.get(key), str) and value[key].strip()), otherwise)


def _from_lines(found: Iterable[Found], zone: tzinfo) -> Iterator[Conversation]:
    """Group the lines of a daily file by session; sessions come in the order of their first line."""
    groups: dict[tuple[str, str], list[Element]] = {}
    lost: list[Problem] = []
    for element in found:
        if isinstance(element, Problem) or not _has(element.value, "sessionKey", "role"):
            lost.append(_as_problem(element))
            continue
        value = dict(element.value)
        key = str(value.pop("sessionKey"))
        named = str(value.pop("sessionId", "") or key)
        groups.setdefault((key, named), []).append(replace(element, value=value))
    for problem in lost:
        yield _lost(problem, "")
    for (key, named), elements in groups.items():
        reading = read_elements(elements, Dialect.OPENAI_CHAT, zone)
        line = elements[0].line
        yield Conversation(
            session_key=key, session_id=named, messages=reading.messages, source_line=line, problems=reading.problems
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    zone: tzinfo
    forced: Dialect | None

    def read(self, elements: list[Element], key: str, named: str) -> Conversation:
        inner = [inside for element in elements for inside in unfolded(element)]
        forced = self.forced
        if forced is Dialect.OPENAI_CHAT and detect(item.value for item in inner) is Dialect.OPENAI_RESPONSES:
            forced = Dialect.OPENAI_RESPONSES
        reading = read_elements(inner, forced, self.zone)
        line = elements[0].line if elements else 1
        return Conversation(
            session_key=key, session_id=named, messages=reading.messages, source_line=line, problems=reading.problems
        )


def _from_messages(found: Iterator[Found], name: str, reader: _Reader) -> Iterator[Conversation]:
    """Yield one conversation for a file of messages, or one for each object or array that holds some."""
    loose: list[Element] = []
    lost: list[Problem] = []
    holders = _numbered(_holders(found, loose, lost))
    for element, key in holders:
        own = element.value if isinstance(element.value, Mapping) else {}
        named = f"{name}{key}"
        yield reader.read([_opened(element)], _named(own, _KEYS, named), _named(own, _IDS, named))
    if loose:
        named = _session_of(loose) or name
        yield reader.read(loose, name, named)
    for problem in lost:
        yield _lost(problem, name)


def _holders(found: Iterator[Found], loose: list[Element], lost: list[Problem]) -> Iterator[Element]:
    for element in found:
        if isinstance(element, Problem):
            lost.append(element)
        elif isinstance(element.value, list) or _has(element.value, "messages"):
            yield element
        else:
            loose.append(element)


def _numbered(holders: Iterator[Element]) -> Iterator[tuple[Element, str]]:
    """Give each holder its number; the only one of a file needs none."""
    first, second = next(holders, None), next(holders, None)
    if first is None:
        return
    if second is None:
        yield first, ""
        return
    for number, element in enumerate(chain((first, second), holders), 1):
        yield element, f"#{number}"


def _opened(element: Element) -> Element:
    return replace(element, value={"messages": element.value}) if isinstance(element.value, list) else element


def _session_of(elements: list[Element]) -> str:
    """Return the id in a session file's header."""
    header = elements[0].value
    return str(header.get("id") or "") if _has(header, "type") and header["type"] == "session" else ""
