"""Transcripts at the surface: replay to a provider, lint a payload, show to a person."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from stenolith.errors import InvalidInput
from stenolith.model.message import Message, message_to_dict
from stenolith.replay import pipeline
from stenolith.replay.display import display
from stenolith.replay.lint import lint
from stenolith.replay.policy import Policy, Target, default_api, explain, parse_api, resolve
from stenolith.settings import Settings

LIMITS: Final = {
    "image_max_dimension": "image_max_side",
    "image_max_bytes": "image_max_bytes",
    "image_max_count": "image_max_count",
    "request_max_bytes": "image_request_bytes",
}
"""Names of the limits on the command line, and the policy flags behind them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """A target with the policy that applies to it."""

    target: Target
    policy: Policy

    def explain(self) -> dict[str, Any]:
        """Return the policy row that matched, with every flag."""
        return explain(self.policy)

    def replayed(self, messages: Sequence[Message]) -> dict[str, Any]:
        """Return payload, report, hints and violations."""
        return pipeline.replay(messages, self.target, self.policy).to_dict()

    def sanitised(self, messages: Sequence[Message]) -> dict[str, Any]:
        """Return the canonical messages that the payload is made of; feeding them back gives the same again."""
        done = pipeline.sanitise(messages, self.target, self.policy)
        return {
            "messages": [message_to_dict(message) for message in done.messages],
            "report": [change.to_dict() for change in done.changes],
            "hints": done.hints.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a caller says about the request that a transcript is meant for.

    *tools* are the names on offer (None: unknown), *limits* pairs such as ``image_max_bytes=100000``.
    """

    provider: str
    api: str | None = None
    model: str = ""
    thinking: bool = False
    tools: tuple[str, ...] | None = None
    limits: tuple[str, ...] = ()


def destination(wish: Wish, settings: Settings) -> Destination:
    """Resolve provider, wire, model, limits and the configured overrides. Raises `InvalidInput`."""
    if not wish.provider:
        raise InvalidInput("replay needs a provider (and usually a model)")
    raw_api = wish.api or default_api(wish.provider)
    api = parse_api(raw_api)
    overrides = {**_configured(wish, settings), **_limits(wish.limits)}
    policy = resolve(wish.provider, raw_api, wish.model, overrides=overrides)
    target = Target(provider=wish.provider, api=api, model=wish.model, thinking=wish.thinking, tools=wish.tools)
    return Destination(target=target, policy=policy)


def _configured(wish: Wish, settings: Settings) -> dict[str, Any]:
    """Return the flags that the configuration lays over the rows, later entries over earlier ones."""
    found: dict[str, Any] = {}
    for override in settings.replay.overrides:
        if override.matches(wish.provider, wish.model):
            found |= override.flags
    return found


def _limits(pairs: Sequence[str]) -> dict[str, int]:
    found = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        if name not in LIMITS or not value.isdigit() or int(value) < 1:
            raise InvalidInput(f"--limits {pair!r}: write KEY=NUMBER with one of {', '.join(LIMITS)}")
        found[LIMITS[name]] = int(value)
    return found


def tool_names(data: bytes) -> tuple[str, ...]:
    """Return the names of a JSON list of tools in any provider's form. Raises `InvalidInput`."""
    try:
        value = json.loads(data)
    except ValueError as error:
        raise InvalidInput(f"the tools are not JSON: {error}") from error
    tools = value.get("tools", value.get("functionDeclarations")) if isinstance(value, Mapping) else value
    if not isinstance(tools, list):
        raise InvalidInput("the tools must be a JSON array, or an object with `tools`")
    return tuple(name for tool in tools for name in _names(tool))


def _names(tool: Any) -> list[str]:
    if isinstance(tool, str):
        return [tool]
    if not isinstance(tool, Mapping):
        raise InvalidInput(f"a tool must be an object with a name; got {tool!r}")
    if isinstance(tool.get("functionDeclarations"), list):
        return [name for one in tool["functionDeclarations"] for name in _names(one)]
    inner = tool.get("function") or tool.get("toolSpec") or tool
    name = inner.get("name") if isinstance(inner, Mapping) else None
    if not isinstance(name, str):
        raise InvalidInput(f"a tool must have a name; got {json.dumps(tool, ensure_ascii=False)[:80]}")
    return [name]


def linted(payload: Mapping[str, Any], api: str, *, provider: str, model: str) -> list[dict[str, Any]]:
    """Return what a provider would reject in *payload*."""
    return [found.to_dict() for found in lint(parse_api(api), payload, provider=provider, model=model)]


def displayed(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return what a person may see, as canonical messages."""
    return [message_to_dict(message) for message in display(messages)]
