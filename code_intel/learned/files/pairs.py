"""Read and write the format of learned_pairs.json: versions 1 and 2 are read, version 2 is written.

Seed 004 §3.2 defines the format. Keys and items that the program does not know are kept. When the
file is written, and from what, is decided in `generated` (docs/decisions/0050).
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from code_intel.chunking.agreement import split_symbol
from code_intel.chunking.agreement_body import encodable
from code_intel.config import Settings
from code_intel.config.reading import read_regular_file
from code_intel.errors import StorageError
from code_intel.foundation import durable
from code_intel.foundation.redaction import masked_data
from code_intel.foundation.text import hidden_character
from code_intel.learned.files import merge_agreements
from code_intel.learned.files.agreements import Key, make_key
from code_intel.learned.files.merge_agreements import when
from code_intel.records import Agreement

PAIRS_VERSION = 2
PAIRS_FILE = "learned_pairs.json"
MAX_PAIRS_BYTES = 64 * 1024 * 1024
EMBEDDING_MODEL = "intfloat/multilingual-e5-small"
_NORMALIZED = "symbol_normalized"
_FIELDS = (
    "nl_term",
    "symbol",
    "similarity",
    "code_evidence",
    "session_id",
    "learned_at",
    "agreement_file",
)
_TOP = ("version", "updated_at", "embedding_model", "pairs")


@dataclass(frozen=True, slots=True)
class Pair:
    """One learned pair; `extra` holds unknown keys with their JSON values."""

    nl_term: str
    symbol: str
    similarity: float = 0.0
    code_evidence: str = ""
    session_id: str = ""
    learned_at: str = ""
    agreement_file: str = ""
    extra: tuple[tuple[str, object], ...] = ()
    key: Key = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute the key once; it is compared often."""
        object.__setattr__(self, "key", make_key(self.nl_term, self.symbol))

    def says_the_same(self, other: "Pair") -> bool:
        """Return whether both say the same; unknown keys and the file's name do not count."""
        return replace(self, extra=(), agreement_file="") == replace(
            other, extra=(), agreement_file=""
        )


@dataclass(frozen=True, slots=True)
class PairsFile:
    """The content of the file.

    Attributes:
        pairs: Its pairs; of several with one key the newest.
        exists: Whether there is a file.
        damage: Why it cannot be read, as a sentence, or empty.
        version: As written; above `VERSION` the file is never written.
        strange: Items of the list that are not pairs; kept.
        extra: Unknown top-level keys; kept.
        digest: Hex SHA-256 of its bytes; empty where there is no file.
    """

    pairs: tuple[Pair, ...] = ()
    exists: bool = True
    damage: str = ""
    version: int = PAIRS_VERSION
    strange: tuple[object, ...] = ()
    extra: tuple[tuple[str, object], ...] = ()
    embedding_model: str = EMBEDDING_MODEL
    updated_at: str = ""
    digest: str = field(default="", compare=False)

    @property
    def is_newer(self) -> bool:
        """Return whether a newer version of the program wrote it."""
        return self.version > PAIRS_VERSION


def path_of(settings: Settings) -> Path:
    """Return where learned_pairs.json is."""
    return settings.state / PAIRS_FILE


def load(path: Path, generated: Collection[str] = ()) -> PairsFile:
    """Read the file; a missing one is empty, a damaged one says what is wrong with it.

    Args:
        path: The file.
        generated: Digests of contents that this program wrote, with secrets masked.

    Raises:
        StorageError: The file exists but cannot be read.
    """
    try:
        if path.exists() and path.stat().st_size > MAX_PAIRS_BYTES:
            return PairsFile(damage="It is larger than 64 MiB.")
        data = read_regular_file(path, MAX_PAIRS_BYTES)
    except FileNotFoundError:
        return PairsFile(exists=False)
    except OSError as error:
        raise StorageError(
            f"{path} cannot be read: {error.strerror or error}.",
            hint="Make it readable, or move it away: it is generated from the agreements.",
        ) from error
    return parse(data, generated)


def parse(data: bytes, generated: Collection[str] = ()) -> PairsFile:
    """Read the bytes of a pairs file; never raises.

    Secrets are masked, unless `generated` has the digest of the bytes: masking takes a second for
    some thousand pairs.
    """
    digest = hashlib.sha256(data).hexdigest()
    if data.startswith(b"\xef\xbb\xbf"):
        return PairsFile(damage="It starts with a byte order mark.", digest=digest)
    try:
        document = DECODER.decode(data.decode())
        found = _document(document if digest in generated else masked_data(document))
        return replace(found, digest=digest)
    except (ValueError, RecursionError) as error:
        return PairsFile(damage=f"It is not a pairs file: {error}.", digest=digest)


