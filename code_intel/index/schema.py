"""Define the tables, statements and invariants of an index database (docs/decisions/0011, 0016)."""

APPLICATION_ID = 0x43494458
SCHEMA_VERSION = 6

PENDING, EMBEDDED, REFUSED = 1, 2, 3
"""Values of `passages.state`: no vector yet; a vector; the model returned no usable one."""

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
  card TEXT NOT NULL, card_digest TEXT NOT NULL, priority INTEGER NOT NULL,
  UNIQUE(document_id, position));
CREATE TABLE symbols(
  id INTEGER PRIMARY KEY, document_id INTEGER NOT NULL, name TEXT NOT NULL, qualified TEXT NOT NULL,
  folded TEXT NOT NULL, kind TEXT NOT NULL, start_line INTEGER NOT NULL, end_line INTEGER NOT NULL,
  signature TEXT NOT NULL, doc TEXT NOT NULL, digest TEXT NOT NULL,
  body TEXT NOT NULL DEFAULT '');
CREATE INDEX symbols_name ON symbols(name);
CREATE INDEX symbols_body ON symbols(body) WHERE body != '';
CREATE INDEX symbols_document ON symbols(document_id);
CREATE TABLE imports(document_id INTEGER NOT NULL, position INTEGER NOT NULL, target TEXT NOT NULL,
  PRIMARY KEY(document_id, position)) WITHOUT ROWID;
CREATE TABLE generations(
  id INTEGER PRIMARY KEY AUTOINCREMENT, identity TEXT NOT NULL, dimensions INTEGER NOT NULL,
  active INTEGER NOT NULL UNIQUE CHECK(active IN (0, 1)));
CREATE TABLE passages(
  generation INTEGER NOT NULL, chunk INTEGER NOT NULL, priority INTEGER NOT NULL,
  position INTEGER NOT NULL, state INTEGER NOT NULL, problem TEXT NOT NULL,
  PRIMARY KEY(generation, chunk)) WITHOUT ROWID;
CREATE INDEX passages_pending ON passages(generation, priority, position, chunk) WHERE state = 1;
CREATE INDEX passages_refused ON passages(generation, chunk) WHERE state = 3;
CREATE TABLE vectors(
  id INTEGER PRIMARY KEY AUTOINCREMENT, generation INTEGER NOT NULL, chunk INTEGER NOT NULL,
  vector BLOB NOT NULL, UNIQUE(generation, chunk));
