"""Every part in the message where it belongs, before any rule looks at it.

Tool results stand in tool messages of their own, one each; assistants hold no results and no
pictures; users no calls; unknown parts are named; a later system message becomes a user's note
where the wire has no place for it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import is_
from typing import Any, Final

from stenolith.model.message import Image, Message, Opaque, Part, Role, Text, Thinking, ToolCall, ToolResult
from stenolith.model.provenance import Provenance, ProvenanceKind
from stenolith.replay.plan import DELETED, FORGOTTEN, Plan, holding, is_blank, with_parts, wording
from stenolith.replay.report import Change, Line, Passed
from stenolith.replay.roles import ASSISTANT, SYSTEM, TOOL, USER

_AT_HOME: Final[Mapping[Role, frozenset[type]]] = {
    USER: frozenset((Text, Image)),
    ASSISTANT: frozenset((Text, Thinking, ToolCall)),
    TOOL: frozenset((ToolResult,)),
    SYSTEM: frozenset((Text,)),
}
_NESTED: Final = frozenset({dict, list, tuple})
_DEEPEST: Final = 200  # levels; every JSON writer and reader stops somewhere, most of them near 1,000
_LINKS: Final = frozenset({"image_url", "file_url", "url", "source"})  # what is no link there is data
_SPOKEN: Final = ("title", "filename", "text", "content", "resource", "file", *sorted(_LINKS))
_WORDY: Final = 6  # levels of an unknown block that are looked into for words
_TOO_DEEP: Final = "[nested too deeply]"
_LONE: Final = re.compile(r"[\ud800-\udfff]")
_SUMMARIES: Final = {
    "compaction": "The conversation history before this point was compacted into the following summary:",
    "branch": "The following is a summary of a branch that this conversation came back from:",
}


def settle_parts(lines: Sequence[Line], _: Plan) -> Passed:
    """Move tool results into tool messages of their own and name or drop parts that their role cannot hold."""
    kept: list[Line] = []
    changes: list[Change] = []
    for line in lines:
        if _is_settled(line.message):
            kept.append(line)
            continue
        settled = list(_settled(line))
        kept += settled
        changes += _losses(line, settled)
    return kept, changes


def _is_settled(message: Message) -> bool:
    if message.role is not TOOL:
        return _AT_HOME[message.role].issuperset(map(type, message.parts))
    if len(message.parts) != 1:
        return False
    result = message.parts[0]
    return type(result) is ToolResult and (result.details is None or not _unknown(result))


def _settled(line: Line) -> Iterator[Line]:
    message = line.message
    results = [_worded_result(part) for part in message.parts if type(part) is ToolResult]
    words = [part for part in (_at_home(part, message.role) for part in message.parts) if part is not None]
    if message.role is TOOL:
        stray = tuple(part for part in words if isinstance(part, Text | Image))
        results = _gathered(results, stray)
        words = []
    hollow = message.role is ASSISTANT and not results  # a failed turn must not vanish unseen
    rest = [with_parts(line, words)] if words or hollow else []
    told = [Line(line.at, holding(message, (result,), role=TOOL)) for result in results]
    yield from [*rest, *told] if message.role is ASSISTANT else [*told, *rest]


def _gathered(results: list[ToolResult], stray: tuple[Text | Image, ...]) -> list[ToolResult]:
    """Give words that stand beside a tool result to that result; without one they are a result without id."""
    if not stray:
        return results
    if not results:
        return [ToolResult(id="", content=stray)]
    return [*results[:-1], replace(results[-1], content=(*results[-1].content, *stray))]


def _at_home(part: Part, role: Role) -> Part | None:
    """Return what stands for *part* in a message of *role*; None when nothing does."""
    if type(part) in _AT_HOME[role] or (role is TOOL and isinstance(part, Text | Image)):
        return part if type(part) is not ToolResult else None
    if isinstance(part, Opaque) and (role in {USER, TOOL} or part.kind == FORGOTTEN):
        return _worded(part.kind, part.value)
    if isinstance(part, Image) and role is ASSISTANT:
        return Text(text="[image omitted: pictures in assistant messages are not replayed]")
    return None


def _unknown(result: ToolResult) -> Sequence[Mapping[str, Any]]:
    """Return the pieces of a result that are no text and no picture; readers keep them in its details."""
    found = result.details.get("unknown_parts") if isinstance(result.details, Mapping) else None
    return [piece for piece in found if isinstance(piece, Mapping)] if isinstance(found, list) else []


def _worded_result(result: ToolResult) -> ToolResult:
    """Return the result with words for its unknown pieces: what a tool returned must not vanish."""
    found = _unknown(result)
    if not found:
        return result
    words = [_worded(str(piece.get("kind") or "unknown"), piece.get("value")) for piece in found]
    return replace(result, content=(*result.content, *words), details=result.details.get("details"))


def _worded(kind: str, value: Any) -> Text:
    """Return the words inside an unknown part, under its name; a placeholder when it has none."""
    if kind == FORGOTTEN:
        return Text(text=DELETED)
    words = "\n".join(text for text in _words_in(value) if not is_blank(text))
    return Text(text=f"[{kind}]\n{words}" if words else f"[unsupported content omitted: {kind}]")


def _words_in(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield what a block says where blocks of documents, search results and resources say it."""
    if isinstance(value, list | tuple) and depth < _WORDY:
        for item in value:
            yield from _words_in(item, depth + 1)
    if not isinstance(value, Mapping) or depth == _WORDY:
        return
    for name in _SPOKEN:
        found = value.get(name)
        if isinstance(found, str) and (name not in _LINKS or found.startswith(("https://", "http://"))):
            yield found
        elif not isinstance(found, str):
            yield from _words_in(found, depth + 1)
    if value.get("type") == "text" and isinstance(value.get("data"), str):
        yield value["data"]


