"""The command tree and the one place where errors become words and exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module, metadata
from itertools import pairwise

from cyclopts import App, CycloptsError
from cyclopts.exceptions import UnusedCliTokensError

from stenolith.cli.output import note
from stenolith.errors import StenolithError
from stenolith.model.message import mended

EXAMPLES = """
Start here:

    stenolith demo
    stenolith capture turn.json --session my-agent
    stenolith recall "may I refactor the login?"
"""

COMMANDS = {
    "demo": ("demo:demo", "Run the main job on example conversations and show every layer."),
    "capture": ("memory:capture", "Record what a host holds after a turn."),
    "work": ("upkeep:work", "Run the pending jobs: atoms, scenes, persona, vectors."),
    "worker": ("upkeep:worker", "Run jobs as they become due, until told to stop."),
    "recall": ("memory:recall", "Give the context that belongs to a question."),
    "search": ("reading:search", "Search memories, conversations or scenes."),
    "remember": ("memory:remember", "Keep one statement."),
    "correct": ("memory:correct", "Replace a memory that is wrong."),
    "forget": ("memory:forget", "Delete memories, a session or a user for good."),
    "history": ("memory:history", "Show every version of a memory."),
    "show": ("reading:show", "Walk down from an id to the words that were said."),
    "list": ("reading:list_", "List atoms, scenes, sessions or records."),
    "scene": ("editing:scene", "Print the dossier of a project or topic, or edit it by hand."),
    "persona": ("reading:persona", "Print what is stable, and what still lacks evidence."),
    "import": ("transfer:import_", "Read conversations from files."),
    "export": ("transfer:export", "Write everything the scope owns."),
    "replay": ("transcripts:replay", "Print a transcript as a payload that a provider accepts."),
    "lint": ("transcripts:lint", "Check a request body against what providers reject."),
    "repair": ("transcripts:repair", "Repair a damaged session file."),
    "display": ("transcripts:display", "Print what a person may see of a transcript."),
    "jobs": ("upkeep:jobs", "See the queue, and retry what was given up."),
    "doctor": ("upkeep:doctor", "Examine the home, and repair it."),
    "rebuild": ("upkeep:rebuild", "Make derived data anew."),
    "stats": ("upkeep:stats", "Count what the scope holds."),
    "migrate": ("upkeep:migrate", "Copy the home to PostgreSQL, or back to SQLite."),
    "backup": ("upkeep:backup", "Write the whole home into one file."),
    "restore": ("upkeep:restore", "Make a home from a backup."),
}
"""Every command: where it is (loaded only when it runs), and what it does in one line."""


def build(asked: str) -> App:
    """Return the command tree; only the module of the *asked* command is imported, the rest are one-line entries."""
    app = App(
        name="stenolith",
        help="Long-term memory for AI agents that people can trust: every line can show the words it rests on.",
        help_epilogue=EXAMPLES,
        help_format="plaintext",
        version=lambda: metadata.version("stenolith"),
        suppress_keyboard_interrupt=False,
    )
    for order, (name, (place, summary)) in enumerate(COMMANDS.items()):
        if name != asked:
            app.command(f"stenolith.cli.{place}", name=name, help=summary, sort_key=order)
            continue
        module, _, function = place.partition(":")
        app.command(getattr(import_module(f"stenolith.cli.{module}"), function), name=name)
    return app


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code.

    0 done, 1 the operation failed, 2 the call or its input was wrong, 3 done in part.
    """
    if wrong := _wrong(arguments):
        note(f"stenolith: {wrong}", "red")
        return 2
    asked = next((word for word in arguments if not word.startswith("-")), "")
    try:
        code = build(asked)(list(arguments), exit_on_error=False, print_error=False, result_action="return_value")
    except (Exception, KeyboardInterrupt) as error:
        if "--debug" in arguments and not isinstance(error, CycloptsError | KeyboardInterrupt | BrokenPipeError):
            raise
        return _told(error)
    return code if isinstance(code, int) else 0


def close_output(code: int) -> int:
    """Write what is still to be written, and return the exit code: 1 when that fails and nothing has failed before.

    Left to the interpreter a full disk ends in a traceback and the exit code 120.
    """
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        _give_up_output()
        return code or _told(error)
    return code


def _give_up_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _wrong(arguments: Sequence[str]) -> str:
    """Say what no command could read, in words."""
    if ("--home", "") in pairwise(arguments) or "--home=" in arguments:
        return "--home is empty: name a folder (`.` is the one you are in)"
    broken = [mended(word) for word in arguments if mended(word) != word]
    return f"{broken[0]!r} is not UTF-8: save or type it as UTF-8" if broken else ""


def _told(error: Exception | KeyboardInterrupt) -> int:
    """Say in one line what went wrong, and return the exit code."""
    match error:
        case CycloptsError():
            left = error.unused_tokens if isinstance(error, UnusedCliTokensError) else None
            note(f"stenolith: {f'{left[0]!r} is not expected here' if left else error}", "red")
            note("`stenolith --help` and `stenolith COMMAND --help` show what can be said.")
            return 2
        case StenolithError():
            note(f"stenolith: {error}", "red")
            return error.exit_code
        case KeyboardInterrupt():
            note("stopped; what was finished is kept, and the command can be run again")
            return 130
        case BrokenPipeError():
            _give_up_output()
            return 0
        case OSError():
            why = error.strerror or str(error) or type(error).__name__
            note(f"stenolith: {error.filename}: {why}" if error.filename else f"stenolith: {why}", "red")
            return 1
        case _:
            note(f"stenolith: {type(error).__name__}: {error} (run again with --debug to see where)", "red")
            return 1
