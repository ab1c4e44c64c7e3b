"""Keep texts of any length under keys, in rows of a bounded size.

The first row of a content has the key itself as its primary key, and says how many rows there are.
So most contents are read by one look-up, without a search.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from code_intel.shared.layers import digest_of
from code_intel.shared.milvus.engine import Consistency, Engine, Row, batches
from code_intel.shared.milvus.literals import any_of, quoted, repositories
from code_intel.shared.milvus.schema import MAX_PATH_BYTES, MAX_TEXT_BYTES

_FIELDS = ("id", "parts", "content")


class Content(NamedTuple):
    """A content to write.

    Attributes:
        key: See `key_of`.
        repository: The repository that it belongs to.
        layer: The layer that it belongs to, or empty.
        kind: What it is.
        name: The path, the symbol or the branch that it is about.
        value: What JSON can hold.
        digest: The digest of the file that it is about, or empty.
        folded: For symbols, what a search by parts of names compares.
    """

    key: str
    repository: str
    layer: str
    kind: str
    name: str
    value: Any
    digest: str = ""
    folded: str = ""


class Contents:
    """The contents of one collection."""

    def __init__(self, engine: Engine, collection: str) -> None:
        self._engine = engine
        self.collection = collection

    def put(self, contents: Iterable[Content]) -> None:
        """Write contents, each of which replaces the one with its key."""
        self._engine.upsert(self.collection, (row for each in contents for row in _rows(each)))

    def remove(self, keys: Iterable[str]) -> None:
        """Remove contents that have one row each."""
        for some in batches(keys, 100):
            self.delete(any_of("id", some))

    def delete(self, condition: str) -> None:
        """Remove the rows that match a condition."""
        self._engine.delete(self.collection, condition)

    def get(self, keys: Iterable[str], consistency: Consistency = "Strong") -> dict[str, Any]:
        """Return the values of the keys that exist."""
        first: dict[str, Row] = {}
        for row in self._engine.get(self.collection, keys, _FIELDS, consistency):
            first[str(row["id"])] = row
        more = {
            _part(key, number): (key, number)
            for key, row in first.items()
            for number in range(1, row["parts"])
        }
        texts = {(key, 0): str(row["content"]) for key, row in first.items()}
        for row in self._engine.get(self.collection, more, _FIELDS, consistency) if more else ():
            texts[more[row["id"]]] = str(row["content"])
        return {
            key: json.loads("".join(texts[key, number] for number in range(row["parts"])))
            for key, row in first.items()
            if all((key, number) in texts for number in range(row["parts"]))
        }

    def get_one(self, key: str) -> Any:
        """Return the value of a key, or None."""
        return self.get([key]).get(key)

    def digests(self, keys: Iterable[str]) -> dict[str, str]:
        """Return the digests of the files that the keys are about, of those that exist."""
        rows = self._engine.get(self.collection, keys, ("id", "digest"))
        return {str(row["id"]): str(row["digest"]) for row in rows}

    def of_kind(self, kind: str, names: Sequence[str] = ()) -> dict[str, Any]:
        """Return the values of all keys of a kind, or only of some repositories."""
        condition = f"kind == {quoted(kind)}"
        condition += f" and {repositories(names)}" if names else ""
        return self.get([str(row["id"]) for row in self.listed(condition, ("id",))])

    def of_short_kind(self, kind: str, names: Sequence[str] = ()) -> list[Any]:
        """Return the same values as `of_kind`, of a kind whose contents take one row each."""
        condition = f"kind == {quoted(kind)}"
        condition += f" and {repositories(names)}" if names else ""
        return [json.loads(row["content"]) for row in self.listed(condition, ("content",))]

    def listed(self, condition: str, fields: Iterable[str]) -> Iterator[Row]:
        """Yield fields of the first rows of the contents that match a condition."""
        return self._engine.query(self.collection, f"{condition} and parts > 0", [*fields])


def key_of(kind: str, *parts: str) -> str:
    """Return the key of a content of some kind, such as of a layer and a path."""
    return digest_of(kind, *parts)


def _part(key: str, number: int) -> str:
    return digest_of("part", key, str(number)) if number else key


def _rows(content: Content) -> Iterator[Mapping[str, Any]]:
    text = json.dumps(content.value, ensure_ascii=False, separators=(",", ":"))
    parts = _pieces(text)
    for number, part in enumerate(parts):
        yield {
            "id": _part(content.key, number),
            "repository": content.repository,
            "layer": content.layer,
            "kind": content.kind,
            "name": _cut(content.name, MAX_PATH_BYTES) if number == 0 else "",
            "folded": _cut(content.folded, MAX_TEXT_BYTES) if number == 0 else "",
            "digest": content.digest,
            "parts": len(parts) if number == 0 else 0,
            "content": part,
            "none": [0.0, 1.0],
        }


def _pieces(text: str) -> list[str]:
    """Return the pieces of a text; a character has at most four bytes."""
    size = MAX_TEXT_BYTES // 4
    return [text[start : start + size] for start in range(0, len(text), size)]


def _cut(text: str, size: int) -> str:
    return text.encode()[:size].decode(errors="ignore")
