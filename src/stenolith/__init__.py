"""stenolith: long-term memory for AI agents that people can trust.

    from stenolith import Memory, Scope

    async with Memory.open("~/memory") as memory:
        await memory.capture(messages, scope=Scope(session_key="agent:main"))
        context = await memory.recall("may I refactor the login?", scope=Scope())

Names are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stenolith.capture.turn import Turn
    from stenolith.engine import Memory
    from stenolith.errors import (
        InvalidInput,
        ModelUnavailable,
        NotFound,
        Refused,
        SequenceConflict,
        StenolithError,
        StoreUnavailable,
    )
    from stenolith.model.atom import Atom, Kind
    from stenolith.model.identity import Scope
    from stenolith.model.message import Message, Role, Text
    from stenolith.recall.context import Context

__all__ = [
    "Atom",
    "Context",
    "InvalidInput",
    "Kind",
    "Memory",
    "Message",
    "ModelUnavailable",
    "NotFound",
    "Refused",
    "Role",
    "Scope",
    "SequenceConflict",
    "StenolithError",
    "StoreUnavailable",
    "Text",
    "Turn",
]

_HOMES = {
    "Atom": "stenolith.model.atom",
    "Context": "stenolith.recall.context",
    "Kind": "stenolith.model.atom",
    "Memory": "stenolith.engine",
    "Message": "stenolith.model.message",
    "Role": "stenolith.model.message",
    "Scope": "stenolith.model.identity",
    "Text": "stenolith.model.message",
    "Turn": "stenolith.capture.turn",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'stenolith' has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "stenolith.errors")), name)


def __dir__() -> list[str]:
    return sorted(__all__)
