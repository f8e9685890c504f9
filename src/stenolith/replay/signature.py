"""What a provider's opaque thinking or thought signature can look like.

Nobody but the provider can verify a signature.  These checks find the ones that are certainly
broken: missing, truncated, or another API's item id or JSON in the wrong place.
"""

from __future__ import annotations

import re
from typing import Any, Final, TypeGuard

# Standard or URL-safe base64: providers emit both (googleapis/python-genai issue 2105).
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
# Ids and field names of other APIs are made of base64 characters too (spec/replay.md 3.5.3).
_FOREIGN: Final = re.compile(r"(msg_|rs_|fc_|call_|reasoning)")
# Documented by Google for function calls that another model made.
SENTINEL: Final = "skip_thought_signature_validator"


def is_signature(value: Any) -> TypeGuard[str]:
    """Say whether *value* can be a signature: base64 text that is not cut off and not another API's id."""
    if not isinstance(value, str) or _BASE64.fullmatch(value) is None or _FOREIGN.match(value):
        return False
    return len(value.rstrip("=")) % 4 != 1