def dump(file: PairsFile) -> bytes:
    """Return the bytes of a file of version 2."""
    document = {
        "version": PAIRS_VERSION,
        "updated_at": file.updated_at,
        "embedding_model": file.embedding_model,
        "pairs": [*map(as_json, file.pairs), *file.strange],
        **dict(file.extra),
    }
    return f"{json.dumps(document, ensure_ascii=False, indent=2)}\n".encode("utf-8", "replace")


def as_json(pair: Pair) -> dict[str, Any]:
    """Return a pair as a JSON object, with the symbol's words for readers."""
    found: dict[str, Any] = {}
    for name in _FIELDS:
        value = getattr(pair, name)
        found[name] = float(value) if name == "similarity" else value
        if name == "symbol":
            found[_NORMALIZED] = split_symbol(pair.symbol)
    return found | dict(pair.extra)


def of_agreement(agreement: Agreement, file: str, extra: Mapping[str, object]) -> Pair:
    """Return the pair of an agreement; `file` is its name in the agreements folder."""
    return Pair(
        nl_term=agreement.nl_term,
        symbol=agreement.symbol,
        similarity=round(agreement.similarity, 3),
        code_evidence="\n".join(agreement.evidence),
        session_id=agreement.session_id,
        learned_at=agreement.learned_at,
        agreement_file=file,
        extra=tuple(extra.items()),
    )


def to_agreement(pair: Pair, old: Agreement | None = None) -> Agreement:
    """Return an agreement that says what a pair says; fields that a pair lacks come from `old`.

    Evidence that was edited in the JSON file is not confirmed.
    """
    base = old or Agreement(pair.nl_term, pair.symbol)
    lines = tuple(line for line in pair.code_evidence.split("\n") if line.strip())
    same = pair.code_evidence == "\n".join(base.evidence)
    return replace(
        base,
        evidence=base.evidence if same else lines,
        similarity=min(max(pair.similarity, 0.0), 1.0),
        session_id=pair.session_id,
        learned_at=pair.learned_at
        if merge_agreements.is_time(pair.learned_at)
        else base.learned_at,
        confirmed=base.confirmed and same,
    )


def set_aside(path: Path, now: datetime, label: str = "corrupt") -> Path:
    """Move a file to a free name `<name>.<label>-<time>` beside it; return its path."""
    stem = f"{path.name}.{label}-{now:%Y%m%dT%H%M%S}"
    aside, number = path.with_name(stem), 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{stem}-{number}")
    durable.move(path, aside)
    return aside


def _document(document: object) -> PairsFile:
    if not isinstance(document, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - damage is one kind of error here
    version, items = document.get("version", 1), document.get("pairs", [])
    if type(version) is not int or not isinstance(items, list):
        raise ValueError("version or pairs has the wrong type")
    pairs = [_pair(item) if isinstance(item, dict) else None for item in items]
    return PairsFile(
        pairs=_newest(pair for pair in pairs if pair),
        version=version,
        strange=tuple(item for item, pair in zip(items, pairs, strict=True) if not pair),
        extra=_others(document, _TOP),
        embedding_model=str(document.get("embedding_model") or EMBEDDING_MODEL),
        updated_at=str(document.get("updated_at") or ""),
    )


def _pair(item: dict[str, Any]) -> Pair | None:
    """Return a pair, or None for another object; a missing optional field is empty."""
    values = {name: item.get(name) for name in _FIELDS}
    similarity = values.pop("similarity") or 0.0
    texts = {name: "" if value is None else value for name, value in values.items()}
    if not all(isinstance(value, str) for value in texts.values()):
        return None
    if type(similarity) not in {int, float} or not texts["nl_term"].strip():
        return None
    if not texts["symbol"].strip():
        return None
    texts = {name: encodable(value) for name, value in texts.items()}
    if hidden_character(texts["nl_term"] + texts["symbol"]):
        return None
    texts["learned_at"] = _aware(texts["learned_at"])
    return Pair(**texts, similarity=float(similarity), extra=_others(item, (*_FIELDS, _NORMALIZED)))


def _aware(text: str) -> str:
    """Return a time with an offset; version 1 wrote times without one, which are taken as UTC."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return text
    return text if time.tzinfo else time.replace(tzinfo=UTC).isoformat()


def _newest(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    """Return one pair for each key: the newest, in the place of the first."""
    found: dict[Key, Pair] = {}
    for pair in pairs:
        old = found.setdefault(pair.key, pair)
        if old is not pair and when(pair.learned_at) >= when(old.learned_at):
            found[pair.key] = pair
    return tuple(found.values())


def _others(item: dict[str, Any], known: tuple[str, ...]) -> tuple[tuple[str, object], ...]:
    return tuple((key, value) for key, value in item.items() if key not in known)


def _unique(items: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(items)
    if len(found) != len(items):
        raise ValueError("it gives a key twice")
    return found


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not a JSON number")


DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse)
"""Refuses repeated keys and the numbers NaN and Infinity, which JSON does not have."""
