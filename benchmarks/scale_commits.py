"""Measure what pushes of real commits send, for `scale_rates.py`."""

import hashlib
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from code_intel.chunking import decode, parse_file
from code_intel.index.corpus import MAX_FILE_BYTES, priority
from code_intel.servers.shared.routes.endpoints import complete
from code_intel.shared import wire
from code_intel.shared.cards import card_digest
from code_intel.shared.records import SharedChunk, SharedFile
from code_intel.shared.routes import PUSH_FILES, SendFiles

MODEL = "multilingual-e5-small/int8/onnxruntime-1"
LAYER = "0" * 32
DIMENSIONS = 384


class Commit(NamedTuple):
    """What a push of a commit sends.

    Attributes:
        repository: Its place in the list of repositories.
        files: Files that changed and are not deleted.
        hidden: Paths that hide files of the layers below.
        chunks: Chunks in these files.
        cards: Cards that the parent's versions of these files do not have.
        sent_bytes: Bytes of the files and the vectors of these cards, compressed as they are sent.
        client_ms: Time to split the files, without embedding.
        server_ms: Time in which the server checks the message and computes the tokens.
        changes: Each changed path as a number and its chunks, -1 if it was deleted.
    """

    repository: int
    files: int
    hidden: int
    chunks: int
    cards: int
    sent_bytes: int
    client_ms: float
    server_ms: float
    changes: Sequence[int]


def shared_file(name: str, text: str) -> SharedFile:
    """Return a file as it is pushed; the tokens are left out."""
    parsed = parse_file(name, text)
    chunks = tuple(
        SharedChunk(
            each.position, each.start_line, each.end_line, each.text, each.symbols,
            card_digest(MODEL, each.card),
        )
        for each in parsed.chunks
    )  # fmt: skip
    return SharedFile(
        name, hashlib.sha256(text.encode()).hexdigest(), parsed.language, text.count("\n") + 1,
        priority(name), chunks, parsed.symbols, parsed.imports,
    )  # fmt: skip


def pushes_of(folder: Path, count: int) -> tuple[dict[str, Any], list[Commit]]:
    """Return what pushes of the last commits of each bare repository send, and its size."""
    repositories: dict[str, Any] = {}
    commits: list[Commit] = []
    for number, repository in enumerate(sorted(folder.glob("*.git"))):
        listed = _git(repository, "log", "--first-parent", f"-{count + 1}", "--format=%H")
        tips = listed.decode().split()
        numbers: dict[str, int] = {}
        order = reversed(tips[:-1])
        commits += [_pushed(repository, number, commit, numbers) for commit in order]
        repositories[repository.stem] = _whole(repository, tips[0])
    return repositories, commits


def _whole(repository: Path, commit: str) -> dict[str, int]:
    """Return the size of a commit, and of the answer that a push of the next one begins with."""
    names = _git(repository, "ls-tree", "-r", "-z", commit).decode("utf-8", "replace").split("\0")
    files = [
        shared_file(name, text)
        for meta, _, name in (line.partition("\t") for line in names if line)
        if (text := _text(repository, meta.split(" ")[2])) is not None
    ]
    listed = [(file.path, file.digest) for file in files]
    chunks = sum(len(file.chunks) for file in files)
    return {"files": len(files), "chunks": chunks, "begin_bytes": len(wire.pack(listed))}


def _pushed(repository: Path, number: int, commit: str, numbers: dict[str, int]) -> Commit:
    raw = _git(repository, "diff-tree", "-r", "--no-renames", "-z", f"{commit}^", commit)
    fields = raw.decode("utf-8", "replace").split("\0")
    old: set[str] = set()
    files: list[SharedFile] = []
    changes: list[int] = []
    hidden, spent = 0, 0.0
    for meta, name in zip(fields[::2], fields[1::2], strict=False):
        _, _, before, after, _ = meta.removeprefix(":").split(" ")
        if (text := _text(repository, before)) is not None:
            hidden += 1
            old.update(chunk.card for chunk in shared_file(name, text).chunks)
        left = _text(repository, after)
        if left is not None:
            started = time.process_time()
            files.append(shared_file(name, left))
            spent += time.process_time() - started
        if text is not None or left is not None:
            place = numbers.setdefault(name, len(numbers))
            changes += (place, -1 if left is None else len(files[-1].chunks))
    new = {chunk.card for file in files for chunk in file.chunks} - old - {""}
    vectors = {card: wire.vector_text(_some_vector(card)) for card in new}
    packed = wire.pack(SendFiles("team/shop", LAYER, tuple(files), vectors))
    started = time.process_time()
    for file in wire.unpack(packed, PUSH_FILES.question).files:
        complete(file)
    served = time.process_time() - started
    return Commit(
        number,
        len(files),
        hidden,
        sum(len(each.chunks) for each in files),
        len(new),
        len(packed),
        round(1000 * spent, 1),
        round(1000 * served, 1),
        changes,
    )


def _some_vector(card: str) -> bytes:
    """Return a unit vector, which compresses as little as a real one."""
    vector = np.random.default_rng(int(card, 16)).normal(size=DIMENSIONS).astype("<f4")
    data: bytes = (vector / np.linalg.norm(vector)).astype("<f4").tobytes()
    return data


def _text(repository: Path, blob: str) -> str | None:
    """Return the text of a blob; None if it is absent, binary or too large for an index."""
    if not blob.strip("0"):
        return None
    kind = _git(repository, "cat-file", "-t", blob).strip()
    data = _git(repository, "cat-file", "blob", blob) if kind == b"blob" else b""
    return decode(data) if 0 < len(data) <= MAX_FILE_BYTES else None


def _git(repository: Path, *arguments: str) -> bytes:
    command = ["git", "-C", str(repository), *arguments]
    return subprocess.run(command, check=False, capture_output=True).stdout
