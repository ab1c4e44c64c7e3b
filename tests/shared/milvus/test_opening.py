"""Opening the index: addresses, versions, errors, and what pymilvus prints."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from code_intel.errors import BusyError, ConfigError, StorageError, UpstreamError, UsageError
from code_intel.shared.milvus import SharedIndex, connection, engine, schema
from code_intel.shared.milvus.engine import Field, IndexRow
from code_intel.shared.milvus.pruning import Pruned
from milvus_servers import milvus_server
from pushes import Push, card_digest, pushed, shared_file, vector_of, vectors_of

ROOT = Path(__file__).parents[3]
TEXTS = {"a.py": "def alpha(): return 'words'\n"}
HOLDER = """
import sys
from code_intel.shared.milvus import SharedIndex
with SharedIndex.open(sys.argv[1]):
    print("open", flush=True)
    sys.stdin.read()
"""
PUSHER = """
import dotenv.main, os, sys
dotenv.main.find_dotenv = lambda *_, **__: sys.argv[2]
sys.path[:0] = [sys.argv[3], sys.argv[3] + "/tests"]
from code_intel.shared.milvus import SharedIndex
from pushes import pushed
with SharedIndex.open(sys.argv[1]) as index:
    generation = pushed(index, "team/shop", {"a.py": "def alpha(): pass"})
    index.store([generation]).word_hits(["alpha"], "names", 9)
    index.prune(0)
    index.delete_repository("team/shop")
