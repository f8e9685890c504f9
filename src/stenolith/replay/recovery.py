"""What a provider's refusal means: which rule was broken, and the one retry that may help.

Rows of public error texts (``spec/replay.md`` section 4). A refusal of the transcript is told apart
from a failure of the provider: the first must not put credentials or a route on hold.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Retry(StrEnum):
    """How to build the one request that may still go through; never a second one."""

    DROP_THINKING = "drop_thinking"
    DROP_ENCRYPTED = "drop_encrypted"
    DISABLE_THINKING = "disable_thinking"
    END_WITH_USER = "end_with_user"
    SHRINK_IMAGES = "shrink_images"
    DECLARE_TOOLS = "declare_tools"


_REMEMBERED: Final = frozenset({Retry.DROP_THINKING, Retry.DROP_ENCRYPTED})


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairHint:
    """A refusal of the transcript: *code* is the rule it broke.

    *retry* is what to change before sending once more; None means that sending again is useless
    and the refusal should be shown. *persist*: when the retry went through, remember that what it
    left out must not be replayed.
    """

    code: str
    retry: Retry | None = None

    @property
    def persist(self) -> bool:
        """Whether what the retry leaves out should be marked as not to be replayed."""
        return self.retry in _REMEMBERED


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    code: str
    text: re.Pattern[str]
    retry: Retry | None = None
    providers: frozenset[str] = frozenset()


def classify(provider: str, status: int | None, text: str, *, output_started: bool) -> RepairHint | None:
    """Return the rule that a refusal names and the retry to propose.

    None: the provider failed (rate limit, overload, credentials, its own error), the text is not
    known, or output had begun, after which nothing may be sent again. *status* None: not known.
    """
    row = None if output_started else _match(provider, status, text)
    return RepairHint(code=row.code, retry=row.retry) if row else None


def is_transcript_error(provider: str, status: int | None, text: str) -> bool:
    """Say whether the provider refused the transcript, as against failing itself."""
    return _match(provider, status, text) is not None


def _match(provider: str, status: int | None, text: str) -> _Row | None:
    if status is not None and (not 400 <= status < 500 or status in _NOT_OURS):
        return None
    name, text = provider.strip().lower(), text[:_LONGEST]
    return next((row for row in _ROWS if (not row.providers or name in row.providers) and row.text.search(text)), None)


def _row(code: str, text: str, retry: Retry | None = None, providers: frozenset[str] = frozenset()) -> _Row:
    return _Row(code=code, text=re.compile(text, re.IGNORECASE | re.DOTALL), retry=retry, providers=providers)


# Credentials, payment, permission, time-out and rate limits: never the transcript's fault.
_NOT_OURS: Final = frozenset({401, 402, 403, 407, 408, 429})
_LONGEST: Final = 20_000  # characters of an error body that are looked at
_BEDROCK: Final = frozenset({"amazon-bedrock", "bedrock"})

_ROWS: Final = (
    # Thinking. A complaint about the thinking budget is about the request, not about the transcript.
    _row("W-ANT-12", r"expected `?thinking`? or `?redacted_thinking`?, but found", Retry.DISABLE_THINKING),
    _row("W-KIM-1", r"thinking is enabled but reasoning_content is missing", Retry.DISABLE_THINKING),
    _row("W-DSK-1", r"reasoning_content`? in the thinking mode must be passed back", Retry.DISABLE_THINKING),
    _row("W-DSK-1", r"missing `?reasoning_content`? field", Retry.DISABLE_THINKING),
    _row("W-GRQ-1", r"property '[^']*reasoning[^']*' is unsupported", Retry.DROP_THINKING),
    _row("W-MIS-8", r"reasoning input is not enabled", Retry.DROP_THINKING),
    _row("W-ANT-11", r"thinking`? blocks? in the latest assistant message cannot be modified", Retry.DROP_THINKING),
    _row("W-BED-12", r"invalid `?signature`? in `?thinking`? block", Retry.DROP_THINKING, _BEDROCK),
    _row("W-ANT-10", r"invalid `?(signature|data)`? in `?(redacted_)?thinking`? block", Retry.DROP_THINKING),
    _row("W-ANT-10", r"block is bound to a different conversation|prefix_mismatch_behavior", Retry.DROP_THINKING),
    _row("W-RSP-7", r"encrypted content could not be (verified|decrypted)", Retry.DROP_ENCRYPTED),
    _row("W-RSP-7", r"invalid_encrypted_content|thinking_signature_invalid", Retry.DROP_ENCRYPTED),
    _row("W-RSP-1", r"of type 'reasoning' was provided without its required following item", Retry.DROP_THINKING),
    _row("W-RSP-2", r"was provided without its required 'reasoning' item", Retry.DROP_THINKING),
    _row("W-RSP-6", r"items are not persisted when `?store`? is set to false", Retry.DROP_THINKING),
    _row("W-RSP-8", r"duplicate item found with id", Retry.DROP_THINKING),
    _row("W-GEM-4", r"missing a thought_signature"),
    _row("W-GEM-5", r"corrupted thought signature|thought_signature' \(TYPE_BYTES\)", Retry.DROP_THINKING),
    # Order, pairing and ids.
    _row("W-BED-9", r"does not support assistant message prefill", Retry.END_WITH_USER, _BEDROCK),
    _row("W-ANT-9", r"does not support assistant message prefill", Retry.END_WITH_USER),
    _row("W-ANT-1", r"unexpected `?tool_use_id`? found in `?tool_result`? blocks"),
    _row("W-ANT-2", r"`?tool_use`? ids were found without `?tool_result`? blocks immediately after"),
    _row("W-ANT-4", r"`?tool_use`? ids must be unique|each tool_use must have a single result"),
    _row("W-ANT-5", r"tool_use(_id|\.id|\.name)?: String should match pattern"),
    _row("W-ANT-6", r"text content blocks must (be non-empty|contain non-whitespace text)"),
    _row("W-ANT-7", r"all messages must have non-empty content"),
    _row("W-ANT-8", r"final assistant content cannot end with trailing whitespace"),
    _row("W-ANT-13", r"at least one message is required|first message must use the .?user.? role"),
    _row("W-ANT-14", r"image exceeds \d+ ?MB maximum|image dimensions exceed max allowed size", Retry.SHRINK_IMAGES),
    _row("W-ANT-15", r"no low surrogate in string"),
    _row("W-MMX-1", r"tool call result does not follow tool call"),
    _row("W-MMX-2", r"tool result's tool id\(.*?\) not found"),
    _row("W-MMX-3", r"tool call id is invalid"),
    _row("W-KIM-2", r"tool call id \S+ is duplicated"),
    _row("W-KIM-4", r"tool_call_id\s+\S*\s*is not found"),
    _row("W-KIM-3", r"role \"?assistant\"? must not be empty"),
    _row("W-RSP-3", r"no tool call found for function call output"),
    _row("W-RSP-4", r"no tool output found for function call"),
    _row("W-RSP-5", r"invalid .?input\[\d+\]\.(call_)?id.?: ('[^']*'\. expected an id that begins|string too long)"),
    _row("W-CHT-1", r"an assistant message with 'tool_calls' must be followed by tool messages"),
    _row("W-CHT-2", r"messages with role 'tool' must be a response to a prece+ding message"),
    _row("W-CHT-3", r"invalid 'messages\[\d+\]\.tool_call(s\[\d+\]\.|_)id': string too long"),
    _row("W-CHT-4", r"tool_calls\[\d+\]\.function\.name': string does not match pattern"),
    _row("W-CHT-5", r"\[\] is too short - 'messages\.\d+\.tool_calls'"),
    _row("W-CHT-7", r"invalid value for 'content': expected a string, got null"),
    _row("W-TPL-1", r"conversation roles must alternate"),
    _row("W-QWN-1", r"no user query found in messages"),
    _row("W-GEM-1", r"function call turn comes immediately after a user turn"),
    _row("W-GEM-2", r"function response turn comes immediately after a function call turn"),
    _row("W-GEM-3", r"number of function response parts is equal"),
    _row("W-GEM-6", r"please use a valid role: user, model|requests end with a user role", Retry.END_WITH_USER),
    _row("W-GEM-7", r"must have a text parameter|contents\.parts must not be empty|contents is not specified"),
    _row("W-GEM-8", r"invalid function name\. must start with a letter"),
    _row("W-BED-1", r"content field in the message object at \S+ is empty"),
    _row("W-BED-2", r"text field in the contentblock object at \S+ is blank"),
    _row("W-BED-3", r"conversation must alternate between user and assistant roles"),
    _row("W-BED-4", r"conversation must start with a user message"),
    _row("W-BED-5", r"expected toolresult blocks at|number of toolresult blocks at \S+ exceeds"),
    _row("W-BED-6", r"toolconfig field must be defined", Retry.DECLARE_TOOLS),
    _row("W-BED-8", r"text block must be included when using documents"),
    _row("W-MIS-1", r"tool call id was .* but must be a-z, A-Z, 0-9, with a length of 9"),
    _row(
        "W-TPL-2",
        r"unexpected role 'user' after role 'tool'",
        None,
        frozenset({"vllm", "sglang", "ollama", "lmstudio"}),
    ),
    _row("W-MIS-2", r"unexpected role 'user' after role 'tool'"),
    _row("W-MIS-3", r"expected last role user or tool", Retry.END_WITH_USER),
    _row("W-MIS-4", r"not the same number of function calls and responses"),
    _row("W-MIS-5", r"unexpected tool call id \S+ in tool results"),
    _row("W-MIS-6", r"must have either content or tool_calls, but not both"),
    _row("W-MIS-9", r"must have either content or tool_calls"),
    _row("W-MIS-7", r"unexpected role '\w+' after role '\w+'"),
    # Whatever else a provider says about broken thinking (section 3.14).
    _row(
        "W-ANT-10",
        r"^(?!.*budget).*"
        r"(\bthinking`?( blocks?\b|[.:]).{0,80}(cannot be modified|signature|invalid|missing|empty|blank)"
        r"|(invalid|missing|empty|blank).{0,40}\b(redacted_)?thinking`? block)",
        Retry.DROP_THINKING,
    ),
)
