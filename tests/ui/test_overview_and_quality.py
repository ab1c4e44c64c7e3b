"""The overview says what waits, and the quality page how often the map was right."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from code_intel.learned.history.answer_sizes import AnswerSize
from code_intel.learned.history.experience import AgreementExperience, Kind
from code_intel.operations.map.quality import (
    calibration_curve,
    tool_figures,
    verdicts_of,
)
from code_intel.operations.map.session_costs import ScoredAnswer
from page_client import opened_page
from served import gateway
from shop_sessions import learn, start

pytestmark = pytest.mark.anyio
KEY = ("login", "AuthService.login")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def event(kind: Kind, session: str, minutes: int) -> AgreementExperience:
    return AgreementExperience(KEY, kind, "login", session, "", NOW + timedelta(minutes=minutes))


def test_the_last_event_of_a_session_judges_its_answer() -> None:
    answers = [ScoredAnswer(name, KEY, "login", 0.85) for name in ("a", "b", "c", "a")]
    events = [event("offered", "a", 0), event("rejected", "a", 1), event("accepted", "b", 2)]
    events.append(event("failed", "b", 3))
    judged = {answer.session: verdict for answer, verdict in verdicts_of(answers, events)}
    assert judged == {"a": "rejected", "b": "failed", "c": "open"}


def test_the_curve_counts_right_answers_by_score() -> None:
    answers = [ScoredAnswer(str(at), KEY, "", score) for at, score in enumerate((0.8, 0.85, 1.0))]
    events = [event("accepted", "0", 0), event("rejected", "1", 1), event("accepted", "2", 2)]
    curve = calibration_curve(verdicts_of(answers, events))
    found = {band.low: (band.judged, band.right, band.share) for band in curve if band.judged}
    assert found == {0.8: (2, 1, 0.5), 0.9: (1, 1, 1.0)}


def test_tools_without_times_have_sizes() -> None:
    sizes = {"a": [AnswerSize("a", 1, "prompt", 10), AnswerSize("a", 2, "query", 5, 20)]}
    sizes["b"] = [AnswerSize("b", 1, "query", 15, 40)]
    query, prompt = tool_figures(sizes)
    assert (query.tool, query.answers, query.tokens) == ("query", 2, (10, 14))
    assert query.milliseconds == (30, 39)
    assert prompt.milliseconds is None


def test_an_empty_project_says_what_is_missing(shop: Path) -> None:
    with opened_page(shop) as page:
        found = page.text("/")
        assert "Nothing waits." in found
        assert "There are no sessions yet." in found
        assert "It takes 5 sessions" in found
        found = page.text("/quality")
        assert "No answer of the map has been judged yet." in found
        assert "No session has been measured yet." in found


async def test_what_sessions_did_is_counted(shop: Path) -> None:
    async with gateway(shop) as call:
        await learn(call, shop, "login", "AuthService.login", "src/auth/service.py")
        await start(call, "logout")
    with opened_page(shop) as page:
        found = page.text("/")
        assert "Entries of the map: 1" in found
        assert "logout" in found
        assert "EXPLORATION" in found
        found = page.text("/quality")
        assert "start_session 2" in found
        assert "MODIFY 1 0 0" in found


def test_the_installation_is_checked_while_no_page_waits(shop: Path) -> None:
    with opened_page(shop) as page:
        assert "Checking…" in page.text("/doctor")
        page.project.installation.wait()
        found = page.text("/doctor")
        assert "Everything that was checked" in found
        assert "agreements" in found


def test_an_update_leads_to_a_new_check(shop: Path) -> None:
    with opened_page(shop) as page:
        installation = page.project.installation
        page.text("/doctor")
        installation.wait()
        assert not installation.state().is_checking
        page.post("/update")
        page.project.updater.wait()
        assert installation.state().is_checking
        installation.wait()
