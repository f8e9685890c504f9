from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stenolith.model.identity import Scope
from stenolith.store.files import FileReport, ProjectedFiles, folder_of, open_atomic, safe_name, write_atomic


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("旧鉴权模块", "旧鉴权模块"),
        ("Gateway SSH port", "Gateway SSH port"),
        ("../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd"),
        ("a/b", "a%2Fb"),
        ("a%2Fb", "a%252Fb"),
        ("a\\b:c*?", "a%5Cb%3Ac%2A%3F"),
        (".hidden", "%2Ehidden"),
        ("ends with a dot.", "ends with a dot%2E"),
        ("tab\there", "tab%09here"),
        ("con", "%63on"),
        ("COM1.txt", "%43OM1.txt"),
        ("console", "console"),
        ("", "%"),
        ("lone \ud83d surrogate", "lone %ED%A0%BD surrogate"),
    ],
)
def test_a_name_becomes_a_file_name_that_every_system_takes(name: str, expected: str) -> None:
    assert safe_name(name) == expected


@given(st.lists(st.text(max_size=300), unique=True, max_size=8))
def test_different_names_stay_different_and_fit(names: list[str]) -> None:
    files = [safe_name(name) for name in names]
    assert len(set(files)) == len(names)
    for file in files:
        assert 0 < len(file.encode()) <= 200
        assert "/" not in file
        assert not file.startswith(".")


def test_a_long_name_is_cut_between_characters() -> None:
    long = safe_name("模块" * 200)
    assert len(long.encode()) <= 200
    assert long.startswith("模块模块")
    assert long != safe_name("模块" * 201)


def test_scenes_on_disk_are_exactly_those_given(tmp_path: Path) -> None:
    files = ProjectedFiles(tmp_path)
    assert files.write_scenes({"a/b": "one", "c": "two"}) == FileReport(written=("a%2Fb.md", "c.md"))
    before = (tmp_path / "scenes/c.md").stat().st_mtime_ns
    (tmp_path / "scenes/notes.txt").write_text("a person's own")
    assert files.write_scenes({"c": "two", "d": "三"}) == FileReport(written=("d.md",), removed=("a%2Fb.md",))
    assert sorted(path.name for path in (tmp_path / "scenes").iterdir()) == ["c.md", "d.md", "notes.txt"]
    assert (tmp_path / "scenes/c.md").stat().st_mtime_ns == before
    assert (tmp_path / "scenes/d.md").read_text(encoding="utf-8") == "三"


def test_the_persona_comes_and_goes(tmp_path: Path) -> None:
    files = ProjectedFiles(tmp_path)
    assert files.write_persona("") == FileReport()
    assert files.write_persona("# You") == FileReport(written=("persona.md",))
    assert files.write_persona("# You") == FileReport()
    assert files.write_persona("") == FileReport(removed=("persona.md",))
    assert list(tmp_path.iterdir()) == []


def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    ProjectedFiles(tmp_path).write_scenes({"a": "one"})
    assert stat.S_IMODE((tmp_path / "scenes").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "scenes/a.md").stat().st_mode) == 0o600


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "persona.md"
    write_atomic(path, b"old")

    def broken() -> None:
        with open_atomic(path) as handle:
            handle.write(b"half of the ne")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        broken()
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["persona.md"]


@pytest.mark.parametrize(
    ("scope", "folder"),
    [
        (Scope(), ""),
        (Scope(session_key="s1", session_id="i1", task="t"), ""),
        (Scope(user="ana"), "owners/default/ana/default"),
        (Scope(team="../t", user="a/b", agent="C:"), "owners/%2E.%2Ft/a%2Fb/C%3A"),
    ],
)
def test_each_owner_has_a_folder_of_its_own(tmp_path: Path, scope: Scope, folder: str) -> None:
    assert folder_of(tmp_path, scope) == tmp_path / folder
