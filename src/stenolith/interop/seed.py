"""Read seed files: sessions of rounds of messages, validated whole before the first one is handed out.

Format A is ``{"sessions": [{"sessionKey", "sessionId"?, "conversations": [[{"role", "content", "timestamp"?}]]}]}``,
format B the bare array (``spec/layers.md`` section 10).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any, Final

from stenolith.errors import InvalidInput
from stenolith.interop.chat import read_chat
from stenolith.interop.reading import Dialect, Problem
from stenolith.interop.scan import Element, Source, scan
from stenolith.interop.timestamps import read_time
from stenolith.model.message import Message, Role

_STEP_MS: Final = 100  # between two messages whose times are filled in
_NAMED: Final = 3  # errors that the sentence of an exception names; its facts hold all


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedOptions:
    """How a seed file is read.

    *strict_rounds*: a round needs a user and an assistant. *fill_from*: the time in epoch milliseconds of the first
    message of a file without times, the others follow in steps of 100 ms; None takes the file's modification time, so
    that reading the same file again gives the same times (bytes have none: their messages stay without). *zone* reads
    ISO times without an offset.
    """

    strict_rounds: bool = False
    fill_from: int | None = None
    zone: tzinfo = UTC


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedError:
    """One fault of a seed file: which layer found it, on what line its session starts, and where inside it is.

    *layer* is ``file``, ``top level``, ``session``, ``round``, ``message`` or ``timestamps``; indices count from 0.
    """

    layer: str
    message: str
    line: int = 0
    session_index: int | None = None
    round_index: int | None = None
    message_index: int | None = None

    def __str__(self) -> str:
        """Return place and complaint in one sentence."""
        steps = ("sessions", "conversations", ""), (self.session_index, self.round_index, self.message_index)
        path = ".".join(f"{name}[{at}]" for name, at in zip(*steps, strict=True) if at is not None).replace(".[", "[")
        return f"line {self.line}: {path or self.layer}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedSession:
    """One session of a seed file; *source_line* is where it starts."""

    session_key: str
    session_id: str
    rounds: tuple[tuple[Message, ...], ...]
    source_line: int

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages of all rounds."""
        return tuple(message for found in self.rounds for message in found)


def read_sessions(source: Source, options: SeedOptions | None = None) -> Iterator[SeedSession]:
    """Yield the sessions of a seed file in order, one at a time in memory.

    The file is read twice: first to check all of it, then to hand it out.  Raises InvalidInput before the first session
    when anything is wrong; its ``errors`` fact holds every `SeedError`.  A session without an id takes its key.
    """
    options = options or SeedOptions()
    errors, dated = _check(source, options)
    if errors:
        more = f" (and {len(errors) - _NAMED} more)" if len(errors) > _NAMED else ""
        named = "; ".join(str(error) for error in errors[:_NAMED])
        raise InvalidInput(f"the seed file has faults, nothing was imported: {named}{more}", errors=tuple(errors))
    clock = _Clock(None if dated else _fill_start(source, options))
    for element in _elements(source):
        yield _read_session(element, options, clock)


def check_seed(source: Source, options: SeedOptions | None = None) -> tuple[SeedError, ...]:
    """Return every fault of a seed file, in order."""
    return tuple(_check(source, options or SeedOptions())[0])


def _elements(source: Source) -> Iterator[Element]:
    return (found for found in scan(source, {"sessions"}) if isinstance(found, Element))


def _fill_start(source: Source, options: SeedOptions) -> int | None:
    if options.fill_from is not None or not isinstance(source, Path):
        return options.fill_from
    return source.stat().st_mtime_ns // 1_000_000


class _Clock:
    """Fills in times, one step after the other over the whole file; without a start it fills in none."""

    def __init__(self, start: int | None) -> None:
        self._next = start

    def date(self, message: Message) -> Message:
        if self._next is None or message.timestamp is not None:
            return message
        stamp, self._next = self._next, self._next + _STEP_MS
        return replace(message, timestamp=stamp, extra={**message.extra, "timestamp_assumed": True})


def _read_session(element: Element, options: SeedOptions, clock: _Clock) -> SeedSession:
    value = element.value
    rounds = tuple(
        tuple(clock.date(message) for item in one for message in _read_message(item, options.zone))
        for one in value["conversations"]
    )
    key, named = value["sessionKey"], value.get("sessionId")
    return SeedSession(session_key=key, session_id=named or key, rounds=rounds, source_line=element.line)


