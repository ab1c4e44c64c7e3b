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
def test_a_text_is_its_words_and_what_compound_words_are_made_of(
    text: str, expected: list[str]
) -> None:
    assert tokens(text) == expected


def test_what_is_compound_in_several_ways_is_divided_in_all_of_them() -> None:
    found = tokens("group-commitFiles_now")
    assert {"group", "commit", "files", "now"} < set(found)
    assert found[-1] == "group-commitfiles_now"


def test_full_width_letters_and_spaces_are_read_as_what_they_look_like() -> None:
    assert tokens("Ｇｒｏｕｐ－Ｃｏｍｍｉｔ　Ｎｏｗ") == tokens("Group-Commit Now")


def test_a_command_is_found_by_its_names_and_its_description() -> None:
    command = Command("git", "groupCommit", "changes", "Commit Them", usage="never searched")
    assert searched(command) == "git groupCommit changes Commit Them"
    assert "group" in tokens(searched(command))


@given(st.text(max_size=60))
def test_every_word_of_a_text_is_among_its_tokens_lowered_and_no_token_is_empty(text: str) -> None:
    found = tokens(text)
    assert all(found)
    assert not any(any(map(str.isspace, token)) for token in found)
    if text.isascii():
        assert {word.lower() for word in text.split()} <= set(found)


@given(st.lists(st.from_regex("[a-z]{1,5}([A-Z][a-z]{1,5}){0,2}", fullmatch=True), max_size=6))
def test_case_changes_what_a_word_is_divided_into_and_never_the_word(words: list[str]) -> None:
    mixed, lower = tokens(" ".join(words)), tokens(" ".join(words).lower())
    assert [token for token in mixed if token in lower] != [] or not words
    assert set(lower) <= set(mixed)
