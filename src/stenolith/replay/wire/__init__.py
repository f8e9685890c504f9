"""One module per provider API: canonical messages in, payload out.

Mistral's own API is chat completions with what `mistral` adds; the policy says when.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from stenolith.model.message import Message
from stenolith.replay.policy import Api, Policy, Target
from stenolith.replay.report import Hints, Wire
from stenolith.replay.wire import anthropic, bedrock, gemini, openai_chat, openai_responses
from stenolith.replay.wire.steps import Conversion, Step, as_text, start, steps

__all__ = ["Wire", "convert"]

_WIRES: Final[Mapping[Api, Callable[[Sequence[Step], Conversion], tuple[dict[str, Any], Hints]]]] = {
    Api.OPENAI_CHAT: openai_chat.convert,
    Api.OPENAI_RESPONSES: openai_responses.convert,
    Api.ANTHROPIC: anthropic.convert,
    Api.GOOGLE: gemini.convert,
    Api.BEDROCK: bedrock.convert,
    Api.MISTRAL: openai_chat.convert,
}
# Here a call id may be two ids in one, and the first half is the call's.
_HALVED: Final = frozenset({Api.OPENAI_CHAT, Api.OPENAI_RESPONSES, Api.MISTRAL})


def convert(messages: Sequence[Message], target: Target, policy: Policy) -> Wire:
    """Return the request body for *policy*'s wire, the changes it took, and what the caller must do.

    *messages* are sanitised already (every call has its result, turns are in order); this function
    sees to shapes, ids and names inside the wire's limits, places for system words and pictures,
    and text that can be encoded. It accepts any canonical messages and never raises; what a wire
    cannot carry stands in the changes, whose index counts *messages*. Bedrock's image bytes are
    base64 text.
    """
    conversion = start(target, policy, halves=policy.api in _HALVED)
    found = steps(messages, conversion)
    if policy.tools_required_in_request and target.tools == ():
        found = as_text(found, conversion)
    payload, hints = _WIRES[policy.api](found, conversion)
    return Wire(payload=payload, changes=tuple(conversion.changes), hints=hints)
