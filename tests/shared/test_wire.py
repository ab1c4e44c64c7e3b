"""Nothing that the other side sends is believed before it was checked."""

import gzip
import json
import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from code_intel.servers.shared.routes.endpoints import complete
from code_intel.shared import fields, routes, wire
from code_intel.shared.calls import METHODS
from code_intel.shared.fields import is_branch, is_document, is_document_name
from code_intel.shared.records import SharedChunk, SharedFile
from code_intel.shared.wire import WireError, pack, unpack

ANY: TypeAdapter[object] = TypeAdapter(object)
LONG = "x" * (fields.MAX_TEXT_CHARS + 1)
UNIT = struct.pack("<4f", 0.5, 0.5, 0.5, 0.5)


@pytest.mark.parametrize(
    "path",
    [
        *("", "/etc/passwd", "../x", "a/../../x", "a///b", "./a", "a/.", "C:/x", "a/.git/config"),
        *("a\nb", "a\x1b[2Jb", "a\u202eb", "a\0b", "x" * 1001),
    ],
)
def test_a_path_that_leads_out_or_hides_something_is_refused(path: str) -> None:
    assert not is_document(path)
    with pytest.raises(WireError):
        unpack(pack([[path, "python", "0" * 64]]), METHODS["digests"].result)


@pytest.mark.parametrize("path", ["a", "a b/c.py", "src/日本.py", "..a/b", "a.git/b", ".github/x"])
def test_a_usual_path_is_accepted(path: str) -> None:
    assert is_document(path)


@pytest.mark.parametrize("name", ["team/shop//src/a.py", "shop//a b.py"])
def test_a_document_of_several_repositories_names_its_repository(name: str) -> None:
    assert is_document_name(name)
    assert not is_document(name)
    row = [name, "python", "0" * 64]
    assert unpack(pack([row]), METHODS["digests"].result) == [tuple(row)]


@pytest.mark.parametrize(
    "name", ["a//../b", "../a//b", "a////b", "//b", "a//", "a//b//c", "a b//c"]
)
def test_a_document_outside_its_repository_is_refused(name: str) -> None:
    assert not is_document_name(name)
    with pytest.raises(WireError):
        unpack(pack([[name, "python", "0" * 64]]), METHODS["digests"].result)


@pytest.mark.parametrize("name", ["main", "feature/a-1", "日本"])
def test_a_usual_branch_is_accepted(name: str) -> None:
    assert is_branch(name)


@pytest.mark.parametrize("name", ["", "a b", "a..b", "a\nb", "a~1", "x" * 251])
def test_a_branch_that_git_would_not_allow_is_refused(name: str) -> None:
    assert not is_branch(name)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=20))
def test_what_is_packed_is_unpacked_the_same(value: object) -> None:
    body = pack(value)
    assert unpack(body, ANY) == json.loads(gzip.decompress(body))


@given(st.binary(max_size=200))
def test_any_bytes_are_either_understood_or_refused(body: bytes) -> None:
    adapters: tuple[TypeAdapter[Any], ...] = (
        routes.GENERATION.question,
        routes.VECTORS.answer,
        routes.PUSH_FILES.question,
    )
    for adapter in adapters:
        with pytest.raises(WireError):
            unpack(body, adapter)


def test_a_body_that_inflates_beyond_the_limit_is_refused() -> None:
    bomb = gzip.compress(b" " * (wire.MAX_JSON_BYTES + 1), mtime=0)
    assert len(bomb) < 100_000
    with pytest.raises(WireError, match="larger than"):
        unpack(bomb, ANY)


@pytest.mark.parametrize(
    "body", [gzip.compress(b"[1, 2]", mtime=0)[:-4], b"\x1f\x8b" + b"x" * 30, b"\x1f\x8b"]
)
def test_a_damaged_body_is_refused(body: bytes) -> None:
    with pytest.raises(WireError):
        unpack(body, ANY)


