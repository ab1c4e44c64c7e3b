"""Search one corpus, the map or the forest.

The stand-alone servers, the gateway and the terminal share `CorpusService`, so they all return the
same results. Its methods block; servers call them on worker threads.
"""

import os
import shlex
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from code_intel.chunking.lexicon import english
from code_intel.config import (
    IndexConfig,
    Settings,
    find_root,
    load_settings,
)
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.lazy import ENGINES, EngineSpec, LazyEmbedder
from code_intel.errors import EmbeddingError, UsageError
from code_intel.forest.current_hits import FoundHits, current, found_in, is_behind
from code_intel.forest.ranking.evidence import FoundWords
from code_intel.forest.ranking.question import embedded
from code_intel.forest.ranking.search import search as search_forest
from code_intel.forest.ranking.search import search_words, within
from code_intel.foundation.text import counted, without_hidden
from code_intel.index.facade import Index
from code_intel.index.indexer import Activity
from code_intel.index.walk import bases, document_name
from code_intel.learned.recall import calibration
from code_intel.learned.recall.candidates import MapCache
from code_intel.learned.recall.map_search import search as search_map
from code_intel.records import Freshness, Hit, SearchAnswer
from code_intel.tools.progress import Report, ignore_progress

if TYPE_CHECKING:  # numpy costs a handshake 0.1 s
    import numpy as np
    from numpy.typing import NDArray

OTHER_MODEL = (
    "embedding: words only, because the index has vectors of another model; "
    "{done:,} of {total:,} vectors of the new model are ready"
)
TOO_FEW = "embedding: words only, until a third of the source has vectors"
MIN_COVERAGE = 1 / 3
"""Minimum share of the source with vectors. Files without vectors rank behind files with vectors,
so a search with a tenth of the vectors is worse than one without any (docs/decisions/0024)."""
IN_CONFLICT = (
    "agreements: {} in conflict, not searched until the merge is resolved; "
    "see `code-intel map list`"
)


class EmbeddedQuery(NamedTuple):
    """A query with its vector and the engine's identity, or the reason why it has none."""

    vector: "NDArray[np.float32] | None" = None
    identity: str = ""
    degraded: tuple[str, ...] = ()
    text: str = ""


UNCALIBRATED = (
    "embedding: this model has no calibration, so only exact terms lead to READY; run "
    "`code-intel calibrate`"
)
UNFILTERED_HITS = 10_000
"""Maximum hits of the map before they are filtered by folder or file name."""


