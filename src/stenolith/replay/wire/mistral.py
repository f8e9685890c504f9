"""What Mistral adds to chat completions (``spec/replay.md`` sections 3.13.5 and 4.5).

Short ids, names on results and separators are facts of the policy; here is what needs code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stenolith.model.message import Thinking


def chunks(thoughts: Sequence[Thinking], words: str) -> list[dict[str, Any]]:
    """Return the content of a reasoning model's message, as mistral-common reads it; empty when it did not think."""
    thinking = [{"type": "thinking", "thinking": part.text} for part in thoughts]
    return [*thinking, *([{"type": "text", "text": words}] if words else [])] if thinking else []


def without_doubles(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Move words that stand beside calls behind the results: old Mistral models take one or the other.

    The next assistant text takes them; where none follows they stand before the calls.
    """
    single: list[dict[str, Any]] = []
    carried, place = "", 0
    for message in found:
        if message.get("tool_calls") and message["content"]:
            carried, place = "\n".join(filter(None, [carried, message["content"]])), len(single)
            single.append({**message, "content": None})
        elif carried and message["role"] == "assistant" and not message.get("tool_calls"):
            single.append({**message, "content": f"{carried}\n{message['content']}"})
            carried = ""
        else:
            single.append(message)
    if carried:
        single.insert(place, {"role": "assistant", "content": carried})
    return single
