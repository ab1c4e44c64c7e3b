"""Search the words of chunks, and count the chunks that have one.

A chunk is one row of an FTS5 table. The tokens of its path and symbols have a mark, so its text and
its names are searched apart, and each list of chunks that FTS5 reads has only those of one of them.

The rank of a chunk costs FTS5 about as much as reading it, and some words are in every fifth chunk.
So in a large index, only chunks with a rare word of the question are candidates, and its common
words only add to their scores (docs/decisions/0107).
"""

import json
from collections.abc import Iterable

from code_intel.index import schema
from code_intel.index.database import Database
from code_intel.index.rows import Column, Hits, match_any

NAME = "="
"""Marks a token of a path or a symbol; tokens themselves have only letters, digits and `_`."""
MAX_PAIRS = 10_000
"""Maximum pairs of a rare word and a chunk with it that are read, if enough chunks have one."""
ENOUGH = 2
"""Pairs that are read at least, for each chunk that is wanted."""


def joined_tokens(body: str, names: str) -> str:
    """Return the tokens of a chunk as its row has them; both arguments are separated by spaces."""
    return " ".join([body, *(NAME + token for token in names.split())])


class WordSearch:
    """The words of one index."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._version: tuple[int, ...] | None = None
        self._chunks = 0
        self._counts: dict[str, int] = {}

    def hits(self, terms: Iterable[str], column: Column, limit: int) -> Hits:
        """Return (chunk id, BM25) of chunks with any of `terms`, best first; higher is better.

        Scores are exact. In a large index, a chunk whose only words are common may be missing.
        """
        if limit <= 0:
            return []
        with self._db.snapshot():
            rare, common = self._divided(_marked(terms, column), limit)
            found = self._best(match_any(rare), limit)
            if not common:
                return found
            if len(found) < limit:  # the rare words are in the same chunks
                return self._best(match_any([*rare, *common]), limit)
            both = self._best(f"({match_any(rare)}) AND ({match_any(common)})", limit)
        best = (dict(found) | dict(both)).items()  # with its common words, a chunk scores higher
        return sorted(best, key=lambda hit: (-hit[1], hit[0]))[:limit]

    def hits_among(
        self, chunks: Iterable[int], terms: Iterable[str], column: Column, limit: int
    ) -> Hits:
        """Return the same as `hits` for some chunks alone; none is missing."""
        match = match_any(_marked(terms, column))
        if not match or limit <= 0:
            return []
        return self._db.rows(schema.WORD_HITS_AMONG, (match, json.dumps([*chunks]), limit))

    def files(self, term: str) -> int:
        """Return the number of source files with a token, without tests and documents."""
        match = match_any((term,))
        return int(self._db.value(schema.FILES_WITH, (match,))) if match else 0

    def counts(self, terms: Iterable[str]) -> tuple[int, dict[str, int]]:
        """Return the number of chunks, and for each token that occurs, that of chunks with it.

        Chunks with it in their text and chunks with it in their names are counted apart, and the
        larger number is returned: nearly all of the others have it in both.
        """
        wanted = [*terms]
        with self._db.snapshot():
            known = self._counted([*wanted, *(NAME + term for term in wanted)])
            most = {term: max(known[term], known[NAME + term]) for term in wanted}
            return self._chunks, {term: count for term, count in most.items() if count}

    def _best(self, match: str, limit: int) -> Hits:
        return self._db.rows(schema.WORD_HITS, (match, limit)) if match else []

    def _divided(self, tokens: list[str], limit: int) -> tuple[list[str], list[str]]:
        """Return the rare and the common ones of some tokens."""
        counts = self._counted(tokens)
        if self._chunks * len(tokens) <= MAX_PAIRS:
            return tokens, []
        tokens.sort(key=counts.__getitem__)
        pairs = 0
        for place, token in enumerate(tokens):
            if pairs >= ENOUGH * limit and pairs + counts[token] > MAX_PAIRS:
                return tokens[:place], tokens[place:]
            pairs += counts[token]
        return tokens, []

    def _counted(self, tokens: Iterable[str]) -> dict[str, int]:
        """Return in how many chunks tokens are; of a common one, SQLite counts every chunk.

        Call it inside a snapshot, which also keeps other threads from changing what is known.
        """
        version = self._db.version_token()
        if version is None or version != self._version:
            self._version, self._counts = version, {}
            self._chunks = int(self._db.value(schema.CHUNK_COUNT))
        new = [token for token in tokens if token not in self._counts]
        if new:
            found = dict(self._db.rows(schema.WORD_COUNTS, (json.dumps(new),)))
            self._counts |= {token: found.get(token, 0) for token in new}
        return self._counts


def _marked(terms: Iterable[str], column: Column) -> list[str]:
    """Return the tokens of some terms in a column."""
    mark = NAME if column == "names" else ""
    return [mark + term for term in terms if term]