@pytest.mark.covers("error.invalid_message")
def test_the_message_about_a_wrong_form_repeats_nothing_of_it() -> None:
    secret = "ghp_" + "a" * 36
    with pytest.raises(WireError) as refused:
        unpack(pack([[secret + "\n", 1, 2]]), METHODS["digests"].result)
    assert refused.value.error == "invalid_message"
    assert secret not in refused.value.message


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("word_hits", [[[1, math.inf]], []]),
        ("word_hits", [[[-1, 1.0]], []]),
        ("word_hits", [[[1 << 128, 1.0]], []]),
        ("word_hits", [[[1, 1.0]], [[1, "a/../b", 0, "python", ""]]]),
        ("word_hits", [[[1, 1.0]], [[1, "a.py", 0, "py\x1bthon", ""]]]),
        ("word_hits", [[[1, 1.0]] * 5000, []]),
        ("digests", [["a.py", "python", "not a digest"]]),
        ("imports", [["a.py", "x\ny"]]),
        (
            "chunk_rows",
            [[1, 1, "a.py", 0, 1, 2, "x" * (fields.MAX_TEXT_CHARS + 1), [], "python", ""]],
        ),
        ("definitions", [["f", "f", "function", "/a.py", 1, 2, "", "python", "", ""]]),
    ],
)
def test_an_absurd_result_of_a_method_is_refused(method: str, answer: object) -> None:
    text = json.dumps(answer)
    with pytest.raises(ValueError, match="validation error"):
        METHODS[method].result.validate_json(text)


def test_a_chunk_id_may_have_all_its_bits() -> None:
    largest = (1 << 128) - 1
    answer = [[[largest, 1.0]], [[largest, "a.py", 0, "python", "f"]]]
    found = METHODS["word_hits"].result.validate_json(json.dumps(answer))
    assert found.hits == [(largest, 1.0)]
    assert found.places[0].symbols == ("f",)


def test_only_vectors_of_length_one_are_accepted() -> None:
    text = wire.vector_text(UNIT)
    assert wire.vector_bytes(text, 4) == UNIT
    wrong = [
        wire.vector_text(struct.pack("<4f", math.nan, 0, 0, 0)),
        wire.vector_text(struct.pack("<4f", math.inf, 0, 0, 0)),
        wire.vector_text(struct.pack("<4f", 3, 0, 0, 0)),
        wire.vector_text(b""),
        wire.vector_text(b"abc"),
        "not base64!",
        "A" * 40_000,
    ]
    for vector in wrong:
        with pytest.raises(WireError):
            wire.vector_bytes(vector)
    with pytest.raises(WireError, match="instead of 384"):
        wire.vector_bytes(text, 384)
    assert wire.vectors_of({"a": text, "b": wrong[0]}, 4) == {"a": UNIT}


def test_the_server_masks_secrets_again_and_computes_the_tokens_itself() -> None:
    secret = "Tr0ub4dor&3"  # noqa: S105 - not a real one
    chunk = SharedChunk(0, 1, 2, f'password = "{secret}"\nlogin()', ("login",), "")
    file = SharedFile("a.py", "0" * 64, "python", 2, 0, (chunk,), (), ())
    (record,) = complete(file).chunks
    assert secret not in record.text
    assert "tr0ub4dor" not in record.body
    assert "login" in record.body.split()
    assert "login" in record.names.split()


@pytest.mark.parametrize("value", [b"[]", b'{"a":0}', b"1", b'"x"'])
def test_a_message_with_too_many_values_is_refused_before_they_take_memory(value: bytes) -> None:
    body = gzip.compress(b"[" + b",".join([value] * (wire.SMALL.values + 1)) + b"]")
    with pytest.raises(wire.TooLargeError, match="200,000 values"):
        unpack(body, ANY, wire.SMALL)


def test_commas_and_brackets_in_source_are_no_values() -> None:
    text = "f(\"[{,\", '\\\\', [1, 2, {3: 4}])" * 20_000
    assert unpack(pack([text]), ANY, wire.SMALL) == [text]


def test_a_question_may_be_smaller_than_a_push() -> None:
    with pytest.raises(wire.TooLargeError, match="4 MiB"):
        unpack(gzip.compress(b'"' + b"x" * (5 << 20) + b'"'), ANY, wire.SMALL)
