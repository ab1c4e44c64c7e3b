"""Test the import graph of a small project per language."""

import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_intel.chunking import parse_file
from code_intel.forest.dependencies.build import graph_of
from code_intel.forest.dependencies.graph import Graph, Links, links_of
from code_intel.forest.dependencies.manifests import Manifests, is_manifest
from code_intel.forest.dependencies.project import Project
from code_intel.forest.dependencies.resolvers import RESOLVERS, follows, is_named
from code_intel.index.rows import DocumentRow
from code_intel.index.store import Store
from sections import read_sections

Texts = Mapping[str, str]


def linked(texts: Texts, bases: tuple[str, ...] = ()) -> dict[str, Links]:
    """Return the links of a project in memory."""
    parsed = {path: parse_file(path, text) for path, text in texts.items()}
    manifests = {path: text for path, text in texts.items() if is_manifest(path)}
    names = {
        path: [symbol.name for symbol in file.symbols]
        for path, file in parsed.items()
        if is_named(file.language)
    }
    languages = {path: file.language for path, file in parsed.items()}
    project = Project(languages, Manifests(manifests, languages), bases, names)
    return {path: links_of(project, path, file.imports) for path, file in parsed.items()}


def read_project(file: Path) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """Return the files of a sample project, and the documents and packages that each imports.

    A line `=== path -> imports` precedes the text of each file.
    """
    texts: dict[str, str] = {}
    imports: dict[str, tuple[str, ...]] = {}
    for head, text in read_sections(file):
        path, _, names = head.partition(" -> ")
        texts[path] = text
        if names:
            imports[path] = tuple(names.split())
    return texts, imports


PROJECTS = {
    file.stem: read_project(file)
    for file in sorted(Path(__file__).with_name("projects").glob("*.txt"))
}


@pytest.mark.parametrize("project", PROJECTS)
@pytest.mark.parametrize("folder", ["", "deep/er/", "/elsewhere/tests/"])
def test_imports_resolve_to_documents_and_packages(project: str, folder: str) -> None:
    """Documents come first, then packages. The project is below the folder of the config or not."""
    texts, imports = PROJECTS[project]
    found = linked({f"{folder}{path}": text for path, text in texts.items()}, (folder.rstrip("/"),))
    shown = {path: (*links.outbound, *links.packages) for path, links in found.items()}
    assert {path: names for path, names in shown.items() if names} == {
        f"{folder}{path}": tuple(f"{folder}{n}" if n in texts else n for n in names)
        for path, names in imports.items()
    }


def test_a_wildcard_import_of_a_large_package_is_a_package() -> None:
    texts = {f"src/main/java/com/many/M{n}.java": "" for n in range(40)}
    texts["src/main/java/com/All.java"] = "import com.many.*;\nimport com.many.M7;\n"
    links = linked(texts)["src/main/java/com/All.java"]
    assert links == Links(("src/main/java/com/many/M7.java",), (), ("com.many",))


@pytest.mark.parametrize(
    ("project", "path", "passed"),
    [
        ("python", "src/shop/__init__.py", ("src/shop/cart.py",)),
        ("python", "src/shop/cart.py", ()),
        ("ecmascript", "packages/core/src/index.ts",
         ("packages/core/src/cart.ts", "packages/core/src/fp/map.ts")),
        ("rust", "crates/cart/src/lib.rs", ("crates/cart/src/tax/rates.rs",)),
    ],
)  # fmt: skip
def test_reexported_documents_are_known(project: str, path: str, passed: tuple[str, ...]) -> None:
    assert linked(PROJECTS[project][0])[path].reexported == passed


@pytest.mark.parametrize(
    "name", ["package.json", "tsconfig.json", "composer.json", "Cargo.toml", "go.mod"]
)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"name": 1, "exports": 2, "paths": []}',
        "\0",
        "[" * 9999,
        "/*" * 20_000,
        '"\\"' * 20_000,
        "\n" * 30_000,
        '{"exports": ' + '{".": ' * 900 + "1" + "}" * 901,
    ],
)
def test_an_invalid_manifest_is_ignored(name: str, text: str) -> None:
    texts = {name: text, "a.ts": "import './b'\nimport '#x'\nimport 'c'\n", "b.ts": ""}
    assert linked(texts)["a.ts"] == Links(("b.ts",), (), ("c",))