CREATE TABLE choices(path TEXT PRIMARY KEY, wanted INTEGER NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(tokens, content='', contentless_delete=1,
  tokenize="unicode61 remove_diacritics 0 categories 'L* N* M* P* S* Co'");
CREATE TABLE commits(id INTEGER PRIMARY KEY, object TEXT NOT NULL UNIQUE, subject TEXT NOT NULL);
CREATE TABLE changes(commit_id INTEGER NOT NULL, path TEXT NOT NULL,
  PRIMARY KEY(commit_id, path)) WITHOUT ROWID;
CREATE VIRTUAL TABLE messages USING fts5(body, content='', contentless_delete=1,
  tokenize="unicode61 remove_diacritics 0 categories 'L* N* M* P* S* Co'");
CREATE VIRTUAL TABLE word_terms USING fts5vocab(words, row);
CREATE VIRTUAL TABLE message_terms USING fts5vocab(messages, row);
"""
# AUTOINCREMENT: ids are never reused. So if a document is replaced during a search, its hits are
# dropped instead of showing another document's text, and an id identifies a vector in memory.
# `categories`: the text has been tokenised already; only white space separates tokens.
# `active` is UNIQUE: one generation is active, and at most one is being built.

FIRST_GENERATION = "INSERT INTO generations(identity, dimensions, active) VALUES ('', 0, 1)"
"""Adds the generation of an index without a model: it has no vectors; every card is pending."""

INVARIANTS: tuple[tuple[str, str], ...] = (
    *(
        (
            f"{table} without a document",
            f"""SELECT count(*) FROM {table}
            WHERE document_id NOT IN (SELECT id FROM documents)""",  # noqa: S608 - constants
        )
        for table in ("chunks", "symbols", "imports")
    ),
    (
        "documents whose chunk positions have gaps",
        """SELECT count(*) FROM
        (SELECT 1 FROM chunks GROUP BY document_id HAVING count(*) != max(position) + 1)""",
    ),
    *(
        (
            f"{what} without a commit",
            f"SELECT count(*) FROM {table} WHERE {key} NOT IN (SELECT id FROM commits)",  # noqa: S608 - constants
        )
        for what, table, key in (
            ("changes", "changes", "commit_id"),
            ("messages", "messages_docsize", "id"),
        )
    ),
    (
        "word rows without a chunk",
        "SELECT count(*) FROM words_docsize WHERE id NOT IN (SELECT id FROM chunks)",
    ),
    (
        "chunks without words",
        """SELECT count(*) FROM chunks WHERE id NOT IN (SELECT id FROM words_docsize)
        AND substr(card, 1, 1) != char(31) AND document_id NOT IN
        (SELECT id FROM documents WHERE path GLOB '*cache/knowledge/*.md')""",
    ),
    (
        "cards missing from a generation, or twice in it",
        """SELECT (SELECT count(*) FROM generations)
        * (SELECT count(*) FROM chunks WHERE card != '')
        - (SELECT count(*) FROM passages p JOIN chunks c ON c.id = p.chunk AND c.card != ''
        JOIN generations g ON g.id = p.generation)""",
    ),
    (
        "passages without a card or a generation",
        """SELECT count(*) FROM passages
        WHERE chunk NOT IN (SELECT id FROM chunks WHERE card != '')
        OR generation NOT IN (SELECT id FROM generations)""",
    ),
    (
        "passages in another order than their chunks",
        """SELECT count(*) FROM passages p JOIN chunks c ON c.id = p.chunk
        WHERE (p.priority, p.position) != (c.priority, c.position)""",
    ),
    (
        "active generations, too few or too many",
        "SELECT abs(1 - count(*)) FROM generations WHERE active",
    ),
    (
        "vectors without a card in state `embedded`",
        """SELECT count(*) FROM vectors v WHERE NOT EXISTS (SELECT 1 FROM passages p
        WHERE p.generation = v.generation AND p.chunk = v.chunk AND p.state = 2)""",
    ),
    (
        "cards in state `embedded` without a vector",
        """SELECT count(*) FROM passages p WHERE p.state = 2 AND NOT EXISTS (SELECT 1 FROM vectors v
        WHERE v.generation = p.generation AND v.chunk = p.chunk)""",
    ),
)
"""(description, SQL that counts the violations); every count is 0 in an intact database."""

VECTOR_COUNT = "SELECT count(*) FROM vectors WHERE generation = ?"
VECTOR_COUNT_UP_TO = "SELECT count(*) FROM vectors WHERE generation = ? AND id <= ?"
VECTOR_IDS = "SELECT id FROM vectors WHERE generation = ?"
VECTOR_IDS_OF = """SELECT v.id FROM json_each(?) j
  CROSS JOIN vectors v ON v.generation = ? AND v.chunk = j.value"""
VECTORS_AFTER = """SELECT id, chunk, vector FROM vectors WHERE id > ? AND +generation = ?
  ORDER BY id"""
"""`+` keeps SQLite from using the index on (generation, chunk): it would read pages at random."""

LAST_VECTOR = "SELECT max(id) FROM vectors"
VECTORS_WITH_IDS = """SELECT v.id, v.chunk, v.vector FROM json_each(?) j
  CROSS JOIN vectors v ON v.id = j.value"""

READABLE = (
    "SELECT path, language, problem FROM documents",
    "SELECT text, symbols, card FROM chunks",
    "SELECT identity FROM generations",
    "SELECT problem FROM passages WHERE problem != ''",
    "SELECT path, wanted FROM choices",
    "SELECT name, qualified, kind, signature, doc FROM symbols",
    "SELECT target FROM imports",
    "SELECT key, value FROM meta",
    "SELECT object, subject FROM commits",
    "SELECT path FROM changes",
)
"""Queries that read every text: SQLite does not detect invalid UTF-8 in otherwise valid pages."""

DEFINITION = """SELECT s.name, s.qualified, s.kind, d.path, s.start_line, s.end_line, s.signature,
  d.language, s.digest, s.body FROM symbols s JOIN documents d ON d.id = s.document_id"""
DOCUMENT = """SELECT path, digest, size, mtime_ns, inode, language, lines, problem, indexed_at,
  priority, id FROM documents"""
FILE_STATES = "SELECT path, digest, size, mtime_ns, inode FROM documents"
FILE_STATES_OF = f"""{FILE_STATES}
  WHERE path IN (SELECT value FROM json_each(?))"""  # noqa: S608 - constants
CHUNK = """SELECT c.id, c.document_id, d.path, c.position, c.start_line, c.end_line, c.text,
  c.symbols, d.language, c.card FROM chunks c JOIN documents d ON d.id = c.document_id"""
"""Queries with the columns of the row classes, in order; the caller appends a WHERE clause."""

CHUNK_PLACES = """SELECT c.id, d.path, c.position, d.language, c.symbols FROM chunks c
  JOIN documents d ON d.id = c.document_id WHERE c.id IN (SELECT value FROM json_each(?))"""
CHUNK_TEXTS = "SELECT id, text FROM chunks WHERE id IN (SELECT value FROM json_each(?))"
CHUNKS = f"{CHUNK} WHERE c.id IN (SELECT value FROM json_each(?))"  # noqa: S608 - constants
CHUNKS_OF = f"""{CHUNK} WHERE d.path IN (SELECT value FROM json_each(?))
  ORDER BY d.path, c.position"""  # noqa: S608 - constants
DEFINED_IN = f"""{DEFINITION} WHERE d.path IN (SELECT value FROM json_each(?))
  ORDER BY d.path, s.start_line, s.end_line DESC, s.id"""  # noqa: S608 - constants
NAMED_SYMBOLS = f"""{DEFINITION}
  WHERE s.name = ?1 AND (instr(s.qualified, ?2) OR instr(?2, s.qualified))
  ORDER BY d.priority, d.path, s.start_line"""
"""Candidates for a qualified name: one name contains the other. `rows.names_symbol` decides."""
SIMILAR = f"""{DEFINITION} WHERE instr(s.folded, ?1) ORDER BY s.folded != ?1, length(s.folded),
  d.priority, d.path, s.start_line LIMIT ?2"""
SAME_BODY = f"""{DEFINITION} WHERE s.body = ?1 AND s.body != ''
  ORDER BY d.priority, d.path, s.start_line LIMIT ?2"""
DEFINITION_CHUNKS = """SELECT c.id FROM symbols s JOIN chunks c ON c.document_id = s.document_id
  AND s.start_line BETWEEN c.start_line AND c.end_line
  WHERE s.name = ? GROUP BY c.id ORDER BY c.priority, c.id"""
DEFINING = """
SELECT 1 FROM documents d WHERE d.language IN (SELECT value FROM json_each(?))
  AND EXISTS (SELECT 1 FROM symbols s WHERE s.document_id = d.id) LIMIT 1
"""

IMPORTS = """SELECT d.path, i.target FROM imports i JOIN documents d ON d.id = i.document_id
  {} ORDER BY d.path, i.position"""
PAGES = """SELECT c.id, d.path FROM documents d JOIN chunks c ON c.document_id = d.id
  WHERE d.path GLOB ? ORDER BY d.path, c.position"""
LATEST = """SELECT path, mtime_ns FROM documents WHERE path NOT GLOB ?
  ORDER BY mtime_ns DESC, path LIMIT ?"""
REVISE = "INSERT OR REPLACE INTO meta VALUES ('revision', hex(randomblob(8)))"

WORD_HITS = """SELECT rowid, -rank FROM words WHERE words MATCH ?
  ORDER BY rank, rowid LIMIT ?"""
"""`rank` is bm25(words), computed once for each row."""
WORD_HITS_AMONG = """SELECT rowid, -rank FROM words WHERE words MATCH ?
  AND +rowid IN (SELECT value FROM json_each(?)) ORDER BY +rank, rowid LIMIT ?"""
"""With `+`, SQLite reads the words' lists once, and FTS5 ranks only rows that are in the list."""
ALL_DOCUMENTS = "SELECT id, path FROM documents"
DOCUMENTS_BELOW = f"{ALL_DOCUMENTS} WHERE path = ? OR (path > ? AND path < ?)"
"""The values are a folder, the folder with `/`, and with `0`, which follows `/`."""
CHUNKS_OF_DOCUMENTS = """SELECT c.id FROM json_each(?) j
  CROSS JOIN chunks c ON c.document_id = j.value LIMIT ?"""
FILES_WITH = """SELECT count(DISTINCT c.document_id) FROM words w JOIN chunks c ON c.id = w.rowid
  WHERE words MATCH ? AND c.priority = 0"""
CHUNK_COUNT = "SELECT count(*) FROM words_docsize"
WORD_COUNTS = "SELECT term, doc FROM word_terms WHERE term IN (SELECT value FROM json_each(?))"
SOURCE_COUNT = "SELECT count(*) FROM documents WHERE priority = 0"
DOC = """SELECT s.doc FROM symbols s JOIN documents d ON d.id = s.document_id
  WHERE d.path = ? AND s.qualified = ? AND s.start_line = ?"""
CARDS = """SELECT c.id, d.path, d.digest FROM chunks c JOIN documents d ON d.id = c.document_id
  WHERE c.position = 0 AND c.card != '' ORDER BY d.path"""
INSERT_DOCUMENT = """INSERT INTO documents(path, digest, size, mtime_ns, inode, language, lines,
  problem, indexed_at, priority) VALUES (?,?,?,?,?,?,?,?,?,?) RETURNING id"""
UPDATE_DOCUMENT = """UPDATE documents SET path=?, digest=?, size=?, mtime_ns=?, inode=?, language=?,
  lines=?, problem=?, indexed_at=?, priority=? WHERE id=?"""
INSERT_CHUNK = """INSERT INTO chunks(document_id, position, start_line, end_line, text, symbols,
  card, card_digest, priority) VALUES (?,?,?,?,?,?,?,?,?) RETURNING id"""
INSERT_WORDS = "INSERT INTO words(rowid, tokens) VALUES (?, ?)"
INSERT_IMPORT = "INSERT INTO imports VALUES (?, ?, ?)"
INSERT_SYMBOL = """INSERT INTO symbols(document_id, name, qualified, folded, kind, start_line,
  end_line, signature, doc, digest, body) VALUES (?,?,?,?,?,?,?,?,?,?,?)"""

CLEAR = (
    "DELETE FROM words WHERE rowid IN (SELECT id FROM chunks WHERE document_id = ?)",
    "DELETE FROM chunks WHERE document_id = ?",
    "DELETE FROM symbols WHERE document_id = ?",
    "DELETE FROM imports WHERE document_id = ?",
)
"""Statements that delete a document's rows, except the document, its vectors and passages."""
