"""Commands that write memory and ask it: capture, recall, remember, correct, forget, history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from stenolith.cli.options import COMMON, Common, read_input
from stenolith.cli.output import emit, moment, note, say
from stenolith.errors import InvalidInput

if TYPE_CHECKING:
    from stenolith.capture.record import CaptureReport
    from stenolith.recall.context import Context

KindName = Literal["fact", "preference", "constraint", "decision", "event", "lesson", "instruction"]
DialectName = Literal["canonical", "openai-chat", "openai-responses", "anthropic", "openclaw"]
InputFile = Annotated[Path | None, Parameter(allow_leading_hyphen=True)]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What the host knows about the turn."""

    session_id: str = ""
    "One instance of the session (after a reset, say)."
    mark: Annotated[int | None, Parameter(validator=None)] = None
    "How many messages the host held before this turn."
    original: str | None = None
    "The user's words as typed, before anything was added around them."
    failed: Annotated[bool, Parameter(negative="")] = False
    "The turn failed: record it, never learn from it."
    dialect: DialectName | None = None
    "Force the dialect of the messages instead of detecting it."


HELD = Held()


async def capture(file: InputFile = None, /, *, held: Held = HELD, common: Common = COMMON) -> int:
    """Record what a host holds after a turn; what is already stored is recognised.

    Example: stenolith capture turn.json --session agent:main --mark 12

    Parameters
    ----------
    file
        JSON array of messages, object with `messages`, or JSON lines; `-` or nothing is standard input.
    """
    from stenolith.capture.turn import Turn
    from stenolith.interop import read_messages

    if not common.session:
        raise InvalidInput("capture needs --session KEY: it names the conversation these messages belong to")
    if held.mark is not None and held.mark < 0:
        raise InvalidInput(f"--mark counts messages, so it is 0 or more; got {held.mark}")
    reading = read_messages(read_input(file), dialect=held.dialect)
    for problem in reading.problems:
        note(f"{file or 'standard input'}, line {problem.line}: {problem.message}", "yellow")
    turn = Turn(messages=reading.messages, mark=held.mark, original=held.original, failed=held.failed)
    async with common.memory() as memory:
        report = await memory.capture(turn, scope=common.scope(held.session_id))
    emit(common.json, report.to_dict(), lambda: _tell_capture(report))
    return 3 if reading.problems else 0


def _tell_capture(report: CaptureReport) -> None:
    say(f"{len(report.recorded)} recorded, {report.new_messages} new messages, recognised by {report.aligned_by}")
    for record in report.recorded:
        say(f"  {record.role:<9} {record.message_text[:100]}")
    for index, reason in report.skipped:
        say(f"  message {index} skipped: {reason}", "dim")
    for warning in report.warnings:
        note(f"warning: {warning}", "yellow")


async def recall(
    query: str,
    /,
    *,
    limit: int | None = None,
    budget: int | None = None,
    deadline: int | None = None,
    as_of: str | None = None,
    common: Common = COMMON,
) -> int:
    """Give the context that belongs to a question: what is true, for whom, resting on which words.

    Example: stenolith recall "这次能不能顺便重构登录逻辑" --limit 5

    Parameters
    ----------
    query
        The question as the user asked it.
    limit
        At most this many memories.
    budget
        At most this many characters of changing memory.
    deadline
        Milliseconds after which late sources are left out.
    as_of
        What held then: a date or time such as 2026-08-01.
    """
    async with common.memory() as memory:
        when = memory.filters(as_of=as_of).as_of_ms
        limits = {"limit": limit, "budget": budget, "deadline_ms": deadline}
        context = await memory.recall(query, scope=common.scope(), as_of=when, **limits)
    emit(common.json, context.to_dict(), lambda: _tell_context(context))
    return 0


def _tell_context(context: Context) -> None:
    for part in (context.stable, context.dynamic):
        if part:
            say(part)
            say("")
    if not context.items:
        say("Could not look everywhere; nothing was found." if context.report.degraded else "Nothing found.", "dim")
    arms = ", ".join(f"{arm.name} {arm.status} {arm.hits} in {arm.ms:.0f} ms" for arm in context.report.arms)
    note(arms)


