"""The trash: its entries differ from all other files, and restoring puts them back in place."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from code_intel.config import Settings, load_settings
from code_intel.errors import NotFoundError, StorageError, UsageError
from code_intel.learned.files import pairs, trash
from code_intel.learned.files.agreements import find, load_all, make_key, write
from code_intel.learned.files.changes import sync
from code_intel.learned.files.pairs import load
from code_intel.learned.files.restore import restore, text_of
from code_intel.learned.history.state import open_state
from code_intel.learned.learn import learn
from code_intel.learned.status.validity import is_confirmed
from code_intel.records import Agreement

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
KEY = make_key("ログイン機能", "AuthService")
LOGIN = Agreement(*KEY, evidence=("one", "two\nlines"), learned_at="2026-01-01T00:00:00+00:00")


def project(folder: Path) -> Settings:
    return load_settings(folder, {})


def learned(folder: Path) -> tuple[Settings, Path]:
    settings = project(folder)
    return settings, learn(settings, LOGIN, confirmed=True, now=NOW).agreement_file


def names(settings: Settings) -> list[str]:
    return [kept.name for kept in trash.contents(settings)]


def test_an_empty_trash_has_nothing(tmp_path: Path) -> None:
    assert trash.contents(project(tmp_path)) == []
    assert list(tmp_path.iterdir()) == []


def test_two_of_one_name_and_second_are_both_kept_and_came_from_one_place(tmp_path: Path) -> None:
    settings = project(tmp_path)
    for text in (b"a", b"b", b"c"):
        trash.keep(settings, "2-x.md", text, now=NOW)
    found = trash.contents(settings)
    assert {kept.path.read_bytes() for kept in found} == {b"a", b"b", b"c"}
    assert {(kept.origin, kept.at) for kept in found} == {("2-x.md", NOW)}


def test_files_that_this_program_did_not_put_there_are_listed(tmp_path: Path) -> None:
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


def test_what_was_in_a_folder_goes_back_there(tmp_path: Path) -> None:
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


def test_what_is_put_back_is_confirmed_if_this_machine_confirmed_these_words(
    tmp_path: Path,
) -> None:
    settings, file = learned(tmp_path)
    trash.move(settings, file, now=NOW)
    restore(settings, file.name, now=NOW)
    with open_state(settings.state) as state:
        entry = find(settings.agreements, KEY)
        assert entry
        assert is_confirmed(settings, entry, state)
    trash.move(settings, file, now=NOW)
    (kept,) = [kept for kept in trash.contents(settings) if not kept.is_pair]
    kept.path.write_text(kept.path.read_text("utf-8").replace("- one\n", "- other\n"), "utf-8")
    restore(settings, kept.name, now=NOW)
    with open_state(settings.state) as state:
        entry = find(settings.agreements, KEY)
        assert entry
        assert not is_confirmed(settings, entry, state)


def test_a_pair_comes_back_as_an_agreement_that_nobody_confirmed(tmp_path: Path) -> None:
    settings, file = learned(tmp_path)
    file.unlink()
    (pair,) = load(pairs.path_of(settings)).pairs
    name = f"{file.stem}.json"  # as an earlier version kept it
    trash.keep(settings, name, json.dumps(pairs.as_json(pair)).encode(), now=NOW)
    (kept,) = trash.contents(settings)
    assert kept.is_pair
    assert json.loads(text_of(kept))["nl_term"] == KEY[0]
    assert restore(settings, kept.name, now=NOW).path == file
    entry = find(settings.agreements, KEY)
    assert entry
    assert entry.agreement
    assert (entry.agreement.evidence, entry.agreement.confirmed) == (("one", "two", "lines"), False)
    assert [pair.key for pair in load(pairs.path_of(settings)).pairs] == [KEY]
    assert trash.contents(settings) == []


def test_nothing_is_restored_over_what_is_there(tmp_path: Path) -> None:
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


def test_a_restore_that_was_cut_off_is_finished(tmp_path: Path) -> None:
    settings, file = learned(tmp_path)
    trash.copy(settings, file, now=NOW)  # it is in both places
    assert restore(settings, file.name, now=NOW).path == file
    assert (file.is_file(), trash.contents(settings)) == (True, [])


def test_a_dry_restore_says_the_same_and_writes_nothing(tmp_path: Path) -> None:
    settings, file = learned(tmp_path)
    trash.move(settings, file, now=NOW)
    before = sorted(tmp_path.rglob("*"))
    planned = restore(settings, file.name, now=NOW, dry=True)
    assert sorted(tmp_path.rglob("*")) == before
    assert restore(settings, file.name, now=NOW) == planned


@pytest.mark.parametrize("name", ["", "nothing.md", "../learned_pairs.json", "/etc/passwd", ".md"])
def test_only_one_file_of_the_trash_is_meant(tmp_path: Path, name: str) -> None:
    settings, file = learned(tmp_path)
    trash.copy(settings, file, now=NOW)
    trash.copy(settings, file, now=NOW)
    with pytest.raises(NotFoundError) as refused:
        restore(settings, name, now=NOW)
    assert refused.value.details == {"field": "name"}


def test_no_link_leads_out_of_trash_or_folder(tmp_path: Path) -> None:
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
    assert [kept.origin for kept in trash.contents(settings) if not kept.is_pair] == ["sub/x.md"]
    place.parent.rmdir()
    place.parent.symlink_to(outside)
    with pytest.raises(UsageError, match="leads out"):
        restore(settings, "x.md", now=NOW)
    assert [path.name for path in outside.iterdir()] == ["secret.md"]


def test_the_longest_name_a_disk_takes_goes_to_the_trash_and_back(tmp_path: Path) -> None:
    settings = project(tmp_path)
    write(settings.agreements, LOGIN)
    (entry,) = load_all(settings.agreements)
    place = entry.path.rename(settings.agreements / f"{'あ' * 83}x.md")
    trash.move(settings, place, now=NOW)
    restored = restore(settings, ".md", now=NOW)
    assert restored.key == KEY
    assert len(restored.path.name.encode()) <= 200


def test_what_cannot_be_read_as_a_pair_is_left_where_it_is(tmp_path: Path) -> None:
    settings = project(tmp_path)
    kept = trash.keep(settings, "x.json", b'{"nl_term": 1}', now=NOW)
    with pytest.raises(StorageError, match="not a valid pair"):
        restore(settings, kept.name, now=NOW)
    assert kept.is_file()


def test_what_is_discarded_is_gone_and_nothing_else(tmp_path: Path) -> None:
    settings = project(tmp_path)
    trash.keep(settings, "sub/x.md", b"old", now=NOW - timedelta(days=9))
    trash.keep(settings, "y.md", b"new", now=NOW)
    trash.discard(settings, [kept for kept in trash.contents(settings) if kept.at < NOW])
    assert names(settings) == ["20260301T120000-y.md"]
    assert [path.name for path in trash.folder_of(settings).iterdir()] == ["20260301T120000-y.md"]


@pytest.mark.parametrize("name", ["..", "folder.md"])
def test_nothing_is_restored_over_a_folder(tmp_path: Path, name: str) -> None:
    settings = load_settings(tmp_path, {})
    (settings.agreements / "folder.md").mkdir(parents=True)
    folder = trash.folder_of(settings)
    folder.mkdir()
    (folder / f"20260301T120000-{name}").write_text("x", encoding="utf-8")
    with pytest.raises(UsageError, match="exists"):
        restore(settings, f"20260301T120000-{name}")


def test_a_trash_that_is_a_link_is_neither_listed_nor_filled_nor_emptied(tmp_path: Path) -> None:
    """A repository may carry one that leads to its user's home."""
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
        with pytest.raises(StorageError, match="is a link"):
            work()
    assert path.exists()
    assert [file.name for file in home.iterdir()] == ["letters"]
