"""Where a model's key comes from: the environment, or a file that only its owner can read.

A key is never a setting: settings are printed, copied and exported.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from stenolith.errors import InvalidInput

VARIABLE: Final = "STENOLITH_LLM__API_KEY"
FILE_VARIABLE: Final = "STENOLITH_LLM__API_KEY_FILE"
USUAL: Final = {
    "api.openai.com": "OPENAI_API_KEY",
    "api.anthropic.com": "ANTHROPIC_API_KEY",
    "openrouter.ai": "OPENROUTER_API_KEY",
    "api.deepseek.com": "DEEPSEEK_API_KEY",
    "api.mistral.ai": "MISTRAL_API_KEY",
    "generativelanguage.googleapis.com": "GEMINI_API_KEY",
}
"""The variable that each provider's own tools read; used for that provider's host and no other."""
_KEY: Final = re.compile(r"[!-~]+")


def variables(url: str) -> tuple[str, ...]:
    """Return the names of the variables that may hold the key for *url*, the first one first."""
    usual = USUAL.get((urlsplit(url).hostname or "").lower())
    return (VARIABLE, usual) if usual else (VARIABLE,)


def read_key(url: str) -> str:
    """Return the key for *url*, empty when there is none.

    Raises `InvalidInput` for a file that is missing or open to others, and for a key that cannot be
    one; the key itself is in no message.
    """
    name = os.environ.get(FILE_VARIABLE, "")
    if name:
        return _checked(_from_file(name), FILE_VARIABLE)
    for variable in variables(url):
        value = os.environ.get(variable, "").strip()
        if value:
            return _checked(value, variable)
    return ""


def _from_file(name: str) -> str:
    try:
        if os.name == "posix" and stat.S_IMODE(Path(name).stat().st_mode) & 0o077:
            raise InvalidInput(f"{FILE_VARIABLE}: {name} can be read by others; run chmod 600 on it")
        return Path(name).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise InvalidInput(f"{FILE_VARIABLE}: {name} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{FILE_VARIABLE}: {name} holds no key") from None


def _checked(key: str, where: str) -> str:
    # The HTTP library names a header that it refuses, value and all: such a key must not reach it.
    if key and not _KEY.fullmatch(key):
        raise InvalidInput(f"{where} holds something that is no key: blanks, line breaks or letters beyond ASCII")
    return key
