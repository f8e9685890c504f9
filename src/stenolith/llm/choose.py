"""Which language model the settings name."""

from __future__ import annotations

from typing import Literal, Protocol, assert_never
from urllib.parse import urlsplit

from stenolith.errors import InvalidInput
from stenolith.llm import anthropic, openai
from stenolith.llm.port import LanguageModel

Kind = Literal["none", "openai", "anthropic"]


class Wanted(Protocol):
    """Which model is wanted; ``settings.LlmSettings`` explains the fields."""

    @property
    def kind(self) -> Kind:
        """Which protocol, or ``none``."""

    @property
    def url(self) -> str:
        """Base address; empty for the provider's own."""

    @property
    def model(self) -> str:
        """The model's name."""

    @property
    def max_tokens(self) -> int:
        """Bound of an answer."""


def choose_model(wanted: Wanted) -> LanguageModel | None:
    """Return the model that *wanted* names, or None. Raises `InvalidInput` when it has no name.

    Nothing is asked of a server here, and no key is read before the first call.
    """
    if wanted.kind == "none":
        return None
    if not wanted.model:
        raise InvalidInput(f"llm.kind = {wanted.kind} needs llm.model")
    match wanted.kind:
        case "openai":
            return openai.OpenAIModel(_target(wanted, openai.URL))
        case "anthropic":
            return anthropic.AnthropicModel(_target(wanted, anthropic.URL))
        case _ as never:
            assert_never(never)


def _target(wanted: Wanted, usual: str) -> openai.Target:
    url = wanted.url or usual
    if not _is_address(url):
        raise InvalidInput("llm.url is an address such as http://127.0.0.1:8080/v1 or https://host/v1")
    return openai.Target(url=url, model=wanted.model, max_tokens=wanted.max_tokens)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # "http://[", a port beyond 65535
        return False
