"""The trash: names, listing, restoring and emptying."""

from datetime import timedelta
from pathlib import Path

import pytest

from code_intel.config import Settings
from code_intel.errors import NotFoundError, StorageError, UsageError
from code_intel.learned.files import trash
from code_intel.learned.files.agreements import make_key, write
from code_intel.learned.files.changes import sync
from code_intel.learned.files.restore import restore
from code_intel.learned.learn import learn
from code_intel.records import Agreement
from learned.builders import NOW, confirmed_keys, project, rewrite

KEY = make_key("ログイン機能", "AuthService")
LOGIN = Agreement(*KEY, evidence=("one", "two\nlines"), learned_at="2026-01-01T00:00:00+00:00")


def learned(folder: Path) -> tuple[Settings, Path]:
    settings = project(folder)
    return settings, learn(settings, LOGIN, confirmed=True, now=NOW).agreement_file


def names(settings: Settings) -> list[str]:
    return [kept.name for kept in trash.contents(settings)]


def test_missing_trash_is_empty_and_is_not_created(tmp_path: Path) -> None:
    assert trash.contents(project(tmp_path)) == []
    assert list(tmp_path.iterdir()) == []


def test_files_of_one_name_and_second_are_all_kept(tmp_path: Path) -> None:
    settings = project(tmp_path)
    for text in (b"a", b"b", b"c"):
        trash.keep(settings, "2-x.md", text, now=NOW)
    found = trash.contents(settings)
    assert {kept.path.read_bytes() for kept in found} == {b"a", b"b", b"c"}
    assert {(kept.origin, kept.at) for kept in found} == {("2-x.md", NOW)}


def test_foreign_files_are_listed(tmp_path: Path) -> None:
    settings = project(tmp_path)
    folder = trash.folder_of(settings)
    folder.mkdir(parents=True)
    for name in ("20260101T000000-x.md", "notes.md", "20269999T999999-z.md"):
        (folder / name).write_bytes(b"a")
    origins = {kept.name: kept.origin for kept in trash.contents(settings)}
    assert origins == {
        "20260101T000000-x.md": "x.md",
        "notes.md": "notes.md",
        "20269999T999999-z.md": "z.md",
    }


def test_file_is_restored_to_its_subfolder(tmp_path: Path) -> None:
    settings, file = learned(tmp_path)
    place = settings.agreements / "billing" / "by hand.md"
    place.parent.mkdir()
    file.rename(place)
    sync(settings, NOW)
    data = place.read_bytes()
    trash.move(settings, place, now=NOW)
    (kept,) = trash.contents(settings)
    assert (kept.name, kept.origin) == ("billing/20260301T120000-by hand.md", "billing/by hand.md")
    restored = restore(settings, "by hand.md", now=NOW)
    assert (restored.path, restored.key, place.read_bytes()) == (place, KEY, data)
    assert trash.contents(settings) == []


def test_restored_agreement_is_confirmed_only_with_the_confirmed_content(tmp_path: Path) -> None:
    settings, file = learned(tmp_path)
    trash.move(settings, file, now=NOW)
    restore(settings, file.name, now=NOW)
    assert confirmed_keys(settings) == {KEY}
    trash.move(settings, file, now=NOW)
    (entry,) = trash.contents(settings)
    rewrite(entry.path, lambda text: text.replace("- one\n", "- other\n"))
    restore(settings, entry.name, now=NOW)
    assert confirmed_keys(settings) == set()


def test_existing_agreement_or_file_is_not_overwritten(tmp_path: Path) -> None:
    settings, file = learned(tmp_path)
    trash.copy(settings, file, now=NOW)
    other = file.with_name("other.md")
    file.rename(other)
    before = other.read_bytes()
    other.write_bytes(before + b"\nA note.\n")
    with pytest.raises(UsageError, match=r"other\.md exists") as refused:
        restore(settings, file.name, now=NOW)
    assert refused.value.details == {"field": "name"}
    other.unlink()
    file.write_text("no agreement", encoding="utf-8")
    with pytest.raises(UsageError, match="exists"):
        restore(settings, file.name, now=NOW)
    assert file.read_text("utf-8") == "no agreement"
    assert f"20260301T120000-{file.name}" in names(settings)


