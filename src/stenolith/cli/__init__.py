"""The command line: thin commands over the engine."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command that the process was called with."""
    try:
        from stenolith.cli.app import close_output, run
    except KeyboardInterrupt:
        sys.exit(130)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    sys.exit(close_output(run(sys.argv[1:])))
