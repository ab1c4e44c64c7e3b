"""Whatever goes wrong while migrating: old or new, never mixed; done again it is complete."""

import errno
import json
from pathlib import Path

import pytest

from cli.migration.layouts import later, tree, v37
from code_intel.cli.migration import applying
from code_intel.cli.migration.plan import plan
from code_intel.errors import StorageError
from code_intel.foundation import state_folder
from faulty_disk import Faulty, on
from privileges import without_root
from programs import output_of
from small_disk import ADVICE, PAGE, fill, mounted


def test_a_migration_stopped_at_any_change_is_taken_back_or_completed() -> None:
    found = json.loads(output_of(Path(__file__).with_name("migration_faults.py")))
    assert found.pop("wrong") == []
    assert found.keys() == {"died", "refused", "taken"}  # taken: what is only tidied up
    assert min(found["died"], found["refused"]) > 50


def test_on_a_disk_that_fills_up_what_was_done_is_taken_back(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "400k") as disk:
        root = v37(disk / "p")
        before = tree(root)
        told = []
        for pages in range(26):
            fill(disk / "ballast", pages * PAGE)
            try:
                applying.apply(plan(root))
            except StorageError as error:
                told.append(error.hint)
            else:
                break
            now = tree(root)
            assert {name: now.get(name) for name in before} == before
            assert not (root / "devrag-map.json").exists()
        (disk / "ballast").unlink()
        assert 10 < len(told) < 26
        assert all(map(ADVICE.search, told))
        assert plan(root).changes == ()


def test_a_full_disk_is_told_with_the_next_step_and_nothing_is_begun(tmp_path: Path) -> None:
    root = later(tmp_path / "p")
    before = tree(root)
    with (
        on(Faulty(5, "fails for good", errno.ENOSPC).disk),
        pytest.raises(StorageError) as caught,
    ):
        applying.apply(plan(root))
    assert "Free some space" in caught.value.hint
    now = tree(root)
    assert {name: now[name] for name in before} == before


@pytest.mark.parametrize("place", [".", ".code-intel"])
def test_a_folder_that_may_not_be_written_is_told_and_what_was_done_is_taken_back(
    tmp_path: Path, place: str
) -> None:
    root = v37(tmp_path / "p")
    before = tree(root)
    with without_root():
        (root / place).chmod(0o500)
        try:
            with pytest.raises(StorageError) as caught:
                applying.apply(plan(root))
        finally:
            (root / place).chmod(0o700)
    assert "Permission denied" in caught.value.hint
    now = tree(root)
    assert now.pop(".code-intel/.gitignore", b"") in {b"", state_folder.GITIGNORE_TEXT}
    assert now == before
