"""Commands for transcripts: replay to a provider, lint a payload, repair a session file, display."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from stenolith.cli.memory import DialectName, InputFile
from stenolith.cli.options import COMMON, SEVERAL, Common, read_input
from stenolith.cli.output import emit, note, print_json, say, say_all
from stenolith.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stenolith.interop import Problem
    from stenolith.model.message import Message


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """Where the transcript is going."""

    provider: str = ""
    "Provider, such as anthropic, openai, google, amazon-bedrock, mistral, openrouter."
    api: str | None = None
    """Wire: openai-chat, openai-responses, anthropic-messages, google-generative-ai, bedrock-converse or
    mistral-conversations."""
    model: str = ""
    "Model id."
    thinking: Annotated[bool, Parameter(negative="")] = False
    "The request has thinking switched on."
    tools: Path | None = None
    "JSON file with the tools on offer."
    limits: Annotated[list[str] | None, SEVERAL] = None
    "KEY=VALUE: image_max_dimension, image_max_bytes, image_max_count, request_max_bytes."
    history: int | None = None
    "Keep only the last so many user turns (and the summaries that lead them)."
    continuation: Literal["strip", "continue"] = "strip"
    """What becomes of an assistant's words at the end of a request that must end with a user: strip takes them off,
    continue keeps them and adds a user who says so."""
    refused: str = ""
    "What the provider answered when it refused the last payload: print the one retry that may go through."
    status: int | None = None
    "HTTP status of that answer."
    account: str = ""
    "Which account the request goes to: reasoning that another one encrypted is left out."
    dialect: DialectName | None = None
    "Force the dialect of the messages instead of detecting it."
    messages: Annotated[bool, Parameter(negative="")] = False
    "Print the sanitised canonical messages instead of the payload."
    explain: Annotated[bool, Parameter(negative="")] = False
    "Print the policy row that matched, with every flag."


WIRE = Wire()


async def replay(file: InputFile = None, /, *, wire: Wire = WIRE, common: Common = COMMON) -> int:
    """Print a transcript as a payload that the provider accepts; neither file nor store is changed.

    Example: stenolith replay session.jsonl --provider anthropic --model claude-opus-4-6

    Parameters
    ----------
    file
        Messages; `-` is standard input. Without a file, --session KEY takes the stored session.
    """
    from stenolith.engine import replaying

    wish = replaying.Wish(
        provider=wire.provider,
        api=wire.api,
        model=wire.model,
        thinking=wire.thinking,
        tools=None if wire.tools is None else replaying.tool_names(read_input(wire.tools)),
        limits=tuple(wire.limits or ()),
        history=wire.history,
        continuation=wire.continuation,
        refused=wire.refused,
        status=wire.status,
        account=wire.account,
    )
    where = replaying.destination(wish, common.settings())
    if wire.explain:
        print_json(where.explain())
        return 0
    messages, problems = await _messages(file, wire.dialect, common, shown=False)
    result = (where.sanitised if wire.messages else where.replayed)(messages, problems)
    print_json(result)
    return 1 if result.get("violations") else 0


async def _messages(
    file: Path | None, dialect: str | None, common: Common, *, shown: bool
) -> tuple[Sequence[Message], Sequence[Problem]]:
    """Read the file, or the stored session: all that may be *shown*, or what a model is to see."""
    from stenolith.interop import read_messages

    if file is None and common.session:
        async with common.memory(create=False) as memory:
            sessions = memory.sessions
            return await (sessions.raw if shown else sessions.view)(common.scope()), ()
    reading = read_messages(read_input(file), dialect=dialect, cut_off=True)
    for problem in reading.problems:
        note(f"{file or 'standard input'}, line {problem.line}: {problem.message}", "yellow")
    return reading.messages, reading.problems


async def lint(
    file: InputFile = None, /, *, api: str, provider: str = "", model: str = "", common: Common = COMMON
) -> int:
    """Check a request body against everything the provider is known to reject.

    Example: stenolith lint payload.json --api anthropic-messages

    Parameters
    ----------
    file
        The payload as JSON; `-` is standard input.
    api
        The wire it is meant for.
    provider
        Provider, for its own extra rules.
    model
        Model id, for its own extra rules.
    """
    from stenolith.engine import replaying

    data = read_input(file)
    try:
        payload = replaying.payload_of(data, api)
    except InvalidInput as error:
        raise InvalidInput(f"{file or 'standard input'}: {error}") from error
    found = replaying.linted(payload, api, provider=provider, model=model)
    emit(common.json, {"violations": found}, lambda: _tell_violations(found))
    return 1 if found else 0


def _tell_violations(found: list[dict[str, Any]]) -> None:
    for item in found:
        say(f"{item['code']}  {item['path']}: {item['message']}", "red")
    if not found:
        say("No violations.", "green")


async def repair(
    file: Path, /, *, dry_run: Annotated[bool, Parameter(negative="")] = False, common: Common = COMMON
) -> int:
    """Repair a damaged session file; the original is backed up first, good lines keep their bytes.

    Example: stenolith repair ~/.openclaw/agents/main/sessions/s1.jsonl --dry-run

    Parameters
    ----------
    file
        The session file (JSON lines).
    dry_run
        Say what would be done, and do nothing.
    """
    from stenolith.interop.session_file import repair as repair_file

    done = repair_file(file, dry_run=dry_run)
    emit(common.json, done.to_dict(), lambda: say_all(done.to_dict()))
    if done.reason is None or (dry_run and done.reason == "dry run"):
        return 0
    note(f"stenolith: {file}: {done.reason}", "red")
    return 1 if done.reason.startswith("repair failed") else 2


async def display(
    file: InputFile = None,
    /,
    *,
    dialect: DialectName | None = None,
    max_chars: int | None = None,
    common: Common = COMMON,
) -> int:
    """Print what a person may see of a transcript.

    Example: stenolith display --session agent:main

    Parameters
    ----------
    file
        Messages; `-` is standard input. Without a file, --session KEY takes the stored session.
    dialect
        Force the dialect of the messages instead of detecting it.
    max_chars
        Cut longer texts.
    """
    from stenolith.engine import replaying

    messages, _ = await _messages(file, dialect, common, shown=True)
    found = replaying.displayed(messages, max_chars)
    emit(common.json, {"messages": found}, lambda: _tell_messages(found))
    return 0


def _tell_messages(found: list[dict[str, Any]]) -> None:
    for message in found:
        words = [part.get("text") or f"[{part['type']}]" for part in message["parts"]]
        say(f"{message['role']:<9} {' '.join(words)}")
