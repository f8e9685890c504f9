"""Make pytest run the examples of README and docs: doctest blocks, each page in a home of its own."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from sybil import Sybil
from sybil.parsers.rest import DocTestParser

_QUIET = {
    "STENOLITH_EMBEDDER__KIND": "none",
    "STENOLITH_TIMEZONE": "Asia/Shanghai",
    "STENOLITH_RECALL__DEADLINE_MS": "10000",
}


def _set_up(namespace: dict[str, Any]) -> None:
    namespace["_folder"] = tempfile.TemporaryDirectory(prefix="stenolith-docs-")
    namespace["_before"] = dict(os.environ)
    namespace["home"] = Path(namespace["_folder"].name) / "home"
    os.environ.update(_QUIET)


def _tear_down(namespace: dict[str, Any]) -> None:
    if "house" in namespace:
        namespace["house"].close()
    os.environ.clear()
    os.environ.update(namespace["_before"])
    namespace["_folder"].cleanup()


pytest_collect_file = Sybil(
    parsers=[DocTestParser()],
    patterns=["README.md", "docs/*.md"],
    setup=_set_up,
    teardown=_tear_down,
).pytest()
