"""Where prompts lie is swapped for a link while they are read; nothing outside the project is."""

import threading
from contextlib import suppress
from pathlib import Path

import pytest

from code_intel.errors import ExecutionError
from code_intel.registry import prompts
from code_intel.registry.options import Asked
from code_intel.registry.place import prompts_of
from registry.executing import BARE, project, registry_of, write_prompt

OUTSIDE = "do-not-repeat-me"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = project(tmp_path)
    write_prompt(root, "inside\n", command=BARE)
    write_prompt(tmp_path / "outside", OUTSIDE, command=BARE)
    return root


def _read(root: Path) -> str:
    return prompts.render(prompts_of(registry_of(root)), "prompts", BARE, Asked(), root).text


@pytest.mark.parametrize("name", [".agent", ".agent/climpt"])
def test_a_folder_of_prompts_that_became_a_link_outside_is_not_read(root: Path, name: str) -> None:
    folder = root / name
    folder.rename(root / "moved")
    folder.symlink_to(root.parent / "outside" / name)
    with pytest.raises(ExecutionError, match="outside the project and the home folder"):
        _read(root)


def test_a_folder_that_is_swapped_while_prompts_are_read_leads_nowhere_else(root: Path) -> None:
    folder, moved, is_over = root / ".agent/climpt", root / "moved", threading.Event()

    def swap() -> None:
        while not is_over.is_set():
            folder.rename(moved)
            folder.symlink_to(root.parent / "outside/.agent/climpt")
            folder.unlink()
            moved.rename(folder)

    thread = threading.Thread(target=swap)
    thread.start()
    found = set()
    try:
        for _ in range(1000):
            with suppress(ExecutionError):
                found.add(_read(root).strip())
    finally:
        is_over.set()
        thread.join()
    assert found == {"inside"}
