"""What is asked of the disk while nothing is touched, and that whatever is touched is seen at once all the same."""

import gc
import mmap
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from code_intel.learned.files import fingerprints
from code_intel.learned.files import folder as folders
from code_intel.learned.files.folder import Folder
from code_intel.learned.files.watching import MOST_FOLDERS, watch

NAMES = ("a.md", "b.md", "c.md")
FORKED = 7

watched = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of what is touched")


def read(path: Path, _before: str | None) -> str:
    try:
        return path.read_text("utf-8")
    except OSError:
        return ""


def files_of(path: Path) -> Folder[str]:
    return Folder(path, read, bool)


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every file for settled: then nothing but a watch, or what the disk says of it, makes it be read again."""
    monkeypatch.setattr(fingerprints, "RACY_NS", -(10**18))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "agreements"
    place.mkdir()
    for name in NAMES:
        (place / name).write_text(f"what {name} says", "utf-8")
    return place


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Take down which files the disk is asked about."""
    names: list[str] = []
    lstat = os.lstat

    def noting(path: str) -> os.stat_result:
        names.extend({Path(path).name} & {*NAMES})
        return lstat(path)

    monkeypatch.setattr(os, "lstat", noting)
    return names


@watched
def test_while_nothing_is_touched_no_file_is_asked(place: Path, asked: list[str]) -> None:
    found = files_of(place)
    first = found.look()
    assert sorted(asked) == sorted(NAMES)
    asked.clear()
    assert found.look() is first
    assert asked == []


@watched
def test_after_a_while_every_file_is_asked_though_nobody_told_of_any(
    place: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = files_of(place)
    found.look()
    asked.clear()
    monkeypatch.setattr(folders, "BELIEVED_SECONDS", 0.0)
    found.look()
    assert sorted(asked) == sorted(NAMES)


@watched
def test_who_does_not_believe_asks_every_file(place: Path, asked: list[str]) -> None:
    found = files_of(place)
    found.look()
    asked.clear()
    found.look(believing=False)
    assert sorted(asked) == sorted(NAMES)
    asked.clear()
    found.look()
    assert asked == []


def unseen(place: Path) -> None:
    """Change a file in place, its size and its time of modification as they were."""
    path = place / NAMES[0]
    before, text = path.stat(), path.read_bytes()
    path.write_bytes(text.replace(b"what", b"WHAT"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def longer(place: Path) -> None:
    with (place / NAMES[0]).open("a", encoding="utf-8") as file:
        file.write(" and more")


def mapped(place: Path) -> None:
    with (place / NAMES[1]).open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[:4] = b"WHAT"


def many(place: Path) -> None:
    """Touch two files so often that the kernel's queue runs over, and a third one when it has."""
    files = [(place / name).open("r+b", buffering=0) for name in NAMES]
    for _ in range(20_000):
        for file in files[:2]:
            os.pwrite(file.fileno(), b"w", 0)
    os.pwrite(files[2].fileno(), b"W", 0)
    for file in files:
        file.close()


def below(place: Path) -> None:
    (place / "team").mkdir()
    (place / "team" / "new.md").write_text("new", "utf-8")


def another_folder(place: Path) -> None:
    other = place.with_name("other")
    other.mkdir()
    (other / NAMES[0]).write_text("another", "utf-8")
    place.rename(place.with_name("before"))
    other.rename(place)


TOUCHES: tuple[Callable[[Path], object], ...] = (
    longer,
    unseen,
    mapped,
    many,
    lambda place: os.truncate(place / NAMES[2], 3),
    lambda place: (place / NAMES[0]).unlink(),
    lambda place: (place / NAMES[0]).rename(place / "renamed.md"),
    lambda place: (place / NAMES[0]).rename(place.with_name("moved out.md")),
    lambda place: (place / NAMES[0]).replace(place / NAMES[1]),
    lambda place: (place / "new.md").write_text("new", "utf-8"),
    below,
    another_folder,
    lambda place: place.rename(place.with_name("gone")),
)


@pytest.mark.parametrize("touch", TOUCHES)
def test_whatever_is_touched_is_seen_by_the_next_look(
    place: Path, touch: Callable[[Path], object]
) -> None:
    found = files_of(place)
    before = found.look()
    assert found.look() is before
    touch(place)
    now = found.look()
    assert now.items == files_of(place).look().items
    assert now.items != before.items
    assert now.revision > before.revision
    assert found.look() is now


def test_what_comes_into_a_folder_that_was_added_is_seen(place: Path) -> None:
    found = files_of(place)
    found.look()
    below(place)
    found.look()
    (place / "team" / "new.md").write_text("newer", "utf-8")
    assert "newer" in found.look().items


def test_a_folder_reached_by_another_link_than_before_is_another(place: Path) -> None:
    other = place.with_name("other")
    other.mkdir()
    (other / NAMES[0]).write_text("another", "utf-8")
    link = place.with_name("link")
    link.symlink_to(place)
    found = files_of(link)
    assert len(found.look().items) == len(NAMES)
    link.unlink()
    link.symlink_to(other)
    assert found.look().items == ("another",)
    (other / NAMES[0]).write_text("another one", "utf-8")
    assert found.look().items == ("another one",)


def test_a_file_with_two_names_is_seen_though_written_by_the_other(place: Path) -> None:
    elsewhere = place.with_name("elsewhere.md")
    os.link(place / NAMES[0], elsewhere)
    found = files_of(place)
    found.look()
    elsewhere.write_text("written elsewhere", "utf-8")
    assert found.look().items[0] == "written elsewhere"


def test_what_could_not_be_read_is_read_again_at_each_look(place: Path) -> None:
    (place / NAMES[0]).write_text("", "utf-8")
    tries: list[Path] = []

    def noting(path: Path, before: str | None) -> str:
        tries.append(path)
        return read(path, before)

    found = Folder(place, noting, bool)
    first = found.look()
    tries.clear()
    assert found.look() is first
    assert tries == [place / NAMES[0]]


@watched
def test_a_fork_takes_nothing_of_what_its_parent_is_told(place: Path) -> None:
    made = watch([str(place)])
    assert made is not None
    (place / NAMES[0]).write_text("touched", "utf-8")
    child = os.fork()
    if not child:
        os._exit(FORKED if not made.is_quiet() else 0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == FORKED
    assert not made.is_quiet()
    assert made.is_quiet()


@watched
def test_nothing_is_watched_where_others_write_than_this_kernel_or_too_much_would_be(
    place: Path,
) -> None:
    assert watch([str(place)]) is not None
    assert watch(["/proc/self"]) is None
    assert watch([str(place / "none")]) is None
    assert watch([str(place)] * (MOST_FOLDERS + 1)) is None


def handles() -> int:
    return len([*Path("/proc/self/fd").iterdir()])


@watched
def test_a_watch_that_nobody_needs_gives_its_handle_back(place: Path) -> None:
    gc.collect()  # what other tests have left gives back its own
    before = handles()
    made = watch([str(place)])
    assert handles() == before + 1
    del made
    assert handles() == before
    assert watch([str(place), str(place / "none")]) is None
    assert handles() == before
