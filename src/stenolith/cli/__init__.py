"""The command line: thin commands over the engine."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command that the process was called with."""
    try:
        from stenolith.cli.app import run
    except KeyboardInterrupt:
        sys.exit(130)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    sys.exit(run(sys.argv[1:]))
