"""One test for each known flaw of the original devrag."""

import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, StdioServerParameters, stdio_client

from code_intel.forest.ranking.search import within
from code_intel.index.store import Store
from privileges import without_root
from projects import BIN, Project

Devrag = Callable[..., dict[str, Any]]
BOTH = ["documents/guide.md", "documents/sub/notes.md"]
NO_NETWORK = """
import socket

class NoNetwork(Exception):
    pass

def refuse(*args, **kwargs):
    raise NoNetwork(args)

def connect(self, address, *more):
    if self.family != socket.AF_UNIX:
        raise NoNetwork(address)
    return original(self, address, *more)

original = socket.socket.connect
socket.socket.connect = socket.socket.connect_ex = connect
socket.getaddrinfo = socket.gethostbyname = socket.create_connection = refuse
"""
"""A `sitecustomize` in which every use of the network raises."""


def listed(devrag: Devrag) -> list[str]:
    return [row["filename"] for row in devrag("list")["documents"]]


def vectors(path: Path) -> list[np.ndarray[Any, np.dtype[np.float32]]]:
    with Store.open(path, readonly=True) as store:
        return list(store.generations.vectors_of(range(1, 1000)).values())


@pytest.fixture
def offline(place: Path, env: dict[str, str], tmp_path: Path) -> Project:
    """The same project for programs without network access."""
    (tmp_path / "block").mkdir()
    (tmp_path / "block" / "sitecustomize.py").write_text(NO_NETWORK, encoding="utf-8")
    return Project(place, env | {"PYTHONPATH": str(tmp_path / "block")})


def test_without_a_model_answers_say_that_only_words_are_searched(
    place: Path, devrag: Devrag
) -> None:
    data = devrag("sync")
    assert data["pending"] > 0
    assert any("no vectors" in warning for warning in data["warnings"])
    assert vectors(place / "vectors.db") == []
    for _ in range(2):
        answer = devrag("search", "ferry")
        assert [row["similarity"] for row in answer["results"]] == [0.0, 0.0]
        assert any("embedding" in note for note in answer["index"]["degraded"])
    assert devrag("index", BOTH[0])["warnings"]


@pytest.mark.model
def test_vectors_are_computed_offline_and_have_length_one(
    offline: Project,
) -> None:
    offline.spawn("devrag", "sync")  # words only, so that vectors come from one model
    project = Project(offline.root, {**offline.env, "CODE_INTEL_EMBEDDING": "auto"})
    done = json.loads(project.spawn("devrag", "sync").stdout)["data"]
    assert (done["pending"], done["warnings"]) == (0, [])
    found = vectors(project.root / "vectors.db")
    assert len(found) == 2
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-3)
    assert not np.allclose(found[0], found[1], atol=1e-2)
    answer = json.loads(project.run("devrag", "search", "フェリーの時刻と運賃").stdout)["data"]
    assert answer["results"][0]["document"] == BOTH[1]
    assert 0.5 < answer["results"][0]["similarity"] < 1
    assert "e5" in json.loads(project.run("devrag", "status").stdout)["data"]["model"]


def test_deletion_leaves_no_rows(place: Path, devrag: Devrag) -> None:
    devrag("sync")
    (place / BOTH[1]).unlink()
    devrag("sync")
    devrag("delete", BOTH[0])
    with Store.open(place / "vectors.db") as store:
        assert store.check() == []
        assert store.documents() == []
    with closing(sqlite3.connect(place / "vectors.db")) as database:
        for table in ("chunks", "symbols", "imports", "words_docsize"):
            assert database.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)  # noqa: S608


