"""Read versions 1 and 2 of learned_pairs.json, and write version 2.

Seed 004 §3.2 defines the format. Unknown keys and items are kept. `generated` decides when the file
is written (docs/decisions/0050).
"""

import hashlib
import json
import math
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
_TOP_LEVEL_KEYS = ("version", "updated_at", "embedding_model", "pairs")


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
        """Compute the key once, because it is compared often."""
        object.__setattr__(self, "key", make_key(self.nl_term, self.symbol))

    def has_same_content(self, other: "Pair") -> bool:
        """Return whether two pairs are equal, ignoring unknown keys and the file name."""
        return replace(self, extra=(), agreement_file="") == replace(
            other, extra=(), agreement_file=""
        )


@dataclass(frozen=True, slots=True)
class PairsFile:
    """The content of the file.

    Attributes:
        pairs: The pairs; of several with one key, the newest.
        exists: Whether the file exists.
        damage: Why the file cannot be read, as a sentence; empty if it can.
        version: The version in the file. A file newer than `PAIRS_VERSION` is never overwritten.
        other_items: Items of the list that are not pairs, which are kept.
        extra: Unknown top-level keys, which are kept.
        embedding_model: The model named in the file.
        updated_at: The time when the file was written.
        digest: Hex SHA-256 of the bytes; empty if there is no file.
    """

    pairs: tuple[Pair, ...] = ()
    exists: bool = True
    damage: str = ""
    version: int = PAIRS_VERSION
    other_items: tuple[object, ...] = ()
    extra: tuple[tuple[str, object], ...] = ()
    embedding_model: str = EMBEDDING_MODEL
    updated_at: str = ""
    digest: str = field(default="", compare=False)

    @property
    def is_newer(self) -> bool:
        """Whether a newer version of the program wrote the file."""
        return self.version > PAIRS_VERSION


def path_of(settings: Settings) -> Path:
    """Return the path of learned_pairs.json."""
    return settings.state / PAIRS_FILE


def load(path: Path, generated: Collection[str] = ()) -> PairsFile:
    """Read the file. Return empty content if it is missing, and the `damage` if it is damaged.

    Args:
        path: The file.
        generated: Digests of contents that this program wrote, in which secrets are masked.

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
            hint="Make it readable, or move it away; it is generated from the agreements.",
        ) from error
    return parse(data, generated)


def parse(data: bytes, generated: Collection[str] = ()) -> PairsFile:
    """Parse the bytes of a pairs file; never raises.

    Secrets are masked, unless `generated` contains the digest of the bytes; masking some thousand
    pairs takes a second.
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
    """Return the bytes of the file in version 2."""
    document = {
        "version": PAIRS_VERSION,
        "updated_at": file.updated_at,
        "embedding_model": file.embedding_model,
        "pairs": [*map(as_json, file.pairs), *file.other_items],
        **dict(file.extra),
    }
    return f"{json.dumps(document, ensure_ascii=False, indent=2)}\n".encode("utf-8", "replace")


def as_json(pair: Pair) -> dict[str, Any]:
    """Return a pair as a JSON object, in which `symbol_normalized` has the words of the symbol."""
    found: dict[str, Any] = {}
    for name in _FIELDS:
        value = getattr(pair, name)
        found[name] = float(value) if name == "similarity" else value
        if name == "symbol":
            found[_NORMALIZED] = split_symbol(pair.symbol)
    return found | dict(pair.extra)


def of_agreement(agreement: Agreement, file: str, extra: Mapping[str, object]) -> Pair:
    """Return the pair of an agreement, whose file in the agreements folder is `file`."""
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
    """Return the agreement for a pair; fields that a pair lacks are copied from `old`.

    An agreement whose evidence was edited in the JSON file is not confirmed.
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


def model_name(model: str) -> str:
    """Return the name of a configured model in the file."""
    return EMBEDDING_MODEL if EMBEDDING_MODEL.endswith(f"/{model}") else model


def set_aside(path: Path, now: datetime, label: str = "corrupt") -> Path:
    """Rename a file to `<name>.<label>-<time>`, with a number if that exists; return the path."""
    stem = f"{path.name}.{label}-{now:%Y%m%dT%H%M%S}"
    aside, number = path.with_name(stem), 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{stem}-{number}")
    durable.move(path, aside)
    return aside


def _document(document: object) -> PairsFile:
    if not isinstance(document, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - all damage is a ValueError
    version, items = document.get("version", 1), document.get("pairs", [])
    if type(version) is not int or not isinstance(items, list):
        raise ValueError("version or pairs has the wrong type")
    pairs = [_pair(item) if isinstance(item, dict) else None for item in items]
    return PairsFile(
        pairs=_newest_per_key(pair for pair in pairs if pair),
        version=version,
        other_items=tuple(item for item, pair in zip(items, pairs, strict=True) if not pair),
        extra=_unknown_keys(document, _TOP_LEVEL_KEYS),
        embedding_model=str(document.get("embedding_model") or EMBEDDING_MODEL),
        updated_at=str(document.get("updated_at") or ""),
    )


def _pair(item: dict[str, Any]) -> Pair | None:
    """Return the pair in a JSON object, or None if the object is not a valid pair."""
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
    texts["learned_at"] = _with_offset(texts["learned_at"])
    extra = _unknown_keys(item, (*_FIELDS, _NORMALIZED))
    return Pair(**texts, similarity=float(similarity), extra=extra)


def _with_offset(text: str) -> str:
    """Add the UTC offset to a time without one, as version 1 wrote them."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return text
    return text if time.tzinfo else time.replace(tzinfo=UTC).isoformat()


def _newest_per_key(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    """Return the newest pair for each key, in the order in which the keys first occur."""
    found: dict[Key, Pair] = {}
    for pair in pairs:
        old = found.setdefault(pair.key, pair)
        if old is not pair and when(pair.learned_at) >= when(old.learned_at):
            found[pair.key] = pair
    return tuple(found.values())


def _unknown_keys(item: dict[str, Any], known: tuple[str, ...]) -> tuple[tuple[str, object], ...]:
    return tuple((key, value) for key, value in item.items() if key not in known)


def _require_unique_keys(items: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(items)
    if len(found) != len(items):
        raise ValueError("it contains a key twice")
    return found


def _refuse_constant(constant: str) -> float:
    raise ValueError(f"{constant} is not a JSON number")


def _finite(number: str) -> float:
    found = float(number)
    if math.isinf(found):
        raise ValueError("a number is too large")
    return found


DECODER = json.JSONDecoder(
    object_pairs_hook=_require_unique_keys, parse_constant=_refuse_constant, parse_float=_finite
)
"""A strict decoder, which refuses repeated keys, numbers as large as 1e999, NaN and Infinity."""
