"""The options that every command takes, and the memory they open."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

from cyclopts import Group, Parameter

from stenolith.cli.output import note
from stenolith.errors import InvalidInput

if TYPE_CHECKING:
    from stenolith.engine import Memory
    from stenolith.model.identity import Scope
    from stenolith.settings import Settings

SEVERAL = Parameter(consume_multiple=True, negative="")
"""An option that takes all the words behind it, and may be repeated."""
SHARED = Group("Common options", sort_key=99)
MAX_INPUT_BYTES = 512 * 1024 * 1024
"""The most that one command reads from a file or standard input."""


@Parameter(name="*", group=SHARED)
@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """Where the memory is and whose it is."""

    home: Path | None = None
    "Folder of the memory (else STENOLITH_HOME, else the platform's data folder)."
    config: Path | None = None
    "Configuration file (else stenolith.toml in the home)."
    team: str = "default"
    "Team that owns the memory."
    user: str = "default"
    "User that owns the memory."
    agent: str = "default"
    "Agent that owns the memory."
    session: str = ""
    "Session key: the conversation."
    json: Annotated[bool, Parameter(negative="")] = False
    "Print one JSON document on standard output, and nothing else there."
    debug: Annotated[bool, Parameter(negative="")] = False
    "Show the traceback of an error."

    def scope(self, session_id: str = "") -> Scope:
        """Return the scope that the options name."""
        from stenolith.model.identity import Scope

        return Scope(team=self.team, user=self.user, agent=self.agent, session_key=self.session, session_id=session_id)

    def settings(self) -> Settings:
        """Read the settings under these options."""
        from stenolith.settings import load, unknown_variables

        for sentence in unknown_variables():
            note(sentence, "yellow")
        given = {} if self.home is None else {"home": self.home.expanduser()}
        return load(self.config, **given)

    @asynccontextmanager
    async def memory(self, *, create: bool = True) -> AsyncIterator[Memory]:
        """Open the memory; with *create* False a folder that does not exist is an error, and is not made."""
        from stenolith.engine import Memory

        settings = self.settings()
        if not create and not settings.home.is_dir():
            raise InvalidInput(f"there is no memory in {settings.home}; name its folder with --home")
        async with Memory.open(settings=settings) as memory:
            yield memory


COMMON = Common()


def read_input(path: Path | None) -> bytes:
    """Return the bytes of *path*, or of standard input for None and ``-``.

    Raises `InvalidInput` that says what is wrong with the file.
    """
    if path is None or str(path) == "-":
        if sys.stdin is None:
            raise InvalidInput("standard input is closed; name a file")
        return _bounded(sys.stdin.buffer, "standard input")
    from stenolith.engine.importing import packer_of

    try:
        if path.stat().st_size > MAX_INPUT_BYTES:
            raise _too_large(str(path))
        with path.open("rb") as stream:
            data = _bounded(stream, str(path))
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}") from error
    if packer := packer_of(data):
        raise InvalidInput(f"{path} is compressed ({packer}): unpack it first")
    return data


def _bounded(stream: BinaryIO, name: str) -> bytes:
    """Read the whole stream. Raises `InvalidInput` when it holds too much; half of it would be worse than nothing."""
    data = stream.read(MAX_INPUT_BYTES + 1)
    if len(data) > MAX_INPUT_BYTES:
        raise _too_large(name)
    return data


def _too_large(name: str) -> InvalidInput:
    return InvalidInput(f"{name} is larger than {MAX_INPUT_BYTES >> 20} MiB; use `stenolith import` for big files")


def refuse_existing(path: Path) -> None:
    """Raise `InvalidInput` when *path* exists: nothing is ever overwritten."""
    if path.exists():
        raise InvalidInput(f"{path} exists already; choose another name")
