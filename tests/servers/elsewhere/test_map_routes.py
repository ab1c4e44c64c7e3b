"""The map of many repositories, as its server answers it, without a model."""

import json
from typing import Any

import pytest

from code_intel.chunking.words import query_words
from code_intel.records import Agreement
from code_intel.shared.agreements.candidates import MAX_PER_REPOSITORY
from code_intel.shared.agreements.wire import AGREEMENTS, FindAgreements, FoundAgreements
from code_intel.shared.client import SharedIndexError
from code_intel.shared.wire import pack, unpack
from servers.http_processes import ACCEPT, Reply
from servers.shared.instances import Instance
from shared_agreements import share

pytestmark = pytest.mark.milvus

VAULT, WEB = "secret/vault", "team/web"


def agreed(term: str, symbol: str, evidence: str = "It is.") -> Agreement:
    return Agreement(term, symbol, (evidence,), confirmed=True, digest="0" * 16)


def found(running: Instance, token: str, query: str, **changes: Any) -> FoundAgreements:
    question = FindAgreements(tuple(query_words(query)), **changes)
    reply = running.ask("POST", "/v1/map/search", pack(question), token)
    assert reply.status == 200, reply.body
    return unpack(reply.body, AGREEMENTS.answer)


def call(running: Instance, token: str, tool: str, **arguments: Any) -> Reply:
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }
    headers = {**ACCEPT, "MCP-Protocol-Version": "2025-06-18"}
    return running.ask("POST", "/mcp", json.dumps(message).encode(), token, headers)


def content(reply: Reply) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(reply.body)["result"]["structuredContent"]
    return answer


@pytest.mark.covers("rule.elsewhere.hidden")
def test_agreements_of_a_hidden_repository_do_not_exist(running: Instance) -> None:
    share(running, WEB, [agreed("retry of requests", "Retry.run")])
    share(running, VAULT, [agreed("retry of unsealing", "Vault.unseal")])
    token = running.token("read:team/*")
    answer = found(running, token, "retry unsealing")
    assert [each.repository for each in answer.agreements] == [WEB]
    assert (answer.repositories, answer.left_out) == (1, 0)
    hidden, missing = (
        found(running, token, "retry", repositories=(name,)) for name in (VAULT, "secret/none")
    )
    assert hidden == missing == FoundAgreements(())
    replies = [
        call(running, token, "search_map", query="retry", repositories=[name])
        for name in (VAULT, "secret/none")
    ]
    assert replies[0].body == replies[1].body.replace(b"secret/none", VAULT.encode())
    everything = call(running, token, "search_map", query="retry unsealing")
    assert "ault" not in everything.body.decode()
    assert VAULT not in json.dumps(running.log()[-1])


@pytest.mark.covers(
    "tool.shared_search_map",
    "field.shared_search_map.query",
    "field.shared_search_map.repositories",
    "field.shared_search_map.top_k",
    "answer.shared_search_map.source",
    "answer.shared_search_map.status",
    "answer.shared_search_map.query",
    "answer.shared_search_map.message",
    "answer.shared_search_map.results",
    "answer.shared_search_map.repositories_searched",
    "answer.shared_search_map.repositories_left_out",
    "answer.shared_search_map.degraded",
)
def test_the_map_is_asked_across_repositories(running: Instance) -> None:
    share(running, WEB, [agreed("retry of requests", "Retry.run", "Waits longer each time.")])
    share(running, "team/pay", [agreed("retry of payments", "Charge.again")])
    token = running.token("read:team/*")
    answer = content(call(running, token, "search_map", query="how do others retry requests"))
    assert (answer["source"], answer["status"]) == ("map", "HYPOTHESIS")
    assert answer["query"] == "how do others retry requests"
    assert "hypotheses" in answer["message"]
    assert {row["repository"] for row in answer["results"]} == {WEB, "team/pay"}
    first = answer["results"][0]
    assert (first["symbol"], first["evidence"]) == ("Retry.run", ["Waits longer each time."])
    assert (answer["repositories_searched"], answer["repositories_left_out"]) == (2, 0)
    assert answer["degraded"][0].startswith("words only")
    one = content(call(running, token, "search_map", query="retry", repositories=[WEB]))
    assert [row["repository"] for row in one["results"]] == [WEB]
    top = content(call(running, token, "search_map", query="retry", top_k=1))
    assert len(top["results"]) == 1


