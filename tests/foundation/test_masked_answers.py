"""A whole answer is masked as each of its texts would be alone, although rules are chosen for all
of it together.
"""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from code_intel.foundation.redaction import masked, masked_data
from planted import planted

TEXTS = st.one_of(
    st.sampled_from([plant.text for plant in planted().values()]),
    st.sampled_from(
        ["", "送料計算", "valid", "src/token/password.py:3", "İstanbul API_KEY", "パスワード"]
    ),
    st.text(max_size=20),
)
ANSWERS = st.recursive(
    st.one_of(TEXTS, st.integers(), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=6), st.dictionaries(st.sampled_from(["a", "b", "c"]), inner)
    ),
    max_leaves=20,
)


def each_alone(value: Any) -> Any:
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, dict):
        return {key: each_alone(item) for key, item in value.items()}
    return [each_alone(item) for item in value] if isinstance(value, list) else value


@given(ANSWERS)
def test_an_answer_is_masked_as_its_texts_are(answer: Any) -> None:
    assert masked_data(answer) == each_alone(answer)


def test_a_key_is_masked_too_and_so_is_what_only_a_key_names() -> None:
    plant = planted(2)["GitHub classic"]
    assert masked_data({plant.text: [1]}) == {masked(plant.text): [1]}
    told = masked_data({"rows": ("plain", {"password": plant.secrets[0]})})
    assert plant.secrets[0] not in repr(told)
    assert told["rows"][0] == "plain"
