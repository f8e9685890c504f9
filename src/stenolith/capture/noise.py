"""Messages that nobody said: bootstraps, heartbeats, silent replies and typed commands.

Only a host's exact form counts. ``/etc/hosts is broken`` is not a command, and a sentence about
heartbeats is not a heartbeat.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from stenolith.model.message import Role


class Skip(StrEnum):
    """Why a message makes no record."""

    EMPTY = "empty"
    INJECTED = "injected"
    BOOTSTRAP = "bootstrap"
    MEMORY_FLUSH = "memory_flush"
    SILENT = "silent"
    HEARTBEAT = "heartbeat"
    COMMAND = "command"


# Forms of OpenClaw 2026.1 to 2026.9; each must match the whole message.
_HOST_FORMS: Final = (
    (Skip.BOOTSTRAP, r"\(session bootstrap\)"),
    (Skip.BOOTSTRAP, r"A new session was started via /[\s\S]*"),
    (Skip.BOOTSTRAP, r"✅ New session started[\s\S]*"),
    (Skip.MEMORY_FLUSH, r"Pre-compaction memory flush(?: turn)?(?:\.(?:\s[\s\S]*)?)?"),
    (Skip.SILENT, r"[\"'`*_]*NO_REPLY[\"'`*_.]*"),
    (Skip.SILENT, r"\{\s*\"action\"\s*:\s*\"NO_REPLY\"\s*\}"),
    (Skip.HEARTBEAT, r"(?:<\w+>|[*`~_\"'\s])*HEARTBEAT_OK(?:</\w+>|\W|_){0,8}"),
    (Skip.HEARTBEAT, r"\[OpenClaw heartbeat poll\]"),
    (
        Skip.HEARTBEAT,
        (
            r"Read HEARTBEAT\.md if it exists \(workspace context\)\.[^\n]*HEARTBEAT_OK\.?"
            r"(?:\s+(?:When reading HEARTBEAT\.md|Current time:|Reference UTC:)[^\n]*)*"
        ),
    ),
    (Skip.HEARTBEAT, r"Run the following periodic tasks \(only those due[\s\S]*HEARTBEAT_OK[\s\S]*"),
)
_NOISE: Final = tuple((reason, re.compile(form)) for reason, form in _HOST_FORMS)


class _Arguments(StrEnum):
    """What may follow a command for the message to be nothing but a command."""

    NONE = "none"
    MODEL = "model"
    NAME = "name"
    SETTINGS = "settings"


# Built-in commands of OpenClaw (docs/tools/slash-commands), Hermes (hermes_cli/commands) and Claude
# Code (/help). Those that can carry a person's words (/btw, /compact, /queue …) count only when bare.
_COMMANDS: Final = {
    _Arguments.NONE: (
        "add-dir agent bash background bg branch browser btw bug clear commands compact compose compress context copy "
        "cost deny diff dock-discord dock-slack dock-telegram dock_discord dock_slack dock_telegram doctor exit export "
        "export-session fast feedback focus fork goal gquota handoff help history hooks id ide init insights "
        "install-github-app kanban keybindings login logout memory migrate-installer paste permissions plan "
        "platforms plugin plugins pr-comments pr_comments privacy-settings profile prompt q queue quit recap redraw "
        "release-notes reload reload-mcp reload-skills remote-control rename restart restore retry review save "
        "security-review sessions sethome set-home simplify skill stats statusbar status steer sb stop subgoal tasks "
        "tell terminal-setup title todos toolsets topic unfocus update upgrade vim whoami"
    ),
    _Arguments.MODEL: "new reset",
    _Arguments.NAME: "agents hermes mcp model models output-style personality provider resume skills skin theme tools",
    _Arguments.SETTINGS: (
        "acp activation allowlist approve approvals busy checkpoint codex-runtime config cron debug elev elevated "
        "effort exec footer indicator kill reason reasoning rewind rollback sandbox send session snap snapshot "
        "subagents t think thinking tts undo usage v verbose voice yolo"
    ),
}
_KNOWN: Final = {name: kind for kind, names in _COMMANDS.items() for name in names.split()}
_COMMAND = re.compile(r"/([A-Za-z][\w-]*)(?:@\w+)?:?(?:\s+(\S[\s\S]*))?")
_MODEL_NAME = re.compile(r"[A-Za-z][\w.-]*(?:/[\w.:@-]+|-[\w.]*\d[\w.:@-]*)")
_CHOICES: Final = (
    "add all allow-always allow-once always ask audio auto cancel clear cost default deny detail disable enable full "
    "get hard help here hide high inbound info inherit interrupt json kill limit list log low max medium mention "
    "minimal new none off on once pause persist provider prune remove reset restore resume session set show soft "
    "spawn status steer stream summary tagged tokens unset xhigh"
)
_LIKE_CODE: Final = r"(?=--|\S*[\d/=@#]|\S*\w[.:]\w)[\w/.:=@#\[\]{}\"',+*-]{1,80}"
_SETTING = re.compile(f"{_CHOICES.replace(' ', '|')}|{_LIKE_CODE}")
_TOO_LITTLE = re.compile(r"[^\w\s]{1,5}|[?？\s]*")


def skip_reason(text: str, role: Role) -> Skip | None:
    """Say why cleaned *text* makes no record, or None when it does. Only users type commands."""
    plain = text.strip()
    if not plain:
        return Skip.EMPTY
    for reason, form in _NOISE:
        if form.fullmatch(plain):
            return reason
    return Skip.COMMAND if role is Role.USER and _is_command(plain) else None


def worth_distilling(text: str) -> bool:
    """Say whether a record may hold anything to remember: not noise, not ``!!!``, not ``??``."""
    plain = text.strip()
    return skip_reason(plain, Role.USER) is None and not _TOO_LITTLE.fullmatch(plain)


def _is_command(text: str) -> bool:
    """Say whether *text* is a known command with no more than the settings it takes."""
    found = _COMMAND.fullmatch(text) if text.startswith("/") else None
    kind = _KNOWN.get(found[1].lower()) if found else None
    if found is None or kind is None:
        return False
    words = (found[2] or "").split()
    settings = len(words) <= 6 and all(_SETTING.fullmatch(word) for word in words)
    match kind:
        case _Arguments.NONE:
            return not words
        case _Arguments.MODEL:
            return not words or (len(words) == 1 and _MODEL_NAME.fullmatch(words[0]) is not None)
        case _Arguments.NAME:
            return settings or len(words) == 1
        case _Arguments.SETTINGS:
            return settings