def test_interrupted_restore_is_completed(tmp_path: Path) -> None:
    settings, file = learned(tmp_path)
    trash.copy(settings, file, now=NOW)  # it is in both places
    assert restore(settings, file.name, now=NOW).path == file
    assert (file.is_file(), trash.contents(settings)) == (True, [])


def test_dry_restore_reports_the_same_and_writes_nothing(tmp_path: Path) -> None:
    settings, file = learned(tmp_path)
    trash.move(settings, file, now=NOW)
    before = sorted(tmp_path.rglob("*"))
    planned = restore(settings, file.name, now=NOW, dry=True)
    assert sorted(tmp_path.rglob("*")) == before
    assert restore(settings, file.name, now=NOW) == planned


@pytest.mark.parametrize("name", ["", "nothing.md", "../learned_pairs.json", "/etc/passwd", ".md"])
def test_unknown_and_ambiguous_names_are_refused(tmp_path: Path, name: str) -> None:
    settings, file = learned(tmp_path)
    trash.copy(settings, file, now=NOW)
    trash.copy(settings, file, now=NOW)
    with pytest.raises(NotFoundError) as refused:
        restore(settings, name, now=NOW)
    assert refused.value.details == {"field": "name"}


def test_links_do_not_lead_out_of_trash_or_agreements(tmp_path: Path) -> None:
    settings, file = learned(tmp_path / "p")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("s", encoding="utf-8")
    place = settings.agreements / "sub" / "x.md"
    place.parent.mkdir()
    file.rename(place)
    trash.move(settings, place, now=NOW)
    (trash.folder_of(settings) / "link.md").symlink_to(outside / "secret.md")
    (trash.folder_of(settings) / "folder").symlink_to(outside)
    assert [kept.origin for kept in trash.contents(settings)] == ["sub/x.md"]
    place.parent.rmdir()
    place.parent.symlink_to(outside)
    with pytest.raises(UsageError, match="is outside"):
        restore(settings, "x.md", now=NOW)
    assert [path.name for path in outside.iterdir()] == ["secret.md"]


def test_longest_file_name_is_shortened_and_restored(tmp_path: Path) -> None:
    settings = project(tmp_path)
    file = write(settings.agreements, LOGIN)
    place = file.rename(settings.agreements / f"{'あ' * 83}x.md")
    trash.move(settings, place, now=NOW)
    restored = restore(settings, ".md", now=NOW)
    assert restored.key == KEY
    assert len(restored.path.name.encode()) <= 200


def test_discarding_removes_the_files_and_their_empty_folders(tmp_path: Path) -> None:
    settings = project(tmp_path)
    trash.keep(settings, "sub/x.md", b"old", now=NOW - timedelta(days=9))
    trash.keep(settings, "y.md", b"new", now=NOW)
    trash.discard(settings, [kept for kept in trash.contents(settings) if kept.at < NOW])
    assert names(settings) == ["20260301T120000-y.md"]
    assert [path.name for path in trash.folder_of(settings).iterdir()] == ["20260301T120000-y.md"]


@pytest.mark.parametrize("name", ["..", "folder.md"])
def test_folder_is_not_overwritten(tmp_path: Path, name: str) -> None:
    settings = project(tmp_path)
    (settings.agreements / "folder.md").mkdir(parents=True)
    folder = trash.folder_of(settings)
    folder.mkdir()
    (folder / f"20260301T120000-{name}").write_text("x", encoding="utf-8")
    with pytest.raises(UsageError, match="exists"):
        restore(settings, f"20260301T120000-{name}")


def test_trash_that_is_a_link_is_refused(tmp_path: Path) -> None:
    """A repository may contain a link that leads to its user's home."""
    settings, path = learned(tmp_path / "project")
    home = tmp_path / "home"
    home.mkdir()
    (home / "letters").write_text("mine", encoding="utf-8")
    (settings.state / "trash").symlink_to(home)
    for work in (
        lambda: trash.contents(settings),
        lambda: trash.move(settings, path, now=NOW),
        lambda: restore(settings, "letters"),
    ):
        with pytest.raises(StorageError, match="is a symbolic link"):
            work()
    assert path.exists()
    assert [file.name for file in home.iterdir()] == ["letters"]
