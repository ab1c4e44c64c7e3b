"""Each candidate of the map says what it scores, by which measures, and where it leads."""

import math
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from code_intel.errors import NotFoundError
from code_intel.learned.learn import learn
from code_intel.records import Agreement, FileReference
from code_intel.session.phases import Phase
from code_intel.tools.context.corpus_service import open_project
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.context.searchers import in_process
from code_intel.tools.search.explained_map import explain_map, neighbours
from contract.journeys import agree
from served import settings_of
from shop_sessions import FEE, LOGIN

pytestmark = [pytest.mark.anyio, pytest.mark.model]

TERM, FEE_TERM = "ログイン機能", "送料計算"


@pytest.fixture(scope="module")
def agreed_shop(embedded_shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = Path(shutil.copytree(embedded_shop, tmp_path_factory.mktemp("agreed") / "shop"))
    agree(root, TERM, LOGIN)
    agree(root, FEE_TERM, FEE)
    return root


@pytest.fixture
async def context(agreed_shop: Path, tmp_path: Path) -> AsyncIterator[GatewayContext]:
    root = Path(shutil.copytree(agreed_shop, tmp_path / "shop"))
    settings = settings_of(root, "faithful")
    services = open_project(settings, readonly=True)
    maps, forest = services
    yield GatewayContext(
        settings, in_process(*services), maps.index, forest.index, maps.embedder, connection=None
    )
    for service in services:
        service.index.close()


def add(
    context: GatewayContext, term: str, symbol: str, *, confirmed: bool = True, file: str = ""
) -> None:
    files = (FileReference(file, 1),) if file else ()
    agreement = Agreement(term, symbol, evidence=("It is.",), files=files)
    learn(context.settings, agreement, confirmed=confirmed)


async def test_the_term_of_an_agreement_leads_to_ready(context: GatewayContext) -> None:
    found = await explain_map(context, TERM)
    best, *others = found.candidates
    assert (best.candidate.agreement.nl_term, best.score) == (TERM, 1.0)
    assert (best.phase, best.failed, found.phase) == (Phase.READY, (), Phase.READY)
    assert best.sentence == ("It leads to READY: its score reaches 0.8, and every guard passes.")
    assert found.sentence.startswith(f"A session would be READY, by the agreement {TERM} → {LOGIN}")
    assert [other.phase for other in others] == [None]
    assert others[0].sentence == "Searches do not return it: its score is below 0.03."


async def test_the_scores_are_those_of_the_search(context: GatewayContext) -> None:
    for query in (TERM, "ログイン処理", "送料", "log in with a password"):
        found = await explain_map(context, query)
        answer = await context.searcher.search_map(query, 10)
        shown = [(hit.agreement.symbol, hit.score) for hit in answer.hits if hit.agreement]
        rows = [row for row in found.candidates if not row.candidate.hidden]
        assert [(row.candidate.agreement.symbol, row.score) for row in rows] == shown


async def test_the_measures_add_up_to_the_log_odds_of_the_score(context: GatewayContext) -> None:
    found = await explain_map(context, "csv export")
    for row in found.candidates:
        total = sum(share.points for share in row.candidate.measures)
        assert row.candidate.match.score == pytest.approx(1 / (1 + math.exp(-total)))


async def test_a_part_of_a_term_leads_to_verification(context: GatewayContext) -> None:
    found = await explain_map(context, "送料")
    assert found.phase is Phase.VERIFICATION
    assert found.candidates[0].sentence == (
        "It leads to VERIFICATION: its score reaches 0.7, but not 0.8."
    )
    assert "says less than the term" in " ".join(found.candidates[0].candidate.match.reasons)


async def test_a_guard_that_fails_is_named(context: GatewayContext) -> None:
    add(context, "CSV 出力", "export_orders", confirmed=False)
    found = await explain_map(context, "CSV 出力")
    row = found.candidates[0]
    assert row.phase is Phase.VERIFICATION
    assert {guard["guard"] for guard in row.failed} >= {"confirmed"}
    assert "the agreement is not confirmed" in row.sentence
    assert "VERIFICATION" in found.sentence


async def test_an_agreement_without_its_symbol_is_hidden(context: GatewayContext) -> None:
    add(context, "在庫管理", "no_such_symbol", file="src/cart/cart.py")
    found = await explain_map(context, "在庫管理")
    row = next(row for row in found.candidates if row.candidate.agreement.nl_term == "在庫管理")
    assert row.candidate.standing.validity == "broken"
    assert (row.phase, row.score) == (None, 0.0)
    assert row.sentence == "Searches do not return it: it is broken."
    assert found.phase is None


async def test_a_question_without_an_agreement_leads_to_the_source(context: GatewayContext) -> None:
    found = await explain_map(context, "csv export")
    assert found.phase is None
    assert found.sentence.startswith(
        "The map has no sure answer, so a session would search the source."
    )


async def test_a_weak_candidate_says_so(context: GatewayContext) -> None:
    found = await explain_map(context, "ログアウト")
    assert found.candidates[0].sentence == "Too weak to be used (below 0.7)."


async def test_the_neighbours_of_an_agreement_are_those_of_other_terms(
    context: GatewayContext,
) -> None:
    add(context, TERM, "verify_password")
    add(context, "ログイン画面", "login_page")
    found = await neighbours(context, (TERM, LOGIN))
    terms = [each.candidate.agreement.nl_term for each in found]
    assert terms[0] == "ログイン画面"
    assert FEE_TERM in terms
    assert TERM not in terms
    scores = [each.score for each in found]
    assert scores == sorted(scores, reverse=True)


async def test_the_neighbours_of_an_unknown_agreement_are_an_error(
    context: GatewayContext,
) -> None:
    with pytest.raises(NotFoundError, match="The agreement x → y does not exist"):
        await neighbours(context, ("x", "y"))
