"""Write the files of a layer, so that the same files give the same rows."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from code_intel.errors import UsageError
from code_intel.shared.layers import digest_of
from code_intel.shared.milvus.contents import Content, key_of
from code_intel.shared.milvus.literals import checked_name, digest
from code_intel.shared.milvus.schema import MAX_PATH_BYTES, MAX_TEXT_BYTES, check_vector
from code_intel.shared.milvus.weights import counted, token_count, weights
from code_intel.shared.records import SharedChunk, SharedFile


class Place(NamedTuple):
    """Where rows are written; see `place_of`."""

    repository: str
    layer: str


def place_of(repository: str, layer: str) -> Place:
    """Return where the rows of a layer are.

    Their layer depends on the repository, so a push that names the layer of another repository
    neither reads nor changes it.

    Raises:
        UsageError: The name of the repository is not valid, or the layer is not a digest.
    """
    return Place(checked_name(repository), digest_of("place", repository, digest(layer)))


def check(files: Sequence[SharedFile], vectors: Mapping[str, bytes], size: int) -> None:
    """Refuse what Milvus cannot hold, before anything is written.

    Raises:
        UsageError: A name or a text is too long or is not Unicode, or a vector has another size.
    """
    for vector in vectors.values():
        check_vector(size, vector)
    for file in files:
        _check_text(file.path, "path", MAX_PATH_BYTES)
        for text in (*(chunk.text for chunk in file.chunks), *(s.name for s in file.symbols)):
            _check_text(text, "text", 0)


def word_rows(place: Place, file: SharedFile, average: float) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of `words`; see `weights` for `average`."""
    for chunk in file.chunks:
        yield {
            **_common(place, file, chunk),
            "path": file.path,
            "position": chunk.position,
            "language": file.language,
            "names": "\n".join(chunk.symbols)[: MAX_TEXT_BYTES // 4],
            "weights": weights(chunk, average),
        }


def vector_rows(
    place: Place, file: SharedFile, vectors: Mapping[str, bytes]
) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of `vectors`."""
    import numpy as np

    for chunk in file.chunks:
        if chunk.card and (vector := vectors.get(chunk.card)):
            numbers = np.frombuffer(vector, "<f4")
            yield {**_common(place, file, chunk), "card": chunk.card, "vector": numbers}


def chunk_contents(place: Place, file: SharedFile) -> Iterator[Content]:
    """Yield the chunks, with their texts."""
    for chunk in file.chunks:
        row = chunk_id(place, file, chunk)
        lines = (chunk.start_line, chunk.end_line)
        value = [place.layer, file.path, chunk.position, *lines, chunk.text]
        value += [[*chunk.symbols], file.language]
        yield Content(key_of("chunk", row), *place, "chunk", file.path, value)


def file_contents(place: Place, file: SharedFile) -> Iterator[Content]:
    """Yield the tokens and the file itself, which shows that all the rest was written."""
    tokens = {token: [*counts] for token, counts in counted(file.chunks).items()}
    yield Content(key_of("tokens", place.layer, file.path), *place, "tokens", file.path, tokens)
    value = {
        "path": file.path,
        "language": file.language,
        "lines": file.lines,
        "priority": file.priority,
        "tokens": sum(map(token_count, file.chunks)),
        "chunks": [
            [chunk_id(place, file, chunk), chunk.start_line, chunk.end_line]
            for chunk in file.chunks
        ],
        "symbols": [
            [s.name, s.qualified, s.kind, s.start_line, s.end_line, s.signature, s.digest, s.body]
            for s in file.symbols
        ],
        "imports": [*file.imports],
    }
    key = key_of("file", place.layer, file.path)
    yield Content(key, *place, "file", file.path, value, digest=file.digest)


def chunk_id(place: Place, file: SharedFile, chunk: SharedChunk) -> str:
    """Return the key of a chunk: its layer, path and position, and a digest of what it holds."""
    content = digest_of(chunk.text, chunk.card, chunk.body, chunk.names, json.dumps(chunk.symbols))
    return digest_of("chunk", place.layer, file.path, str(chunk.position), content)


def file_key(path: str) -> str:
    """Return the digest of a path, which conditions compare."""
    return digest_of("path", path)


def _common(place: Place, file: SharedFile, chunk: SharedChunk) -> dict[str, Any]:
    return {
        "id": chunk_id(place, file, chunk),
        "repository": place.repository,
        "layer": place.layer,
        "file": file_key(file.path),
    }


def _check_text(text: str, field: str, limit: int) -> None:
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise UsageError(f"The {field} is not Unicode text.", details={"field": field}) from error
    if limit and size > limit:
        raise UsageError(
            f"The {field} has {size} bytes; the limit is {limit}.", details={"field": field}
        )
