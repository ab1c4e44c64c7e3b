"""Output shows control characters visibly and keeps JSON values."""

import argparse
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.cli.output import emit
from code_intel.foundation.text import hidden_character, visible_json

CONTROL_CHARACTERS = "\x1b[2J \x9b2J \u202eevil\u202c \u200b \U000e0041 長 é \U0001f600"


@pytest.mark.parametrize("as_json", [True, False])
def test_text_from_files_is_printed_without_control_characters(
    *, as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    emit(argparse.Namespace(json=as_json), {"said": CONTROL_CHARACTERS}, CONTROL_CHARACTERS)
    out = capsys.readouterr().out
    assert hidden_character(out.removesuffix("\n")) == ""
    assert "長 é \U0001f600" in out
    if as_json:
        assert json.loads(out) == {"said": CONTROL_CHARACTERS}


@given(st.dictionaries(st.text(), st.text() | st.lists(st.text())), st.none() | st.just(2))
def test_visible_json_has_the_same_value(value: object, indent: int | None) -> None:
    text = visible_json(json.dumps(value, ensure_ascii=False, indent=indent))
    assert json.loads(text) == value
    assert hidden_character(text.replace("\n", "")) == ""
