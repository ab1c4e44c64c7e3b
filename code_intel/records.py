"""The nouns of the product: frozen, without behaviour, on the standard library alone.

They travel the whole line: chunking makes `ParsedFile`s, the index keeps them and gives back
`Definition`s and `Hit`s, learned speaks of `Agreement`s, tools answer with them. The one protocol
here, `Searcher`, is the seam between the gateway and whatever answers for map and forest.

Lines are 1-based and inclusive, positions 0-based, texts verbatim, times ISO 8601 with an offset.
"""

from dataclasses import dataclass, field
from typing import Literal, Protocol

Corpus = Literal["map", "forest"]
"""Which of the two kinds of knowledge an index holds: agreements, or source."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name that a source file defines.

    Attributes:
        name: The bare name, `login`.
        qualified: With its scopes, `AuthService.login`; equal to `name` at top level.
        kind: `function`, `method`, `class`, `interface`, `type`, `enum`, `constant`, `variable` and what
            else `docs/languages.md` lists.
        start_line: First line of the definition, decorators and leading comment excluded.
        end_line: Last line of the definition.
        signature: The declaration on one line, white space folded, at most 200 characters.
        doc: First sentence of its documentation, or empty.
        digest: Hex SHA-256 (first 16 digits) of the definition's own text; what an agreement
            compares to know whether the symbol has changed underneath it.
        body: The same of its text without its name, or empty where that is too little to tell it by;
            what a symbol is known by after it was renamed.
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


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document.

    Attributes:
        position: 0-based index within the document.
        text: A verbatim substring of the document.
        start_line: Line of its first character.
        end_line: Line of its last character.
        symbols: Qualified names of the symbols defined in it, in order.
        card: The text that is embedded for it; empty means that it gets no vector of its own.
    """

    position: int
    text: str
    start_line: int
    end_line: int
    symbols: tuple[str, ...] = ()
    card: str = ""


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """What chunking knows about one file; made without touching the disk.

    `imports` are targets, one a name (`os.path.join`, `./auth/service`); see `chunking.imports`.
    `problem` says why a parser gave up and lines were used instead, or is empty.
    """

    language: str
    chunks: tuple[Chunk, ...]
    symbols: tuple[Symbol, ...] = ()
    imports: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Definition:
    """A symbol together with the document that defines it, as the local index knows it."""

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
    """A file an agreement speaks of; `path` relative to the project, `line` 0 when not known."""

    path: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class Agreement:
    """What a project has agreed: this term means that symbol, and here is the evidence.

    One Markdown file carries one agreement (seed 004 §3.1 and §9.2, docs/decisions). Its key is
    (`nl_term`, `symbol`). Validity is computed and never stored.

    Attributes:
        nl_term: The words people use, NFC.
        symbol: The symbol as code spells it, `AuthService` or `AuthService.login`.
        evidence: One item a bullet, Markdown inline text.
        files: Files it rests on.
        similarity: Similarity at learning time, 0 to 1.
        intent: Intent of the session it was learned in, or empty.
        session_id: That session, or empty for one added by hand.
        learned_at: ISO 8601 with offset.
        confirmed: What the file itself claims; see `learned.validity` for what that is worth.
        aliases: Other words that were confirmed to mean it, sorted.
        digest: `Symbol.digest` at learning time, or empty when it was not known.
        body: `Symbol.body` at learning time, or empty when it was not known, or not this symbol's alone.
        frame: (slot, value) pairs of the query frame it was learned from.
        extra: Unknown front-matter keys, kept as they were, as (key, YAML scalar) pairs.
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
    frame: tuple[tuple[str, str], ...] = ()
    extra: tuple[tuple[str, object], ...] = ()


Validity = Literal[
    "valid", "changed", "broken", "unchecked", "expired", "conflict", "invalid", "unconfirmed"
]
"""How far an agreement may be trusted now; see `learned.validity`."""


@dataclass(frozen=True, slots=True)
class AgreementHit:
    """What a map answer says about the agreement behind a hit.

    `renamed_to` is what its symbol is called now, as far as the index proves it.
    """

    nl_term: str
    symbol: str
    status: Validity
    files: tuple[FileReference, ...] = ()
    reasons: tuple[str, ...] = ()
    learned_at: str = ""
    renamed_to: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """One result of a search, best first.

    Attributes:
        document: Path relative to the config's folder; absolute outside it.
        chunk: Verbatim text.
        position: 0-based chunk index in the document.
        similarity: devrag's (1 + cosine) / 2, 0 to 1; 0 where there is no vector.
        score: Calibrated 0 to 1 in the map; relative to the best hit in the forest.
            None when an upstream does not send one: such a hit never short-circuits.
        symbol: The chunk's first symbol, or empty.
        start_line: First line of the chunk; 0 when not known.
        end_line: Last line of the chunk; 0 when not known.
        why: Short tags that say which signals put it here.
        agreement: Set for hits of the map.
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


@dataclass(frozen=True, slots=True)
class Freshness:
    """How complete the index behind an answer is; part of every answer.

    Attributes:
        state: `fresh`; `building` while words are being indexed; `stale` when files are known to
            have changed since; `missing` when there is no complete index and nobody is making one.
        files: Documents in the index.
        pending: Chunks whose vectors are still missing; none where only pages that plans wrote wait for theirs.
        degraded: What is missing in this answer and why, such as `embedding: not installed`.
    """

    state: Literal["fresh", "stale", "building", "missing"] = "fresh"
    files: int = 0
    pending: int = 0
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """Hits, best first, how complete the index behind them is, and whether their texts were cut."""

    hits: tuple[Hit, ...]
    index: Freshness = field(default_factory=Freshness)
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class UpstreamStatus:
    """How map or forest is doing, as far as the gateway knows.

    Attributes:
        name: `devrag-map` or `devrag-forest`.
        where: `in process`, `command <program>` or the URL, without anything secret.
        state: `idle` until the first question; `starting`; `ready`; `backoff`: lost, and tried again
            by itself; `failed`: what answers is of no use, so it is tried again seldom or never.
        since: ISO 8601: when the state began, or when the trouble did if it is in trouble.
        error: What went wrong last, or empty.
        said: What the other side, or a library that quotes it, said of that; no words of ours.
        retry_in: Seconds until it is tried again, or None.
        restarts: How many times it was connected again.
        ignored: How much of what it sent could not be used, by kind.
    """

    name: str
    where: str
    state: Literal["idle", "starting", "ready", "backoff", "failed"] = "idle"
    since: str = ""
    error: str = ""
    said: str = ""
    retry_in: float | None = None
    restarts: int = 0
    ignored: tuple[tuple[str, int], ...] = ()


class Searcher(Protocol):
    """Whatever answers for map and forest: in process, a child process, or a URL."""

    async def search_map(self, query: str, top_k: int) -> SearchAnswer:
        """Ask the map for agreements."""

    async def search_forest(
        self, query: str, top_k: int, directory: str = "", file_pattern: str = ""
    ) -> SearchAnswer:
        """Ask the forest for chunks of source."""

    def states(self) -> tuple[UpstreamStatus, ...]:
        """Say how both are doing now: the map, then the forest."""
