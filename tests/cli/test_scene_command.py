"""`stenolith scene` and `stenolith scene edit`, as people type them."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from shell import Shell

NOON = "The Orion gateway must not be restarted at noon."
TURN = json.dumps([{"role": "user", "content": f"Our Orion gateway uses Postgres. {NOON}", "timestamp": 1785657600000}])


@pytest.fixture
def scene(shell: Shell) -> str:
    shell("capture", "-", "--session", "s1", stdin=TURN)
    assert shell("work", "--until-idle").code == 0
    (found,) = shell("list", "scenes", "--json").json["items"]
    return found["name"]


def test_print_edit_and_hand_back(shell: Shell, scene: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(shell("scene", scene).out.replace(f"- {NOON}", "- Restart it whenever you like."), "utf-8")
    dry = shell("scene", "edit", scene, "--file", page, "--dry-run")
    assert (dry.code, "dry run" in dry.out, f"was: {NOON}" in dry.out) == (0, True, True)
    assert NOON in shell("scene", scene).out
    done = shell("scene", "edit", scene, "--file", page, "--json")
    assert done.code == 0
    (change,) = done.json["changes"]
    assert change.keys() == {"op", "line", "section", "old", "new", "atom", "supersedes"}
    assert done.json.keys() >= {
        "id",
        "name",
        "version",
        "changed",
        "dry_run",
        "withdrawn",
        "superseded",
        "needs_review",
    }
    assert "Restart it whenever you like." in shell("scene", scene).out
    assert (
        "corrected" in shell("history", change["atom"]).out
        or "edited scene by hand" in shell("history", change["atom"]).out
    )
    again = shell("scene", "edit", scene, "--file", page)
    assert (again.code, "has changed since" in again.err, again.out) == (2, True, "")
    assert page.read_text("utf-8"), "the person's own file is left alone"
    assert not (shell.home / "edits").exists()


def test_an_unchanged_page_changes_nothing(shell: Shell, scene: str) -> None:
    page = shell("scene", scene).out
    done = shell("scene", "edit", scene, "-", stdin=page)
    assert (done.code, done.out) == (0, "Nothing was changed.\n")
    assert shell("scene", "edit", scene, "--file", "-", "--json", stdin=page).json["changed"] is False


def test_a_refused_page_from_standard_input_is_kept(shell: Shell, scene: str) -> None:
    secret = "sk-proj-" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY"
    page = shell("scene", scene).out.replace(f"- {NOON}", f"- Mine and only mine, with {secret}. [^99]\n-")
    done = shell("scene", "edit", scene, "-", stdin=page)
    assert (done.code, "[^99]" in done.err) == (2, True)
    (kept,) = (shell.home / "edits").rglob("*.md")
    assert str(kept) in done.err
    assert "Mine and only mine" in kept.read_text("utf-8")
    assert secret not in kept.read_text("utf-8")
    assert kept.stat().st_mode & 0o077 == 0
    assert shell("doctor").code == 0
    (atom,) = [one for one in shell("list", "atoms", "--json").json["items"] if one["text"] == NOON]
    shell("forget", atom["id"])
    assert not kept.exists(), "what was forgotten stood there, too"


@pytest.mark.parametrize(
    ("words", "stdin", "told"),
    [
        (("-",), b"\xff\xfe", "UTF-8"),
        (("-",), b"", "empty"),
        (("--file", "nowhere.md"), b"", "cannot be read"),
        (("-", "--file", "page.md"), b"", "not both"),
        ((), b"", "no terminal"),
    ],
)
def test_what_cannot_be_read_is_told_in_words(shell: Shell, scene: str, words, stdin: bytes, told: str) -> None:
    done = shell("scene", "edit", scene, *words, stdin=stdin)
    assert (done.code, told in done.err, "Traceback" in done.err) == (2, True, False)


def test_a_scene_that_is_not_there(shell: Shell, scene: str) -> None:
    assert shell("scene", "edit", "nothing", "-", stdin="# x").code == 1
    assert shell("scene", "edit").code == 2


def _in_terminal(shell: Shell, scene: str, editor: str) -> tuple[int, str]:
    """Run `scene edit` in a terminal of its own, with *editor*, and return its exit code and what was shown."""
    master, slave = pty.openpty()
    env = {**os.environ, "VISUAL": editor, "EDITOR": "false", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "stenolith", "scene", "edit", scene]
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=env, close_fds=True) as process:
        os.close(slave)
        shown = b""
        while True:
            try:
                part = os.read(master, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
        code = process.wait(timeout=60)
    os.close(master)
    return code, shown.decode()


def test_in_a_terminal_the_editor_opens_on_a_copy(shell: Shell, scene: str) -> None:
    code, shown = _in_terminal(shell, scene, "sed -i 's/at noon\\. \\[/at midnight. [/'")
    assert (code, "at midnight" in shown) == (0, True)
    assert "restarted at midnight." in shell("scene", scene).out
    assert list((shell.home / "edits").iterdir()) == [], "what was taken is not left lying about"


@pytest.mark.parametrize(
    ("editor", "code", "told", "kept"),
    [
        ("true", 0, "Nothing was changed", 0),
        ("false", 2, "ended with 1", 0),
        ("no-such-editor", 2, "set VISUAL or EDITOR", 0),
        ("sed -i 's/at noon\\. \\[.*/at midnight. [^99]/'", 2, "[^99]", 1),
    ],
)
def test_an_editor_that_brings_nothing_back(shell: Shell, scene: str, editor, code, told, kept) -> None:
    done, shown = _in_terminal(shell, scene, editor)
    assert (done, told in shown) == (code, True), shown
    assert len(list((shell.home / "edits").rglob("*.md"))) == kept
    assert "restarted at noon." in shell("scene", scene).out


def test_a_scene_that_was_merged_away_is_found_and_says_so(shell: Shell, scene: str) -> None:
    """As the library does it: `tests/engine/test_shaping.py`."""
    import asyncio

    from stenolith import Memory, Scope
    from stenolith.settings import load
    from stenolith.store.scenes import SceneDraft

    async def merge() -> None:
        async with Memory.open(settings=load()) as memory:
            owner = await memory._house.owners.find(Scope())
            (kept,) = await memory._house.scenes.listing(owner)
            old = await memory._house.scenes.put(owner, SceneDraft(name="old", title="Old", lines=kept.lines), "rules")
            await memory._house.scenes.redirect(owner, old.id, kept.id)

    asyncio.run(merge())
    for command in ("scene", "show"):
        done = shell(command, "old")
        assert done.code == 0
        assert "'old' was merged into this scene" in done.err
        assert shell(command, "old", "--json").json["redirected_from"] == "old"
        assert shell(command, scene).err == ""
