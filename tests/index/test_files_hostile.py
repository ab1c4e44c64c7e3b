"""Test files with unusual names, sizes and encodings, and files that change during a read."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from code_intel.config import IndexConfig
from code_intel.forest.ranking.search import search
from code_intel.index.corpus import MAX_FILE_BYTES
from code_intel.index.doctor import examine
from code_intel.index.safe_files import read_resolved
from code_intel.index.skipped import kept
from code_intel.index.store import Store
from code_intel.index.sync import sync
from code_intel.records import Hit
from code_intel.tools.wire.answers import hits_text
from index.samples import chunks_of, symbols_of
from index.test_sync import counts, write

UNUSUAL_NAMES = (
    "-rf.py",
    "new\nline.py",
    "tab\tx.py",
    'quo"te.py',
    "🙂.py",
    "esc\x1b[31m.py",
    "認証.py",
    " a b .py",
    "rtl\u202egpj.py",
    "per%20cent.py",
    "back\\slash.py",
    "q'uote;.py",
    "*?.py",
)


def test_a_file_with_an_unusual_name_is_found(store: Store, place: IndexConfig) -> None:
    for number, name in enumerate(UNUSUAL_NAMES):
        write(place.folder, name, f"def frobnicate_{number}(): pass\n")
    report = sync(store, place)
    assert (report.added, report.skipped) == (len(UNUSUAL_NAMES), {})
    for number, name in enumerate(UNUSUAL_NAMES):
        (hit,) = search(store, f"frobnicate_{number}", None, top_k=1)
        assert hit.document == name
        assert (place.folder / hit.document).read_text("utf-8") == hit.chunk
    assert store.check() == []


def test_control_characters_in_a_name_are_escaped() -> None:
    hit = Hit(
        "a.py\n2. real.py:1-9  login\x1b[2K\u202e",
        "x = 1\n",
        0,
        0.0,
        None,
        start_line=1,
        end_line=1,
    )
    (first, second) = hits_text([(hit, hit.chunk)]).split("\n")
    assert first == "1. a.py\\n2. real.py:1-9  login\\x1b[2K\\u202e:1-1"
    assert second == "   x = 1"


def test_too_long_paths_are_skipped(store: Store, place: IndexConfig) -> None:
    longest = "認" * 84 + ".py"
    deep = "/".join([*["d" * 200] * 15, "deep.py"])
    write(place.folder, longest, "def needle(): pass\n")
    write(place.folder, deep, "def needle(): pass\n")
    here = os.open(place.folder, os.O_RDONLY)
    for _ in range(25):  # more than a path may have
        os.mkdir("e" * 200, dir_fd=here)
        inside = os.open("e" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inside
    os.close(os.open("out_of_reach.py", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    report = sync(store, place)
    assert [row.path for row in store.documents()] == sorted([deep, longest])
    assert set(report.skipped.values()) == {"unreadable: File name too long"}
    assert {hit.document for hit in search(store, "needle", None, top_k=5)} == {deep, longest}


def test_a_large_file_is_skipped_and_named_on_one_line(store: Store, place: IndexConfig) -> None:
    write(place.folder, "ok.py")
    with (place.folder / "a\nb.py").open("wb") as big:
        big.truncate(2 << 30)
    report = sync(store, place)
    assert counts(report) == (1, 0, 0, 0)
    assert report.skipped == {"a\nb.py": "larger than 1 MiB"}
    assert kept(store) == (("larger than 1 MiB", 1, ("a\nb.py",)),)
    notes = [finding.what for finding in examine(place)]
    assert "Skipped 1 file (larger than 1 MiB): a\\nb.py" in notes


def test_a_file_that_grows_beyond_the_limit_is_skipped(store: Store, place: IndexConfig) -> None:
    path = write(place.folder, "grows.py", "x" * (MAX_FILE_BYTES - 1))
    sync(store, place)
    with path.open("ab") as file:
        file.write(b"yy")
    assert len(read_resolved(str(path))[0]) == MAX_FILE_BYTES + 1
    assert sync(store, place).skipped == {"grows.py": "larger than 1 MiB"}
    assert store.documents() == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("app.js", "function f(){return needle};" * 30_000),
        ("one-line.py", "needle = '" + "x" * 900_000 + "'"),
        ("blob.json", '{"needle":"' + "QUJD" * 200_000 + '"}'),
        ("wide.txt", "needle " * 140_000),
    ],
)
def test_a_very_long_line_is_cut(store: Store, place: IndexConfig, name: str, text: str) -> None:
    write(place.folder, name, text)
    write(place.folder, "b.py", "def needle(): pass\n")
    sync(store, place)
    assert max(len(chunk.text) for chunk in chunks_of(store, name)) <= 8000
    assert "".join(chunk.text for chunk in chunks_of(store, name)) == text
    assert search(store, "needle", None, top_k=2)[0].document == "b.py"


ENCODED = {
    "bom8.py": "utf-8-sig", "bom16.py": "utf-16", "bom32.py": "utf-32",
    "sjis.py": "cp932", "eucjp.py": "euc-jp", "plain.py": "utf-8",
}  # fmt: skip
TEXT = "def 認証(): pass  # 利用者のログイン処理を行う\r\n"


def test_japanese_encodings_are_found_by_the_same_word(store: Store, place: IndexConfig) -> None:
    for name, encoding in ENCODED.items():
        write(place.folder, name).write_bytes(TEXT.encode(encoding))
    others = {
        "elf.py": b"\x7fELF\x01\0\0", "russian.py": "# привет, мир".encode("cp1251"),
        "jis.py": b"\xff\xfe\x00",
    }  # fmt: skip
    for name, data in others.items():
        write(place.folder, name).write_bytes(data)
    report = sync(store, place)
    assert set(report.skipped) == set(others)
    assert set(report.skipped.values()) == {"binary, or not in a known encoding"}
    hits = search(store, "利用者のログイン処理", None, top_k=9)
    assert {hit.document for hit in hits} == set(ENCODED)
    assert {hit.chunk for hit in hits} == {TEXT}


def test_western_text_is_found_and_shown_as_utf_8(store: Store, place: IndexConfig) -> None:
    text = "# déjà vu, garçon\ndef façade():\n    return 'été'\n"
    write(place.folder, "latin.py").write_bytes(text.encode("cp1252"))
    assert sync(store, place).skipped == {}
    (hit, *_) = search(store, "façade garçon", None, top_k=1)
    assert hit.chunk == text


ENDS = {
    "lf": "{}\n{}\n\n{}\n", "crlf": "{}\r\n{}\r\n\r\n{}\r\n", "cr": "{}\r{}\r\r{}\r",
    "mixed": "{}\r\n{}\n\r{}\r", "open": "{}\n{}\n\n{}", "feed": "{}\n{}\n\f\n{}\n",
    "separator": "{}\n{}\n# \u2028 \u2029 \x85 \x0b \x1c\n{}\n",
}  # fmt: skip


@pytest.mark.parametrize("ends", ENDS)
def test_lines_are_numbered_as_in_editors(store: Store, place: IndexConfig, ends: str) -> None:
    text = ENDS[ends].format("def one():", "    return 1", "def four(): pass")
    write(place.folder, "a.py").write_bytes(text.encode())
    sync(store, place)
    (chunk,) = chunks_of(store, "a.py")
    (document,) = store.documents()
    assert (chunk.text, chunk.start_line, chunk.end_line, document.lines) == (text, 1, 4, 4)
    found = [(d.name, d.line, d.end_line) for d in symbols_of(store, "a.py")]
    assert found == [("one", 1, 2), ("four", 4, 4)]


@contextmanager
def rewriting(path: Path) -> Iterator[None]:
    """Let another thread change a file in place, over and over; its size changes each time."""
    stop = threading.Event()

    def rewrite() -> None:
        turn = 0
        with path.open("r+b", buffering=0) as file:
            while not stop.is_set():
                turn += 1
                file.seek(0)
                file.write(f"def f{turn}(): pass\n".encode() + b"#" * (50_000 + turn % 7) + b"\n")
                file.truncate()

    writer = threading.Thread(target=rewrite)
    writer.start()
    try:
        yield
    finally:
        stop.set()
        writer.join()


def test_a_changing_file_is_read_whole_or_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "a.py")
    read_whole = refused = 0
    with rewriting(path):
        while read_whole + refused < 300:
            try:
                data, info = read_resolved(str(path))
            except OSError as error:
                refused += error.strerror == "keeps changing while it is read"
            else:
                read_whole += len(data) == info.st_size
    assert read_resolved(str(path))[0] == path.read_bytes()


def test_a_changing_document_keeps_its_last_state(store: Store, place: IndexConfig) -> None:
    path = write(place.folder, "busy.py", "def before(): pass\n")
    write(place.folder, "calm.py")
    sync(store, place)
    with rewriting(path):
        reports = [sync(store, place) for _ in range(15)]
        assert [row.path for row in store.documents()] == ["busy.py", "calm.py"]
        assert {counts(report)[0] + counts(report)[2] for report in reports} == {0}
    failures = [report.failed for report in reports if report.failed]
    assert all(failed == {"busy.py": "keeps changing while it is read"} for failed in failures)
    sync(store, place)
    assert "".join(chunk.text for chunk in chunks_of(store, "busy.py")) == path.read_text("utf-8")
    assert store.check() == []