@given(
    st.sampled_from(
        ["py", "ts", "go", "rs", "java", "kt", "c", "rb", "php", "lua", "sh", "html", "css", "cs"]
    ),
    st.text("ab./\\:<>@#~$*{}()-_ あ", max_size=12),
    st.sampled_from(["a", "a/b", "../a", "/a/b", "b/mod", "b/__init__"]),
)
@settings(deadline=None)
def test_any_target_resolves_to_existing_documents(ending: str, target: str, stem: str) -> None:
    path = f"{stem}.{ending}"
    files = {path: parse_file(path, "").language, f"a/a.{ending}": "", "b.py": "python"}
    links = links_of(Project(files, Manifests({}, files)), path, [target, f"export:{target}"])
    assert {*links.outbound, *links.reexported} <= files.keys() - {path}


def put(store: Store, path: str, text: str) -> None:
    store.put_document(
        DocumentRow(path, str(hash(text)), language="python"), parse_file(path, text)
    )


def shape(graph: Graph, paths: list[str]) -> list[tuple[tuple[str, ...], ...]]:
    return [
        (graph.outbound(p), graph.inbound(p), graph.reexported(p), graph.packages(p)) for p in paths
    ]


PATHS = ["a.py", "b.py", "pkg/__init__.py", "pkg/c.py", "pkg/d.py", "pkg/E.kt", "pkg/F.kt"]
LINES = [
    "import pkg.g",
    "fun g() = 1",
    "import a",
    "import b",
    "from pkg import c",
    "from . import d",
    "from .c import x",
    "import os",
]
EDITS = st.tuples(
    st.sampled_from(PATHS), st.none() | st.lists(st.sampled_from(LINES), max_size=3).map("\n".join)
)


@given(st.lists(EDITS, max_size=8))
@settings(deadline=None)
def test_an_updated_graph_equals_a_new_one(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[str, str | None]]
) -> None:
    place = tmp_path_factory.mktemp("graph") / "index.db"
    with Store.open(place) as store, Store.open(place) as other:
        for path, text in edits:
            if text is None:
                other.delete_document(path)
            else:
                put(other, path, text)
            with Store.open(place) as fresh:
                assert shape(graph_of(store), PATHS) == shape(graph_of(fresh), PATHS)


def test_a_graph_is_kept_until_documents_change(tmp_path: Path) -> None:
    with Store.open(tmp_path / "index.db") as store:
        put(store, "a.py", "import b")
        before = graph_of(store)
        assert graph_of(store) is before
        store.set_meta("unrelated", "1")
        assert graph_of(store) is before
        put(store, "b.py", "")
        assert before.outbound("a.py") == ()
        assert graph_of(store).outbound("a.py") == ("b.py",)
        assert graph_of(store).inbound("b.py") == ("a.py",)


def test_a_changed_manifest_changes_the_links(tmp_path: Path) -> None:
    with Store.open(tmp_path / "index.db") as store:
        for path, text in {**PROJECTS["go"][0], "unused.py": ""}.items():
            store.put_document(
                DocumentRow(path, digest=text, language=parse_file(path, text).language),
                parse_file(path, text),
            )
        assert graph_of(store).outbound("main.go") == ("cart/cart.go", "cart/items.go")
        moved = "module example.com/moved\n"
        store.put_document(DocumentRow("go.mod", digest=moved), parse_file("go.mod", moved))
        assert graph_of(store).outbound("main.go") == ()


def test_languages_page_says_whose_imports_are_followed() -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "languages.md"
    rows = [line.strip("| ").split(" | ") for line in page.read_text("utf-8").splitlines()]
    documented = {row[0]: row[4] for row in rows if len(row) > 5 and row[0] != "language"}
    for language, expected_names in documented.items():
        known = "followed" if follows(language) else "named" if language in RESOLVERS else "no"
        assert expected_names == known, language
    assert RESOLVERS.keys() <= documented.keys()


def test_threads_with_and_without_a_snapshot_do_not_deadlock(
    tmp_path: Path,
) -> None:
    """Stores and graphs have locks; taking them in different orders would deadlock."""
    with Store.open(tmp_path / "a.db") as one, Store.open(tmp_path / "b.db") as two:
        seen: list[int] = []

        def ask(store: Store, *, inside: bool) -> None:
            for n in range(20):
                put(store, f"m{n}.py", f"import m{n - 1}")
                if inside:
                    with store.snapshot():
                        seen.append(len(graph_of(store).outbound(f"m{n}.py")))
                else:
                    seen.append(len(graph_of(store).outbound(f"m{n}.py")))

        threads = [
            threading.Thread(target=ask, args=(store,), kwargs={"inside": inside}, daemon=True)
            for store in (one, two)
            for inside in (True, False)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
        assert sorted(set(seen)) == [0, 1]