@pytest.mark.covers("rule.elsewhere.spread")
def test_a_repository_with_agreements_for_everything_does_not_hide_the_others(
    running: Instance,
) -> None:
    plants = [agreed(f"retry retry retry requests {at}", f"Plant.p{at}") for at in range(80)]
    share(running, "team/bad", plants)
    share(running, WEB, [agreed("a request is sent again", "Retry.run", "A retry of requests.")])
    answer = found(running, running.token("read:team/*"), "retry requests")
    counts = [each.repository for each in answer.agreements]
    assert counts.count("team/bad") == MAX_PER_REPOSITORY
    assert counts.count(WEB) == 1


def test_a_push_of_agreements_needs_the_scope_and_shows_no_source(running: Instance) -> None:
    token = running.token("read:team/*")
    with pytest.raises(SharedIndexError):
        share(running, WEB, [agreed("retry", "Retry.run")], token=token)
    assert not found(running, token, "retry").agreements
    share(running, WEB, [agreed("retry", "Retry.run")])
    assert found(running, token, "retry").agreements
    listed = running.ask("GET", "/v1/repositories", token=token)
    assert b"team/web" not in listed.body


def test_the_next_push_replaces_the_agreements_at_once(running: Instance) -> None:
    token = running.token("read:team/*")
    share(running, WEB, [agreed("retry", "Retry.run"), agreed("login", "Login.run")])
    share(running, WEB, [agreed("retry", "Retry.again")], commit="cd" * 20)
    (only,) = found(running, token, "retry login").agreements
    assert "Retry.again" in only.text
    assert only.commit == "cd" * 20
    share(running, WEB, [], commit="ef" * 20)
    assert found(running, token, "retry login").agreements == ()


def test_the_caller_is_not_told_its_own_agreements(running: Instance) -> None:
    share(running, WEB, [agreed("retry", "Retry.run")])
    answer = found(running, running.token("read:**"), "retry", without=WEB)
    assert answer == FoundAgreements(())


def test_a_question_creates_no_collections(running: Instance) -> None:
    index, token = running.services.index, running.token("read:**")
    assert found(running, token, "retry").agreements == ()
    answer = content(call(running, token, "search_map", query="retry"))
    assert (answer["results"], answer["repositories_searched"]) == ([], 0)
    index.prune(3600)
    index.delete_repository(WEB)
    assert not index.has_agreements()
    share(running, WEB, [agreed("retry", "Retry.run")])
    assert len(found(running, token, "retry").agreements) == 1


def test_a_push_that_is_refused_creates_no_collections(running: Instance) -> None:
    body = pack(["team/web", "map", False])
    for grant, status in (("read:team/*", 403), ("push:other/*", 404)):
        path = "/v1/map/push/delete-branch"
        assert running.ask("POST", path, body, running.token(grant)).status == status
    assert not running.services.index.has_agreements()


def test_what_is_deleted_or_pruned_includes_agreements(running: Instance) -> None:
    token = running.token("read:**")
    index = running.services.index
    share(running, WEB, [agreed("retry", "Retry.run")])
    share(running, WEB, [agreed("retry", "Retry.again")])
    assert index.prune(0).generations == 0  # notes what is unused
    assert index.prune(0).generations == 1
    assert [each.repository for each in found(running, token, "retry").agreements] == [WEB]
    assert index.delete_repository(WEB).generations == 1
    assert not found(running, token, "retry").agreements


def test_agreements_that_are_pushed_again_after_their_removal_are_found(running: Instance) -> None:
    token = running.token("read:team/*")
    both = [agreed("retry", "Retry.run"), agreed("login", "Login.run")]
    share(running, WEB, both[:1])
    share(running, WEB, both)  # a layer on the first one
    assert len(found(running, token, "retry login").agreements) == 2
    running.services.index.delete_repository(WEB)
    share(running, WEB, both)  # the same tree in one layer
    assert len(found(running, token, "retry login").agreements) == 2
