"""The records that all packages share: frozen, without behaviour, standard library only.

`chunking` creates `ParsedFile`s; `index` stores them and returns `Definition`s and `Hit`s;
`learned` manages `Agreement`s; `tools` return them. `Searcher` is the interface between the
gateway and its two corpora, map and forest.

Lines are 1-based and inclusive, positions 0-based, and times in ISO 8601 with an offset.
"""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

READY_SCORE = 0.8
"""Calibrated score from which a map answer may lead to READY; the fit targets this value."""
VERIFICATION_SCORE = 0.7
"""Calibrated score from which a map answer may lead to VERIFICATION; a lower one is a miss."""
VERY_GOOD_SCORE, FAIR_SCORE, WEAK_SCORE = 0.8, 0.5, 0.2
"""Lower bounds of the score bands of commands (seed 001)."""

PAGE_TAG = "knowledge"
"""The first tag in `Hit.why` of a page that a query plan wrote."""

Corpus = Literal["map", "forest"]
"""The content of an index: agreements (map) or source (forest)."""

Language = Literal["ja", "en"]
"""The language of the headings that code-intel writes."""


class Symbol(NamedTuple):
    """A name that a source file defines.

    A named tuple, as `Chunk` is: reading processes send so many that dataclasses would take long.

    Attributes:
        name: The bare name, `login`.
        qualified: The name with its scopes, `AuthService.login`; `name` at top level.
        kind: `function`, `method`, `class`, `interface`, `type`, `enum`, `constant`, `variable` and
            others that `docs/languages.md` lists.
        start_line: First line of the definition, decorators and leading comment excluded.
        end_line: Last line of the definition.
        signature: The declaration on one line, at most 200 characters.
        doc: First sentence of its documentation, or empty.
        digest: Hex SHA-256 (first 16 digits) of the definition's text. An agreement stores it
            to detect that the symbol has changed.
        body: The digest without the symbol's name, which identifies a renamed symbol; empty if
            the text is too short for that.
    """

    name: str
    qualified: str
    kind: str
    start_line: int
    end_line: int
    signature: str = ""
    doc: str = ""
    digest: str = ""
    body: str = ""


class Chunk(NamedTuple):
    """A piece of a document.

    Attributes:
        position: 0-based index within the document.
        text: A verbatim substring of the document.
        start_line: Line of its first character.
        end_line: Line of its last character.
        symbols: Qualified names of the symbols defined in it, in order.
        card: The text to embed; empty if the chunk gets no vector.
    """

    position: int
    text: str
    start_line: int
    end_line: int
    symbols: tuple[str, ...] = ()
    card: str = ""


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """The chunks, symbols and imports of one file.

    `imports` contains a target per name (`os.path.join`, `./auth/service`); see `chunking.imports`.
    If the parser failed, the file was split by lines, and `problem` says why.
    """

    language: str
    chunks: tuple[Chunk, ...]
    symbols: tuple[Symbol, ...] = ()
    imports: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Definition:
    """A symbol and the document that defines it, from the local index."""

    name: str
    qualified: str
    kind: str
    file: str
    line: int
    end_line: int
    signature: str
    language: str
    digest: str
    body: str = ""


@dataclass(frozen=True, slots=True)
class FileReference:
    """A file that an agreement refers to; `path` relative to the project, `line` 0 if unknown."""

    path: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class Agreement:
    """A statement, with evidence, that a term refers to a symbol of the project.

    Each is one Markdown file (docs/decisions/0007), identified by (`nl_term`, `symbol`). Its
    validity is computed, never stored.

    Attributes:
        nl_term: The term that people use, NFC.
        symbol: The symbol as spelled in the code, `AuthService` or `AuthService.login`.
        evidence: Reasons, each one bullet of inline Markdown.
        files: The related files.
        similarity: Similarity when it was learned, 0 to 1.
        intent: Intent of the session that learned it, or empty.
        session_id: Id of that session; empty if it was added by hand.
        learned_at: ISO 8601 with offset.
        confirmed: The flag in the file; `learned.validity` decides whether to trust it.
        aliases: Other terms that were confirmed to mean the symbol, sorted.
        digest: `Symbol.digest` when it was learned, or empty if unknown.
        body: `Symbol.body` when it was learned; empty if unknown or shared with another symbol.
        role: The symbol's part in the feature, one word such as `entry` or `storage`, or empty.
        frame: (slot, value) pairs of the query frames for which it succeeded, oldest first; a
            repeated slot begins the next frame.
        extra: Unknown front-matter keys, unchanged, as (key, YAML value) pairs.
    """

    nl_term: str
    symbol: str
    evidence: tuple[str, ...] = ()
    files: tuple[FileReference, ...] = ()
    similarity: float = 0.0
    intent: str = ""
    session_id: str = ""
    learned_at: str = ""
    confirmed: bool = False
    aliases: tuple[str, ...] = ()
    digest: str = ""
    body: str = ""
    role: str = ""
    frame: tuple[tuple[str, str], ...] = ()
    extra: tuple[tuple[str, object], ...] = field(default=(), hash=False)  # may contain lists


