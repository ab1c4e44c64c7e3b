"""Output shows control characters visibly and keeps JSON values."""

import argparse
import io
import json
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.cli.output import ERASE_LINE, emit, progress
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


def test_progress_replaces_one_line_of_a_terminal_and_erases_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress() as advance:
        advance(0, 4, "vectors")
        advance(1, 4, "vectors")
        advance(4, 4, "vectors")
        advance(7, 0, "files")
    empty, first, full, unknown, last = terminal.getvalue().split(ERASE_LINE)[1:]
    assert (empty.count("━"), first.count("━"), full.count("━")) == (0, 7, 30)
    assert "1/4, " in first
    assert full.endswith("4/4, 0 s left")
    assert unknown.endswith("7/?")
    assert last == ""


def test_progress_prints_lines_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    with progress() as advance:
        advance(0, 100, "words")
        advance(1, 100, "words")
        advance(10, 100, "words")
        advance(7, 0, "files")
    first, second, unknown = capsys.readouterr().err.splitlines()
    assert (first, unknown) == ("words: 0/100", "files: 7/?")
    assert re.fullmatch(r"words: 10/100, \d+ s left", second)
