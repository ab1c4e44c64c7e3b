"""A failed migration leaves the old or the new files, and the next run completes it."""

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
from sampling import sampled
from small_disk import ADVICE, PAGE, fill, mounted


@pytest.mark.parametrize("every", sampled([5, 1], 5))
def test_a_migration_stopped_at_any_change_is_undone_or_completed(every: int) -> None:
    found = json.loads(output_of(Path(__file__).with_name("migration_faults.py"), str(every)))
    assert found.pop("wrong") == []
    assert found.keys() <= {"died", "refused", "taken"}  # taken: a failure while tidying up
    assert min(found["died"], found["refused"]) > 50 // every


def test_a_migration_that_fills_the_disk_is_undone(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "400k") as disk:
        root = v37(disk / "p")
        before = tree(root)
        hints = []
        for pages in range(26):
            fill(disk / "ballast", pages * PAGE)
            try:
                applying.apply(plan(root))
            except StorageError as error:
                hints.append(error.hint)
            else:
                break
            now = tree(root)
            assert {name: now.get(name) for name in before} == before
            assert not (root / "devrag-map.json").exists()
        (disk / "ballast").unlink()
        assert 10 < len(hints) < 26
        assert all(map(ADVICE.search, hints))
        assert plan(root).changes == ()


def test_a_full_disk_is_reported_before_any_change(tmp_path: Path) -> None:
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
def test_a_read_only_folder_is_reported_and_changes_are_undone(tmp_path: Path, place: str) -> None:
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
