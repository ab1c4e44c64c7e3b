"""Ask the map and then the forest, as a session would, and show why each result is where it is."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from code_intel.chunking.agreement_body import encodable
from code_intel.chunking.words import words
from code_intel.forest.ranking.places import places_of
from code_intel.forest.ranking.question import read
from code_intel.forest.ranking.signals import RANKING, Signal
from code_intel.foundation.redaction import masked
from code_intel.learned.recall.candidates import document_of
from code_intel.learned.recall.evidence import MEASURES
from code_intel.records import PLACES_PER_FILE, Freshness, Hit, RowShare
from code_intel.tools.context.corpus_service import CorpusService
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.source_file import project_path_of
from code_intel.tools.search.explained_map import ExplainedAgreement, MapExplanation, explain_map
from code_intel.tools.search.why_not import FileVerdict, explain_file
from code_intel.tools.wire.answers import excerpt
from code_intel.ui.language import N_
from code_intel.ui.pages.questions import check_length
from code_intel.ui.project import OpenProject, project_of
from code_intel.ui.rendering import render

TOP_K = 10
"""Number of files that the page shows."""
OPEN_FILES = 3
"""Number of files whose code is open; that of the others is folded."""
SHOWN_LINES = 9
"""Lines of each place."""
CORPORA: Mapping[str, str] = MappingProxyType(
    {"": N_("The map, then the source"), "map": N_("The map only"), "forest": N_("The source only")}
)
"""What is asked, and its name in the form."""
COLOURS: Mapping[str, int] = MappingProxyType(
    {row.name: at for at, row in enumerate(row for row in RANKING if row.does == "adds")}
)
"""The number of the colour of each signal that adds."""
_WORD = re.compile(r"[^\W_]\w*")


@dataclass(frozen=True)
class Wanted:
    """The fields of the form.

    Attributes:
        q: The question.
        corpus: A key of `CORPORA`.
        why_not: A file, to say where it lost; or empty.
    """

    q: str = ""
    corpus: str = ""
    why_not: str = ""


class Piece(NamedTuple):
    """A part of a line; `marked` if it is a word of the question."""

    text: str
    marked: bool = False


class CodeLine(NamedTuple):
    """A line of a place; `best` if it matches best."""

    number: int
    pieces: tuple[Piece, ...]
    best: bool = False


class Place(NamedTuple):
    """A place of a file: its lines, the symbol around the best one, and its score."""

    start: int
    end: int
    symbol: str
    score: float
    lines: tuple[CodeLine, ...]


class RankedSignal(NamedTuple):
    """What a signal of the ranking gave; signals that reduce have no colour."""

    name: str
    points: float
    factor: float
    colour: int | None


class FoundFile(NamedTuple):
    """A file that was found.

    Attributes:
        file: Its path, relative to the project.
        score: Its score, relative to the best file.
        signals: What each signal of the ranking gave to it.
        why: The other tags of its rank, such as the commit that is like the question.
        places: Its best places.
    """

    file: str
    score: float
    signals: tuple[RankedSignal, ...]
    why: tuple[str, ...]
    places: tuple[Place, ...]


class Candidate(NamedTuple):
    """A candidate of the map, and the name of its file in links."""

    file: str
    found: ExplainedAgreement


class Compared(NamedTuple):
    """What a signal gave to the named file and to the others; None if it gave nothing."""

    name: str
    points: tuple[float | None, ...]


@dataclass(frozen=True)
class FoundSource:
    """What the search of the source found.

    Attributes:
        files: The files, best first.
        index: How complete the index is.
        signals: The signals that gave or took points, in their order.
        whole: The points that the longest bar shows.
    """

    files: tuple[FoundFile, ...]
    index: Freshness
    signals: tuple[Signal, ...]
    whole: float


async def show(request: Request) -> Response:
    """Show the form and, for a question, what is found."""
    given = request.query_params
    wanted = Wanted(**{name: given.get(name, "").strip() for name in vars(Wanted())})
    data = {"wanted": wanted, "corpora": CORPORA, "colours": COLOURS, "open_files": OPEN_FILES}
    if not wanted.q:
        return render(request, "ask/ask.html", data)
    check_length(wanted.q)
    project = project_of(request)
    mapped = await explain_map(project.context, wanted.q) if wanted.corpus != "forest" else None
    source = None
    if wanted.corpus != "map":
        source = await run_in_thread(find_source, project, wanted.q)
    verdict = None
    if source is not None and wanted.why_not:
        verdict = await run_in_thread(_verdict, project, wanted, mapped)
    candidates = _candidates(project.context, mapped) if mapped else []
    shown = [each for each in candidates if each.found.is_shown]
    return render(
        request,
        "ask/ask.html",
        data
        | {
            "mapped": mapped,
            "candidates": shown,
            "measures": measures_of(shown),
            "others": [each for each in candidates if not each.found.is_shown],
            "source": source,
            "verdict": verdict,
            "compared": compared(verdict) if verdict else [],
        },
    )


def find_source(project: OpenProject, query: str) -> FoundSource:
    """Search the source; this blocks."""
    service: CorpusService = project.services[1]
    answer = service.search(query, TOP_K, explain=True)
    hits = places_of(service.index.store, query, answer.hits, PLACES_PER_FILE)
    terms = frozenset(read(query).terms)
    files = tuple(
        _found_file(project.context, [*places], terms)
        for _, places in groupby(hits, key=lambda hit: hit.document)
    )
    names = {signal.name for file in files for signal in file.signals}
    given = (sum(max(signal.points, 0.0) for signal in file.signals) for file in files)
    return FoundSource(
        files,
        answer.index,
        tuple(signal for signal in RANKING if signal.name in names),
        max(given, default=1.0),
    )


def _found_file(context: GatewayContext, places: Sequence[Hit], terms: frozenset[str]) -> FoundFile:
    best = places[0]
    names = {share.row for share in best.ranking}
    return FoundFile(
        project_path_of(context, best.document),
        best.score or 0.0,
        ranked_signals(best.ranking),
        tuple(tag for tag in best.why if tag.lstrip("-") not in names),
        tuple(_place(hit, terms) for hit in places),
    )


def ranked_signals(shares: Iterable[RowShare]) -> tuple[RankedSignal, ...]:
    """Return what the signals of the ranking gave, with their colours."""
    return tuple(
        RankedSignal(share.row, share.points, share.factor, COLOURS.get(share.row))
        for share in shares
    )


def _place(hit: Hit, terms: frozenset[str]) -> Place:
    shown, text = excerpt(hit, SHOWN_LINES)
    # Secrets may span lines, so the text is masked before it is split.
    lines = tuple(
        CodeLine(number, pieces(line, terms), number == hit.line)
        for number, line in enumerate(masked(text).splitlines(), shown.start_line)
    )
    return Place(hit.start_line, hit.end_line, hit.symbol, hit.score or 0.0, lines)


def pieces(line: str, terms: Collection[str]) -> tuple[Piece, ...]:
    """Return a line in parts, of which those with one of the index tokens are marked."""
    found: list[Piece] = []
    at = 0
    for word in _WORD.finditer(line):
        if not set(terms).isdisjoint(words(word[0])):
            found += [Piece(line[at : word.start()]), Piece(word[0], marked=True)]
            at = word.end()
    return tuple(piece for piece in (*found, Piece(line[at:])) if piece.text)


def _verdict(project: OpenProject, wanted: Wanted, mapped: MapExplanation | None) -> FileVerdict:
    verdict = explain_file(
        project.services[1], wanted.q, wanted.why_not, top_k=TOP_K, per_file=PLACES_PER_FILE
    )
    return verdict._replace(by_map=mapped is not None and mapped.phase is not None)


def compared(verdict: FileVerdict) -> list[Compared]:
    """Return the points of a file beside those of the files that it is compared with."""
    if verdict.found is None or not verdict.found.others:
        return []
    columns = [
        {share.row: share.points for share in each.ranking}
        for each in (verdict.found.file, *verdict.found.others)
    ]
    names = [signal.name for signal in RANKING if any(signal.name in each for each in columns)]
    return [Compared(name, tuple(each.get(name) for each in columns)) for name in names]


def measures_of(candidates: Iterable[Candidate]) -> dict[str, str]:
    """Return what the measures of candidates mean, by name."""
    used = {share.name for each in candidates for share in each.found.candidate.measures}
    return {name: sentence for name, sentence in MEASURES.items() if name in used}


def _candidates(context: GatewayContext, mapped: MapExplanation) -> list[Candidate]:
    return [
        Candidate(encodable(document_of(context.map, each.candidate.entry.path)), each)
        for each in mapped.candidates
    ]


ROUTES = (Route("/ask", show),)
