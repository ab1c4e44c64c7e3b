"""Fit the constants of a model on a part of the shipped questions; refuse bad fits."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from code_intel.embedding.onnx_engine import OnnxE5
from code_intel.learned.files.agreements import AgreementEntry
from code_intel.learned.fit.calibrate import Calibrated, calibrate
from code_intel.learned.fit.labels import QUESTIONS, Labels
from code_intel.learned.fit.own_agreements import labels_of
from code_intel.learned.recall import calibration
from code_intel.learned.status.agreement_status import AgreementStatus
from code_intel.records import Agreement
from some_labels import some_labels

pytestmark = pytest.mark.timeout(1200)  # a fit takes minutes on a busy machine

LOGIN = Agreement(
    "ログイン機能", "AuthService.login", ("It checks the password.",), aliases=("sign in",)
)


def standing(agreement: Agreement, *, confirmed: bool = True) -> AgreementStatus:
    entry = AgreementEntry(Path("a.md"), agreement, "")
    return AgreementStatus(entry, "valid", (), confirmed)


def quiet(_done: int, _total: int, _what: str) -> None:
    """Show no progress."""


class SameVector:
    """An `Embedder` that gives every text the same vector, as a broken model does."""

    identity, dimensions = "broken", 8

    def can_search(self, identity: str) -> bool:
        return identity == self.identity

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.eye(1, 8, dtype=np.float32).repeat(len(texts), axis=0)

    passages = queries


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return some_labels(tmp_path_factory.mktemp("labels"))


@pytest.fixture(scope="module")
def fitted(data: tuple[Path, Path]) -> Calibrated:
    own = labels_of([standing(LOGIN)])
    return calibrate(OnnxE5(), own, quiet, questions=data[0], requests=data[1])


@pytest.mark.model
def test_a_fit_of_a_project_with_one_agreement_gives_constants_that_its_model_can_use(
    fitted: Calibrated,
) -> None:
    identity = fitted.constants["identity"]
    constants = calibration.decoded(fitted.constants, identity)
    assert constants.request is not None
    assert 0 < constants.ready_margin < 1
    assert fitted.problems == ()


@pytest.mark.model
def test_a_fit_reports_right_and_wrong_answers_with_the_number_of_questions(
    fitted: Calibrated,
) -> None:
    rows = {(rate.data, rate.kind, rate.language): rate for rate in fitted.rates}
    answerable = [rows["questions", "answerable", language] for language in ("en", "ja")]
    assert sum(rate.questions for rate in answerable) == 207
    assert all(rate.right[0] > rate.right[1] > rate.wrong[1] for rate in answerable)
    assert rows["project", "answerable", "en"].questions == 1
    assert {kind for data, kind, _ in rows if data == "requests"} == {"repeated", "other"}
    assert rows["questions", "unrelated", "ja"].wrong[1] == 0


def test_vectors_that_distinguish_nothing_are_refused(data: tuple[Path, Path]) -> None:
    found = calibrate(SameVector(), labels_of([]), quiet, questions=data[0], requests=data[1])
    assert "do not distinguish right agreements from wrong ones" in found.problems[0]


def test_too_little_data_is_refused_before_anything_is_embedded(tmp_path: Path) -> None:
    raw = json.loads((QUESTIONS / "infrastructure.json").read_text(encoding="utf-8"))
    raw["queries"] = raw["queries"][:30]
    (tmp_path / "few.json").write_text(json.dumps(raw))
    found = calibrate(SameVector(), labels_of([]), quiet, questions=tmp_path)
    assert found.constants == {}
    assert "At least 200 of each are needed" in found.problems[0]


def questions_of(labels: Labels) -> list[tuple[str, str]]:
    return [
        (query, labels.agreements[at].symbol)
        for query, at in zip(labels.queries, labels.expected, strict=True)
    ]


def test_aliases_and_further_terms_of_a_symbol_are_questions() -> None:
    other_term = Agreement("サインイン画面", "AuthService.login()", ("It shows the form.",))
    labels = labels_of([standing(LOGIN), standing(other_term)])
    assert [each.symbol for each in labels.agreements] == ["AuthService.login"]
    assert questions_of(labels) == [
        ("sign in", "AuthService.login"), ("サインイン画面", "AuthService.login")
    ]  # fmt: skip
    assert labels.agreements[0].aliases == ()


def test_questions_that_mean_two_agreements_and_unconfirmed_agreements_are_left_out() -> None:
    rival = Agreement("session start", "Session.open", ("It opens.",), aliases=("Sign  IN", "open"))
    labels = labels_of([standing(LOGIN), standing(rival)])
    assert questions_of(labels) == [("open", "Session.open")]
    assert labels_of([standing(LOGIN, confirmed=False)]).agreements == []
