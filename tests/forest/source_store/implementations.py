"""The implementations of `SourceStore` that the contract is tested with.

To add one, write a function that indexes texts and returns the store, and add it to
`IMPLEMENTATIONS`. It gets fixtures by name.
"""

from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest

from code_intel.chunking import parse_file
from code_intel.forest.source_store import SourceStore
from code_intel.forest.union_store import Part, UnionStore
from code_intel.index.corpus import priority
from code_intel.index.rows import DocumentRow
from code_intel.index.store import Store
from code_intel.shared.client import SharedClient
from code_intel.shared.fields import is_document
from code_intel.shared.milvus import SharedIndex
from code_intel.shared.remote_store import RemoteStore
from pushes import MODEL, digest_of_text, pushed, vector_of

Texts = Mapping[str, str]
_NUMBERS = count()


class Implementation(NamedTuple):
    """A way to index texts, with vectors of the model of the tests."""

    name: str
    indexed: Callable[[pytest.FixtureRequest, Texts], SourceStore]
    marks: tuple[pytest.MarkDecorator, ...] = ()


def in_sqlite(request: pytest.FixtureRequest, texts: Texts) -> SourceStore:
    folder: Path = request.getfixturevalue("tmp_path")
    store = Store.open(folder / f"{next(_NUMBERS)}.db")
    request.addfinalizer(store.close)
    with store.batch():
        for path, text in texts.items():
            parsed = parse_file(path, text)
            row = DocumentRow(
                path,
                digest_of_text(text),
                language=parsed.language,
                lines=text.count("\n") + 1,
                priority=priority(path),
            )
            store.put_document(row, parsed)
    generation = store.generations.begin(MODEL, 384)
    cards = store.generations.pending(generation, 10_000)
    store.generations.put(generation, [(chunk, vector_of(card)) for chunk, card in cards])
    store.generations.finish(generation)
    return store


def in_milvus(request: pytest.FixtureRequest, texts: Texts) -> SourceStore:
    index: SharedIndex = request.getfixturevalue("shared_index")
    return index.store([pushed(index, f"team/shop{next(_NUMBERS)}", texts)])


def in_a_milvus_server(request: pytest.FixtureRequest, texts: Texts) -> SourceStore:
    index: SharedIndex = request.getfixturevalue("served_index")
    return index.store([pushed(index, f"team/shop{next(_NUMBERS)}", texts)])


def over_http(request: pytest.FixtureRequest, texts: Texts) -> SourceStore:
    if not all(map(is_document, texts)):
        pytest.skip("a push leaves out files whose names have control characters")
    index: SharedIndex = request.getfixturevalue("shared_index")
    client: SharedClient = request.getfixturevalue("shared_client")
    generation = pushed(index, f"team/shop{next(_NUMBERS)}", texts)
    return RemoteStore(client, [generation.id])


def in_a_union(request: pytest.FixtureRequest, texts: Texts) -> SourceStore:
    """Return an index with other versions of half of the files, under one with these."""
    own = {path: text for number, (path, text) in enumerate(texts.items()) if number % 2 == 0}
    old = {path: f"{text}\nlogin password {text}" for path, text in own.items()}
    base = in_sqlite(request, {**texts, **old, "deleted.py": "def login(): plain(login)\n"})
    return UnionStore([Part(base, hidden={*own, "deleted.py"}), Part(in_sqlite(request, own))])


IMPLEMENTATIONS = (
    Implementation("union", in_a_union),
    Implementation("sqlite", in_sqlite),
    Implementation("milvus", in_milvus, (pytest.mark.milvus,)),
    Implementation("http", over_http, (pytest.mark.milvus,)),
    Implementation("milvus server", in_a_milvus_server, (pytest.mark.milvus,)),
)