async def remember(
    text: str,
    /,
    *,
    kind: KindName = "fact",
    priority: int = 70,
    expires: str | None = None,
    key: str | None = None,
    common: Common = COMMON,
) -> int:
    """Keep one statement, said by you now, as an atom.

    Example: stenolith remember "Always answer in metric units" --kind instruction

    Parameters
    ----------
    text
        The statement.
    kind
        What sort of knowledge it is.
    priority
        0 to 100; 90 and more for what must never be missed.
    expires
        When it ends: a date or time.
    key
        A name of your own; remembering under the same key replaces.
    """
    async with common.memory() as memory:
        until = memory.moment(expires) if expires else None
        atom = await memory.remember(
            text, scope=common.scope(), kind=kind, priority=priority, expires_at=until, key=key
        )
    emit(common.json, atom, lambda: _tell_atom(atom))
    return 0


async def correct(
    target: str, new_text: str | None = None, /, *, query: str | None = None, common: Common = COMMON
) -> int:
    """Replace a memory that is wrong; the old one is kept as superseded.

    Examples: stenolith correct atm_01k... "Stack: Django, MySQL"
              stenolith correct --query "stack postgres" "Stack: Django, MySQL"

    Parameters
    ----------
    target
        The atom's id, or with --query the new text.
    new_text
        What is right.
    query
        Find the memory to replace by these words.
    """
    if (query is None) == (new_text is None):
        raise InvalidInput("say either `correct ID NEW_TEXT` or `correct --query WORDS NEW_TEXT`")
    async with common.memory(create=False) as memory:
        if query is not None:
            found = await memory.correct(target, scope=common.scope(), query=query)
        else:
            found = await memory.correct(str(new_text), scope=common.scope(), atom_id=target)
    emit(common.json, found, lambda: _tell_atom(found, found["needs_review"]))
    return 0


async def forget(*ids: str, common: Common = COMMON) -> int:
    """Delete memories for good: atoms by id, a whole session, or everything of a user.

    With --user and --agent only what this user said to this agent.

    Examples: stenolith forget atm_01k...    stenolith forget --session agent:main    stenolith forget --user ana

    Parameters
    ----------
    ids
        Ids of atoms or records.
    """
    if not ids and not common.session and common.user == common.agent == "default":
        raise InvalidInput("say what to forget: ids, --session KEY, or --user NAME; an empty call deletes nothing")
    async with common.memory(create=False) as memory:
        report = await memory.forget(ids, scope=common.scope(), user=not ids and not common.session)
    emit(common.json, report, lambda: _tell_forgotten(report))
    return 0


def _tell_forgotten(report: dict[str, Any]) -> None:
    say(f"forgotten: {report['atoms']} atoms, {report['records']} records")
    if report["evidence"]:
        say("the conversation still holds the words; to delete them there too:", "yellow")
        say(f"  stenolith forget {' '.join(report['evidence'])}", "yellow")


async def history(atom_id: str, /, *, common: Common = COMMON) -> int:
    """Show every version of a memory, oldest first, with the reason for each change.

    Example: stenolith history atm_01k...

    Parameters
    ----------
    atom_id
        The id of any version.
    """
    async with common.memory(create=False) as memory:
        found = await memory.history(atom_id, scope=common.scope())
        zone = memory.settings.zone
    emit(common.json, {"items": found}, lambda: _tell_history(found, zone))
    return 0


def _tell_history(versions: list[dict[str, Any]], zone: Any) -> None:
    for version in versions:
        say(f"version {version['version']}  {version['status']:<10} since {moment(version['valid_from'], zone)}")
        say(f"  {version['text']}")
        if version["reason"]:
            say(f"  {version['reason']}", "dim")


def _tell_atom(atom: dict[str, Any], doubtful: Sequence[str] = ()) -> None:
    say(f"{atom['id']}  {atom['kind']}, priority {atom['priority']}")
    say(f"  {atom['text']}")
    for old in atom.get("superseded", []):
        say(f"  replaces {old}", "dim")
    for other in doubtful:
        say(f"  says otherwise, please look: {other}", "yellow")
