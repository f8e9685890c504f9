"""What a provider's opaque thinking or thought signature can look like.

Nobody but the provider can verify a signature.  These checks find the ones that are certainly
broken: missing, truncated, or another API's item id or JSON in the wrong place.
"""

from __future__ import annotations

from typing import Any, Final, TypeGuard

# Standard or URL-safe base64: providers emit both (googleapis/python-genai issue 2105).
_BASE64: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-"
_ENDS: Final = frozenset({b"=", b"=="})
# Ids and field names of other APIs are made of base64 characters too (spec/replay.md 3.5.3).
_FOREIGN: Final = ("msg_", "rs_", "fc_", "call_", "reasoning")
# Documented by Google for function calls that another model made.
SENTINEL: Final = "skip_thought_signature_validator"


def is_base64(text: str) -> bool:
    """Say whether *text* is made of base64 characters, of either alphabet, and at most two ``=`` at its end.

    Signatures are long and looked at by passes, wires and the linter: taking all letters away at once
    is several times faster than a pattern.
    """
    if not text.isascii():
        return False
    rest = text.encode().translate(None, _BASE64)
    if not rest:
        return bool(text)
    return rest in _ENDS and text.endswith(rest.decode()) and len(text) > len(rest)


def is_signature(value: Any) -> TypeGuard[str]:
    """Say whether *value* can be a signature: base64 text that is not cut off and not another API's id."""
    if not isinstance(value, str) or not is_base64(value) or value.startswith(_FOREIGN):
        return False
    letters = len(value) if value[-1] != "=" else len(value.rstrip("="))
    return letters % 4 != 1
