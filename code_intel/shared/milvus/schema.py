"""Define the collections of the shared index, and open them (docs/decisions/0092).

| collection | a row is | found by |
|---|---|---|
| `words` | the words of a chunk, and where it is | their weights, or the chunk id |
| `vectors` | the vector of a chunk | its direction, or its card |
| `symbols` | the definitions of one name in a layer | the key of layer and name |
| `contents` | a chunk, a file or a table of a layer | its key |
| `records` | a head, a generation, a commit or a push | its key, or its kind |

The version is part of the names of collections. So a newer version of code-intel fills its own ones
while older processes still read theirs; it takes the vectors from them, so that a push embeds
nothing again, and `prune` drops them later.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from code_intel.errors import StorageError, UsageError
from code_intel.index.generations import LENGTH_TOLERANCE
from code_intel.shared.milvus.engine import Engine, Field, IndexRow
from code_intel.shared.milvus.literals import MAX_NAME_BYTES

VERSION = 1
MAX_TEXT_BYTES = 60_000
"""Limit of a text field; Milvus allows 65,535. Longer contents take several rows."""
MAX_PATH_BYTES = 8_192

SOURCE, AGREEMENTS = "code_intel", "code_intel_map"
"""How the names of collections begin: those of the source, and those of agreements."""
_KEY = Field("id", "VARCHAR", 32, "primary")
_REPOSITORY = Field("repository", "VARCHAR", MAX_NAME_BYTES, "partition")
_LAYER = Field("layer", "VARCHAR", 32)
_FILE = Field("file", "VARCHAR", 32)
_NO_VECTOR = Field("none", "FLOAT_VECTOR", 2)
"""Milvus wants a vector in each collection."""

CONTENT = (
    _KEY,
    _REPOSITORY,
    _LAYER,
    Field("kind", "VARCHAR", 16),
    Field("name", "VARCHAR", MAX_PATH_BYTES),
    Field("folded", "VARCHAR", MAX_TEXT_BYTES),
    Field("digest", "VARCHAR", 128),
    Field("parts", "INT64"),
    Field("content", "VARCHAR", MAX_TEXT_BYTES),
    _NO_VECTOR,
)
FIELDS: Mapping[str, Sequence[Field]] = {
    "words": (
        _KEY,
        _REPOSITORY,
        _LAYER,
        _FILE,
        Field("path", "VARCHAR", MAX_PATH_BYTES),
        Field("position", "INT64"),
        Field("language", "VARCHAR", 64),
        Field("names", "VARCHAR", MAX_TEXT_BYTES),
        Field("weights", "SPARSE_FLOAT_VECTOR"),
    ),
    "vectors": (
        _KEY,
        _REPOSITORY,
        _LAYER,
        _FILE,
        Field("card", "VARCHAR", 64),
        Field("vector", "FLOAT_VECTOR"),
    ),
    "symbols": CONTENT,
    "contents": CONTENT,
    "records": CONTENT,
}
INDEXES: Mapping[str, Sequence[IndexRow]] = {
    "words": (
        IndexRow("weights", "SPARSE_INVERTED_INDEX", "IP"),
        IndexRow("layer", "INVERTED"),
    ),
    "vectors": (
        IndexRow("vector", "HNSW", "COSINE", {"M": 16, "efConstruction": 200}),
        IndexRow("layer", "INVERTED"),
        IndexRow("card", "INVERTED"),
    ),
    "symbols": (IndexRow("none", "FLAT", "L2"), IndexRow("layer", "INVERTED")),
    "contents": (IndexRow("none", "FLAT", "L2"), IndexRow("layer", "INVERTED")),
    "records": (IndexRow("none", "FLAT", "L2"), IndexRow("kind", "INVERTED")),
}


class Opened(NamedTuple):
    """The collections of this version, by their short names, and of older versions.

    `of` says whether they are those of the source or of agreements.
    """

    names: Mapping[str, str]
    dimensions: int
    older: Mapping[int, Mapping[str, str]]
    of: str = SOURCE


def opened(engine: Engine, dimensions: int, partitions: int = 0, of: str = SOURCE) -> Opened:
    """Return the collections of the source or of agreements; create those that are missing.

    Args:
        engine: The connection.
        dimensions: Numbers per vector of new collections.
        partitions: Partitions of new collections of the source on a server; see `Engine.create`.
        of: Whether those of the source or of agreements.

    Raises:
        StorageError: A newer version of code-intel has replaced those of this version.
    """
    found = _found(engine, of)
    _check_replaced(found)
    names = {short: f"{of}_v{VERSION}_{short}" for short in FIELDS}
    for short, name in names.items():
        if short not in found.get(VERSION, {}):
            fields = _sized(FIELDS[short], dimensions)
            engine.create(name, fields, _indexes(engine, short), partitions)
        engine.load(name)
    older = {version: found[version] for version in found if version < VERSION}
    for old in older.values():
        if "vectors" in old:
            engine.load(old["vectors"])
    return Opened(names, engine.vector_size(names["vectors"]), older, of)


def exists(engine: Engine, of: str) -> bool:
    """Return whether there are collections of the source, or of agreements."""
    return bool(_found(engine, of))


def check(engine: Engine) -> None:
    """Ask the engine whether the collections of this version are still there; see `opened`."""
    _check_replaced(_found(engine, SOURCE))


def _check_replaced(found: Mapping[int, object]) -> None:
    """Refuse an index of which only a newer version is left."""
    if VERSION not in found and max(found, default=VERSION) > VERSION:
        raise StorageError(
            f"The shared index has version {max(found)}, and this code-intel reads version "
            f"{VERSION}.",
            hint="Update code-intel.",
        )


def check_vector(dimensions: int, vector: bytes) -> None:
    """Refuse a vector that cannot be compared with the others.

    Raises:
        UsageError: The index has vectors of another size, so its model differs; or the
            length of the vector is not 1.
    """
    import numpy as np

    if len(vector) != 4 * dimensions:
        raise UsageError(
            f"A vector has {len(vector) // 4} numbers, and the shared index has vectors of "
            f"{dimensions}. All repositories of a shared index use models of one size.",
            details={"field": "vectors"},
        )
    length = float(np.linalg.norm(np.frombuffer(vector, "<f4")))
    if not abs(length - 1) < LENGTH_TOLERANCE:
        raise UsageError("The length of a vector is not 1.", details={"field": "vectors"})


def _found(engine: Engine, of: str) -> dict[int, dict[str, str]]:
    """Return the names of our collections by version and short name."""
    pattern = re.compile(rf"{of}_v(\d+)_(\w+)")
    found: dict[int, dict[str, str]] = {}
    for name in engine.collections():
        if match := pattern.fullmatch(name):
            found.setdefault(int(match[1]), {})[match[2]] = name
    return found


def _sized(fields: Sequence[Field], dimensions: int) -> list[Field]:
    return [
        field._replace(size=dimensions)
        if field.kind == "FLOAT_VECTOR" and not field.size
        else field
        for field in fields
    ]


def _indexes(engine: Engine, short: str) -> list[IndexRow]:
    if not engine.lite:
        return [*INDEXES[short]]
    rows = (row for row in INDEXES[short] if row.kind != "INVERTED")
    return [
        IndexRow(row.field, "FLAT", engine.cosine) if row.kind == "HNSW" else row for row in rows
    ]
