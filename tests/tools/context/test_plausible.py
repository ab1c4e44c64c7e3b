"""The facts about claimed symbols come from the project's own index."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from code_intel.foundation.git import head
from code_intel.session.frame import Frame, Slot
from code_intel.session.plausibility import is_plausible
from code_intel.session.state import Session
from code_intel.tools.context.corpus_service import open_project
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.context.plausible import (
    ClaimedSymbol,
    facts_of,
    parts_of,
    plausibility_facts,
    request_of,
    spoken_slots,
)
from programs import git
from served import settings_of
from session.sessions import started

QUERY = "login must refuse a password that is empty"


@pytest.fixture
def context(shop: Path) -> Iterator[GatewayContext]:
    maps, forest = open_project(settings_of(shop))
    with maps.index, forest.index:
        forest.index.complete(words_only=True)
        yield GatewayContext(settings_of(shop), None, maps.index, forest.index, maps.embedder)


def asking(query: str = QUERY, **slots: str) -> Session:
    filled = tuple(Slot(name, value, value) for name, value in slots.items())
    return started(query=query)._replace(frame=Frame(query, filled))


def claim(context: GatewayContext, symbol: str, quote: str = "") -> ClaimedSymbol:
    (definition,) = context.forest.store.definitions(symbol, exact=True, limit=2)
    return ClaimedSymbol(definition, quote)


async def test_the_right_symbol_is_plausible_and_a_foreign_one_is_not(
    context: GatewayContext,
) -> None:
    claims = [claim(context, "AuthService.login"), claim(context, "sortByPrice")]
    right, foreign = await plausibility_facts(context, asking(target_feature="login"), claims)
    assert (right.symbol, right.file) == ("AuthService.login", "src/auth/service.py")
    assert is_plausible(right)
    assert not is_plausible(foreign)
    assert right.first[0].startswith("src/auth/")
    assert not right.has_vectors


async def test_without_a_claim_nothing_is_searched(context: GatewayContext) -> None:
    assert await plausibility_facts(context, asking(), []) == []


def test_the_quote_is_compared_with_the_request(context: GatewayContext) -> None:
    quote = "if user is None or not verify_password(credentials.password, user.password_hash):"
    (without,) = facts_of(context, asking(), [claim(context, "AuthService.login")])
    (quoted,) = facts_of(context, asking(), [claim(context, "AuthService.login", quote)])
    assert set(without.words) < set(quoted.words) or without.covered <= quoted.covered


def test_commits_before_the_session_count_and_later_ones_do_not(
    context: GatewayContext, shop: Path
) -> None:
    def commit(file: str) -> str:
        path = shop / file
        path.write_text(path.read_text("utf-8") + "\n", "utf-8")
        git(shop, "commit", "-qam", "Refuse a password that is empty at login")
        return head(shop) or ""

    before = commit("src/auth/service.py")
    definition = claim(context, "sortByPrice")
    foreign = definition.definition.file
    after = commit(foreign)
    claims = [claim(context, "AuthService.login"), definition]
    login, sort = facts_of(context, asking()._replace(commit=before), claims)
    assert login.history == 1.0
    assert sort.history == 0.0
    login, sort = facts_of(context, asking()._replace(commit=after), claims)
    assert sort.history == 1.0


def test_the_request_is_the_query_and_every_slot_that_it_does_not_contain() -> None:
    session = asking(target_feature="login", observed_issue="an empty one is accepted")
    assert request_of(session) == f"{QUERY}. an empty one is accepted"
    assert parts_of(session) == ["login", "an empty one is accepted"]
    assert request_of(started(query=QUERY)) == QUERY


async def test_words_are_named_as_the_request_writes_them(context: GatewayContext) -> None:
    session = asking("the passwords are serialized and verified")
    (found,) = await plausibility_facts(context, session, [claim(context, "verify_password")])
    assert {"passwords", "verified"} <= set(found.rare)
    assert set(found.words) <= set(found.rare)


@pytest.mark.covers("rule.evidence_need.MEDIUM")
@pytest.mark.parametrize(("feature", "speaks"), [("toggle", True), ("theme", True), ("tog", False)])
def test_name_speaks_of_a_word_that_is_run_together_with_others(
    context: GatewayContext, feature: str, *, speaks: bool
) -> None:
    definition = claim(context, "toggleTheme").definition
    definition = replace(definition, name="f_toggletheme", qualified="f_toggletheme")
    session = asking(target_feature=feature)
    assert bool(spoken_slots(context, session, definition, "return next", None)) == speaks
