"""The peers' side of `indexing.py` and `peers.py`: runs in the peers' interpreter.

It imports nothing of code-intel.

    pip install semble wordllama bm25s      # into an environment of its own

One request a line on standard input, one answer a line on standard output:

    {"peer": "semble" | "bm25s file" | "bm25s chunk", "folder": PATH,
     "queries": [TEXT], "files": [NAME]}
    {"seconds": SPENT_INDEXING, "files": N, "chunks": N, "found": [[NAME]],
     "places": [[[NAME, FIRST_LINE, LAST_LINE]]], "milliseconds": [PER_QUERY]}

`found` has the ten best distinct files of each query, relative to the folder, and `places` the ten
best places. `files` is for bm25s, which walks no folders. Models are read and everything is
imported before the clock starts.
"""

import importlib
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

DEPTH = 10
WINDOW = 50
"""Lines of a chunk for bm25s."""
_WORD = re.compile(r"\w+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+|\d+")

Answer = dict[str, object]
Place = tuple[str, int, int]
"""A file with the first and the last line of a place."""


def _package(name: str) -> Any:
    """Import what only the peers' interpreter has."""
    return importlib.import_module(name)


def versions() -> Answer:
    """Return which peers there are, and of which version."""
    from importlib.metadata import PackageNotFoundError, version

    found: Answer = {}
    for name in ("semble", "wordllama", "bm25s"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = ""
    return found


def static_model(folder: Path) -> str:
    """Write the static vectors of the wordllama wheel as semble reads them; return where.

    semble's own model lies on a hub; any model2vec folder will do in its place.
    """
    home = Path(str(_package("wordllama").__file__)).parent
    (weights,) = (home / "weights").glob("*.safetensors")
    (tokenizer,) = (home / "tokenizers").glob("*.json")
    (vectors,) = _package("safetensors.numpy").load_file(weights).values()
    model = _package("model2vec").StaticModel(
        vectors.astype("float32"),
        _package("tokenizers").Tokenizer.from_file(str(tokenizer)),
        normalize=True,
    )
    model.save_pretrained(folder)
    return str(folder)


def semble(folder: str, queries: Sequence[str], model: str) -> Answer:
    """Index with all of semble (words, vectors) and search with its hybrid ranking."""
    build = _package("semble").SembleIndex.from_path
    _package("semble.index.dense").load_model(model)
    started = time.perf_counter()
    index = build(folder, model_path=model)
    seconds = time.perf_counter() - started

    def ask(query: str) -> list[Place]:
        hits = (hit.chunk for hit in index.search(query, top_k=5 * DEPTH))
        return [(hit.file_path, hit.start_line, hit.end_line) for hit in hits]

    sizes = {"files": index.stats.indexed_files, "chunks": index.stats.total_chunks}
    return {"seconds": seconds, **sizes, **asked(ask, queries)}


def bm25(folder: str, queries: Sequence[str], files: Sequence[str], window: int) -> Answer:
    """Rank whole files (window 0) or windows of lines by BM25 over identifiers, whole and split."""
    index = _package("bm25s").BM25()
    texts: list[list[str]] = []
    names: list[Place] = []
    started = time.perf_counter()
    for name in files:
        try:
            text = (Path(folder) / name).read_text("utf-8")
        except (UnicodeDecodeError, OSError):
            continue
        for first, piece in windows(text, window):
            texts.append(tokens(piece))
            names.append((name, first, first + piece.count("\n")))
    index.index(texts, show_progress=False)
    seconds = time.perf_counter() - started

    def ask(query: str) -> list[Place]:
        most = min(20 * DEPTH, len(names))
        places, scores = index.retrieve([tokens(query)], k=most, show_progress=False)
        return [names[i] for i, score in zip(places[0], scores[0], strict=True) if score > 0]

    return {"seconds": seconds, "files": len(files), "chunks": len(names), **asked(ask, queries)}


def windows(text: str, window: int) -> Iterable[tuple[int, str]]:
    """Yield the text, or pieces of it of so many lines, each with the number of its first line."""
    lines = text.splitlines(keepends=True)
    size = window or len(lines) or 1
    starts = range(0, len(lines), size)
    return ((start + 1, "".join(lines[start : start + size])) for start in starts)


def tokens(text: str) -> list[str]:
    """Return words in lower case, those of several parts whole and split."""
    found = []
    for word in _WORD.findall(text):
        parts = _PART.findall(word)
        found += [word.lower(), *(part.lower() for part in parts if len(parts) > 1)]
    return found


def asked(ask: Callable[[str], list[Place]], queries: Sequence[str]) -> Answer:
    """Ask everything; a file counts once, where it is found first."""
    found, places, milliseconds = [], [], []
    for query in queries:
        started = time.perf_counter()
        hits = ask(query)
        milliseconds.append(1000 * (time.perf_counter() - started))
        found.append(list(dict.fromkeys(name for name, *_ in hits))[:DEPTH])
        places.append(hits[:DEPTH])
    return {"found": found, "places": places, "milliseconds": milliseconds}


def main() -> None:
    """Answer requests until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries print
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["SEMBLE_CACHE_LOCATION"] = f"{scratch}/cache"
        model = ""
        for line in sys.stdin:
            request = json.loads(line)
            peer, queries = request["peer"], request.get("queries", ())
            if peer == "versions":
                answer = versions()
            elif peer == "semble":
                model = model or static_model(Path(scratch) / "model")
                answer = semble(request["folder"], queries, model)
            else:
                window = 0 if peer == "bm25s file" else WINDOW
                answer = bm25(request["folder"], queries, request["files"], window)
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
