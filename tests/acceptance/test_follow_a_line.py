"""A persona line can be followed to the words of several days; with the words it goes, everywhere, and stays away.

By the real command line, on both databases.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from stage import DAY, ms

from shell import Shell
from stenolith.settings import Settings

START = ms("2026-08-03T09:00:00+08:00")
TALK = {
    "en": (
        ("b", "The billing-service runs on Postgres.", "I prefer small commits in the billing-service, reviewable ones."),
        ("s", "The search-engine runs on Solr.", "I prefer small commits in the search-engine, reviewable ones too."),
        ("b", "The billing-service must not log names.", "I still prefer small commits in the billing-service, reviewable."),
        ("s", "The search-engine must not be restarted.", "I prefer small commits in the search-engine, reviewable as ever."),
    ),
    "zh": (
        ("b", "计费模块用 Postgres。", "改计费模块之前，我习惯先看懂调用链。"),
        ("s", "搜索引擎模块用 Solr。", "改搜索引擎模块之前，我习惯先看懂调用链。"),
        ("b", "计费模块不要重构。"),
        ("s", "搜索引擎模块先不要重启。", "我还是习惯先看懂搜索引擎模块的调用链再动手。"),
    ),
}  # fmt: skip
WORDS = {"en": "reviewable", "zh": "调用链"}


@pytest.fixture
def house(shell: Shell, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """The command line on a home on either database."""
    if settings.database:
        monkeypatch.setenv("STENOLITH_DATABASE", settings.database)
    return shell


def _say_all(house: Shell, language: str) -> None:
    for day, (channel, *texts) in enumerate(TALK[language]):
        said = [_said(text, START + day * DAY + at * 60_000) for at, text in enumerate(texts)]
        assert house("capture", "-", "--session", f"chat:{channel}", stdin=json.dumps(said)).code == 0
    _work(house)


def _said(text: str, at: int) -> dict[str, Any]:
    return {"role": "user", "content": text, "timestamp": at}


def _work(house: Shell) -> None:
    for _ in range(2):
        assert house("work", "--until-idle").code == 0


def _standing(house: Shell) -> list[dict[str, Any]]:
    return [line for line in house("persona", "--json").json["lines"] if line["status"] == "standing"]


def _records(node: dict[str, Any]) -> list[dict[str, Any]]:
    if node["layer"] == "record":
        return [node]
    return [record for child in node["children"] for record in _records(child)]


def _everything(house: Shell, word: str) -> str:
    """Return all that the command line and the files of the home show, for a search of *word*."""
    scenes = [one["id"] for one in house("list", "scenes", "--json").json["items"]]
    shown = [
        house("persona", "--json").out,
        house("recall", word, "--json").out,
        house("export").out,
        *(house("scene", one, "--json").out for one in scenes),
        *(house("list", layer, "--json").out for layer in ("atoms", "scenes", "records", "sessions")),
        *(house("list", "atoms", "--status", one, "--json").out for one in ("superseded", "withdrawn", "expired")),
        *(
            house("search", layer, word, "--include-history", "--json").out
            for layer in ("memories", "conversations", "scenes")
        ),
    ]
    files = [path for path in Path(house.home).rglob("*") if path.is_file()]
    return "\n".join([*shown, *(path.read_bytes().decode(errors="replace") for path in files)])


@pytest.mark.parametrize("language", sorted(TALK))
def test_a_line_leads_to_the_words_of_several_days_and_goes_with_them(house: Shell, language: str) -> None:
    word = WORDS[language]
    _say_all(house, language)
    (line,) = [line for line in _standing(house) if word in line["text"]]
    shown = house("show", line["id"], "--json").json
    records = {record["id"]: record for record in _records(shown)}
    days = {datetime.fromtimestamp(record["timestamp"] / 1000, UTC).date() for record in records.values()}
    assert len(days) >= 3
    assert all(record["role"] == "user" and word in record["text"] for record in records.values())
    people = house("show", line["id"]).out
    assert all(record["text"] in people for record in records.values())
    assert word in _everything(house, word)

    assert house("forget", *records).code == 0
    left = house("list", "records", "--json").json["items"]
    assert all(word not in one["text"] for one in left)
    for _ in range(2):
        assert word not in _everything(house, word)
        assert _standing(house) == []
        assert house("show", line["id"]).code == 1, "the line is no more"
        assert house("rebuild", "all").code == 0
        _work(house)
    for channel in {where for where, *_ in TALK[language]}:  # a host that resends its history
        told = [
            _said(text, START + day * DAY + at * 60_000)
            for day, (where, *texts) in enumerate(TALK[language])
            for at, text in enumerate(texts)
            if where == channel
        ]
        house("capture", "-", "--session", f"chat:{channel}", stdin=json.dumps(told))
    _work(house)
    assert word not in _everything(house, word)
    assert house("doctor").code == 0


def test_a_line_falls_back_when_some_of_its_words_go(house: Shell) -> None:
    """Re-judged by what is left: a candidate again, that says what it lacks and quotes nothing that was deleted."""
    _say_all(house, "en")
    (line,) = [line for line in _standing(house) if "reviewable" in line["text"]]
    before = house("persona", "--json").json["version"]
    records = _records(house("show", line["id"], "--json").json)
    assert house("forget", *(record["id"] for record in records[-2:])).code == 0
    _work(house)
    after = {one["id"]: one for one in house("persona", "--json").json["lines"]}
    assert after[line["id"]]["status"] == "candidate"
    assert "more statement" in after[line["id"]]["missing"]
    assert all(record["text"] not in json.dumps(after) for record in records[-2:])
    assert house("persona", "--json").json["version"] > before


def test_a_line_whose_evidence_is_replaced_is_judged_anew_and_the_earlier_version_is_kept(house: Shell) -> None:
    _say_all(house, "en")
    (line,) = [line for line in _standing(house) if "reviewable" in line["text"]]
    then = house("persona", "--json").json
    for atom in line["atoms"]:
        done = house("correct", atom, f"Commits of any size are fine with me, says note {atom[-6:]}.")
        assert done.code == 0
    _work(house)
    assert [one for one in _standing(house) if "reviewable" in one["text"]] == []
    markdown = (
        (Path(house.home) / "persona.md").read_text("utf-8") if (Path(house.home) / "persona.md").exists() else ""
    )
    assert "reviewable" not in markdown
    past = house("history", line["atoms"][0], "--json").json["items"]
    assert [version["status"] for version in past] == ["superseded", "active"]
    assert house("persona", "--json").json["version"] > then["version"]
