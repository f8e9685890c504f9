"""Identifiers that follow from content alone, so that recomputing a thing finds it again."""

from __future__ import annotations

from hashlib import blake2b

from stenolith.model.identity import CROCKFORD


def derived_id(prefix: str, seed: str) -> str:
    """Return an identifier in the form of `stenolith.model.identity.new_id` that depends on *seed* alone."""
    number = int.from_bytes(blake2b(seed.encode(), digest_size=17).digest())
    return f"{prefix}_" + "".join(CROCKFORD[(number >> (5 * at)) & 31] for at in range(26))
