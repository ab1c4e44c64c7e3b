"""Figures that an answer reads from an index and that are kept until the next write; common names,
looked up by scope.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from code_intel.errors import StorageError
from code_intel.index.facade import Index
from code_intel.index.rows import DocumentRow, names_symbol, normalize_symbol
from code_intel.index.store import Store
from code_intel.records import Symbol
from index.samples import parsed
from served import settings_of

SYMBOLS = (
    "login",
    "Auth.login",
    "Auth.Inner.login",
    "auth.service.Auth.login",
    "service.Auth.login",
    "Reauth.login",
    "Auth.logins",
    "Auth.Login",
)
ASKED = (
    *SYMBOLS,
    "auth.service.login",
    "service.Auth::login()",
    "other.Auth.login",
    "h.login",
    "login.",
    "Auth.login\0",
    "ログイン",
)
PATHS = ("auth/service.py", "service.py", "other/service.py")


def put(store: Store, path: str, names: Sequence[str] = ()) -> None:
    symbols = [Symbol(n.rpartition(".")[2], n, "method", 1, 1, "def it()") for n in names]
    store.put_document(DocumentRow(path, digest="d"), parsed("text", symbols=symbols))


@pytest.mark.parametrize("asked", ASKED)
def test_a_common_name_is_found_by_its_scope_as_if_all_of_that_name_were_compared(
    store: Store, asked: str
) -> None:
    for path in PATHS:
        put(store, path, SYMBOLS)
    name = normalize_symbol(asked)
    everything = store.defined_in(PATHS)
    wanted = {
        (d.qualified, d.file)
        for d in everything
        if d.name == name.rpartition(".")[2] and names_symbol(name, d.qualified, d.file)
    }
    found = store.definitions(asked, exact=True, limit=100)
    assert {(d.qualified, d.file) for d in found} == wanted
    assert [d.file for d in found] == sorted(d.file for d in found)


def test_how_complete_an_index_is_counts_what_another_has_just_written(tmp_path: Path) -> None:
    config = settings_of(tmp_path).forest
    with Index(config) as index:
        before = index.freshness()
        assert index.freshness() == before
        with Store.open(config.db_path, dimensions=config.dimensions) as other:
            put(other, "a.py")
            put(other, "b.py")
            other.set_meta("scanned_ns", "1")
            other.set_meta("unread", "2")
            now = index.freshness()
            assert (before.files, now.files) == (0, 2)
            assert now.state == "stale"
            assert (
                "index: documents that cannot be read, with their previous content: 2"
                in now.degraded
            )
            put(index.store, "c.py")
            assert index.freshness().files == 3
            other.delete_document("a.py")
            assert index.freshness().files == 2


def test_a_file_that_takes_the_index_s_place_outside_of_the_project_is_still_left_alone(
    tmp_path: Path,
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "devrag-forest.json").write_text(
        '{"document_patterns": ["."], "db_path": "../elsewhere/notes.db"}', encoding="utf-8"
    )
    config = settings_of(project).forest
    with Index(config) as index:
        index.store.document_count()
        index.store.close()
        for each in config.db_path.parent.iterdir():
            each.unlink()
        config.db_path.write_text("what somebody wrote", encoding="utf-8")
        with pytest.raises(StorageError, match="not an index of code-intel"):
            index.store.document_count()
    assert config.db_path.read_text("utf-8") == "what somebody wrote"
