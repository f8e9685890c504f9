"""The command tree and the one place where errors become words and exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import metadata

from cyclopts import App, CycloptsError

from stenolith.cli.output import note
from stenolith.errors import StenolithError

EXAMPLES = """
Start here:

    stenolith demo
    stenolith capture turn.json --session my-agent
    stenolith recall "may I refactor the login?"
"""

app = App(
    name="stenolith",
    help="Long-term memory for AI agents that people can trust: every line can show the words it rests on.",
    help_epilogue=EXAMPLES,
    help_format="plaintext",
    version=lambda: metadata.version("stenolith"),
)

_PLACES = {
    "stenolith.cli.memory": ("capture", "recall", "remember", "correct", "forget", "history"),
    "stenolith.cli.reading": ("show", "list_", "scene", "persona", "search"),
    "stenolith.cli.upkeep": ("work", "jobs", "doctor", "rebuild", "stats", "backup", "restore"),
    "stenolith.cli.transfer": ("import_", "export"),
    "stenolith.cli.transcripts": ("replay", "lint", "repair", "display"),
    "stenolith.cli.demo": ("demo",),
}
for _module, _names in _PLACES.items():
    for _name in _names:
        app.command(f"{_module}:{_name}", name=_name.rstrip("_"))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code.

    0 done, 1 the operation failed, 2 the call or its input was wrong, 3 done in part.
    """
    debug = "--debug" in arguments
    try:
        code = app(list(arguments), exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        note(f"stenolith: {error}", "red")
        note("`stenolith --help` and `stenolith COMMAND --help` show what can be said.")
        return 2
    except StenolithError as error:
        if debug:
            raise
        note(f"stenolith: {error}", "red")
        return error.exit_code
    except KeyboardInterrupt:
        note("stopped")
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if debug:
            raise
        note(f"stenolith: {type(error).__name__}: {error} (run again with --debug to see where)", "red")
        return 1
    return code if isinstance(code, int) else 0
