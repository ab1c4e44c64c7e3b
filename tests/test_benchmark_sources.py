"""Sources of the labelled repositories are those that were labelled, or are said to be missing."""

import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from benchmarks.fetch_sources import NotFetchedError, only, run_client, unpack


def archive(folder: Path) -> tuple[Path, str]:
    path = folder / "shop-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as packed:
        member = tarfile.TarInfo("shop-1.0/src/cart.py")
        member.size = 5
        packed.addfile(member, io.BytesIO(b"x = 1"))
    return path, hashlib.sha256(path.read_bytes()).hexdigest()


def test_what_lies_in_an_archives_one_folder_is_unpacked_under_the_repositorys_name(
    tmp_path: Path,
) -> None:
    path, sha256 = archive(tmp_path)
    (tmp_path / "sources").mkdir()
    unpack(path, tmp_path / "sources" / "shop", sha256)
    assert (tmp_path / "sources" / "shop" / "src" / "cart.py").read_text(
        encoding="utf-8"
    ) == "x = 1"
    assert [each.name for each in (tmp_path / "sources").iterdir()] == ["shop"]


def test_an_archive_that_was_not_labelled_is_refused_and_nothing_of_it_stays(
    tmp_path: Path,
) -> None:
    path, _ = archive(tmp_path)
    with pytest.raises(NotFetchedError, match=r"shop-1\.0\.tar\.gz is not the archive"):
        unpack(path, tmp_path / "shop", "0" * 64)
    assert not (tmp_path / "shop").exists()


def test_why_a_client_failed_is_said_in_its_own_last_words(tmp_path: Path) -> None:
    with pytest.raises(NotFetchedError, match="no-such-client is not installed"):
        run_client(["no-such-client"], tmp_path)
    with pytest.raises(NotFetchedError, match=r"^git: fatal: not a git repository"):
        run_client(["git", f"--git-dir={tmp_path}", "log"], tmp_path)


def test_another_version_than_the_pinned_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "shop_2.0.orig.tar.xz").touch()
    with pytest.raises(NotFetchedError, match=r"shop_1\.0.* was expected, shop_2\.0"):
        only(tmp_path, "shop_1.0.orig.tar.[gx]z")
