"""Search the map first and, if it has no answer, the forest, for a person in a terminal.

Unlike the tools, this belongs to no session, and is not recorded.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from code_intel.forest.ranking.places import places_of
from code_intel.forest.ranking.question import read
from code_intel.records import VERIFICATION_SCORE, Hit, SearchAnswer
from code_intel.tools.context.corpus_service import CorpusService
from code_intel.tools.context.repositories.checkouts import OpenProjects
from code_intel.tools.context.repositories.known import chosen_by
from code_intel.tools.context.repositories.search import RepositoriesQuestion, search_repositories
from code_intel.tools.search.why_not import explain_file, ranking_data, ranking_text
from code_intel.tools.wire.answers import excerpt, fit, hit_data, hits_text, index_data, index_text
from code_intel.tools.wire.printed import Form, printed
from code_intel.tools.wire.reader import Terminal, in_terminal
from code_intel.tools.wire.terminal_question import TerminalQuestion

NOTHING_LIKELY = "Nothing likely. Use other words, or `code-intel grep` for exact text."
PREVIEW_LINES = 5
"""Lines of each place in a terminal."""

Services = tuple[CorpusService, CorpusService]
"""The services of the map and the forest."""


class TerminalAnswer(NamedTuple):
    """The answer to a question.

    Attributes:
        question: The question.
        data: The answer as JSON.
        text: Returns the answer as text; call it `in_terminal`.
        exit_code: The exit code of the command.
    """

    question: TerminalQuestion
    data: dict[str, Any]
    text: Callable[[], str]
    exit_code: int = 0

    def printed(self, form: Form, terminal: Terminal, heading: str = "") -> str:
        """Return what the command prints; `heading` comes before the text."""
        data = {"query": self.question.query, **self.data}
        with in_terminal(terminal):
            text = heading + self.text()
        return printed(form, data, text, marks=read(self.question.query).terms)


def answer(
    services: Services,
    question: TerminalQuestion,
    projects: OpenProjects | None = None,
) -> TerminalAnswer:
    """Return the answer of the map, if it is likely enough, or of the forest.

    `projects` are the other projects that this process has open.
    """
    map_service, forest_service = services
    query = question.query
    if question.repositories:
        return _repositories_answer(forest_service, question, projects)
    by_map = False
    if question.corpus != "forest":
        found = map_service.search(query, question.top_k)
        best = next((hit.score for hit in found.hits if hit.agreement), None) or 0.0
        by_map = best >= VERIFICATION_SCORE
        if not question.why_not and (question.corpus == "map" or by_map):
            return _hits_answer("map", question, found)
    if question.why_not:
        return _file_answer(forest_service, question, by_map=by_map)
    found = forest_service.search(query, question.top_k, own=question.own, explain=question.explain)
    hits = places_of(forest_service.index.store, query, found.hits, question.per_file)
    return _hits_answer("forest", question, replace(found, hits=tuple(hits)))


def _repositories_answer(
    service: CorpusService, question: TerminalQuestion, projects: OpenProjects | None
) -> TerminalAnswer:
    """Return the answer of the repositories that the question names."""
    opened = projects or OpenProjects()
    asked = RepositoriesQuestion(
        question.query, question.top_k, question.per_file, explain=question.explain
    )
    try:
        chosen = chosen_by(service, opened, question.repositories, to_search=True)
        found = search_repositories(service, chosen, asked, opened.union)
    finally:
        if projects is None:
            opened.close()
    return _hits_answer("forest", question, found)


def _hits_answer(corpus: str, question: TerminalQuestion, found: SearchAnswer) -> TerminalAnswer:
    """Return the answer with the hits of the map or of the forest; exit with 1 without hits."""
    shown, cut = fit(found.hits)
    data = {
        "source": corpus,
        "status": "PREVIOUS_SUCCESS" if corpus == "map" else "HYPOTHESIS",
        "results": [_row(hit, text) for hit, text in shown],
        "truncated": cut,
        "index": index_data(found.index),
    } | ({} if shown else {"message": NOTHING_LIKELY})

    def text() -> str:
        shown = [_explained(*excerpt(hit, PREVIEW_LINES)) for hit in found.hits]
        heading = "The map:" if corpus == "map" else "Source (unverified):"
        body = f"{heading}\n{hits_text(shown)}" if shown else NOTHING_LIKELY
        return body + index_text(found.index)

    return TerminalAnswer(question, data, text, exit_code=0 if found.hits else 1)


def _file_answer(
    forest: CorpusService, question: TerminalQuestion, *, by_map: bool
) -> TerminalAnswer:
    """Return where one file lost."""
    verdict = explain_file(
        forest,
        question.query,
        question.why_not,
        top_k=question.top_k,
        per_file=question.per_file,
    )._replace(by_map=by_map)
    return TerminalAnswer(question, {"why_not": verdict.data}, lambda: verdict.text)


def _row(hit: Hit, text: str) -> dict[str, Any]:
    return hit_data(hit, text) | ({"ranking": ranking_data(hit.ranking)} if hit.ranking else {})


def _explained(hit: Hit, text: str) -> tuple[Hit, str]:
    """Return a hit with what the signals of the ranking gave below its text, if it has them."""
    rows = f"{text.rstrip()}\nranking: {ranking_text(hit.ranking)}" if hit.ranking else text
    return hit, rows
