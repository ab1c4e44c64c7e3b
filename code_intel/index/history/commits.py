"""Store the messages of earlier commits, with the files that each changed (docs/decisions/0080)."""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from code_intel.index.database import Database
from code_intel.index.rows import CommitHit, CommitRow, match_any

MAX_HITS = 300
"""Number of commits that answer a question."""
WEIGHTS = (1.0, 0.5, 0.25, 0.125, 0.0625)
"""Weights of the commits of a file whose messages are most like the question."""

INSERT_COMMIT = (
    "INSERT INTO commits(object, subject) VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING id"
)
INSERT_MESSAGE = "INSERT INTO messages(rowid, body) VALUES (?, ?)"
INSERT_CHANGE = "INSERT INTO changes(commit_id, path) VALUES (?, ?)"
CLEAR = (
    "DELETE FROM messages WHERE rowid = ?",
    "DELETE FROM changes WHERE commit_id = ?",
    "DELETE FROM commits WHERE id = ?",
)
MESSAGE_COUNT = "SELECT count(*) FROM messages_docsize"
COUNTS = "SELECT term, doc FROM message_terms WHERE term IN (SELECT value FROM json_each(?))"
HITS = """WITH best AS MATERIALIZED (SELECT rowid AS id, -bm25(messages) AS score FROM messages
    WHERE messages MATCH ? ORDER BY bm25(messages), rowid LIMIT ?)
  SELECT h.path, best.score, c.object, c.subject FROM best
  CROSS JOIN commits c ON c.id = best.id CROSS JOIN changes h ON h.commit_id = best.id
  ORDER BY best.score DESC, best.id, h.path"""


class Commits:
    """The earlier commits of one index."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def objects(self) -> dict[str, int]:
        """Return the row ids of the commits, by object name."""
        return dict(self._db.rows("SELECT object, id FROM commits"))

    def add(self, commits: Iterable[CommitRow]) -> None:
        """Add commits, in one transaction; leave those that another process has added meanwhile."""
        with self._db.batch():
            for commit in commits:
                added = self._db.rows(INSERT_COMMIT, (commit.object, commit.subject))
                for (key,) in added if commit.files else ():
                    self._db.rows(INSERT_MESSAGE, (key, " ".join(commit.words)))
                    self._db.execute_many(INSERT_CHANGE, ((key, path) for path in commit.files))

    def delete(self, ids: Iterable[int]) -> None:
        """Delete commits by row id, in one transaction."""
        with self._db.batch():
            for key in ids:
                for sql in CLEAR:
                    self._db.rows(sql, (key,))

    def hits(self, terms: Iterable[str]) -> dict[str, CommitHit]:
        """Return the files that were changed under messages with any of `terms`.

        The score of a file is the weighted sum of the BM25 of its best messages, relative to the
        weight of all terms: a message that shares one word with a long question says little.
        Terms are tokens as `chunking.words` returns them.
        """
        terms = tuple(dict.fromkeys(terms))
        match = match_any(terms)
        with self._db.snapshot():
            rows = self._db.rows(HITS, (match, MAX_HITS)) if match else []
            weight = self._weight(terms) if rows else 0.0
        found: dict[str, list[tuple[float, str, str]]] = defaultdict(list)
        for path, score, commit, subject in rows:
            found[path].append((score, commit, subject))
        return {
            path: CommitHit(min(1.0, _weighted_sum(commits) / weight), *commits[0][1:])
            for path, commits in found.items()
        }

    def _weight(self, terms: Sequence[str]) -> float:
        """Return the sum of the weights that BM25 gives to some terms, and at least 1."""
        total = int(self._db.value(MESSAGE_COUNT))
        counts = dict(self._db.rows(COUNTS, (json.dumps(terms),)))
        rarity = ((total - n + 0.5) / (n + 0.5) for n in (counts.get(t, 0) for t in terms))
        return max(1.0, sum(math.log(value) for value in rarity if value > 1))


def _weighted_sum(commits: Sequence[tuple[float, str, str]]) -> float:
    return sum(score * weight for (score, *_), weight in zip(commits, WEIGHTS, strict=False))
