"""The completion scripts work in the real shells."""

import shutil
import subprocess
from pathlib import Path

import pytest

from code_intel.cli.completion import SHELLS
from code_intel.cli.main import COMMANDS, main

BASH = """
source "$1/_code-intel"
read -ra COMP_WORDS <<<"$2"
case $2 in *' ') COMP_WORDS+=('') ;; esac
COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 )); COMPREPLY=()
_shtab_code_intel
printf '%s\\n' "${COMPREPLY[@]}"
"""
# The tab completes the last word with the first match, and Ctrl-X writes the line to a file.
ZSH = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "fpath=(${(q)1} \$fpath); autoload -Uz compinit; compinit -D -u"
zpty -w shell "bindkey ^I menu-complete"
zpty -w shell "show() { print -r -- \$BUFFER >${(q)1}/line; exit }; zle -N show; bindkey ^X show"
zpty -w -n shell "$2"$'\t\x18'
while zpty -r shell; do :; done >/dev/null
line=("${(z)$(<$1/line)}")
print -r -- $line[-1]
"""
FISH = """
source $argv[1]/_code-intel
complete -C $argv[2]
"""
PROGRAMS = {
    "bash": ("bash", "-c", BASH, "bash"),
    "zsh": ("zsh", "-f", "-c", ZSH, "zsh"),
    "fish": ("fish", "--no-config", "-c", FISH),
}


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    return name


@pytest.fixture
def scripts(shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Write the script of a shell; return its folder."""
    assert main(["completion", shell]) == 0
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "_code-intel").write_text(capsys.readouterr().out, encoding="utf-8")
    return folder


def completed(shell: str, scripts: Path, line: str) -> list[str]:
    """Return the words that a shell offers for the last one of a line, in a folder with a file."""
    project = scripts.parent / "project"
    (project / "source").mkdir(parents=True)
    (project / "single.py").touch()
    ran = subprocess.run(
        [*PROGRAMS[shell], scripts, line],
        cwd=project, env={"HOME": str(project), "PATH": "/usr/bin:/bin", "TERM": "dumb"},
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert ran.stderr == ""
    words = (word.partition("\t")[0] for word in ran.stdout.splitlines())  # fish adds what it means
    return [word.rstrip("/") for word in words if word]


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("code-intel sni", "snippets"),
        ("code-intel comp", "completion"),
        ("code-intel map conf", "confirm"),
        ("code-intel map trash res", "restore"),
        ("code-intel commands desc", "describe"),
        ("code-intel init --hooks enf", "enforce"),
        ("code-intel map trash empty --older", "--older-than"),
        ("code-intel snippets si", "single.py"),
        ("code-intel search --project s", "source"),
    ],
)
def test_commands_options_values_and_files_are_completed(
    shell: str, scripts: Path, line: str, word: str
) -> None:
    assert completed(shell, scripts, line) == [word]


@pytest.mark.parametrize("shell", ["bash", "fish"], indirect=True)  # zsh shows a menu
def test_every_command_is_offered(shell: str, scripts: Path) -> None:
    assert set(completed(shell, scripts, "code-intel ")) == {each.name for each in COMMANDS}
