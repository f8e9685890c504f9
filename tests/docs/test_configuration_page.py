"""docs/configuration.md lists every setting as the code describes it.

``STENOLITH_WRITE_DOCS=1 pytest tests/docs`` writes it anew.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from stenolith.settings import Settings

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"
START, END = "<!-- settings: written by tests/docs/test_configuration_page.py -->", "<!-- end of settings -->"


def _rows(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _rows(inner, f"{prefix}{name}.")
            continue
        path = f"{prefix}{name}"
        env = "STENOLITH_" + path.upper().replace(".", "__")
        words = " ".join((field.description or "").split()).replace("|", "\\|")
        yield f"| `{path}` | `{env}` | {_default(path, field)} | {words} |"


def _default(path: str, field: Any) -> str:
    if path == "home":
        return "the platform's data folder"
    value = field.default
    return f"`{value}`" if value not in ("", None, ()) else "-"


def table() -> str:
    head = "| setting | environment | default | meaning |\n|---|---|---|---|"
    return f"{START}\n{head}\n" + "\n".join(_rows(Settings)) + f"\n{END}"


def test_the_page_lists_every_setting() -> None:
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(START)
    fresh = f"{before}{table()}{rest.partition(END)[2]}"
    if os.environ.get("STENOLITH_WRITE_DOCS"):
        PAGE.write_text(fresh, encoding="utf-8")
        page = fresh
    assert page == fresh, "run STENOLITH_WRITE_DOCS=1 pytest tests/docs"