def _losses(line: Line, settled: Sequence[Line]) -> Iterator[Change]:
    role = line.message.role
    for part in line.message.parts:
        for piece in _unknown(part) if type(part) is ToolResult else ():
            detail = f"[{piece.get('kind')}] {piece.get('value')}"
            yield Change(rule="parts", index=line.at, action="omitted", detail=detail)
        if type(part) not in _AT_HOME[role] and type(part) is not ToolResult:
            moved = role is TOOL and isinstance(part, Text | Image)
            action = "moved" if moved else "omitted"
            yield Change(rule="parts", index=line.at, action=action, detail=wording(part))
    if len(settled) > 1:
        yield Change(rule="parts", index=line.at, action="split", detail=f"into {len(settled)} messages")


def clean_text(text: str) -> str:
    """Return *text* without halves of surrogate pairs, which no provider's JSON reader takes (W-ANT-15)."""
    return text if text.isascii() or not _LONE.search(text) else _LONE.sub("", text)


def remove_surrogates(lines: Sequence[Line], _: Plan) -> Passed:
    """Make every text and argument valid Unicode and every number valid JSON (section 3.4.7)."""
    kept: list[Line] = []
    changes: list[Change] = []
    for line in lines:
        if _are_clean(line.message.parts):
            kept.append(line)
            continue
        parts = [_clean_part(part) for part in line.message.parts]
        if all(new is old for new, old in zip(parts, line.message.parts, strict=True)):
            kept.append(line)
            continue
        kept.append(with_parts(line, parts))
        changes += [
            Change(rule="unicode", index=line.at, action="cleaned", detail=_spelled(wording(old)))
            for new, old in zip(parts, line.message.parts, strict=True)
            if new is not old
        ]
    return kept, changes


def _spelled(text: str) -> str:
    """Return *text* with halves of surrogate pairs as escapes: a report must be printable too."""
    return text.encode(errors="backslashreplace").decode()


def _are_clean(parts: Sequence[Part]) -> bool:
    """Return whether *parts* are plainly clean: most are ASCII, and those need no second look."""
    for part in parts:
        if type(part) is Text or type(part) is Thinking:
            if not part.text.isascii():
                return False
        elif type(part) is ToolCall:
            if not (part.id.isascii() and part.name.isascii() and _is_plain(part.arguments)):
                return False
        elif type(part) is ToolResult and not _is_clean_result(part):
            return False
    return True


def _is_clean_result(result: ToolResult) -> bool:
    for piece in result.content:
        if type(piece) is Text and not piece.text.isascii():
            return False
    return result.id.isascii() and result.name.isascii()


