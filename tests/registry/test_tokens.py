import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.registry import Command
from code_intel.registry.tokens import searched, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("create a file", ["create", "a", "file"]),
        ("group-commit", ["group", "commit", "group-commit"]),
        ("unstaged_changes", ["unstaged", "changes", "unstaged_changes"]),
        ("groupCommit", ["group", "commit", "groupcommit"]),
        ("GroupCommit", ["group", "commit", "groupcommit"]),
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("base64Decode", ["base64", "decode", "base64decode"]),
        ("listPRs", ["list", "prs", "listprs"]),
        ("C3L v0.5 PR", ["c3l", "v0.5", "pr"]),
        ("file file", ["file", "file"]),
        ("--from", ["from", "--from"]),
        (" - \t\n", ["-"]),
        ("", []),
        ("変更をコミット", ["変更をコミット"]),
    ],
)
def test_compound_words_are_split_and_kept(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


def test_mixed_compounds_are_split_in_all_ways() -> None:
    found = tokens("group-commitFiles_now")
    assert {"group", "commit", "files", "now"} < set(found)
    assert found[-1] == "group-commitfiles_now"


def test_full_width_letters_and_spaces_are_normalized() -> None:
    assert tokens("Ｇｒｏｕｐ－Ｃｏｍｍｉｔ　Ｎｏｗ") == tokens("Group-Commit Now")


def test_searched_text_has_names_and_description() -> None:
    command = Command("git", "groupCommit", "changes", "Commit Them", usage="never searched")
    assert searched(command) == "git groupCommit changes Commit Them"
    assert "group" in tokens(searched(command))


@given(st.text(max_size=60))
def test_every_word_is_a_lower_case_token(text: str) -> None:
    found = tokens(text)
    assert all(found)
    assert not any(any(map(str.isspace, token)) for token in found)
    if text.isascii():
        assert {word.lower() for word in text.split()} <= set(found)


@given(st.lists(st.from_regex("[a-z]{1,5}([A-Z][a-z]{1,5}){0,2}", fullmatch=True), max_size=6))
def test_case_changes_only_the_parts_of_a_word(words: list[str]) -> None:
    mixed, lower = tokens(" ".join(words)), tokens(" ".join(words).lower())
    assert [token for token in mixed if token in lower] != [] or not words
    assert set(lower) <= set(mixed)
