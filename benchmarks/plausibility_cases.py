"""Lay out what a claim could be, for `fit_plausibility`: every symbol, each with its best line.

A case is one request with the files that answer it. The strongest lazy policy claims, in a wrong
file, the symbol that scores best, with the line that holds most of the request as its quote. The
honest one claims a symbol that was changed, with the best line of that symbol.
"""

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from code_intel.chunking.languages import row_of
from code_intel.chunking.words import words
from code_intel.embedding.engine import Embedder
from code_intel.forest.ranking.closeness import (
    ASIDE,
    RequestSearch,
    SymbolCloseness,
    search_request,
)
from code_intel.forest.ranking.history import CommitHistory
from code_intel.forest.ranking.paths import PATH_KINDS
from code_intel.forest.ranking.question import embedded
from code_intel.foundation import git
from code_intel.index.store import Store
from code_intel.records import Definition
from code_intel.tools.context.plausible import MAX_COMMITS

_HEADER = re.compile(
    r"\b(?:def|class|function|fn|enum|interface|struct|trait|type|impl(?:<[^>]*>)?(?: .* for)?)"
    r"\s+([^\W\d]\w*)|^func (?:\([^)]*\) )?(\w+)"
)


class Case(NamedTuple):
    """One request and what may be claimed for it.

    Attributes:
        repo: The repository.
        request: The request.
        wanted: The files that answer it.
        changed: The (file, qualified name) of the symbols that the commit changed; if empty, any
            symbol of the wanted files is right.
        claims: Each source file's claims.
    """

    repo: str
    request: str
    wanted: frozenset[str]
    changed: frozenset[tuple[str, str]]
    claims: Mapping[str, Sequence["Claim"]]


class Claim(NamedTuple):
    """A symbol with its best line, and how close it is."""

    symbol: str
    closeness: SymbolCloseness


class SourceFile(NamedTuple):
    """A file with the tokens of its lines and its symbols, each with its documentation."""

    lines: Sequence[str]
    tokens: Sequence[frozenset[str]]
    symbols: Sequence[tuple[Definition, str]]


class Project(NamedTuple):
    """A project's source files, by document name."""

    name: str
    store: Store
    files: Mapping[str, SourceFile]
    history: CommitHistory | None = None


def project_of(name: str, store: Store, folder: Path | None = None) -> Project:
    """Read a project's source files as they are indexed, and the commits of its folder."""
    paths = [row.path for row in store.documents() if is_source(row.path)]
    by_file: dict[str, list[tuple[Definition, str]]] = defaultdict(list)
    for definition in store.defined_in(paths):
        by_file[definition.file].append((definition, store.doc_of(definition)))
    texts: dict[str, str] = defaultdict(str)
    for row in store.chunks_of(paths):
        texts[row.path] += row.text
    files = {}
    for path in paths:
        if path in by_file:
            lines = texts[path].splitlines()
            tokens = [frozenset(words(line)) for line in lines]
            files[path] = SourceFile(lines, tokens, by_file[path])
    commits = git.commits(folder, "HEAD", MAX_COMMITS) if folder else None
    return Project(name, store, files, CommitHistory(commits) if commits else None)


def is_source(path: str) -> bool:
    """Return whether a file is code of the project itself."""
    lowered = f"/{path.lower()}"
    return row_of(path).complete and not any(
        kind.pattern.search(lowered) for kind in PATH_KINDS if kind.name in ASIDE
    )


def case_of(
    project: Project,
    request: str,
    wanted: Collection[str],
    headers: Sequence[str],
    parts: Sequence[str] = (),
    embedder: Embedder | None = None,
) -> Case:
    """Return every claim that could be made for one request; `parts` are its filled slots."""
    vectors = {
        text: None if embedder is None else embedded(embedder, text) for text in (request, *parts)
    }
    found = search_request(
        project.store,
        request,
        vectors[request],
        [(part, vectors[part]) for part in parts],
        history=project.history,
    )
    changed = frozenset(changed_symbols(project, wanted, headers))
    claims = {
        path: [_claim(found, file, *symbol) for symbol in file.symbols]
        for path, file in project.files.items()
    }
    return Case(project.name, request, frozenset(wanted), changed, claims)


def _claim(found: RequestSearch, file: SourceFile, definition: Definition, doc: str) -> Claim:
    """Return the claim of a symbol with the line that holds most of the request."""
    span = range(definition.line - 1, min(definition.end_line, len(file.lines)))
    known = found.weights.keys()
    best = max(
        span,
        key=lambda line: sum(found.weights[w] for w in file.tokens[line] & known),
        default=0,
    )
    quote = file.lines[best] if best < len(file.lines) else ""
    text = "\n".join(file.lines[definition.line - 1 : definition.end_line])
    return Claim(definition.qualified, found.closeness(definition, text, doc, quote))


def changed_symbols(
    project: Project, wanted: Collection[str], headers: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield the symbols that git's hunk headers name, and the members of a class they name.

    A header is the line at which a symbol starts, often of a later state of the file. A name that
    the tree does not define in a changed file yields nothing.
    """
    named = {match[1] or match[2] for header in headers if (match := _HEADER.search(header))}
    for path in wanted:
        file = project.files.get(path)
        for definition, _ in file.symbols if file else ():
            if not named.isdisjoint(definition.qualified.split(".")):
                yield path, definition.qualified


def tasks_of(path: Path) -> dict[str, list[Mapping[str, Any]]]:
    """Return the tasks of a JSONL file by repository."""
    found: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        task = json.loads(line)
        found[task["repo"]].append(task)
    return found
