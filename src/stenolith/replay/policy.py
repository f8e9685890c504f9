"""Which facts hold for one provider, wire and model: rows of ``policies.toml``, resolved and explained."""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib import resources
from typing import Any

from stenolith.errors import InvalidInput


class Api(StrEnum):
    """The six wires that a transcript can be replayed on."""

    OPENAI_CHAT = "openai-chat"
    OPENAI_RESPONSES = "openai-responses"
    ANTHROPIC = "anthropic-messages"
    GOOGLE = "google-generative-ai"
    BEDROCK = "bedrock-converse"
    MISTRAL = "mistral-conversations"


class IdMode(StrEnum):
    """How tool call ids are rewritten (``replay.md`` section 3.7)."""

    NONE = "none"
    STRICT = "strict"
    STRICT9 = "strict9"


class SanitizeMode(StrEnum):
    """Which branch of the block pass runs."""

    FULL = "full"
    IMAGES_ONLY = "images-only"


class DuplicateStyle(StrEnum):
    """What a repeated tool call id becomes."""

    NONE = "none"
    OPENAI = "openai"


class Reasoning(StrEnum):
    """How a model's own thinking travels back to it.

    ``signed``: thinking blocks with a signature; ``field``: a key beside the content; ``items``:
    Responses reasoning items; ``thoughts``: Gemini parts; ``chunks``: Mistral thinking chunks;
    ``none``: never on the wire.
    """

    NONE = "none"
    SIGNED = "signed"
    FIELD = "field"
    ITEMS = "items"
    THOUGHTS = "thoughts"
    CHUNKS = "chunks"


