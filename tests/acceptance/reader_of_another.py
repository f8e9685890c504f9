"""Run commands on a home as somebody who may read its files and change nothing: ``WARM HOME``, commands on stdin.

Prints for each line of stdin, a JSON list of words, its exit code and both outputs as a JSON list.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys

from stenolith.cli.app import run

NOBODY = 65534


def told(words: list[str], home: str) -> list[object]:
    out, err = io.TextIOWrapper(io.BytesIO(), write_through=True), io.StringIO()
    os.environ["STENOLITH_HOME"] = home
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(words)
    return [code, out.buffer.getvalue().decode(), err.getvalue()]


def main(warm: str, home: str) -> None:
    commands = [json.loads(line) for line in sys.stdin]
    for words in commands:
        told(words, warm)  # Imports what it needs, which somebody else may not be able to.
    if os.geteuid() == 0:
        os.setegid(NOBODY)
        os.seteuid(NOBODY)  # Permissions do not bind root.
    for words in commands:
        print(json.dumps(told(words, home)))


if __name__ == "__main__":
    main(*sys.argv[1:])
