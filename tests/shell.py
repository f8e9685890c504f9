"""Run the real command line in this process, and say what it printed."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stenolith.cli.app import run


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Shell:
    """``shell("capture", "-", stdin=...)`` runs one command line."""

    def __init__(self, home: Path, capsysbinary: Any, monkeypatch: Any) -> None:
        self.home = home
        self._capture = capsysbinary
        self._patch = monkeypatch

    def __call__(self, *words: object, stdin: str | bytes = b"") -> Done:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        self._patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
        self._capture.readouterr()
        code = run([str(word) for word in words])
        out, err = self._capture.readouterr()
        return Done(code, out.decode(), err.decode())
