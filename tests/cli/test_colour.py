"""Answers are coloured on a terminal only, and colours change no character."""

import subprocess
from collections.abc import Mapping

import pytest

from code_intel.tools.wire.colour import COLOURS, coloured, styled
from projects import BIN, Project
from terminal import COLOUR_CODE, TERMINAL, on_terminal

VALID = "[valid] 送料計算 → shipping_fee"
EXAMPLES: Mapping[str, tuple[str, str]] = {
    "good": (VALID, "[valid]"),
    "doubtful": ("  status     changed, not confirmed", "changed"),
    "bad": ("broken   x → vanished: It is gone.", "broken"),
    "heading": ("Source (unverified):", "Source (unverified):"),
    "place": ("1. src/cart/shipping.py:9-11  shipping_fee", "1. src/cart/shipping.py:9-11"),
    "file": ("2. docs/guide.md  [names, words]", "2. docs/guide.md"),
    "symbol": ("2. fee → shipping_fee (now charge)", "shipping_fee"),
    "reasons": ("src/cart/shipping.py  [names, words]", "[names, words]"),
    "note": ("Note: the index is building.", "Note: the index is building."),
}
"""For each row of `COLOURS`, a line that a command prints, and the coloured part of it."""


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a terminal with colours."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("name", COLOURS)
def test_part_of_an_answer_has_its_colour(name: str) -> None:
    line, part = EXAMPLES[name]
    shown = coloured(f"x\n{line}\ny")
    assert styled(part, COLOURS[name][1]) in shown
    assert COLOUR_CODE.sub("", shown) == f"x\n{line}\ny"


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(
    "line", ["Decimal(valid)", "ratio = 3:40 of it", "x[valid] = 1", "validity is computed"]
)
def test_other_text_has_no_colour(line: str) -> None:
    assert coloured(line) == line


@pytest.mark.parametrize(
    ("words", "extra", "has_colours"),
    [
        (("files", "shipping"), {}, True),
        (("files", "shipping"), {"NO_COLOR": "1"}, False),
        (("files", "shipping"), {"NO_COLOR": ""}, True),
        (("files", "shipping"), {"TERM": "dumb"}, False),
        (("files", "shipping", "--json"), {}, False),
    ],
)
def test_terminal_shows_the_text_of_a_pipe_in_colours(
    shop: Project, words: tuple[str, ...], extra: dict[str, str], *, has_colours: bool
) -> None:
    env = {key: value for key, value in shop.env.items() if key != "NO_COLOR"} | TERMINAL | extra
    shown = on_terminal(shop.root, env, *words)
    forced = {**env, "FORCE_COLOR": "1"}
    command = [str(BIN / "code-intel"), *words]
    piped = subprocess.run(
        command, cwd=shop.root, env=forced, capture_output=True, check=True, text=True
    )
    assert "\x1b" not in piped.stdout
    assert (shown != piped.stdout) is has_colours
    assert COLOUR_CODE.sub("", shown) == piped.stdout


@pytest.mark.usefixtures("terminal")
def test_words_that_match_are_bold_in_the_lines_of_files() -> None:
    text = "1. a.py:1-1\n   def save_cookies(jar): return jar"
    shown = coloured(text, {"cooki"})
    assert styled("save_cookies", "bold") in shown
    assert COLOUR_CODE.sub("", shown) == text
    assert shown.count("\x1b[1m") == 1