@dataclass(frozen=True)
class CorpusService:
    """One corpus.

    Attributes:
        settings: The project's settings.
        index: The index of this corpus.
        forest: The index of the project's forest, by which the map checks its agreements.
        embedder: The process's model.
        report: Sends progress to the client.
        cache: Data of the map that is cached between queries.
    """

    settings: Settings
    index: Index
    forest: Index
    embedder: LazyEmbedder
    report: Report = ignore_progress
    cache: MapCache = field(default_factory=MapCache)

    def search(
        self,
        query: str,
        top_k: int,
        directory: str = "",
        file_pattern: str = "",
        *,
        own: bool = False,
        explain: bool = False,
    ) -> SearchAnswer:
        """Search the corpus; without a model, search by keyword only and add a note.

        `own` adds the best page of a query plan to the hits of the forest, and `explain` what each
        row of the ranking gave to them.

        Raises:
            UsageError: The query is blank.
            NotFoundError: There is no index, and it must not be created.
            StorageError: The index cannot be used; the hint says how to rebuild it.
        """
        check_query(query)
        directory = self._folder(directory)
        is_map = self.index.config.corpus == "map"
        in_forest = partial(self._search_forest, own=own, explain=explain)
        search = self._search_map if is_map else in_forest
        not_shared: tuple[str, ...] = ()
        try:
            if not is_map and self.settings.shared.url:
                from code_intel.tools.context.repositories.shared_forest import (
                    ForestQuestion,
                    ask_shared,
                )

                asked = ForestQuestion(query, top_k, directory, file_pattern, explain)
                shared, not_shared = ask_shared(self, asked)
                if shared is not None:
                    return shared
            hits, degraded = search(query, top_k, directory, file_pattern)
        finally:  # not earlier, because a scan would slow this search down
            self.index.request_scan()
        notes = () if hits else self._filter_notes(directory, file_pattern)
        found = self.freshness((*degraded, *not_shared, *notes))
        return SearchAnswer(
            tuple(hits), replace(found, state="stale") if is_behind(found) else found
        )

    def _search_map(
        self, query: str, top_k: int, directory: str, file_pattern: str
    ) -> tuple[list[Hit], tuple[str, ...]]:
        """Return the hits, and notes on what could not be searched."""
        question = self.comparable(self.question(query))
        hits, conflicts = search_map(
            self.settings,
            self.index,
            self.forest,
            query,
            question.vector,
            question.identity,
            top_k=UNFILTERED_HITS if directory or file_pattern else top_k,
            cache=self.cache,
        )
        notes: tuple[str, ...] = (IN_CONFLICT.format(conflicts),) if conflicts else ()
        notes += self.uncalibrated() if question.vector is not None else ()
        found = [hit for hit in hits if within(hit.document, directory, file_pattern)]
        return found[:top_k], (*question.degraded, *notes)

    def uncalibrated(self) -> tuple[str, ...]:
        """Return a note if the map's model has no calibration."""
        calibrated = calibration.of_project(self.settings, self.embedder.identity)
        return () if calibrated else (UNCALIBRATED,)

    def _search_forest(
        self,
        query: str,
        top_k: int,
        directory: str,
        file_pattern: str,
        *,
        own: bool,
        explain: bool,
    ) -> tuple[list[Hit], tuple[str, ...]]:
        """Return the hits, and notes on what could not be searched."""
        store = self.index.store
        with ThreadPoolExecutor(1, thread_name_prefix="question") as pool:
            embedding = pool.submit(self.question, query)
            # Not in the snapshot below: it would keep other calls waiting for the model, too.
            first = search_words(store, query, directory, file_pattern)
            question = embedding.result()
        degraded: tuple[str, ...] = ()

        def ask(words: FoundWords | None) -> FoundHits:
            nonlocal degraded
            with store.snapshot():  # the active vectors may be replaced at any time
                comparable = self.comparable(question)
                degraded = comparable.degraded
                hits = search_forest(
                    store,
                    query,
                    comparable.vector,
                    top_k=top_k,
                    directory=directory,
                    file_pattern=file_pattern,
                    bases=bases(self.index.config),
                    own=store if own else None,
                    words=words,
                    explain=explain,
                )
                return found_in(store, hits)

        hits, notes = current(self.index, ask(first), partial(ask, None))
        return hits, (*degraded, *notes)

    def _folder(self, directory: str) -> str:
        """Return a folder relative to the config's folder; empty if it contains all documents."""
        if not directory:
            return ""
        folder = os.path.realpath(self.index.config.folder)
        wanted = os.path.normpath(os.path.join(folder, directory))  # noqa: PTH118 - any text
        everything = f"{folder}{os.sep}".startswith(f"{wanted.rstrip(os.sep)}{os.sep}")
        return "" if everything else document_name(wanted, folder)

    def _filter_notes(self, directory: str, file_pattern: str) -> tuple[str, ...]:
        """Return a note if the folder and the glob exclude all documents."""
        documents = self.index.store.documents() if directory or file_pattern else []
        if not documents or any(within(d.path, directory, file_pattern) for d in documents):
            return ()
        wanted = [f"is below {directory}"] if directory else []
        wanted += [f"matches {file_pattern[:80]}"] if file_pattern else []
        return (f"filter: none of {counted(len(documents), 'document')} {' and '.join(wanted)}",)

    def freshness(self, degraded: tuple[str, ...]) -> Freshness:
        """Return how complete the index is, and why missing vectors take long to compute."""
        found = self.index.freshness(degraded)
        slow = self.embedder.degraded() if found.pending else ""
        return replace(found, degraded=(*found.degraded, f"embedding: {slow}")) if slow else found

    def question(self, query: str) -> EmbeddedQuery:
        """Embed a query, or return the reason why it has no vector."""
        if why := self.embedder.why_unavailable():
            return EmbeddedQuery(degraded=(f"embedding: {why}",))
        try:
            # The map's scores are calibrated for queries that are embedded unchanged.
            is_map = self.index.config.corpus == "map"
            vector = self.embedder.queries([query])[0] if is_map else embedded(self.embedder, query)
            return EmbeddedQuery(vector, self.embedder.identity, text=query)
        except EmbeddingError as error:
            return EmbeddedQuery(degraded=(f"embedding: {error.message}",))

    def comparable(self, question: EmbeddedQuery) -> EmbeddedQuery:
        """Return the question, without its vector if the index has too few or other vectors.

        The map's scores are calibrated for one engine, so the map uses only vectors of that engine.
        For a question in another script than the code, a search by keyword finds little, so any
        number of vectors will do.
        """
        if question.vector is None:
            return question
        generations = self.index.store.generations
        active, identity = generations.active().identity, question.identity
        if not active:
            return question
        is_map = self.index.config.corpus == "map"
        if active == identity if is_map else self.embedder.can_search(active):
            has_words = question.text.isascii() or english(question.text)
            if (
                not is_map
                and has_words
                and generations.coverage(generations.active()) < MIN_COVERAGE
            ):
                return EmbeddedQuery(degraded=(TOO_FEW,))
            return question
        done, total = generations.progress(identity)
        return EmbeddedQuery(degraded=(OTHER_MODEL.format(done=done, total=total),))


