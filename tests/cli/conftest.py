"""The command line, on an empty home that is there already."""

from __future__ import annotations

import pytest

from shell import Shell


@pytest.fixture
def shell(shell: Shell) -> Shell:
    shell.home.mkdir(mode=0o700)
    return shell
