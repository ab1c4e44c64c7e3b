"""Test that only the archives that were labelled are unpacked."""

import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from benchmarks.fetch_sources import NotFetchedError, unpack


def archive(folder: Path) -> tuple[Path, str]:
    path = folder / "shop-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as packed:
        member = tarfile.TarInfo("shop-1.0/src/cart.py")
        member.size = 5
        packed.addfile(member, io.BytesIO(b"x = 1"))
    return path, hashlib.sha256(path.read_bytes()).hexdigest()


def test_an_archive_with_another_checksum_is_refused(
    tmp_path: Path,
) -> None:
    path, _ = archive(tmp_path)
    with pytest.raises(NotFetchedError, match=r"shop-1\.0\.tar\.gz is not the archive"):
        unpack(path, tmp_path / "shop", "0" * 64)
    assert not (tmp_path / "shop").exists()
