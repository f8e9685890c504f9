"""A key is no setting: it is neither read as one nor shown when somebody writes it down as one."""

from __future__ import annotations

from pathlib import Path

import pytest

from stenolith.errors import InvalidInput
from stenolith.llm.keys import FILE_VARIABLE, VARIABLE
from stenolith.settings import load

KEY = "sk-test-4f9aTHISISNOTAKEY"


def test_the_key_variable_is_no_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, KEY)
    monkeypatch.setenv(FILE_VARIABLE, "/nowhere")
    monkeypatch.setenv("STENOLITH_LLM__KIND", "openai")
    monkeypatch.setenv("STENOLITH_LLM__MODEL", "m")
    settings = load(home=tmp_path)
    assert settings.llm.kind == "openai"
    assert KEY not in repr(settings) + settings.model_dump_json()


def test_a_key_in_the_file_is_refused_without_being_shown(tmp_path: Path) -> None:
    config = tmp_path / "s.toml"
    config.write_text(f'[llm]\napi_key = "{KEY}"\n')
    with pytest.raises(InvalidInput, match="a key is no setting") as caught:
        load(config, home=tmp_path)
    assert KEY not in str(caught.value)


def test_without_settings_no_model_is_asked(tmp_path: Path) -> None:
    assert load(home=tmp_path).llm.kind == "none"
