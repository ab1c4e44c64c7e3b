"""Compare graphs that follow changes of documents with graphs that are built from nothing."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from posixpath import basename, dirname, join, splitext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_intel.chunking import parse_file
from code_intel.forest.dependencies.build import graph_of, project_of
from code_intel.index.rows import DocumentRow
from code_intel.index.store import Store
from sections import read_sections

PROJECTS: Mapping[str, Mapping[str, str]] = {
    file.stem: {head.partition(" -> ")[0]: text for head, text in read_sections(file)}
    for file in sorted(Path(__file__).with_name("projects").glob("*.txt"))
} | {
    "roots": {
        "app.py": "import pkg.deep.m\nimport pkg.n\nimport csv\n",
        "src/pkg/deep/m.py": "import csv\n",
        "csv.py": "",
    },
    "definitions": {
        "a/A.kt": "import p.g\nimport p.h\n",
        "p/B.kt": "fun g() = 1\n",
        "p/C.kt": "fun h() = 1\n",
    },
    "frequent": {
        "a/a.c": '#include "main.h"\n#include "index.h"\n',
        "b/main.h": "",
        "a/a.lua": "require 'init'\n",
        "lua/init.lua": "",
    },
    "entries": {
        "x/Cargo.toml": "[package]\nname = 'x'\n[lib]\npath = 'src/own.rs'\n",
        "x/src/own.rs": "use crate::m;\n",
        "x/src/m.rs": "use x::m::y;\n",
        "x/src/n.rs": "use crate::m;\n",
    },
}
SPECIAL = ("__init__.py", "index.ts", "mod.rs", "main.rs", "lib.rs", "init.lua", "d.d.ts", "b.c.h")
"""Names that have a meaning to a resolver, or more than one dot."""

parse = cache(parse_file)


def put(store: Store, path: str, text: str) -> None:
    parsed = parse(path, text)
    store.put_document(DocumentRow(path, text, language=parsed.language), parsed)


def shape(store: Store) -> dict[str, tuple[object, ...]]:
    graph = graph_of(store)
    return {
        path: (*(way(path) for way in (graph.outbound, graph.inbound, graph.reexported)), packages)
        for path, _, _ in store.digests()
        for packages in [graph.packages(path)]
    }


def steps(texts: Mapping[str, str]) -> st.SearchStrategy[list[dict[str, str | None]]]:
    """Return changes of a project: the texts of documents, or None for those that are deleted.

    Documents may appear in any of the folders, with any of the names.
    """
    folders, names = {*map(dirname, texts)}, {*map(basename, texts), *SPECIAL}
    moved = sorted(join(folder, name) for folder in folders for name in names)
    paths = st.sampled_from(sorted(texts)) | st.sampled_from(moved)

    def change(path: str) -> st.SearchStrategy[tuple[str, str | None]]:
        alike = [text for other, text in texts.items() if splitext(other)[1] == splitext(path)[1]]
        return st.tuples(st.just(path), st.none() | st.sampled_from([*alike, ""]))

    return st.lists(st.lists(paths.flatmap(change), min_size=1, max_size=3).map(dict), max_size=5)


@pytest.mark.parametrize("name", PROJECTS)
@given(data=st.data())
@settings(deadline=None)
def test_a_graph_that_follows_changes_equals_a_new_one(
    name: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    texts = PROJECTS[name]
    first = data.draw(st.sets(st.sampled_from(sorted(texts))), "missing at first")
    place = tmp_path_factory.mktemp("updates") / "index.db"
    with Store.open(place) as store:
        with store.batch():
            for path in texts.keys() - first:
                put(store, path, texts[path])
        graph_of(store)
        for step in data.draw(steps(texts)):
            with store.batch():
                for path, text in step.items():
                    if text is None:
                        store.delete_document(path)
                    else:
                        put(store, path, text)
            with Store.open(place) as fresh:
                assert shape(store) == shape(fresh)


def test_only_imports_that_may_mean_a_new_document_are_resolved_again(tmp_path: Path) -> None:
    with Store.open(tmp_path / "index.db") as store:
        for number in range(9):
            put(store, f"p/m{number}.py", f"from p.m{number + 1} import x\nimport y{number}\n")
        graph_of(store)
        before = project_of(store).resolved
        put(store, "p/m9.py", "")
        assert graph_of(store).outbound("p/m8.py") == ("p/m9.py",)
        after = project_of(store).resolved
        assert [key for key, found in before.items() if after[key] is not found] == [
            ("p", "python", "p.m9.x")
        ]


def test_an_emptied_manifest_has_no_effect_any_more(tmp_path: Path) -> None:
    texts = PROJECTS["go"]
    with Store.open(tmp_path / "index.db") as store:
        for path, text in texts.items():
            put(store, path, text)
        assert graph_of(store).outbound("main.go")
        put(store, "go.mod", "")
        assert graph_of(store).outbound("main.go") == ()