def check_query(query: str, field: str = "query") -> None:
    """Refuse a blank query.

    Raises:
        UsageError: It contains only white space and invisible characters.
    """
    if not without_hidden(query).strip():
        raise UsageError(f"{field} is empty.", details={"field": field})


def open_service(config: IndexConfig, *, readonly: bool = False) -> CorpusService:
    """Return the service of one config, with its own model. Nothing is opened yet.

    Args:
        config: The index's configuration.
        readonly: Whether to leave the index as it is: not create, move or repair it.
    """
    settings = settings_of(config)
    config = settings.map if config.corpus == "map" else settings.forest
    for_map, for_forest, cache = open_models(settings)
    embedder = for_map if config.corpus == "map" else for_forest
    forest = Index(settings.forest, readonly=True)
    index = Index(
        config, embedder=embedder, cache=cache, readonly=readonly, command=devrag_sync(config)
    )
    return CorpusService(settings, index, forest if config.corpus == "map" else index, embedder)


def open_project(
    settings: Settings, *, readonly: bool = False, engines: Sequence[EngineSpec] = ENGINES
) -> tuple[CorpusService, CorpusService]:
    """Return the services of a project's map and forest, which share their engines.

    Without engines, they search words only.
    """
    for_map, for_forest, cache = open_models(settings, engines)
    activity = Activity()
    map_index, forest = (
        Index(
            config,
            embedder=embedder,
            cache=shared_vectors(settings) or cache if config is settings.forest else cache,
            readonly=readonly,
            check_disk=readonly,
            activity=activity,
            command=project_sync(settings),
        )
        for config, embedder in ((settings.map, for_map), (settings.forest, for_forest))
    )
    return (
        CorpusService(settings, map_index, forest, for_map),
        CorpusService(settings, forest, forest, for_forest),
    )


def shared_vectors(settings: Settings) -> VectorCache | None:
    """Return the vector cache of a project with a shared index; None if it has none."""
    if not settings.shared.is_usable:
        return None
    from code_intel.shared.connection import connection_of  # only projects with a shared index
    from code_intel.shared.shared_vectors import SharedVectors

    connection = connection_of(settings)
    if connection is None:
        return None
    return SharedVectors(Path(settings.cache_dir), connection, settings.forest.dimensions)


def project_sync(settings: Settings) -> str:
    """Return the command that builds both indexes, from any folder."""
    return f"code-intel sync {shlex.quote(str(settings.root))}"


def devrag_sync(config: IndexConfig) -> str:
    """Return the command that builds one index, from any folder."""
    if not config.path.is_file():  # devrag's defaults for the current folder
        return "devrag sync"
    return f"devrag --config {shlex.quote(str(config.path))} sync"


def settings_of(config: IndexConfig) -> Settings:
    """Return the settings of a config's project, with this config for its corpus."""
    settings = load_settings(find_root(config.folder))
    if config.corpus == "map":
        return replace(settings, map=config)
    forest = settings.forest
    pages = forest.knowledge if config.path == forest.path else None
    return replace(settings, forest=replace(config, knowledge=pages))


def open_models(
    settings: Settings, engines: Sequence[EngineSpec] = ENGINES
) -> tuple[LazyEmbedder, LazyEmbedder, VectorCache]:
    """Return the models for map and forest, not loaded yet, and the user's vector cache.

    Both models use the same engine for queries; the forest may use another one for passages.
    """
    for_map = LazyEmbedder(settings, engines, corpus="map")
    for_forest = LazyEmbedder(settings, engines, corpus="forest", shared_with=for_map)
    return for_map, for_forest, VectorCache(Path(settings.cache_dir))
