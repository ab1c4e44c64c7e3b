"""The tables of an index database, its statements and its invariants (docs/decisions/0011)."""

APPLICATION_ID = 0x43494458
VERSION = 1

NO_CARD, PENDING, EMBEDDED, QUARANTINED = range(4)
"""`chunks.state`: gets no vector; waits for one; has one; its vector was refused."""

TABLES = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents(
  id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, digest TEXT NOT NULL,
  size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, inode INTEGER NOT NULL,
  language TEXT NOT NULL, lines INTEGER NOT NULL, problem TEXT NOT NULL,
  indexed_at TEXT NOT NULL, priority INTEGER NOT NULL);
CREATE TABLE chunks(
  id INTEGER PRIMARY KEY AUTOINCREMENT, document_id INTEGER NOT NULL, position INTEGER NOT NULL,
  start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, text TEXT NOT NULL, symbols TEXT NOT NULL,
  card TEXT NOT NULL, card_digest TEXT NOT NULL, priority INTEGER NOT NULL, state INTEGER NOT NULL,
  problem TEXT NOT NULL DEFAULT '', UNIQUE(document_id, position));
CREATE INDEX chunks_pending ON chunks(priority, position, id) WHERE state = 1;
CREATE INDEX chunks_quarantined ON chunks(id) WHERE state = 3;
CREATE TABLE symbols(
  id INTEGER PRIMARY KEY, document_id INTEGER NOT NULL, name TEXT NOT NULL, qualified TEXT NOT NULL,
  folded TEXT NOT NULL, kind TEXT NOT NULL, start_line INTEGER NOT NULL, end_line INTEGER NOT NULL,
  signature TEXT NOT NULL, doc TEXT NOT NULL, digest TEXT NOT NULL);
CREATE INDEX symbols_name ON symbols(name);
CREATE INDEX symbols_document ON symbols(document_id);
CREATE TABLE imports(document_id INTEGER NOT NULL, position INTEGER NOT NULL, target TEXT NOT NULL,
  PRIMARY KEY(document_id, position)) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(body, names, content='', contentless_delete=1,
  tokenize="unicode61 remove_diacritics 0 categories 'L* N* M* P* S* Co'");
"""
# AUTOINCREMENT: an id is never given twice, so a hit whose document was replaced meanwhile is gone
# and not somebody else's text. `categories`: the text comes tokenised, only white space separates.

VECTORS = (
    "CREATE VIRTUAL TABLE vectors USING vec0(embedding float[{dimensions}] distance_metric=cosine)"
)

INVARIANTS: tuple[tuple[str, str], ...] = (
    (
        "chunks without a document",
        "SELECT count(*) FROM chunks WHERE document_id NOT IN (SELECT id FROM documents)",
    ),
    (
        "symbols without a document",
        "SELECT count(*) FROM symbols WHERE document_id NOT IN (SELECT id FROM documents)",
    ),
    (
        "imports without a document",
        "SELECT count(*) FROM imports WHERE document_id NOT IN (SELECT id FROM documents)",
    ),
    (
        "documents whose chunk positions have gaps",
        """SELECT count(*) FROM
        (SELECT 1 FROM chunks GROUP BY document_id HAVING count(*) != max(position) + 1)""",
    ),
    (
        "word rows without a chunk",
        "SELECT count(*) FROM words_docsize WHERE id NOT IN (SELECT id FROM chunks)",
    ),
    (
        "chunks without words",
        "SELECT count(*) FROM chunks WHERE id NOT IN (SELECT id FROM words_docsize)",
    ),
    (
        "vectors without a chunk that claims one",
        """SELECT count(*) FROM vectors_rowids
        WHERE rowid NOT IN (SELECT id FROM chunks WHERE state = 2)""",
    ),
    (
        "chunks that claim a vector and have none",
        """SELECT count(*) FROM chunks
        WHERE state = 2 AND id NOT IN (SELECT rowid FROM vectors_rowids)""",
    ),
    (
        "vector rows the vector table does not count",
        "SELECT abs((SELECT count(*) FROM vectors) - (SELECT count(*) FROM vectors_rowids))",
    ),
    (
        "chunks whose state contradicts their card",
        "SELECT count(*) FROM chunks WHERE (card = '') != (state = 0)",
    ),
)
"""(what, SQL that counts it): all zero in a sound database."""

READABLE = (
    "SELECT path, language, problem FROM documents",
    "SELECT text, symbols, card, problem FROM chunks",
    "SELECT name, qualified, kind, signature, doc FROM symbols",
    "SELECT target FROM imports",
    "SELECT key, value FROM meta",
)
"""Every text: SQLite does not see damage that leaves the pages in order and the text no UTF-8."""

DEFINITION = """SELECT s.name, s.qualified, s.kind, d.path, s.start_line, s.end_line, s.signature,
  d.language, s.digest FROM symbols s JOIN documents d ON d.id = s.document_id"""
DOCUMENT = """SELECT path, digest, size, mtime_ns, inode, language, lines, problem, indexed_at,
  priority, id FROM documents"""
CHUNK = """SELECT c.id, c.document_id, d.path, c.position, c.start_line, c.end_line, c.text,
  c.symbols, d.language, c.card FROM chunks c JOIN documents d ON d.id = c.document_id"""
"""SELECTs in the order of their rows' fields, to be continued with WHERE."""