class Prefill(StrEnum):
    """Whether a request may end with an assistant message."""

    ALLOW = "allow"
    UNLESS_THINKING = "unless-thinking"
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageLimits:
    """What one request may hold in pictures (``replay.md`` section 3.5.1, W-ANT-14, W-BED-10).

    *max_side* and *many_side* are pixels (the latter for requests with more than *many_count*
    pictures), *max_bytes* counts decoded bytes, *request_bytes* the base64 text of all pictures.
    """

    vision: bool = True
    max_side: int = 1200
    max_bytes: int = 5 * 1024 * 1024
    max_pixels: int = 25_000_000
    max_count: int = 100
    many_count: int = 20
    many_side: int = 2000
    request_bytes: int = 32_000_000
    formats: tuple[str, ...] = ("image/jpeg", "image/png", "image/gif", "image/webp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Every flag that decides how a transcript is replayed to one provider.

    The first block are the flags of ``replay.md`` section 2.1, the others are the facts of
    sections 3.11-3.13 and 4 that the passes and the wires need. Defaults are the plainest wire.
    Two flags are there to be compared with the table and decide nothing: *sanitize_mode* (pictures
    and blank text are treated alike on every route) and *allow_synthetic_tool_results* (synthetic
    results are made when a transcript is read and never stored).
    """

    provider: str = ""
    api: Api = Api.OPENAI_CHAT
    model: str = ""
    row: str = "default"
    facts: tuple[str, ...] = ()

    sanitize_mode: SanitizeMode = SanitizeMode.IMAGES_ONLY
    tool_call_id_mode: IdMode = IdMode.NONE
    duplicate_tool_call_id_style: DuplicateStyle = DuplicateStyle.NONE
    preserve_native_anthropic_tool_use_ids: bool = False
    repair_tool_use_result_pairing: bool = True
    allow_synthetic_tool_results: bool = False
    preserve_signatures: bool = False
    sanitize_thought_signatures: bool = False
    drop_thinking_blocks: bool = False
    drop_reasoning_from_history: bool = False
    apply_google_turn_ordering: bool = False
    validate_gemini_turns: bool = False
    validate_anthropic_turns: bool = False
    append_only_runtime_context: bool = False

    signed_provider: bool = False
    merge_users: bool = False
    user_first: bool = False
    system_anywhere: bool = False
    prefill: Prefill = Prefill.ALLOW
    native_id_pattern: str = ""
    id_pattern: str = ""
    id_max: int = 64
    name_pattern: str = "[a-zA-Z0-9_-]{1,64}"

    reasoning: Reasoning = Reasoning.NONE
    reasoning_field: str = "reasoning_content"
    reasoning_required: bool = False
    reasoning_fill: str = ""
    whole_signatures: bool = False
    foreign_thinking_as_text: bool = False
    replay_unique_mirrors: bool = True
    store_items: bool = True
    missing_result_text: str = "[tool result missing: the call was interrupted or its result was not recorded]"

    result_only_user_messages: bool = False
    requires_tool_result_name: bool = False
    requires_assistant_after_tool_result: bool = False
    separator_after_tool: str = ""
    content_xor_tool_calls: bool = False
    tool_call_ids_on_wire: bool = True
    requires_thought_signature: bool = False
    images_in_tool_results: bool = True
    tools_required_in_request: bool = False

    vision: bool = True
    image_max_side: int = 1200
    image_max_bytes: int = 5 * 1024 * 1024
    image_max_count: int = 100
    image_many_count: int = 20
    image_many_side: int = 2000
    image_request_bytes: int = 32_000_000
    image_formats: tuple[str, ...] = ("image/jpeg", "image/png", "image/gif", "image/webp")

    @property
    def owned_thinking(self) -> bool:
        """Whether thinking is the provider's own and must come back byte for byte (section 2.1)."""
        signed = self.preserve_signatures or self.signed_provider
        wire = self.api in {Api.ANTHROPIC, Api.BEDROCK}
        return wire and self.validate_anthropic_turns and signed and not self.drop_thinking_blocks

    @property
    def checks_signatures(self) -> bool:
        """Whether thinking without a valid signature must not be sent (section 3.6.1)."""
        return self.preserve_signatures or self.signed_provider

    @property
    def merges_assistants(self) -> bool:
        """Whether neighbouring assistant messages become one (section 3.10)."""
        return self.validate_gemini_turns or self.validate_anthropic_turns

    @property
    def merges_users(self) -> bool:
        """Whether neighbouring user messages become one (section 3.10.2)."""
        return self.validate_anthropic_turns or self.merge_users

    @property
    def image_limits(self) -> ImageLimits:
        """The picture limits of this policy as one value."""
        return ImageLimits(
            vision=self.vision,
            max_side=self.image_max_side,
            max_bytes=self.image_max_bytes,
            max_count=self.image_max_count,
            many_count=self.image_many_count,
            many_side=self.image_many_side,
            request_bytes=self.image_request_bytes,
            formats=self.image_formats,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where one replay goes, and what the caller will send beside the messages.

    *thinking*: the request asks the model to think. *tools*: the names on offer (None: unknown,
    every name passes; empty: no tools). *account* identifies base URL and credentials without
    holding them: encrypted reasoning only decrypts for the account it was made for.
    """

    provider: str = ""
    api: Api = Api.OPENAI_CHAT
    model: str = ""
    thinking: bool = False
    tools: tuple[str, ...] | None = None
    account: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    name: str
    flags: Mapping[str, Any]
    providers: frozenset[str]
    apis: frozenset[str]
    model: re.Pattern[str] | None
    unless: re.Pattern[str] | None
    rows: frozenset[str]
    meta: Mapping[str, Any]


_SELECTORS = {"name", "provider", "api", "model", "unless", "rows", "meta"}
_IDENTITY = {"provider", "api", "model", "row", "facts"}


def default_api(provider: str) -> str:
    """Return the wire that *provider* is spoken to on when the caller names none."""
    found: str = _table()["default_api"].get((provider or "").strip().lower(), Api.OPENAI_CHAT.value)
    return found


def parse_api(name: str) -> Api:
    """Return the wire for *name*, one of ours or a ``modelApi`` alias. Raises InvalidInput otherwise."""
    word = name.strip().lower()
    found = _table()["aliases"].get(word, word)
    if found not in set(Api):
        raise InvalidInput(f"unknown api {name!r}; one of {', '.join(Api)}")
    return Api(found)


def resolve(
    provider: str,
    api: str,
    model: str,
    *,
    overrides: Mapping[str, Any] | None = None,
    model_meta: Mapping[str, Any] | None = None,
) -> Policy:
    """Return the policy for one provider, wire and model.

    Layers, each over the last: the wire's own defaults, the first matching row, every matching
    fact in file order, *overrides* (flag names to values; texts are read as the flag's type).
    An empty *api* means the provider's usual one.
    *model_meta* is what a host knows of the model: ``reasoning``, ``input``, ``compat``.
    Raises InvalidInput for an unknown api, flag or value.
    """
    wire = str(api or default_api(provider)).strip().lower()
    word = (provider or "").strip().lower(), wire, (model or "").strip().lower()
    return _resolve(word, json.dumps(overrides or {}, sort_keys=True), json.dumps(model_meta or {}, sort_keys=True))


def explain(policy: Policy) -> dict[str, Any]:
    """Return the row and the facts that matched, and every flag with its value."""
    flags = {field.name: getattr(policy, field.name) for field in dataclasses.fields(policy)}
    derived = {"owned_thinking": policy.owned_thinking, "checks_signatures": policy.checks_signatures}
    shown = {name: list(value) if isinstance(value, tuple) else value for name, value in flags.items()}
    named = {name: shown.pop(name) for name in ("provider", "api", "model", "row", "facts")}
    return {**named, "flags": {**shown, **derived}}


def rows() -> list[dict[str, Any]]:
    """Return every row as data, in matching order: for documentation and for tests."""
    return [dict(row) for row in _table()["row"]]


@lru_cache(maxsize=512)
def _resolve(asked: tuple[str, str, str], overrides: str, meta: str) -> Policy:
    provider, raw_api, model = asked
    api = parse_api(raw_api)
    asks = _Ask(provider=provider, apis=frozenset({raw_api, api.value}), model=model, meta=json.loads(meta))
    row = next(row for row in _rows("row") if _matches(row, asks, ""))
    facts = [fact for fact in _rows("fact") if _matches(fact, asks, row.name)]
    flags: dict[str, Any] = dict(_table()["wire"].get(api.value, {}))
    for layer in [row, *facts]:
        flags |= layer.flags
    flags |= json.loads(overrides)
    known = {name: _read(name, value) for name, value in flags.items()}
    names = tuple(fact.name for fact in facts)
    return Policy(provider=provider, api=api, model=model, row=row.name, facts=names, **known)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ask:
    provider: str
    apis: frozenset[str]
    model: str
    meta: Mapping[str, Any]


def _matches(row: _Row, ask: _Ask, row_name: str) -> bool:
    return (
        (not row.providers or ask.provider in row.providers)
        and (not row.apis or bool(row.apis & ask.apis))
        and (row.model is None or row.model.search(ask.model) is not None)
        and (row.unless is None or row.unless.search(ask.model) is None)
        and (not row.rows or row_name in row.rows)
        and all(_lookup(ask.meta, path) == wanted for path, wanted in row.meta.items())
    )


def _lookup(meta: Mapping[str, Any], path: str) -> Any:
    value: Any = meta
    for step in path.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    text = resources.files("stenolith.replay").joinpath("policies.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@lru_cache(maxsize=2)
def _rows(kind: str) -> tuple[_Row, ...]:
    return tuple(_row(row) for row in _table()[kind])


def _row(row: Mapping[str, Any]) -> _Row:
    return _Row(
        name=row["name"],
        flags={key: value for key, value in row.items() if key not in _SELECTORS},
        providers=_words(row.get("provider", [])),
        apis=_words(row.get("api", [])),
        model=re.compile(row["model"]) if "model" in row else None,
        unless=re.compile(row["unless"]) if "unless" in row else None,
        rows=_words(row.get("rows", [])),
        meta=row.get("meta", {}),
    )


def _words(value: Sequence[str]) -> frozenset[str]:
    return frozenset(value)


_FLAGS: Mapping[str, Any] = {
    field.name: field.default for field in dataclasses.fields(Policy) if field.name not in _IDENTITY
}
_SPOKEN = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def _read(name: str, value: Any) -> Any:
    """Read *value* as the type of flag *name*; texts from a command line are understood."""
    if name not in _FLAGS:
        raise InvalidInput(f"unknown policy flag {name!r}; known flags: {', '.join(sorted(_FLAGS))}")
    like = _FLAGS[name]
    try:
        if isinstance(like, bool):
            return value if isinstance(value, bool) else _SPOKEN[str(value).strip().lower()]
        if isinstance(like, tuple):
            return tuple(value.split(",")) if isinstance(value, str) else tuple(value)
        return type(like)(value)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput(f"flag {name!r} cannot be {value!r}") from error
