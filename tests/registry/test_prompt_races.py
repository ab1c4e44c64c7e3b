"""Swap the folder of prompts for a link while prompts are read."""

from pathlib import Path

import pytest

from code_intel.errors import ExecutionError
from code_intel.index.safe_files import read_inside
from code_intel.registry import prompts
from code_intel.registry.options import OptionRequest
from code_intel.registry.place import prompts_of
from registry.execution_projects import BARE, project, registry_of, write_prompt

OUTSIDE = "do-not-repeat-me"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = project(tmp_path)
    write_prompt(root, "inside\n", command=BARE)
    write_prompt(tmp_path / "outside", OUTSIDE, command=BARE)
    return root


def _read(root: Path) -> str:
    return prompts.render(prompts_of(registry_of(root)), BARE, OptionRequest(), root).prompt


@pytest.mark.parametrize("name", [".agent", ".agent/climpt"])
def test_prompt_folder_linked_outside_is_not_read(root: Path, name: str) -> None:
    folder = root / name
    folder.rename(root / "moved")
    folder.symlink_to(root.parent / "outside" / name)
    with pytest.raises(ExecutionError, match="outside the project and the home folder"):
        _read(root)


@pytest.mark.parametrize("name", [".agent", ".agent/climpt", ".agent/climpt/prompts"])
def test_folder_swapped_before_opening_is_not_followed(
    root: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = root / name

    def swapped(top: Path, path: str, size: int) -> bytes:
        folder.rename(root / "moved")
        folder.symlink_to(root.parent / "outside" / name)
        return read_inside(top, path, size)

    assert _read(root) == "inside\n"
    monkeypatch.setattr(prompts, "read_inside", swapped)
    with pytest.raises(ExecutionError, match="cannot be read"):
        _read(root)
    linked = prompts_of(registry_of(root)).joinpath(*BARE.key[1:], "f_default.md")
    assert linked.read_text("utf-8") == OUTSIDE  # without the check
