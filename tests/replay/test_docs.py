"""The provider matrix of docs/replay.md is what the policy rows say.

``STENOLITH_WRITE_DOCS=1 pytest tests/replay/test_docs.py`` writes it anew.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from stenolith.replay.lint import codes
from stenolith.replay.policy import rows

PAGE = Path(__file__).parents[2] / "docs" / "replay.md"
START, END = "<!-- matrix: written by tests/replay/test_docs.py -->", "<!-- end of matrix -->"
SHORT = {
    "preserve_native_anthropic_tool_use_ids": "keeps toolu ids",
    "preserve_signatures": "keeps signatures",
    "sanitize_thought_signatures": "checks thought signatures",
    "drop_thinking_blocks": "drops past thinking",
    "drop_reasoning_from_history": "drops past reasoning",
    "apply_google_turn_ordering": "opens with a user",
    "validate_gemini_turns": "merges assistants",
    "validate_anthropic_turns": "merges users and assistants",
    "append_only_runtime_context": "appends runtime context",
    "result_only_user_messages": "results stand alone",
    "reasoning_required": "reasoning on every tool call",
}
IDS = {"none": "as they are", "strict": "letters and digits, at most 40", "strict9": "nine letters or digits"}
SELECTORS = {"name", "provider", "api", "model", "unless", "rows", "meta"}


def _cell(values: Iterable[str]) -> str:
    return ", ".join(f"`{value}`" for value in values).replace("|", "\\|") or "any"


def _row(row: dict[str, Any]) -> str:
    model = [f"/{row['model']}/"] if "model" in row else []
    flags = [SHORT.get(name, "") for name, value in row.items() if name not in SELECTORS and value is True]
    ids = IDS[row.get("tool_call_id_mode", "none")]
    does = ", ".join(flag for flag in flags if flag) or "nothing more than its wire asks"
    return f"| {row['name']} | {_cell(row.get('provider', []))} | {_cell(row.get('api', []))} | {_cell(model)} | {ids} | {does} |"


def matrix() -> str:
    head = "| row | provider | wire | model | tool ids | what it does |\n|---|---|---|---|---|---|"
    rules = [f"| `{api}` | {len(found)} | {found[0]} to {found[-1]} |" for api, found in codes().items()]
    linted = "| wire | rules | codes |\n|---|---|---|\n" + "\n".join(rules)
    return f"{START}\n{head}\n" + "\n".join(map(_row, rows())) + f"\n\nLinted:\n\n{linted}\n{END}"


def test_the_matrix_of_the_page_is_what_the_rows_say() -> None:
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    fresh = f"{before}{matrix()}{after}"
    if os.environ.get("STENOLITH_WRITE_DOCS"):
        PAGE.write_text(fresh, encoding="utf-8")
        page = fresh
    assert page == fresh, "run STENOLITH_WRITE_DOCS=1 pytest tests/replay/test_docs.py"
