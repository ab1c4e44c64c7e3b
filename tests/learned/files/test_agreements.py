"""Read and write the files of the agreements folder."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from code_intel.chunking.agreement import file_name, render
from code_intel.errors import StorageError
from code_intel.learned.files.agreements import (
    AgreementEntry,
    find,
    load,
    load_all,
    make_key,
    write,
    write_all,
)
from code_intel.records import Agreement, FileReference

LOGIN = Agreement(
    "ログイン機能",
    "AuthService",
    evidence=("`AuthService.login()` がユーザー認証を処理",),
    files=(FileReference("src/auth.py", 4),),
    learned_at="2026-01-01T00:00:00+00:00",
    confirmed=True,
)


def put(path: Path, agreement: Agreement) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(agreement), encoding="utf-8")
    return path


def test_missing_folder_has_no_agreements(tmp_path: Path) -> None:
    assert load_all(tmp_path / "agreements") == []


def test_unreadable_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "agreements").write_text("a file in its place", encoding="utf-8")
    with pytest.raises(StorageError, match="cannot be listed"):
        load_all(tmp_path / "agreements")


def test_valid_and_invalid_files_are_listed(tmp_path: Path) -> None:
    put(tmp_path / "team" / "login_auth.md", LOGIN)
    (tmp_path / "bad.md").write_bytes(b"---\nnl_term: a\n---\n")
    (tmp_path / "binary.md").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "merge.md").write_text(render(LOGIN) + "<<<<<<< HEAD\n", encoding="utf-8")
    (tmp_path / "big.md").write_bytes(b"x" * (1024 * 1024 + 1))
    (tmp_path / "link.md").symlink_to(tmp_path / "team" / "login_auth.md")
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / ".hidden.md").write_text("x", encoding="utf-8")
    (tmp_path / "other.txt").write_text("x", encoding="utf-8")
    listed = {entry.path.name: (entry.problem, bool(entry.reason)) for entry in load_all(tmp_path)}
    assert listed == {
        "bad.md": ("invalid", True),
        "big.md": ("invalid", True),
        "binary.md": ("invalid", True),
        "link.md": ("invalid", True),
        "login_auth.md": ("", False),
        "merge.md": ("conflict", True),
        "pipe.md": ("invalid", True),
    }


def test_files_of_one_key_are_united_and_the_newest_wins(tmp_path: Path) -> None:
    old = replace(LOGIN, evidence=("old",), similarity=0.9, aliases=("b",), confirmed=False)
    new = replace(
        LOGIN,
        evidence=("new",),
        similarity=0.5,
        aliases=("a",),
        learned_at="2026-02-01T00:00:00+09:00",
    )
    put(tmp_path / "a.md", old)
    put(tmp_path / "b.md", new)
    (entry,) = load_all(tmp_path)
    assert (entry.path.name, [path.name for path in entry.other_paths]) == ("b.md", ["a.md"])
    assert entry.agreement == replace(
        new, evidence=("new", "old"), aliases=("a", "b"), confirmed=False
    )
    assert "a.md" in entry.reason
    assert entry.digest not in {load(tmp_path / "a.md").digest, load(tmp_path / "b.md").digest}


def test_united_files_are_written_once(tmp_path: Path) -> None:
    put(tmp_path / "a.md", replace(LOGIN, evidence=("old",)))
    put(tmp_path / "b.md", replace(LOGIN, evidence=("new",), learned_at="2026-02-01T00:00:00Z"))
    inodes = []
    for _ in range(3):
        united = load_all(tmp_path)[0].agreement
        assert united is not None
        assert united.evidence == ("new", "old")
        inodes.append(write(tmp_path, united).stat().st_ino)
    assert inodes[1] == inodes[2]


def test_new_file_is_named_after_its_key(tmp_path: Path) -> None:
    path = write(tmp_path / "agreements", LOGIN)
    assert path == tmp_path / "agreements" / file_name("ログイン機能", "AuthService")
    entry = load(path)
    assert entry == AgreementEntry(
        path, LOGIN, entry.digest, raw_digest=entry.digest, git_ids=entry.git_ids
    )


def test_file_with_another_name_is_updated_in_place(tmp_path: Path) -> None:
    path = put(tmp_path / "agreements" / "login_auth.md", replace(LOGIN, extra=(("owner", "a"),)))
    path.write_text(path.read_text(encoding="utf-8") + "\n## メモ\n\n残す\n", encoding="utf-8")
    assert write(tmp_path / "agreements", replace(LOGIN, similarity=0.7)) == path
    assert [entry.path for entry in load_all(tmp_path / "agreements")] == [path]
    assert load(path).agreement == replace(LOGIN, similarity=0.7, extra=(("owner", "a"),))
    assert path.read_text(encoding="utf-8").endswith("## メモ\n\n残す\n")


def test_unchanged_agreement_is_not_rewritten(tmp_path: Path) -> None:
    path = put(tmp_path / "agreements" / "x.md", LOGIN)
    by_hand = path.read_text(encoding="utf-8").replace('"', "'").replace("\n", "\r\n").encode()
    path.write_bytes(by_hand)
    write(tmp_path / "agreements", LOGIN)
    assert path.read_bytes() == by_hand


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp932", "euc-jp"])
def test_other_encodings_are_read_and_rewritten_as_utf_8(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "login.md"
    text = (
        "---\nnl_term: ログイン機能\nsymbol: AuthService\n---\n\n## 根拠\n\n- 照合する\n\n"
        "## メモ\n\n大事\n"
    )
    path.write_bytes(text.replace("\n", "\r\n").encode(encoding))
    found = load(path).agreement
    assert found is not None
    assert (found.nl_term, found.evidence) == ("ログイン機能", ("照合する",))
    assert write(tmp_path, replace(found, similarity=0.7)) == path
    assert path.read_bytes().decode().endswith("## メモ\n\n大事\n")


def test_file_name_in_use_gets_a_number(tmp_path: Path) -> None:
    path = write(tmp_path, LOGIN)
    path.write_text(render(replace(LOGIN, nl_term="送料")), encoding="utf-8")
    second = write(tmp_path, LOGIN)
    third = write(tmp_path, replace(LOGIN, similarity=0.4))
    assert (second.name, third) == (f"{path.stem}-2.md", second)
    assert {e.key for e in load_all(tmp_path)} == {
        ("送料", "AuthService"),
        ("ログイン機能", "AuthService"),
    }


def test_similar_terms_have_different_files(tmp_path: Path) -> None:
    terms = ["ab", "AB", "ＡＢ", "が", "か゛", "../ab", "a/b", "CON", "...", "🔑", "ログイン" * 40]
    written = {write(tmp_path, replace(LOGIN, nl_term=term)) for term in terms}
    assert len({path.name.casefold() for path in written}) == len(terms)
    assert {path.parent for path in written} == {tmp_path}
    assert {e.key[0] for e in load_all(tmp_path) if e.key} == set(terms)
    assert write(tmp_path, replace(LOGIN, nl_term="か\u3099")) in written


def test_line_break_in_a_file_name_is_escaped(tmp_path: Path) -> None:
    put(tmp_path / "b\n[valid] x.md", LOGIN)
    put(tmp_path / "a.md", LOGIN)
    (entry,) = load_all(tmp_path)
    assert entry.reason.splitlines() == [entry.reason]


def test_file_in_conflict_is_not_overwritten(tmp_path: Path) -> None:
    path = write(tmp_path / "agreements", LOGIN)
    path.write_text("<<<<<<< HEAD\nwork of hours\n", encoding="utf-8")
    with pytest.raises(StorageError, match="already exists") as caught:
        write(tmp_path / "agreements", LOGIN)
    assert "conflict" in caught.value.hint
    assert "work of hours" in path.read_text(encoding="utf-8")


def test_key_is_found_in_either_unicode_form(tmp_path: Path) -> None:
    path = write(tmp_path / "agreements", replace(LOGIN, nl_term="ガ機能"))
    found = find(tmp_path / "agreements", make_key("カ\u3099機能", "AuthService"))
    assert found is not None
    assert found.path == path


def test_nothing_is_written_if_one_agreement_is_too_large(tmp_path: Path) -> None:
    folder = tmp_path / "agreements"
    with pytest.raises(StorageError, match="larger than 1 MiB"):
        write_all(folder, [LOGIN, replace(LOGIN, nl_term="b", evidence=("x" * 2**20,))])
    assert load_all(folder) == []
