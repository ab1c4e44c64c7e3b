"""The text of an editor is written back without loss."""

import pytest

from code_intel.errors import UsageError
from code_intel.learned.files.shown_text import shown_text, written_bytes

ONE, TWO = 'password = "Tr0ub4dor&3xyz"', 'password = "Tr0ub4dor&4abc"'
MASKED = shown_text(ONE.encode())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"a",
        b"a\n\n\n",
        b"a\r\nb\n",
        b"\xef\xbb\xbfa\r\n",
        b"a\rb\n",
        "\u200b\x0c\x1b\n".encode(),
        f"{ONE}\n{TWO}\n".encode(),
        "料金".encode("cp932"),
    ],
)
def test_a_text_that_was_not_changed_is_written_as_it_was(data: bytes) -> None:
    assert written_bytes(data, shown_text(data)) == data
    assert written_bytes(data, shown_text(data).replace("\n", "\r\n")) == data


def test_secrets_that_are_shown_alike_stay_in_order() -> None:
    assert shown_text(TWO.encode()) == MASKED
    old = f"{ONE}\nx\n{TWO}\n".encode()
    new = shown_text(old).replace("x\n", "new\n", 1)
    assert (
        written_bytes(old, f"first\n{new}")
        == f"first\n{new}".replace(MASKED, ONE, 1).replace(MASKED, TWO).encode()
    )


def test_secrets_that_are_shown_alike_cannot_be_told_apart_if_one_is_removed() -> None:
    with pytest.raises(UsageError, match="Line 1 is shown like another line"):
        written_bytes(f"{ONE}\nx\n{TWO}\n".encode(), f"{MASKED}\nx\n")


def test_a_line_with_a_secret_can_be_removed_and_moved() -> None:
    old = f"a\n{ONE}\nb\n".encode()
    assert written_bytes(old, "a\nb\n") == b"a\nb\n"
    assert written_bytes(old, f"a\nb\n{MASKED}\n") == f"a\nb\n{ONE}\n".encode()


def test_a_line_above_that_makes_another_line_look_secret_does_not_mask_it() -> None:
    old = b"hunter2hunter2\n"
    assert written_bytes(old, "password: |\n  other\nhunter2hunter2\n").endswith(old)


@pytest.mark.parametrize("text", [f"{MASKED} # new", "token = x*****", "a\\u200bb c"])
def test_a_changed_line_with_a_mask_or_an_escape_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        written_bytes(f"{ONE}\na\u200bb\n".encode(), f"y\n{text}\n")
    assert caught.value.details == {"field": "text", "line": 2}
    assert "with an editor" in caught.value.hint


def test_a_new_secret_is_masked() -> None:
    assert written_bytes(b"a\n", f"a\n{ONE}\n") == f"a\n{MASKED}\n".encode()


def test_new_lines_get_the_line_ends_of_the_file() -> None:
    assert written_bytes(b"a\r\nb\r\n", "a\nc\n") == b"a\r\nc\r\n"


def test_an_empty_line_does_not_take_the_place_of_a_new_one() -> None:
    assert written_bytes(b"a\n\nb\n", "a\n\nc\n") == b"a\n\nc\n"


def test_a_file_in_another_encoding_is_not_written() -> None:
    with pytest.raises(UsageError, match="not UTF-8"):
        written_bytes("料金は税込み\n".encode("cp932"), "x")