CHUNKS = f"{CHUNK} WHERE c.id IN (SELECT value FROM json_each(?))"  # noqa: S608 - constants
SIMILAR = f"""{DEFINITION} WHERE instr(s.folded, ?1) ORDER BY s.folded != ?1, length(s.folded),
  d.priority, d.path, s.start_line LIMIT ?2"""
DEFINITION_CHUNKS = """SELECT c.id FROM symbols s JOIN chunks c ON c.document_id = s.document_id
  AND s.start_line BETWEEN c.start_line AND c.end_line
  WHERE s.name = ? GROUP BY c.id ORDER BY c.priority, c.id"""
IMPORTS = """SELECT d.path, i.target FROM imports i JOIN documents d ON d.id = i.document_id
  ORDER BY d.path, i.position"""

WORD_HITS = """SELECT rowid, -bm25(words) FROM words WHERE words MATCH ?
  ORDER BY bm25(words), rowid LIMIT ?"""
VECTOR_HITS = """SELECT rowid, 1 - distance FROM vectors WHERE embedding MATCH ? AND k = ?
  ORDER BY distance"""
VECTORS_OF = """SELECT v.rowid, v.embedding FROM json_each(?) j
  CROSS JOIN vectors v ON v.rowid = j.value"""
CARDED_VECTORS = """SELECT c.card_digest, v.embedding FROM chunks c JOIN vectors v ON v.rowid = c.id
  WHERE c.document_id = ? AND c.state = 2"""
CARDS = """SELECT c.id, d.path, c.card FROM chunks c JOIN documents d ON d.id = c.document_id
  WHERE c.position = 0 AND c.card != '' ORDER BY d.path"""
WAITING = """SELECT id, card FROM chunks WHERE state = 1
  AND (?1 IS NULL OR document_id = (SELECT id FROM documents WHERE path = ?1))
  ORDER BY priority, position, id LIMIT ?2"""
CLAIM = "UPDATE chunks SET state = 2, problem = '' WHERE id = ? AND state != 0 RETURNING id"
REFUSED = """SELECT d.path, c.position, c.problem FROM chunks c
  JOIN documents d ON d.id = c.document_id WHERE c.state = 3 ORDER BY c.id"""

INSERT_DOCUMENT = """INSERT INTO documents(path, digest, size, mtime_ns, inode, language, lines,
  problem, indexed_at, priority) VALUES (?,?,?,?,?,?,?,?,?,?) RETURNING id"""
UPDATE_DOCUMENT = """UPDATE documents SET path=?, digest=?, size=?, mtime_ns=?, inode=?, language=?,
  lines=?, problem=?, indexed_at=?, priority=? WHERE id=?"""
INSERT_CHUNK = """INSERT INTO chunks(document_id, position, start_line, end_line, text, symbols, card,
  card_digest, priority, state) VALUES (?,?,?,?,?,?,?,?,?,?) RETURNING id"""
INSERT_SYMBOL = """INSERT INTO symbols(document_id, name, qualified, folded, kind, start_line,
  end_line, signature, doc, digest) VALUES (?,?,?,?,?,?,?,?,?,?)"""

CLEAR = (
    "DELETE FROM words WHERE rowid IN (SELECT id FROM chunks WHERE document_id = ?)",
    "DELETE FROM chunks WHERE document_id = ?",
    "DELETE FROM symbols WHERE document_id = ?",
    "DELETE FROM imports WHERE document_id = ?",
)
"""Deletes what hangs on a document, save its vectors: sqlite-vec answers IN with a full scan."""
CLEAR_VECTOR = "DELETE FROM vectors WHERE rowid = ?"
EMBEDDED_OF = "SELECT id FROM chunks WHERE document_id = ? AND state = 2"