assert "PLANTED_SECRET" not in os.environ
"""


@pytest.fixture
def place(tmp_path: Path) -> str:
    pytest.importorskip("milvus_lite")
    return str(tmp_path / "deep" / "shared.db")


@pytest.fixture
def index(place: str) -> Iterator[SharedIndex]:
    with SharedIndex.open(place) as opened:
        yield opened


def test_without_the_extra_the_error_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ConfigError, match="needs pymilvus, which is not installed") as caught:
        SharedIndex.open("shared.db")
    assert "./setup.sh --with-milvus" in caught.value.hint
    assert "pip install 'WHEEL[milvus]'" in caught.value.hint


@pytest.mark.milvus
def test_an_index_is_there_when_it_is_opened_again(place: str) -> None:
    with SharedIndex.open(place) as index:
        generation = pushed(index, "team/shop", TEXTS)
        found = index.store([generation]).word_hits(["alpha"], "names", 9)
    with SharedIndex.open(place) as index:
        assert index.generation(generation.id) == generation
        assert index.store([generation]).word_hits(["alpha"], "names", 9) == found
        assert len(index.store([generation]).vector_hits(vector_of("q"), 9)) == 1
        index.check()


@pytest.mark.milvus
def test_a_file_belongs_to_one_process(place: str) -> None:
    command = [sys.executable, "-c", HOLDER, place]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"open\n"
        with pytest.raises(BusyError, match="Another process has") as caught:
            SharedIndex.open(place)
        assert "milvus-lite server" in caught.value.hint
        holder.communicate()
    SharedIndex.open(place).close()


@pytest.mark.milvus
def test_a_file_that_is_no_index_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("milvus_lite")
    other = tmp_path / "notes.db"
    other.write_text("my notes", encoding="utf-8")
    with pytest.raises(StorageError, match="cannot open"):
        SharedIndex.open(str(other))
    assert other.read_text(encoding="utf-8") == "my notes"


@pytest.mark.milvus
@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9",
        "https://127.0.0.1:9",
        "ftp://x",
        "http://",
        "http://u:pass-word@127.0.0.1:9",
    ],
)
def test_an_address_without_milvus_is_an_error_with_a_hint(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    pytest.importorskip("pymilvus")
    monkeypatch.setattr(connection, "CONNECT_S", 1.0)
    with pytest.raises(UpstreamError, match="does not answer") as caught:
        SharedIndex.open(url, "a-secret-token")
    assert "this address" in caught.value.hint
    assert "a-secret-token" not in str(caught.value.as_dict())
    assert "pass-word" not in str(caught.value.as_dict())


@pytest.mark.milvus
def test_a_server_that_was_killed_is_an_error_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("milvus_lite")
    monkeypatch.setattr(engine, "TIMEOUT_S", 2.0)
    folder = tmp_path / "served.db"
    with milvus_server(folder) as url:
        index = SharedIndex.open(url)
        generation = pushed(index, "team/shop", TEXTS)
        push = Push(index, "team/shop", {**TEXTS, "b.py": "def beta(): return 'words'\n"})
        push.write(["b.py"])
    with pytest.raises(UpstreamError, match="does not answer"):
        index.head("team/shop", "main")
    with pytest.raises(UpstreamError):
        index.check()
    index.close()
    with milvus_server(folder) as url, SharedIndex.open(url) as again:
        head = again.head("team/shop", "main")
        assert head is not None
        assert head.generation == generation.id
        assert len(again.store([generation]).word_hits(["word"], "body", 9)) == 1
        rest = Push(again, "team/shop", {**TEXTS, "b.py": "def beta(): return 'words'\n"})
        asked = [(file, shared_file(file, text).digest) for file, text in rest._texts.items()]  # noqa: SLF001
        assert again.missing("team/shop", rest.plan.new, asked) == ("a.py",)
        rest.write()
        rest.finish()


@pytest.mark.milvus
def test_an_instance_goes_on_beside_a_newer_version_until_that_replaces_it(
    index: SharedIndex, place: str
) -> None:
    fields = (Field("id", "VARCHAR", 32, "primary"), Field("none", "FLOAT_VECTOR", 2))
    index._engine.create("code_intel_v9_words", fields, [IndexRow("none", "FLAT", "L2")])  # noqa: SLF001
    index.check()
    index.close()
    with SharedIndex.open(place) as again:
        again.check()
        generation = pushed(again, "team/shop", TEXTS)
        assert len(again.store([generation]).word_hits(["alpha"], "names", 9)) == 1
        for name in again._opened.names.values():  # noqa: SLF001
            again._engine.drop(name)  # noqa: SLF001
        with pytest.raises(StorageError, match="has version 9") as caught:
            again.check()
        assert caught.value.hint == "Update code-intel."
    with pytest.raises(StorageError, match="has version 9") as caught:
        SharedIndex.open(place)
    assert caught.value.hint == "Update code-intel."


def versions_of(index: SharedIndex) -> set[str]:
    return {name[:13] for name in index._engine.collections()}  # noqa: SLF001


@pytest.mark.milvus
def test_a_new_version_keeps_the_old_one_until_all_repositories_were_pushed(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("team/shop", "team/web", "team/dead")
    with SharedIndex.open(place) as index:
        for name in names:
            pushed(index, name, TEXTS)
    monkeypatch.setattr(schema, "VERSION", 2)
    vectors = vectors_of("a.py", TEXTS["a.py"])
    with SharedIndex.open(place) as index:
        assert index.heads(lambda _: True) == []
        assert index.vectors(vectors, ["team/shop"]) == vectors
        assert index.vectors(vectors, ["team/other"]) == {}
        generation = pushed(index, "team/shop", TEXTS)
        for _ in range(3):
            assert index.prune(0).waiting == ("team/dead", "team/web")
        assert index.vectors(vectors, ["team/web"]) == vectors
        pushed(index, "team/web", TEXTS)
        assert index.prune(0).waiting == ("team/dead",)
        index.delete_repository("team/dead")
        assert index.vectors(vectors, ["team/dead"]) == {}
        assert index.prune(0) == Pruned()
        assert index.prune(3600).versions == ()
        assert versions_of(index) == {"code_intel_v1", "code_intel_v2"}
        assert index.prune(0, is_dry=True).versions == (1,)
        assert index.prune(0).versions == (1,)
        assert versions_of(index) == {"code_intel_v2"}
        assert len(index.store([generation]).vector_hits(vector_of("q"), 9)) == 1


@pytest.mark.milvus
def test_a_vector_of_another_size_is_refused(index: SharedIndex, place: str) -> None:
    push = Push(index, "team/shop", TEXTS)
    with pytest.raises(UsageError, match="has 8 numbers, and the shared index has vectors of 384"):
        index.write("team/shop", push.plan.new, [], {card_digest("x"): bytes(32)})
    for wrong in (np.full(384, 9, "<f4"), np.zeros(384, "<f4"), np.full(384, np.nan, "<f4")):
        with pytest.raises(UsageError, match="length of a vector"):
            index.write("team/shop", push.plan.new, [], {card_digest("x"): wrong.tobytes()})
    index.close()
    with SharedIndex.open(place, dimensions=8) as again:
        assert again.dimensions == 384


@pytest.mark.milvus
def test_a_path_that_is_not_unicode_is_refused_before_anything_is_written(
    index: SharedIndex,
) -> None:
    push = Push(index, "team/shop", TEXTS)
    files = [
        shared_file("a.py", TEXTS["a.py"]),
        shared_file("a.py", "x")._replace(path="\udcff.py"),
    ]
    with pytest.raises(UsageError, match="path is not Unicode"):
        index.write("team/shop", push.plan.new, files, {})
    with pytest.raises(UsageError, match="path has"):
        index.write("team/shop", push.plan.new, [files[0]._replace(path="x" * 9000)], {})
    assert index.missing("team/shop", push.plan.new, [("a.py", files[0].digest)]) == ("a.py",)


@pytest.mark.milvus
def test_nothing_is_printed_and_no_env_file_is_read(place: str, tmp_path: Path) -> None:
    planted = tmp_path / ".env"
    planted.write_text("PLANTED_SECRET=1\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", PUSHER, place, str(planted), str(ROOT)],
        capture_output=True,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.milvus
def test_a_server_is_asked_for_partitions_and_to_map_texts_from_its_disk(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pymilvus.client.prepare import Prepare

    opened = engine.Engine.open(place, "")
    asked: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(
        opened._client,  # noqa: SLF001 - no Milvus server is at hand: see what one would get
        "create_collection",
        lambda name, **options: asked.append((name, options)),
    )
    fields = (*schema.FIELDS["vectors"][:-1], schema.FIELDS["vectors"][-1]._replace(size=8))
    for opened.lite in (True, False):
        opened.create("code_intel_test", fields, schema.INDEXES["vectors"], 64)
    opened.close()
    for (name, options), partitions, mapped in zip(
        asked, (0, 64), (set(), {"repository", "layer", "file", "card"}), strict=True
    ):
        described, others = options["schema"], {"num_partitions": options.get("num_partitions")}
        sent = Prepare.create_collection_request(name, described, **others)
        assert sent.num_partitions == partitions
        columns = Prepare.get_schema_from_collection_schema(name, described).fields
        assert {
            column.name
            for column in columns
            if ("mmap.enabled", "true") in {(each.key, each.value) for each in column.type_params}
        } == mapped
