"""Finish a layer: check that it is complete, then write the tables about all its files.

Memory is bounded: files are read `FILES_PER_PASS` at a time, and a large layer is read several
times, each time for other symbols and tokens.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from code_intel.errors import ConflictError, UsageError
from code_intel.shared.layers import MAX_HIDDEN, MAX_LAYERS, generation_id, tree_digest
from code_intel.shared.milvus.contents import Content, Contents, key_of
from code_intel.shared.milvus.engine import batches
from code_intel.shared.milvus.literals import any_of, quoted, repositories
from code_intel.shared.milvus.symbol_rows import SymbolRow
from code_intel.shared.milvus.tables import LayerTables, ListedFile, bucket_of
from code_intel.shared.milvus.weights import Counts, added
from code_intel.shared.milvus.writing import Place, place_of
from code_intel.shared.records import Generation, Layer

FILES_PER_PASS = 5_000
READ_FILES = 200
CHUNKS_PER_BUCKET = 40


class Finished(NamedTuple):
    """The numbers of files, of their chunks and of their tokens."""

    files: int
    chunks: int
    tokens: int


class _Build(NamedTuple):
    """A layer to finish: its digests by path, and the files that it hides, as (layer, path).

    `average` is that with which its words were weighed.
    """

    place: Place
    digests: Mapping[str, str]
    hidden: Sequence[tuple[str, str]]
    average: float


def check_generation(generation: Generation, branch: str) -> None:
    """Refuse a generation that is not what its id says, or that would make searches slow.

    Raises:
        UsageError: It is.
    """
    place = (generation.repository, generation.settings, generation.tree)
    layers = generation.layers
    if not layers or not branch or generation.id != generation_id(*place):
        raise UsageError(
            "A generation needs a layer, a branch that points to it, and the id of its repository, "
            "settings and tree.",
            details={"field": "generation"},
        )
    if len(layers) > MAX_LAYERS or sum(len(layer.hides) for layer in layers) > MAX_HIDDEN:
        raise UsageError(
            f"A generation has at most {MAX_LAYERS} layers and {MAX_HIDDEN} hidden paths.",
            hint="Update code-intel, or push everything: `code-intel push --whole`.",
            details={"field": "generation"},
        )


def visible_files(tables: LayerTables, layers: Sequence[Layer]) -> dict[str, str]:
    """Return the layer of each file that the layers show."""
    found: dict[str, str] = {}
    for layer in layers:
        for path in layer.hides:
            found.pop(path, None)
        found.update(dict.fromkeys(tables.listing(layer.id), layer.id))
    return found


def finish_layers(
    generation: Generation,
    average: float,
    contents: Contents,
    symbols: Contents,
    tables: LayerTables,
) -> Finished:
    """Write the tables of the last layer if needed; return how large the generation is.

    Raises:
        ConflictError: The layers do not hold the files of `generation.tree`.
    """
    name = generation.repository
    layers = [Layer(place_of(name, each.id).layer, each.hides) for each in generation.layers]
    *below, last = layers
    for layer in below:
        if not tables.has(layer.id):
            raise _incomplete(generation)
    if not tables.has(last.id):
        place = Place(name, last.id)
        digests = _digests(contents, place)
        files = visible_files(tables, below)
        hidden = [(files[path], path) for path in last.hides if path in files]
        after = {path: tables.listing(layer)[path].digest for path, layer in files.items()}
        after = {path: old for path, old in after.items() if path not in last.hides} | digests
        if tree_digest(after.items()) != generation.tree:
            raise _incomplete(generation)
        _write(_Build(place, digests, hidden, average), contents, symbols, tables)
    shown = visible_files(tables, layers)
    tree = ((path, tables.listing(layer)[path].digest) for path, layer in shown.items())
    if tree_digest(tree) != generation.tree:
        raise _incomplete(generation)
    sizes = tables.sizes([layer.id for layer in layers])
    return Finished(len(shown), sum(s.chunks for s in sizes), sum(s.tokens for s in sizes))


def _digests(contents: Contents, place: Place) -> dict[str, str]:
    """Return the digests of the files that were written, by path."""
    condition = (
        f"{repositories([place.repository])} and {any_of('layer', [place.layer])} "
        f"and kind == {quoted('file')}"
    )
    return {row["name"]: row["digest"] for row in contents.listed(condition, ("name", "digest"))}


def _write(build: _Build, contents: Contents, symbols: Contents, tables: LayerTables) -> None:
    """Write the tables; the row that shows that they are complete is the last one."""
    listing: dict[str, ListedFile] = {}
    chunks, tokens = (-count for count in tables.size_of(build.hidden))
    passes = 1 + len(build.digests) // FILES_PER_PASS
    for number in range(passes):
        found: dict[str, list[SymbolRow]] = {}
        for path, digest, value in _files(build, contents):
            if number == 0:
                chunks += len(value["chunks"])
                tokens += value["tokens"]
                listing[path] = ListedFile(
                    digest, value["language"], value["priority"], tuple(value["imports"])
                )
            for name, definition in _definitions(value):
                if zlib.crc32(name.encode()) % passes == number:
                    found.setdefault(name, []).append(definition)
        symbols.put(_symbol(build.place, name, rows) for name, rows in found.items())
    buckets = passes * (1 + max(chunks, 0) // CHUNKS_PER_BUCKET // passes)
    for number in range(passes):
        counts = _counts(build, tables, (number, passes, buckets))
        contents.put(_buckets(build.place, counts, buckets))
    place = build.place
    rows = [[path, *file[:3], [*file.imports]] for path, file in listing.items()]
    contents.put([Content(key_of("listing", place.layer), *place, "listing", "", rows)])
    size = {"chunks": chunks, "tokens": tokens, "average": build.average, "buckets": buckets}
    contents.put([Content(key_of("layer", place.layer), *place, "layer", "", size)])


def _files(build: _Build, contents: Contents) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield path, digest and content of each file of the layer, by path."""
    for some in batches(sorted(build.digests), READ_FILES):
        found = contents.get(key_of("file", build.place.layer, path) for path in some)
        for value in sorted(found.values(), key=lambda value: str(value["path"])):
            yield value["path"], build.digests[value["path"]], value


