"""Make projects in git and clones of them, and write and load snapshots of their indexes."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from code_intel.index.facade import Index
from code_intel.index.snapshot.format import MAGIC, VERSION
from code_intel.index.snapshot.loading import Loaded, load
from code_intel.index.snapshot.reading import Snapshot
from code_intel.index.snapshot.writing import Written, snapshot_of
from index.samples import HashEmbedder, index_config

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LOGIN = "import os\n\n\ndef login(user):\n    return os.environ[user]\n"
GUIDE = "# Guide\n\nHow to log in.\n\n" + "A paragraph about carts.\n\n" * 40
FILES: Mapping[str, bytes] = {
    "src/login.py": LOGIN.encode(),
    "src/配送/送料.py": "# 送料を計算する。\ndef 送料(重さ):\n    return 重さ * 2\n".encode(),
    "docs/guide.md": GUIDE.encode(),
    "src/sjis.py": "# 送料と配送の計算をする関数です\ndef fee():\n    pass\n".encode("cp932"),
    "src/windows.c": b"int add(int a, int b)\r\n{\r\n  return a + b;\r\n}\r\n",
    "src/keys.py": b"def connect():\n    password = 'Tr0ub4dor&3x!'\n    return password\n",
    "data/long.txt": b"word " * 5000,
    "empty.py": b"",
}


def git(folder: Path, *words: str) -> None:
    author = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "core.autocrlf=false")
    command = ["git", *author, *words]
    subprocess.run(command, cwd=folder, check=True, stdin=subprocess.DEVNULL, capture_output=True)


def repository(folder: Path, files: Mapping[str, bytes] = FILES) -> Path:
    """Make a repository with one commit."""
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Add files")
    return folder


def clone(origin: Path, target: Path) -> Path:
    git(origin.parent, "clone", "-q", str(origin), str(target))
    return target


def index_of(folder: Path, identity: str = "hash-1", *, readonly: bool = False) -> Index:
    """Return the index of a project, with the database beside the folder."""
    config = replace(index_config(folder), db_path=folder.with_name(f"{folder.name}.db"))
    return Index(config, embedder=HashEmbedder(identity), readonly=readonly)


def embedded_texts(index: Index) -> list[str]:
    """Return the texts that the index's model has embedded."""
    assert isinstance(index.embedder, HashEmbedder)
    return index.embedder.embedded


def write(folder: Path, target: Path) -> Written:
    """Index a project and write its snapshot."""
    with index_of(folder) as index:
        index.complete()
        written = snapshot_of(index)
    target.write_bytes(written.data)
    return written


def load_into(index: Index, file: Path, *, dry_run: bool = False) -> Loaded:
    with Snapshot(file) as snapshot:
        return load(index, snapshot, dry_run=dry_run)


def unpacked(data: bytes) -> bytes:
    """Return the header and the unpacked parts of a snapshot."""
    _, _, rest = data.partition(b"\n")
    end = 36 + int.from_bytes(rest[:4], "little")
    return rest[36:end] + zstd.decompress(rest[end:])


def forged(header: Mapping[str, Any], parts: Sequence[bytes], version: int = VERSION) -> bytes:
    """Return a snapshot with right digests around any header and parts."""
    raw = json.dumps({**header}).encode()
    first = b"%s%d\n" % (MAGIC, version)
    digest = hashlib.sha256(raw).digest()
    return b"".join([first, len(raw).to_bytes(4, "little"), digest, raw, *parts])


def forged_part(listed: Any, vectors: bytes = b"", *, raw: bytes | None = None) -> bytes:
    text = json.dumps(listed).encode() if raw is None else raw
    return zstd.compress(len(text).to_bytes(4, "little") + text + vectors)


def header_of(*parts: bytes, unpacked: int | None = None, **values: Any) -> dict[str, Any]:
    """Return the header of some parts."""
    rows = [
        [
            len(part),
            zstd.get_frame_info(part).decompressed_size if unpacked is None else unpacked,
            hashlib.sha256(part).hexdigest(),
        ]
        for part in parts
    ]
    header = {"identity": "hash-1", "dimensions": 8, "files": 1, "chunks": 1, "parts": rows}
    return {**header, **values}


def one_file(path: str = "a.py", digest: str = "0" * 64, **values: Any) -> list[Any]:
    return [path, digest, values.get("chunks", [[0, 5, "0" * 16]])]