def _read_message(item: Mapping[str, Any], zone: tzinfo) -> list[Message]:
    moment = read_time(item.get("timestamp"), zone=zone)
    found, _ = read_chat({key: value for key, value in item.items() if key != "timestamp"}, Dialect.OPENAI_CHAT, zone)
    assumed = {"timestamp_assumed": True} if moment.assumed else {}
    return [replace(message, timestamp=moment.ms, extra={**message.extra, **assumed}) for message in found]


@dataclass(slots=True, kw_only=True)
class _Findings:
    options: SeedOptions
    errors: list[SeedError] = field(default_factory=list)
    dated: int = 0
    undated: SeedError | None = None
    sessions: int = 0


def _check(source: Source, options: SeedOptions) -> tuple[list[SeedError], bool]:
    """Return all faults, and whether the messages have times."""
    findings = _Findings(options=options)
    try:
        for found in scan(source, {"sessions"}):
            if isinstance(found, Problem):
                findings.errors.append(SeedError(layer="file", message=found.message, line=found.line))
            else:
                _check_element(found, findings)
    except InvalidInput as error:
        line = error.facts.get("line", 0)
        findings.errors.append(SeedError(layer="file", message=str(error), line=line))
        return findings.errors, False
    if not findings.sessions and not findings.errors:
        findings.errors.append(SeedError(layer="top level", message="there are no sessions in it", line=1))
    if findings.dated and findings.undated:
        findings.errors.append(findings.undated)
    return findings.errors, findings.dated > 0


def _check_element(element: Element, findings: _Findings) -> None:
    if not element.within:
        message = "must be an array of sessions or an object with a 'sessions' array"
        findings.errors.append(SeedError(layer="top level", message=message, line=element.line))
        return
    at = SeedError(layer="session", message="", line=element.line, session_index=findings.sessions)
    findings.sessions += 1
    value = element.value
    if not isinstance(value, Mapping):
        findings.errors.append(replace(at, message=f"a session must be an object, not {type(value).__name__}"))
        return
    if not _filled(value.get("sessionKey")):
        findings.errors.append(replace(at, message="'sessionKey' must be a string that is not empty"))
    if value.get("sessionId") is not None and not isinstance(value["sessionId"], str):
        findings.errors.append(replace(at, message="'sessionId' must be a string"))
    rounds = value.get("conversations")
    if not isinstance(rounds, list):
        findings.errors.append(replace(at, message="'conversations' must be an array of rounds"))
        return
    for index, one in enumerate(rounds):
        _check_round(one, replace(at, layer="round", round_index=index), findings)


def _check_round(one: Any, at: SeedError, findings: _Findings) -> None:
    if not isinstance(one, list) or not one:
        findings.errors.append(replace(at, message="a round must be an array with at least one message"))
        return
    roles = {item.get("role") for item in one if isinstance(item, Mapping) and isinstance(item.get("role"), str)}
    if findings.options.strict_rounds and not {Role.USER.value, Role.ASSISTANT.value} <= roles:
        findings.errors.append(replace(at, message="a round must hold a user message and an assistant message"))
    for index, item in enumerate(one):
        _check_message(item, replace(at, layer="message", message_index=index), findings)


def _check_message(item: Any, at: SeedError, findings: _Findings) -> None:
    if not isinstance(item, Mapping):
        findings.errors.append(replace(at, message=f"a message must be an object, not {type(item).__name__}"))
        return
    missing = [key for key in ("role", "content") if not _filled(item.get(key))]
    findings.errors += [replace(at, message=f"{key!r} must be a string that is not empty") for key in missing]
    stamp = item.get("timestamp")
    if stamp is None:
        complaint = "has no timestamp though others have one; give all messages a time, or none"
        findings.undated = findings.undated or replace(at, layer="timestamps", message=complaint)
    elif not _is_time(stamp, findings.options.zone):
        findings.errors.append(
            replace(at, message=f"'timestamp' must be whole milliseconds or an ISO time, not {stamp!r}")
        )
    else:
        findings.dated += 1


def _is_time(stamp: Any, zone: tzinfo) -> bool:
    return not isinstance(stamp, float) and read_time(stamp, zone=zone).ms is not None


def _filled(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())
