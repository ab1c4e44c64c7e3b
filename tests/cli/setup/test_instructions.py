"""`init` adds a short section to the instructions of agents, and `--remove` restores the files."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.cli.setup import instructions, marked_block
from code_intel.tools.table import CORE
from projects import file_tree

Init = Callable[..., dict[str, Any]]
SECTION = b"## Finding and changing code"


def test_the_section_has_at_most_15_lines_and_names_listed_tools() -> None:
    lines = marked_block.with_block(
        None, instructions.MARKS, instructions.SECTION.encode().splitlines()
    ).splitlines()
    assert len(lines) <= 15
    named = set(re.findall(r"`(\w+_\w+)`", instructions.SECTION))
    assert named <= {tool.name for tool in CORE.tools}
    assert {"start_session", "record_outcome"} <= named


def test_only_existing_files_get_the_section_without_the_option(project: Path, init: Init) -> None:
    (project / "AGENTS.md").write_bytes(b"# Ours\n")
    init()
    assert (project / "AGENTS.md").read_bytes().startswith(b"# Ours\n\n<!-- code-intel: begin")
    assert not (project / "CLAUDE.md").exists()
    assert {row["action"] for row in init()["changes"]} == {"keep"}
    init("--remove")
    assert file_tree(project) == {"AGENTS.md": b"# Ours\n"}


def test_the_option_creates_the_files_that_the_clients_read(project: Path, init: Init) -> None:
    for names, files in (
        ("claude", {"CLAUDE.md"}),
        ("codex,vscode", {"AGENTS.md"}),
        ("all", {"CLAUDE.md", "AGENTS.md", "GEMINI.md"}),
    ):
        init("--client", names, "--instructions")
        assert files == {name for name in instructions.READERS if (project / name).exists()}
        init("--remove")
        assert list(project.rglob("*")) == []


def test_an_outdated_section_is_replaced_in_its_place(project: Path, init: Init) -> None:
    marks = instructions.MARKS
    before = b"a\n\n" + marks.begin + b"\nold\n" + marks.end + b"\n\nb\n"
    (project / "CLAUDE.md").write_bytes(before)
    init()
    text = (project / "CLAUDE.md").read_bytes()
    assert SECTION in text
    assert b"old" not in text
    assert text.startswith(b"a\n\n" + marks.begin)
    assert text.endswith(marks.end + b"\n\nb\n")


def test_a_file_that_includes_the_other_one_is_left_alone(project: Path, init: Init) -> None:
    (project / "AGENTS.md").write_bytes(b"# Ours\n")
    (project / "CLAUDE.md").write_bytes(b"@AGENTS.md\n")
    (project / "GEMINI.md").symlink_to("AGENTS.md")
    before = file_tree(project)
    init()
    assert (project / "CLAUDE.md").read_bytes() == b"@AGENTS.md\n"
    assert (project / "AGENTS.md").read_bytes().count(SECTION) == 1
    init("--remove")
    assert (project / "GEMINI.md").is_symlink()
    assert file_tree(project) == before


@given(st.none() | st.text(alphabet="a\n\r<#", max_size=8).map(str.encode))
def test_removing_the_section_restores_every_byte(before: bytes | None) -> None:
    lines = instructions.SECTION.encode().splitlines()
    merged = marked_block.with_block(before, instructions.MARKS, lines)
    assert marked_block.with_block(merged, instructions.MARKS, lines) == merged
    assert instructions.without_section(merged) == before


@pytest.mark.parametrize("name", instructions.READERS)
def test_a_link_out_of_the_project_is_refused(
    project: Path, init: Init, tmp_path: Path, name: str
) -> None:
    (tmp_path / "mine.md").write_bytes(b"mine\n")
    (project / name).symlink_to(tmp_path / "mine.md")
    assert "leads out of the project" in init(code=2)["message"]
    assert (tmp_path / "mine.md").read_bytes() == b"mine\n"
