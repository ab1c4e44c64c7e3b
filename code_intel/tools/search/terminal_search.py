"""Search the map first and, if it has no answer, the forest, for a person in a terminal.

Unlike the tools, this belongs to no session, and is not recorded.
"""

from dataclasses import replace
from typing import Any, NamedTuple

from code_intel.forest.ranking.places import places_of
from code_intel.forest.ranking.question import read
from code_intel.records import VERIFICATION_SCORE, SearchAnswer
from code_intel.tools.context.corpus_service import CorpusService
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
    """The answer of the map or the forest to a question."""

    corpus: str
    question: TerminalQuestion
    found: SearchAnswer

    @property
    def data(self) -> dict[str, Any]:
        """The answer as JSON."""
        shown, cut = fit(self.found.hits)
        return {
            "source": self.corpus,
            "status": "PREVIOUS_SUCCESS" if self.corpus == "map" else "HYPOTHESIS",
            "results": [hit_data(hit, text) for hit, text in shown],
            "truncated": cut,
            "index": index_data(self.found.index),
        } | ({} if shown else {"message": NOTHING_LIKELY})

    @property
    def text(self) -> str:
        """The answer as text."""
        shown = [excerpt(hit, PREVIEW_LINES) for hit in self.found.hits]
        heading = "The map:" if self.corpus == "map" else "Source (unverified):"
        body = f"{heading}\n{hits_text(shown)}" if shown else NOTHING_LIKELY
        return body + index_text(self.found.index)

    @property
    def exit_code(self) -> int:
        """The exit code of the command: 1 if nothing is likely."""
        return 0 if self.found.hits else 1

    def printed(self, form: Form, terminal: Terminal, heading: str = "") -> str:
        """Return what the command prints; `heading` comes before the text."""
        data = {"query": self.question.query, **self.data}
        with in_terminal(terminal):
            text = heading + self.text
        return printed(form, data, text, marks=read(self.question.query).terms)


def answer(services: Services, question: TerminalQuestion) -> TerminalAnswer:
    """Return the answer of the map, if it is likely enough, or of the forest."""
    map_service, forest_service = services
    query = question.query
    if question.corpus != "forest":
        found = map_service.search(query, question.top_k)
        best = next((hit.score for hit in found.hits if hit.agreement), None) or 0.0
        if question.corpus == "map" or best >= VERIFICATION_SCORE:
            return TerminalAnswer("map", question, found)
    found = forest_service.search(query, question.top_k, own=question.own)
    hits = places_of(forest_service.index.store, query, found.hits, question.per_file)
    return TerminalAnswer("forest", question, replace(found, hits=tuple(hits)))