NoteKind = Literal["convention", "decision", "warning"]
"""The kinds of notes: what the map says besides agreements."""


@dataclass(frozen=True, slots=True)
class Note:
    """A convention, a decision or a warning of the project; one Markdown file each.

    Identified by `kind` and `title`. Its validity is computed, never stored
    (docs/decisions/0083).

    Attributes:
        kind: What it is.
        title: One line that says it all, such as "Errors leave through code_intel.errors".
        text: The text; for a decision, what was decided.
        context: The situation that led to a decision.
        consequences: What follows from a decision.
        files: Globs of the files that it concerns, relative to the project.
        symbols: The symbols that it concerns.
        evidence: Reasons, each one bullet of inline Markdown.
        supersedes: Titles or file names of the decisions that it replaces.
        status: The status that its author gave it, in lower case, such as `accepted`, or empty.
        session_id: Id of the session that recorded it; empty if people wrote it.
        learned_at: ISO 8601 with offset, or empty.
        confirmed: The flag in the file; None if the file has none.
    """

    kind: NoteKind
    title: str
    text: str = ""
    context: str = ""
    consequences: str = ""
    files: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    status: str = ""
    session_id: str = ""
    learned_at: str = ""
    confirmed: bool | None = None


PLACES_PER_FILE = 3
"""Default number of places of one file in an answer."""
MAX_HIT_EVIDENCE = 3
"""Limit of the evidence that a hit of the map shows, newest last."""

Validity = Literal[
    "valid",
    "changed",
    "broken",
    "unchecked",
    "expired",
    "conflict",
    "invalid",
    "unconfirmed",
    "superseded",
    "rejected",
]
"""How far a file of the map can be trusted now; see `learned.status` and `learned.notes`.

Lists say `rejected` of an agreement that a person has rejected."""


@dataclass(frozen=True, slots=True)
class AgreementHit:
    """The agreement behind a hit of the map.

    `renamed_to` is the new name of its symbol if the index proves the rename. `evidence` is its
    newest evidence, at most `MAX_HIT_EVIDENCE` items. `role` is the symbol's part in the feature,
    and `digest` is `Agreement.digest`.
    """

    nl_term: str
    symbol: str
    status: Validity
    files: tuple[FileReference, ...] = ()
    reasons: tuple[str, ...] = ()
    learned_at: str = ""
    renamed_to: str = ""
    evidence: tuple[str, ...] = ()
    role: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class NoteHit:
    """The note behind a hit of the map.

    Attributes:
        kind: What it is.
        title: Its title.
        status: Its current status.
        lines: The lines of it that match the question best.
        reasons: Why it has that status.
        files: Globs of the files that it concerns.
        symbols: The symbols that it concerns.
    """

    kind: NoteKind
    title: str
    status: Validity
    lines: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()