def _is_plain(arguments: Any) -> bool:
    """Return whether arguments are a flat object of ASCII texts and whole numbers, as most are."""
    if type(arguments) is not dict:
        return False
    for key, value in arguments.items():
        if type(key) is not str or not key.isascii():
            return False
        if not (type(value) is str and value.isascii()) and type(value) is not int and type(value) is not bool:
            return False
    return True


def _clean_part(part: Part) -> Part:
    if isinstance(part, Text | Thinking):
        return _clean_words(part)
    if isinstance(part, ToolCall):
        return _clean_call(part)
    return _clean_result(part) if isinstance(part, ToolResult) else part


def _clean_words(part: Text | Thinking) -> Text | Thinking:
    text = clean_text(part.text)
    if text == part.text:
        return part
    # A signature covers the exact text: it does not survive a change.
    return replace(part, text=text, signature=None) if isinstance(part, Thinking) else replace(part, text=text)


def _clean_call(call: ToolCall) -> ToolCall:
    arguments = clean_value(call.arguments)
    name, own = clean_text(call.name), clean_text(call.id)
    if arguments is call.arguments and (own, name) == (call.id, call.name):
        return call
    return replace(call, arguments=arguments, id=own, name=name)


def _clean_result(result: ToolResult) -> ToolResult:
    content = tuple(
        replace(piece, text=clean_text(piece.text)) if isinstance(piece, Text) and not piece.text.isascii() else piece
        for piece in result.content
    )
    name, own = clean_text(result.name), clean_text(result.id)
    if content == result.content and (own, name) == (result.id, result.name):
        return result
    return replace(result, content=content, id=own, name=name)


def clean_value(value: Any, depth: int = 0) -> Any:
    """Return a JSON value itself when its texts and numbers are valid and it is not too deep, else a copy that is."""
    kind = type(value)
    if kind is str:
        return clean_text(value)
    if kind is float:
        return value if math.isfinite(value) else str(value)
    if kind not in _NESTED:
        return value
    if depth == _DEEPEST:
        return _TOO_DEEP
    if kind is dict:
        found = {clean_value(key): clean_value(item, depth + 1) for key, item in value.items()}
        same = len(found) == len(value) and all(map(is_, found.values(), value.values()))
        return value if same and all(map(is_, found, value)) else found
    items = [clean_value(item, depth + 1) for item in value]
    return value if all(map(is_, items, value)) else items


def render_notes(lines: Sequence[Line], plan: Plan) -> Passed:
    """Word what only OpenClaw has a role for, and system messages where the wire has no place for them."""
    kept: list[Line] = []
    changes: list[Change] = []
    opening = True
    for line in lines:
        message = line.message
        if message.role is SYSTEM:
            found = _placed_system(line, in_place=opening or plan.policy.system_anywhere)
        else:
            opening = False
            found = _rendered(line) if message.extra and message.role is USER else line
        if found is not None:
            kept.append(found)
        if found is not line:
            action = "worded" if found else "dropped"
            changes.append(Change(rule="notes", index=line.at, action=action, detail=message.text()))
    return kept, changes


def _placed_system(line: Line, *, in_place: bool) -> Line | None:
    """Return a later system message as a note: moving it to the front would move the cached prefix."""
    message = line.message
    if is_blank(message.text()):
        return None
    provenance = message.provenance or Provenance(kind=ProvenanceKind.INTERNAL_SYSTEM)
    return line if in_place else Line(line.at, replace(message, role=USER, provenance=provenance, extra={}))


def _rendered(line: Line) -> Line | None:
    message = line.message
    bash = message.extra.get("bash")
    if isinstance(bash, dict):
        if bash.get("excludeFromContext") is True:
            return None
        return line if message.parts else with_parts(line, (Text(text=_bash(bash)),))
    sentence = _SUMMARIES.get(str(message.extra.get("summary")))
    words = message.text()
    if sentence is None or sentence in words:
        return line
    text = f"{sentence}\n\n<summary>\n{words}\n</summary>"
    rest = tuple(part for part in message.parts if type(part) is not Text)
    return with_parts(line, (Text(text=text), *rest))


def _bash(bash: dict[str, Any]) -> str:
    output = str(bash.get("output") or "")
    shown = "(no output)" if is_blank(output) else f"```\n{output}\n```"
    code = bash.get("exitCode")
    ending = [f"Command exited with code {code}"] if code not in {None, 0} else []
    return "\n".join([f"Ran `{bash.get('command', '')}`", shown, *ending])
