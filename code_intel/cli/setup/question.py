"""Choose an example question about the project, for a search without a query."""

from pathlib import PurePosixPath

from code_intel.chunking import decode, parse_file, words
from code_intel.config import FOREST_CONFIG, MAP_CONFIG
from code_intel.errors import NotFoundError
from code_intel.forest.dependencies.build import graph_of
from code_intel.index.facade import Index
from code_intel.index.rows import DocumentRow
from code_intel.index.safe_files import read_document
from code_intel.index.walk import bases
from code_intel.records import Symbol

MAX_DOCUMENTS = 20
"""Number of documents that are read for symbols, most imported first."""
MAX_SYMBOLS = 200
MAX_MENTIONS = 100
"""Counting the chunks that mention a symbol stops here."""
_SETUP_FILES = frozenset({FOREST_CONFIG, MAP_CONFIG, ".mcp.json", ".gitignore"})
_TYPES = frozenset({"class", "interface", "enum", "type", "struct", "trait"})


def example_question(forest: Index) -> str:
    """Return a question about a documented symbol that is mentioned often; else about a document.

    Raises:
        NotFoundError: Nothing is indexed.
    """
    stored = forest.store.documents()
    documents = [d for d in stored if PurePosixPath(d.path).name not in _SETUP_FILES]
    if not documents:
        raise NotFoundError(
            f"No source of {forest.config.folder} is indexed, so there is no example question.",
            hint="Give a question, or run `code-intel sync` once the project has files.",
        )
    graph = graph_of(forest.store, bases(forest.config))
    documents.sort(key=lambda d: (d.priority, -len(graph.inbound(d.path)), -d.lines, d.path))
    symbols = [s for d in documents[:MAX_DOCUMENTS] for s in _symbols(forest, d)][:MAX_SYMBOLS]
    if symbols:
        chosen = max(symbols, key=lambda symbol: _rank(forest, symbol))
        return f"how does {chosen.qualified} work"
    page = next((d for d in documents if d.path.endswith(".md")), documents[0])
    return f"what is in {PurePosixPath(page.path).name}"


def _symbols(forest: Index, document: DocumentRow) -> list[Symbol]:
    """Return the public top-level symbols of a document."""
    try:
        text = decode(read_document(forest.config.folder, document.path))
    except (OSError, ValueError):  # the file is gone
        return []
    found = parse_file(document.path, text or "").symbols
    return [s for s in found if s.name == s.qualified and not s.name.startswith(("_", "test"))]


def _rank(forest: Index, symbol: Symbol) -> tuple[bool, bool, bool, int]:
    """Return a sort key: documented, named by several words, a type, and the number of mentions."""
    longest = max(words(symbol.name), key=len, default="")
    mentions = len(forest.store.word_hits([longest], "body", MAX_MENTIONS))
    compound = len(words(symbol.name)) > 1
    return bool(symbol.doc), compound, symbol.kind in _TYPES, mentions