class RowShare(NamedTuple):
    """What one row of the forest's ranking gives to a file; see `forest.ranking.signals`.

    Attributes:
        row: The name of the row.
        points: What it adds to the score of the file; negative if it reduces the score. The points
            of all rows add up to the score, so both are relative to the best file.
        factor: By what it multiplies the score; 1 if it adds.
    """

    row: str
    points: float
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Hit:
    """One result of a search, best first.

    Attributes:
        document: Path relative to the config's folder; absolute outside it.
        chunk: The text of the chunk.
        position: 0-based chunk index in the document.
        similarity: devrag's (1 + cosine) / 2, 0 to 1; 0 without a vector.
        score: Calibrated in the map, relative to the best hit in the forest, 0 to 1. None if an
            upstream sends no score; the forest is then searched, too.
        symbol: The innermost symbol around the line that matches, else the chunk's first symbol,
            or empty.
        start_line: First line of the chunk; 0 if unknown.
        end_line: Last line of the chunk; 0 if unknown.
        why: Short tags of the signals that determined its rank.
        agreement: The agreement, for hits of the map.
        note: The note, for hits of the map.
        others: Hits in further chunks of the same file, best first; empty if an upstream answered.
        line: The line of the file that matches best; 0 if unknown.
        column: Where the match begins in that line, counted from 0.
        symbols: The other symbols that the chunk defines.
        ranking: What each row of the ranking gives to the file, if the caller wants to know it;
            empty for further chunks of a file.
        repository: The name of the repository; empty if only the project itself was searched.
        commit: The commit of that repository; empty if it is not known.
        foreign: Whether the file is not one of this project. It is then not relative to the
            project, even if the project has a file of that name.
    """

    document: str
    chunk: str
    position: int
    similarity: float
    score: float | None
    symbol: str = ""
    start_line: int = 0
    end_line: int = 0
    why: tuple[str, ...] = ()
    agreement: AgreementHit | None = None
    note: NoteHit | None = None
    others: tuple["Hit", ...] = ()
    line: int = 0
    column: int = 0
    symbols: tuple[str, ...] = ()
    ranking: tuple[RowShare, ...] = ()
    repository: str = ""
    commit: str = ""
    foreign: bool = False


@dataclass(frozen=True, slots=True)
class Freshness:
    """How complete the index behind an answer is; part of every answer.

    Attributes:
        state: `fresh`; `building` while words are being indexed; `stale` if files have changed
            since then; `missing` if there is no complete index and no process builds one.
        files: Documents in the index.
        pending: Chunks without vectors, not counting knowledge pages.
        degraded: What was not available and why, such as `embedding: not installed`.
        shared: The commit whose shared index answered, together with the files on this machine that
            differ from it; empty if the local index answered alone.
    """

    state: Literal["fresh", "stale", "building", "missing"] = "fresh"
    files: int = 0
    pending: int = 0
    degraded: tuple[str, ...] = ()
    shared: str = ""


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """Hits, best first, with the freshness of the index and whether their texts were cut."""

    hits: tuple[Hit, ...]
    index: Freshness = field(default_factory=Freshness)
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class UpstreamStatus:
    """The connection of the gateway to map or forest.

    Attributes:
        name: `devrag-map` or `devrag-forest`.
        where: `in process`, `command <program>` or the URL, without secrets.
        state: `idle` until the first question; `starting`; `ready`; `backoff`: lost, will be
            retried; `failed`: cannot be used, and is retried rarely or never.
        since: ISO 8601: when the state began, or when the first failure happened.
        error: The last error, or empty.
        hint: What to do about it, if it is not to correct the table; or empty.
        said: The upstream's own text about that error; untrusted.
        retry_in: Seconds until the next attempt, or None.
        restarts: Number of reconnections.
        ignored: Number of unusable messages from it, by kind.
    """

    name: str
    where: str
    state: Literal["idle", "starting", "ready", "backoff", "failed"] = "idle"
    since: str = ""
    error: str = ""
    hint: str = ""
    said: str = ""
    retry_in: float | None = None
    restarts: int = 0
    ignored: tuple[tuple[str, int], ...] = ()


class Searcher(Protocol):
    """Searches map and forest: in process, in a child process, or at a URL."""

    async def search_map(self, query: str, top_k: int) -> SearchAnswer:
        """Search the map for agreements."""

    async def search_forest(
        self, query: str, top_k: int, directory: str = "", file_pattern: str = ""
    ) -> SearchAnswer:
        """Search the forest for chunks of source."""

    def states(self) -> tuple[UpstreamStatus, ...]:
        """Return the state of the map and of the forest, in this order."""