def _definitions(file: Mapping[str, Any]) -> Iterator[tuple[str, SymbolRow]]:
    """Yield the bare name and the definition of each symbol of a file."""
    for name, qualified, kind, start, end, signature, digest, body in file["symbols"]:
        chunks = (row for row, first, last in file["chunks"] if first <= start <= last)
        place = (file["path"], start, end, file["language"], file["priority"])
        yield name, SymbolRow(qualified, kind, signature, digest, body, *place, tuple(chunks))


def _symbol(place: Place, name: str, definitions: Sequence[SymbolRow]) -> Content:
    folded = " ".join(dict.fromkeys(row.qualified.casefold() for row in definitions))
    key = key_of("symbol", place.layer, name)
    return Content(key, *place, "symbol", name, [name, definitions], folded=folded)


def _counts(build: _Build, tables: LayerTables, which: tuple[int, int, int]) -> dict[str, Counts]:
    """Return the counts of the tokens of one pass, minus those of the hidden files."""
    number, passes, buckets = which
    found: dict[str, Counts] = {}
    layer = build.place.layer
    places = ((layer, path) for path in build.digests)
    for sign, every in ((1, places), (-1, iter(build.hidden))):
        for some in batches(every, READ_FILES):
            tokens = tables.tokens_of(some)
            added(
                found,
                {t: n for t, n in tokens.items() if bucket_of(t, buckets) % passes == number},
                sign,
            )
    return {token: counts for token, counts in found.items() if any(counts)}


def _buckets(place: Place, counts: Mapping[str, Counts], buckets: int) -> Iterable[Content]:
    rows: dict[int, dict[str, Counts]] = {}
    for token, values in counts.items():
        rows.setdefault(bucket_of(token, buckets), {})[token] = values
    for bucket, some in rows.items():
        key = key_of("words", place.layer, str(bucket))
        yield Content(key, *place, "words", "", some)


def _incomplete(generation: Generation) -> ConflictError:
    return ConflictError(
        f"The shared index does not have all files of {generation.repository} at "
        f"{generation.commit[:12]}; the branch still points to its earlier commit.",
        hint="Push again: what was sent is kept, and the rest is sent.",
    )
