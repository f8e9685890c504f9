"""Commands that read memory: show, list, persona, search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from stenolith.cli.memory import KindName
from stenolith.cli.options import COMMON, Common
from stenolith.cli.output import emit, moment, note, say

SHOWN_CHARS = 500
"""Characters of one thing that a list shows; `show` gives all."""
Layer = Literal["memories", "conversations", "scenes"]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """What a search is narrowed to."""

    kind: KindName | None = None
    "Only memories of this kind."
    since: str | None = None
    "Only what was said or happened at or after this date."
    until: str | None = None
    "Only what was said or happened before the end of this date."
    scene: str | None = None
    "Only memories of this scene."
    include_history: Annotated[bool, Parameter(negative="")] = False
    "Also superseded and expired memories, after the current ones."
    as_of: str | None = None
    "What held then."


ANYTHING = Narrowing()


async def search(
    layer: Layer,
    query: str,
    /,
    *,
    limit: int = 10,
    narrowing: Narrowing = Narrowing(),
    common: Common = COMMON,
) -> int:
    """Search one layer: memories (atoms), conversations (what was said) or scenes.

    Example: stenolith search conversations 鉴权 --since 2026-08-01 --limit 20

    Parameters
    ----------
    layer
        Which layer.
    query
        Words to look for.
    limit
        At most this many.
    """
    async with common.memory(create=False) as memory:
        filters = memory.filters(**{name: getattr(narrowing, name) for name in narrowing.__slots__})
        found = await memory.search(layer, query, scope=common.scope(), limit=limit, filters=filters)
        zone = memory.settings.zone
    emit(common.json, found, lambda: _tell_items(found["items"], zone))
    for reason in found["degraded"]:
        note(f"not everything could be searched: {reason}", "yellow")
    return 0


async def show(identifier: str, /, *, as_of: str | None = None, common: Common = COMMON) -> int:
    """Walk down from any id to the words that were said, when, and by whom.

    Example: stenolith show atm_01k...

    Parameters
    ----------
    identifier
        Id of a persona line, scene, atom or record, or a scene's name.
    as_of
        The version that held then: a date or time.
    """
    async with common.memory(create=False) as memory:
        when = memory.filters(as_of=as_of).as_of_ms
        found = await memory.show(identifier, scope=common.scope(), as_of=when)
        zone = memory.settings.zone
    emit(common.json, found, lambda: _tell_tree(found, zone, 0))
    if found["layer"] == "scene" and not common.json:
        tell_ways(found)
    return 0


def tell_ways(found: dict[str, Any]) -> None:
    """Say that this is not the scene that was asked for, or not all of it any more."""
    if found["redirected_from"]:
        note(f"{found['redirected_from']!r} was merged into this scene, {found['name']!r}", "yellow")
    for other in found["moved_to"]:
        note(f"some of what stood here stands in {other['title']!r} now: stenolith scene {other['name']}", "yellow")


def _tell_tree(node: dict[str, Any], zone: Any, depth: int) -> None:
    pad = "  " * depth
    if node["layer"] == "record":
        say(f"{pad}{moment(node['timestamp'], zone)}  {node['speaker'] or node['role']}: {node['text']}")
        return
    say(f"{pad}{node['layer']} {node['id']}  {node.get('kind') or node.get('status', '')}")
    say(f"{pad}  {node['text']}")
    for child in node["children"]:
        _tell_tree(child, zone, depth + 1)


async def list_(
    layer: Literal["atoms", "scenes", "sessions", "records"],
    /,
    *,
    limit: int = 50,
    cursor: str | None = None,
    status: str | None = None,
    as_of: str | None = None,
    common: Common = COMMON,
) -> int:
    """List atoms, scenes, sessions or records, a page at a time.

    Example: stenolith list atoms --status superseded --limit 20

    Parameters
    ----------
    layer
        What to list.
    limit
        Page size.
    cursor
        The `next` of the page before.
    status
        Only this status (atoms: active, superseded, expired, withdrawn).
    as_of
        The atoms that held then: a date or time.
    """
    async with common.memory(create=False) as memory:
        when = memory.filters(as_of=as_of).as_of_ms
        page = await memory.list(layer, scope=common.scope(), limit=limit, cursor=cursor, status=status, as_of=when)
        zone = memory.settings.zone
    emit(common.json, page, lambda: _tell_items(page["items"], zone))
    if page["next"] and not common.json:
        note(f"more: --cursor {page['next']}")
    return 0


def _tell_items(items: list[dict[str, Any]], zone: Any) -> None:
    for item in items:
        times = (item.get(name) for name in ("occurred", "timestamp", "valid_from", "updated_at"))
        when = moment(next((time for time in times if time is not None), None), zone)
        what = item.get("kind") or item.get("role") or item.get("status") or ""
        words = str(item.get("text") or item.get("title") or item.get("session_key"))
        say(f"{when}  {what:<11} {words if len(words) <= SHOWN_CHARS else words[:SHOWN_CHARS] + '…'}")
        say(f"                  {item['id']}", "dim")
    if not items:
        say("Nothing found.", "dim")


async def persona(*, as_of: str | None = None, common: Common = COMMON) -> int:
    """Print the persona: what is stable across days and scenes, and what still lacks evidence.

    Example: stenolith persona --user ana

    Parameters
    ----------
    as_of
        As it was drawn then: a date or time.
    """
    async with common.memory(create=False) as memory:
        when = memory.filters(as_of=as_of).as_of_ms
        found = await memory.persona(scope=common.scope(), as_of=when)
    emit(common.json, found, lambda: say(found["markdown"]))
    return 0
