"""What the terminal is shown: nothing that steers it, and JSON that reads as it was."""

import argparse
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.cli.output import emit
from code_intel.foundation.text import hidden_character, visible_json

STEERING = "\x1b[2J \x9b2J \u202eevil\u202c \u200b \U000e0041 長 é \U0001f600"


@pytest.mark.parametrize("as_json", [True, False])
def test_what_files_say_steers_no_terminal(
    *, as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    emit(argparse.Namespace(json=as_json), {"said": STEERING}, STEERING)
    out = capsys.readouterr().out
    assert hidden_character(out.removesuffix("\n")) == ""
    assert "長 é \U0001f600" in out
    if as_json:
        assert json.loads(out) == {"said": STEERING}


@given(st.dictionaries(st.text(), st.text() | st.lists(st.text())), st.none() | st.just(2))
def test_json_reads_as_it_was_and_shows_all_that_it_says(value: object, indent: int | None) -> None:
    text = visible_json(json.dumps(value, ensure_ascii=False, indent=indent))
    assert json.loads(text) == value
    assert hidden_character(text.replace("\n", "")) == ""
