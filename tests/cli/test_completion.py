"""The completion scripts work in real shells."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from code_intel.cli.completion import SHELLS
from code_intel.cli.main import COMMANDS, main

BASH = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMPREPLY=()
_shtab_code_intel
printf '%s\\n' "${COMPREPLY[@]}"
"""
SYNTAX = {"bash": "-n", "zsh": "-n", "fish": "--no-execute"}


def script_of(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["", ""], {each.name for each in COMMANDS}),
        (["map", "con"], {"confirm"}),
        (["map", "trash", "re"], {"restore"}),
        (["init", "--hooks", ""], {"advise", "enforce", "off"}),
        (["search", "--to"], {"--top-k"}),
    ],
)
def test_bash_completes_commands_options_and_choices(
    words: Sequence[str], completed: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "script"
    script.write_text(script_of("bash", capsys), encoding="utf-8")
    typed = ["code-intel", *(words if words[0] else words[1:])]
    ran = subprocess.run(
        ["bash", "-c", BASH, "bash", script, *typed], capture_output=True, text=True, check=True
    )
    assert completed <= set(ran.stdout.split())


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_can_read_its_script(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "script"
    script.write_text(script_of(shell, capsys), encoding="utf-8")
    assert "confirm" in script.read_text(encoding="utf-8")
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    ran = subprocess.run([shell, SYNTAX[shell], script], capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")
