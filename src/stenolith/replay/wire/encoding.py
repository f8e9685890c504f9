"""The last look at a payload: text that cannot be encoded or that a wire refuses is taken out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from stenolith.replay.policy import Api

_LONE: Final = "\ud800-\udfff"
# NUL ends a string in C and cannot be stored by PostgreSQL: no server does anything good with it.
_NUL: Final = "\x00"
_CONTROLS: Final = "\x00-\x08\x0b\x0c\x0e-\x1f"
# Bedrock and the storing Responses API refuse control characters; the others read them (ANSI colours of a tool).
_REFUSED: Final[Mapping[Api, str]] = {Api.BEDROCK: _CONTROLS, Api.OPENAI_RESPONSES: _CONTROLS}
_SUSPECT: Final = re.compile(rf"[{_LONE}]|\\u00[01]")


def readable(payload: dict[str, Any], api: Api, note: Callable[[str], None]) -> dict[str, Any]:
    """Return *payload* without lone surrogates and without the control characters that *api* refuses.

    *note* is given every text that lost something, as it was. The walk happens only when a look
    over the serialised payload finds something suspicious.
    """
    if _SUSPECT.search(json.dumps(payload, ensure_ascii=False, default=str)) is None:
        return payload
    unwanted = re.compile(f"[{_LONE}{_REFUSED.get(api, _NUL)}]")
    cleaned: dict[str, Any] = _cleaned(payload, unwanted, note)
    return cleaned


def _cleaned(value: Any, unwanted: re.Pattern[str], note: Callable[[str], None]) -> Any:
    if isinstance(value, str):
        if unwanted.search(value) is None:
            return value
        note(value.encode(errors="backslashreplace").decode())
        return unwanted.sub("", value)
    if isinstance(value, Mapping):
        return {_cleaned(key, unwanted, note): _cleaned(item, unwanted, note) for key, item in value.items()}
    return [_cleaned(item, unwanted, note) for item in value] if isinstance(value, list | tuple) else value
