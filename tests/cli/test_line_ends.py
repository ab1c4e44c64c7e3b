"""Help, suggestions for mistyped words, and outputs that accept no more text."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from code_intel.cli.devrag import DEVRAG_COMMANDS
from code_intel.cli.main import COMMANDS
from projects import BIN, Project

FULL = Path("/dev/full")


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("code-intel serach x", "search"),
        ("code-intel search x --tpo-k 3", "--top-k"),
        ("code-intel search x --frest", "--forest"),
        ("code-intel map lsit", "list"),
        ("code-intel map list --stauts x", "--status"),
        ("code-intel deps a.py --direction inbund", "inbound"),
        ("code-intel completion bahs", "bash"),
        ("devrag serch x", "search"),
        ("devrag search x --top-n 3", "--top-k"),
    ],
)
def test_a_mistyped_word_is_answered_with_the_nearest_one(
    bare: Project, line: str, meant: str
) -> None:
    done = bare.call(*shlex.split(line), check=False)
    assert done.returncode == 2
    assert f"Did you mean {meant}?" in done.stderr.splitlines()[0]


@pytest.mark.parametrize("line", ["code-intel qqqq", "code-intel search x --qqqq", "devrag qqqq"])
def test_a_word_like_no_other_has_no_suggestion(bare: Project, line: str) -> None:
    done = bare.call(*shlex.split(line), check=False)
    assert done.returncode == 2
    assert "Did you mean" not in done.stderr


def test_help_prints_what_the_option_prints(bare: Project) -> None:
    programs = {"code-intel": COMMANDS, "devrag": DEVRAG_COMMANDS}
    for program, commands in programs.items():
        for words in ([], *([command.name] for command in commands)):
            shown = bare.call(program, "help", *words)
            assert shown.stdout == bare.call(program, *words, "--help").stdout
            assert "usage: " in shown.stdout
    shown = bare.call("code-intel", "help", "map", "list")
    assert shown.stdout.startswith("usage: code-intel map list ")


PRINTING = (
    "code-intel search shipping",
    "code-intel files shipping --json",
    "code-intel --help",
    "code-intel help search",
    "code-intel --version",
    "code-intel completion bash",
    "code-intel search x --top-k 0 --json",
    "devrag --config devrag-forest.json search shipping",
    "devrag --config devrag-forest.json list --output text",
    "devrag --help",
    "devrag nope",
)


@pytest.mark.parametrize("line", PRINTING)
def test_a_reader_that_ends_first_ends_the_command_quietly(shop: Project, line: str) -> None:
    program, *words = shlex.split(line)
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [str(BIN / program), *words],
        cwd=shop.root,
        env=dict(shop.env),
        stdin=subprocess.DEVNULL,
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("line", PRINTING)
def test_a_full_disk_is_reported_in_two_lines(shop: Project, line: str) -> None:
    program, *words = shlex.split(line)
    with FULL.open("wb") as full:
        done = subprocess.run(
            [str(BIN / program), *words],
            cwd=shop.root,
            env=dict(shop.env),
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    first, hint = done.stderr.splitlines()
    assert done.returncode == 1
    assert first == f"{program}: The output cannot be written: No space left on device."
    assert "free space" in hint


@pytest.mark.parametrize("closed", ["1", "2", "0"])
def test_a_closed_stream_does_not_matter(shop: Project, closed: str) -> None:
    line = f"{shlex.quote(str(BIN / 'code-intel'))} files shipping {closed}>&-"
    done = subprocess.run(
        ["sh", "-c", line],
        cwd=shop.root,
        env=dict(shop.env),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert bool(done.stdout) is (closed != "1")
