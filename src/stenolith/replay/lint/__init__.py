"""The wire linter: what a provider would reject, known before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from stenolith.replay.lint import (
    rules_anthropic,
    rules_bedrock,
    rules_chat,
    rules_gemini,
    rules_mistral,
    rules_responses,
)
from stenolith.replay.lint.rule import run
from stenolith.replay.policy import Api, resolve
from stenolith.replay.report import Violation

__all__ = ["Violation", "codes", "lint"]


def lint(api: str, payload: Mapping[str, Any], *, provider: str = "", model: str = "") -> list[Violation]:
    """Return every rule of ``spec/replay.md`` section 4 that *payload* breaks, in the order of its tables.

    *payload* is the request body (``messages``, ``input`` or ``contents`` and what stands beside
    them; Bedrock's image bytes are base64 text). *provider* and *model* choose the rules of
    compatible servers and of single models. Linear in the payload. Raises InvalidInput for an
    unknown *api*.
    """
    policy = resolve(provider, api, model)
    match policy.api:
        case Api.ANTHROPIC:
            return run(rules_anthropic.RULES, rules_anthropic.view(payload, policy))
        case Api.BEDROCK:
            return run(rules_bedrock.RULES, rules_bedrock.view(payload, policy))
        case Api.GOOGLE:
            return run(rules_gemini.RULES, rules_gemini.view(payload, policy))
        case Api.OPENAI_CHAT:
            return run(rules_chat.RULES, rules_chat.Chat(payload=payload, policy=policy))
        case Api.MISTRAL:
            return run(rules_mistral.RULES, rules_chat.Chat(payload=payload, policy=policy))
        case Api.OPENAI_RESPONSES:
            return run(rules_responses.RULES, rules_responses.Items(payload=payload, policy=policy))
        case _ as never:
            assert_never(never)


def codes() -> dict[str, list[str]]:
    """Return the codes of every api's rules, for documentation."""
    tables: dict[Api, list[str]] = {
        Api.ANTHROPIC: [rule.code for rule in rules_anthropic.RULES],
        Api.OPENAI_RESPONSES: [rule.code for rule in rules_responses.RULES],
        Api.OPENAI_CHAT: [rule.code for rule in rules_chat.RULES],
        Api.GOOGLE: [rule.code for rule in rules_gemini.RULES],
        Api.BEDROCK: [rule.code for rule in rules_bedrock.RULES],
        Api.MISTRAL: [rule.code for rule in rules_mistral.RULES],
    }
    return {api.value: list(dict.fromkeys(found)) for api, found in tables.items()}
