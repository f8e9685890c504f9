"""Read and write the canonical form of a message (``spec/cli.md``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import tzinfo
from typing import Any

from stenolith.interop.timestamps import read_time
from stenolith.model.message import Message, message_from_dict, message_to_dict


def read_canonical(value: Mapping[str, Any], zone: tzinfo) -> tuple[list[Message], str]:
    """Read one canonical message. Returns no message and a complaint when it has no known role or no parts."""
    if not isinstance(value.get("parts"), list | str):
        return [], "a canonical message needs a list under 'parts'"
    try:
        message = message_from_dict(value)
    except (ValueError, TypeError) as error:  # TypeError: a list where a name belongs
        return [], str(error)
    moment = read_time(value.get("timestamp"), zone=zone)
    if message.timestamp is not None or moment.ms is None:
        return [message], ""
    extra = {**message.extra, "timestamp_assumed": True} if moment.assumed else message.extra
    return [replace(message, timestamp=moment.ms, extra=extra)], ""


def write_canonical(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Return the messages in the canonical JSON form."""
    return [message_to_dict(message) for message in messages]