def test_a_failed_update_keeps_the_old_document(place: Path, devrag: Devrag) -> None:
    devrag("sync")
    (place / BOTH[0]).write_text("# Other\n\nAbout the railway.\n", encoding="utf-8")
    with closing(sqlite3.connect(place / "vectors.db")) as database:
        database.execute(
            "CREATE TRIGGER full BEFORE INSERT ON chunks BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
        database.commit()
        error = devrag("reindex", BOTH[0], code=1)
        database.execute("DROP TRIGGER IF EXISTS full")
        database.commit()
    with Store.open(place / "vectors.db", readonly=True) as store:
        chunks = [row.text for row in store.chunk_rows(range(100)).values()]
    assert error["code"] == "insert_failed"
    assert any("ferry sails" in text for text in chunks)


def test_an_empty_file_is_a_document_and_new_only_once(place: Path, devrag: Devrag) -> None:
    (place / "documents" / "empty.md").write_text("", encoding="utf-8")
    assert devrag("sync")["added"] == 3
    assert devrag("sync")["added"] == 0
    assert "documents/empty.md" in listed(devrag)


def test_an_edit_with_the_same_size_and_time_is_found(place: Path, devrag: Devrag) -> None:
    devrag("sync")
    path = place / BOTH[0]
    known = path.stat()
    path.write_text(path.read_text(encoding="utf-8").replace("ferry", "barge"), encoding="utf-8")
    os.utime(path, ns=(known.st_atime_ns, known.st_mtime_ns))
    assert devrag("sync")["updated"] == 1
    assert devrag("search", "barge")["results"][0]["document"] == BOTH[0]


def test_a_missing_folder_deletes_no_documents(place: Path, devrag: Devrag, tmp_path: Path) -> None:
    devrag("sync")
    (place / "documents").rename(tmp_path / "away")
    for _ in range(3):
        data = devrag("sync")
        assert data["deleted"] == 0
        assert any("missing or not mounted" in warning for warning in data["warnings"])
    assert listed(devrag) == BOTH
    told = devrag("search", "ferry")["index"]
    assert told["state"] == "stale"
    assert (
        "index: documents that seem deleted and are kept until the next scan confirms it: 2"
        in told["degraded"]
    )
    assert not (place / "documents").exists()
    (tmp_path / "away").rename(place / "documents")
    assert devrag("sync")["unchanged"] == 2
    assert devrag("status")["state"] == "fresh"


def test_an_unreadable_folder_deletes_no_documents(
    place: Path, devrag: Devrag, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory() as folder:  # other users than root may enter it
        root = Path(folder) / "place"
        shutil.copytree(place, root)
        for number in range(12):
            (root / "documents" / f"{number}.md").write_text("# Ferry\n", encoding="utf-8")
        monkeypatch.chdir(root)
        devrag("sync")
        for path in (Path(folder), *Path(folder).rglob("*")):
            path.chmod(0o777 if path.is_dir() else 0o666)
        (root / "documents").chmod(0)
        try:
            with without_root():
                closed = [devrag("sync"), devrag("sync")]
        finally:
            (root / "documents").chmod(0o755)
        assert [data["deleted"] for data in closed] == [0, 0]
        assert len(listed(devrag)) == 14


def test_long_lines_line_ends_and_byte_order_marks_are_indexed_unchanged(
    place: Path, devrag: Devrag
) -> None:
    texts = {
        "long.md": "ferry " * 20_000,
        "crlf.md": "# Barge\r\n\r\nIt sails\r\nslowly.\r\n",
        "mark.md": "\ufeff---\r\ntitle: x\r\n---\r\n\r\n# Raft\r\n",
    }
    for name, text in texts.items():
        (place / "documents" / name).write_bytes(text.encode())
    data = devrag("sync")
    assert (data["added"], data["failed"], data["skipped"]) == (5, 0, 0)
    for name, query in (("crlf.md", "barge"), ("mark.md", "raft"), ("long.md", "ferry")):
        rows = devrag("search", query, "--file-pattern", name)["results"]
        assert [row["document"] for row in rows] == [f"documents/{name}"]
        assert rows[0]["chunk"] in texts[name]
        assert 0 < len(rows[0]["chunk"]) <= 500
        assert not rows[0]["chunk"].startswith("\ufeff")


NAME = st.text("aB_%-.x?", min_size=1, max_size=6).filter(lambda text: text not in {".", ".."})


@given(NAME, NAME, NAME)
def test_filters_match_underscores_and_percent_signs_literally(
    folder: str, name: str, other: str
) -> None:
    path = f"docs/{folder}/{name}.md"
    assert within(path, f"docs/{folder}", "")
    assert within(path, f"./docs/{folder}/", "*.md")
    if other != folder:
        assert not within(path, f"docs/{other}", "")
    literal = name.replace("?", "[?]")
    assert within(path, "", f"{literal}.md")
    if other != name:
        assert not within(path, "", f"{other.replace('?', '[?]')}.md")


def test_dots_in_names_are_accepted_and_links_out_of_the_project_refused(
    place: Path, devrag: Devrag
) -> None:
    for name in ("a..b.md", ".hidden.md"):
        (place / "documents" / name).write_text("# Ferry\n", encoding="utf-8")
        assert devrag("index", f"documents/{name}")["file"] == f"documents/{name}"
    (place / "documents" / "out").symlink_to(place.parent)
    (place.parent / "x.md").write_text("# X\n", encoding="utf-8")
    assert devrag("index", "documents/out/x.md", code=2)["code"] == "invalid_path"


@pytest.mark.anyio
async def test_a_server_uses_no_network(offline: Project, tmp_path: Path) -> None:
    """Older projects start `devrag` without arguments in the project's folder."""
    (offline.root / "config.json").write_text(
        '{"documents_dir": "./documents", "update_check": true}', encoding="utf-8"
    )
    parameters = StdioServerParameters(
        command=str(BIN / "devrag"), args=[], cwd=offline.root, env=dict(offline.env)
    )
    with anyio.fail_after(60), (tmp_path / "log").open("w", encoding="utf-8") as log:
        async with Client(stdio_client(parameters, errlog=log)) as client:
            assert client.server_info is not None
            assert client.server_info.name == "devrag-forest"
            synced = await client.call_tool("sync", {})
            assert not synced.is_error
            found = await client.call_tool("search", {"query": "ferry sails"})
            assert found.structured_content is not None
            assert found.structured_content["results"][0]["document"] == BOTH[0]
            described = str((await client.list_tools()).tools).lower()
            assert "new version" not in described
            assert "update available" not in described
    assert "NoNetwork" not in (tmp_path / "log").read_text(encoding="utf-8")


def test_an_invalid_config_creates_nothing(place: Path, devrag: Devrag) -> None:
    (place / "config.json").write_text('{"documents_dir": "./other",', encoding="utf-8")
    before = sorted(place.rglob("*"))
    for words in (("sync",), ("search", "ferry"), ("status",)):
        error = devrag(*words, code=2)
        assert error["code"] == "invalid_config"
        assert "line 1, column" in error["message"]
    assert sorted(place.rglob("*")) == before
