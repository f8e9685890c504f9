"""Transcripts at the surface: replay to a provider, lint a payload, show to a person."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NoReturn

from stenolith.errors import InvalidInput
from stenolith.interop import Problem
from stenolith.model.message import Message, message_to_dict
from stenolith.replay import pipeline
from stenolith.replay.display import display
from stenolith.replay.lint import lint
from stenolith.replay.plan import MARKER_SENTENCE, Continuation, Options, Plan
from stenolith.replay.policy import Api, Policy, Target, default_api, explain, parse_api, resolve
from stenolith.replay.recovery import Retry, classify
from stenolith.replay.report import Change
from stenolith.replay.retries import retry_plan
from stenolith.settings import Settings

LIMITS: Final = {
    "image_max_dimension": "image_max_side",
    "image_max_bytes": "image_max_bytes",
    "image_max_count": "image_max_count",
    "request_max_bytes": "image_request_bytes",
}
"""Names of the limits on the command line, and the policy flags behind them."""
_DIGITS: Final = 15  # of a limit: more bytes than any machine holds


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """A target with the policy that applies to it, the caller's wishes, and the repair of a refusal, if it is one."""

    target: Target
    policy: Policy
    options: Options = field(default_factory=Options)
    retry: Retry | None = None

    def explain(self) -> dict[str, Any]:
        """Return the policy row that matched, with every flag."""
        return explain(self.policy)

    def replayed(self, messages: Sequence[Message], problems: Sequence[Problem] = ()) -> dict[str, Any]:
        """Return payload, report, hints and violations; the report begins with what could not be read."""
        done = pipeline.replay(messages, self.target, self.policy, self.options).to_dict()
        return {**done, **self._told(done, problems)}

    def sanitised(self, messages: Sequence[Message], problems: Sequence[Problem] = ()) -> dict[str, Any]:
        """Return the canonical messages that the payload is made of; feeding them back gives the same again."""
        done = pipeline.sanitise(messages, self.target, self.policy, self.options)
        shape = {
            "messages": [message_to_dict(message) for message in done.messages],
            "report": [change.to_dict() for change in done.changes],
            "hints": done.hints.to_dict(),
        }
        return {**shape, **self._told(shape, problems)}

    def _told(self, done: Mapping[str, Any], problems: Sequence[Problem]) -> dict[str, Any]:
        report = [*map(_unread, problems), *done["report"]]
        return {"report": report, "hints": {**done["hints"], **({"retry": self.retry.value} if self.retry else {})}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a caller says about the request that a transcript is meant for.

    *tools* are the names on offer (None: unknown), *limits* pairs such as ``image_max_bytes=100000``. *history* keeps
    the last so many user turns (None or 0: all). *continuation* says what becomes of assistant words at the end of a
    request that may not end with them: ``strip`` or ``continue`` (section 3.12). *refused* is what the provider
    answered to the last payload, *status* its HTTP status: the payload is then the one retry that may go through.
    *account* names base URL and credentials without holding them: encrypted reasoning of a message whose ``extra``
    names another ``account`` is not sent.
    """

    provider: str = ""
    api: str | None = None
    model: str = ""
    thinking: bool = False
    tools: tuple[str, ...] | None = None
    limits: tuple[str, ...] = ()
    history: int | None = None
    continuation: str = Continuation.STRIP.value
    refused: str = ""
    status: int | None = None
    account: str = ""


def wished(wish: Wish | None, fields: Mapping[str, Any]) -> Wish:
    """Return *wish* with other *fields*. Raises `InvalidInput` for a field that a wish does not have."""
    unknown = sorted(set(fields) - set(Wish.__slots__))
    if unknown:
        raise InvalidInput(f"a replay is told {', '.join(Wish.__slots__)}; not {', '.join(unknown)}")
    return replace(wish or Wish(), **fields)


def destination(wish: Wish, settings: Settings) -> Destination:
    """Resolve provider, wire, model, limits, wishes and the configured overrides. Raises `InvalidInput`."""
    if not wish.provider.strip():
        raise InvalidInput("replay needs a provider (and usually a model)")
    raw_api = wish.api or default_api(wish.provider)
    api = parse_api(raw_api)
    overrides = {**_configured(wish, settings), **_limits(wish.limits)}
    policy = resolve(wish.provider, raw_api, wish.model, overrides=overrides)
    target = Target(
        provider=wish.provider,
        api=api,
        model=wish.model,
        thinking=wish.thinking,
        tools=wish.tools,
        account=wish.account,
    )
    plan = Plan(target=target, policy=policy, options=_options(wish, settings))
    return _mended(plan, wish) if wish.refused.strip() else _aimed(plan)


def _aimed(plan: Plan, retry: Retry | None = None) -> Destination:
    return Destination(target=plan.target, policy=plan.policy, options=plan.options, retry=retry)


def _options(wish: Wish, settings: Settings) -> Options:
    if wish.history is not None and wish.history < 0:
        raise InvalidInput(f"history counts user turns, so it is 0 (all) or more; got {wish.history}")
    if wish.continuation not in set(Continuation):
        raise InvalidInput(f"unknown continuation {wish.continuation!r}; one of {', '.join(Continuation)}")
    return Options(
        history_turns=wish.history,
        continuation=Continuation(wish.continuation),
        marker_sentence=settings.replay.marker_sentence.strip() or MARKER_SENTENCE,
    )


def _mended(plan: Plan, wish: Wish) -> Destination:
    """Return the plan of the one retry. Raises `InvalidInput` when sending again is useless (section 3.14)."""
    hint = classify(wish.provider, wish.status, wish.refused, output_started=False)
    if hint is None:
        raise InvalidInput("this answer does not refuse the transcript: another payload would not help")
    changed = retry_plan(plan, hint)
    if changed is None:
        raise InvalidInput(f"the provider refused the transcript by rule {hint.code}, which no retry mends")
    return _aimed(changed, hint.retry)


def _unread(problem: Problem) -> dict[str, Any]:
    """Return the report line of what could not be read; it belongs to no message, so its index is -1."""
    detail = f"line {problem.line}: {problem.message}"
    told = f"{detail}\n{problem.text}" if problem.text else detail
    return Change(rule="reading", index=-1, action="left out" if problem.text else "noted", detail=told).to_dict()


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
        number = int(value) if value.isascii() and value.isdigit() and len(value) <= _DIGITS else 0
        if name not in LIMITS or number < 1:
            raise InvalidInput(f"--limits {pair!r}: write KEY=NUMBER with one of {', '.join(LIMITS)}")
        found[LIMITS[name]] = number
    return found


def tool_names(data: bytes) -> tuple[str, ...]:
    """Return the names of a JSON list of tools in any provider's form. Raises `InvalidInput`."""
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the tools are not JSON: {why_unread(error)}") from error
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


def payload_of(data: bytes, api: str) -> dict[str, Any]:
    """Return the request body that *data* holds: an object, what replay printed, or the bare array of its messages.

    Raises `InvalidInput` for anything else.
    """
    holder = {Api.OPENAI_RESPONSES: "input", Api.GOOGLE: "contents"}.get(parse_api(api), "messages")
    try:
        value = json.loads(data.decode("utf-8-sig"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the payload is not JSON: {why_unread(error)}") from error
    found = value.get("payload", value) if isinstance(value, dict) else value
    if isinstance(found, list):
        return {holder: found}
    if not isinstance(found, dict):
        raise InvalidInput("a payload is a JSON object or an array of messages")
    return found


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def why_unread(error: ValueError | RecursionError) -> str:
    """Say in words why a JSON text could not be read."""
    match error:
        case RecursionError():
            return "it is nested too deeply"
        case UnicodeDecodeError():
            return f"byte {error.start + 1} is not UTF-8"
        case json.JSONDecodeError():
            return f"line {error.lineno}, character {error.colno}: {error.msg.lower()}"
    return "a number has more than 4,300 digits" if "integer string conversion" in str(error) else str(error)


def linted(payload: Mapping[str, Any], api: str, *, provider: str, model: str) -> list[dict[str, Any]]:
    """Return what a provider would reject in *payload*."""
    return [found.to_dict() for found in lint(parse_api(api), payload, provider=provider, model=model)]


def displayed(messages: Sequence[Message], max_chars: int | None = None) -> list[dict[str, Any]]:
    """Return what a person may see, as canonical messages; texts longer than *max_chars* are cut.

    Raises `InvalidInput` for a limit below 1.
    """
    if max_chars is not None and max_chars < 1:
        raise InvalidInput(f"a text can be cut to 1 character or more; got {max_chars}")
    return [message_to_dict(message) for message in display(messages, max_chars)]
