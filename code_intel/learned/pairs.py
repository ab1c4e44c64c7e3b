"""learned_pairs.json: versions 1 and 2 read, version 2 written, nothing in it ever dropped.

The seed's source of truth for people who edit JSON (seed 004 §3.2); git carries agreements instead, so
a damaged file is moved aside, and rebuilt from them and from what of it is whole (docs/decisions/0007,
0038). Whoever takes a pair out of it brings the other side and the bases of the last sync in line under
`journal.lock_path`, because a pair that vanishes means that somebody deleted it.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from code_intel import durable
from code_intel.chunking.agreement import split_symbol
from code_intel.chunking.agreement_body import encodable
from code_intel.config.reading import regular
from code_intel.errors import StorageError
from code_intel.learned.agreements import Key, make_key
from code_intel.learned.claims import when
from code_intel.learned.salvage import salvage
from code_intel.redaction import masked_data
from code_intel.text import hidden_character

VERSION = 2
FILE = "learned_pairs.json"
MAX_BYTES = 64 * 1024 * 1024
EMBEDDING_MODEL = "intfloat/multilingual-e5-small"
MOST_FILES = 2
"""Whole files that are as they were when they are read again."""
MOST_REMEMBERED = 1 << 15
"""Pairs that are as they were when the file is read or written again: it is so whole at each change."""
_NORMALIZED = "symbol_normalized"
_FIELDS = (
    "nl_term", "symbol", "similarity", "code_evidence", "session_id", "learned_at", "agreement_file",
)  # fmt: skip
_TOP = ("version", "updated_at", "embedding_model", "pairs")


@dataclass(frozen=True, slots=True)
class Pair:
    """One learned pair; `extra` holds keys that are not ours, with their JSON values, `key` identifies it."""

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
        """Make the key once: every change asks every pair for it."""
        object.__setattr__(self, "key", make_key(self.nl_term, self.symbol))


@dataclass(frozen=True, slots=True)
class PairsFile:
    """What the file says.

    Attributes:
        pairs: Its pairs; of several with one key the newest.
        exists: Whether there is a file.
        damage: Why it must be rebuilt, or empty; `pairs` then holds what could still be read.
        version: As written; above `VERSION` the file is read and never written.
        strange: Items of the list that are no pairs; kept.
        extra: Top-level keys that are not ours; kept.
    """

    pairs: tuple[Pair, ...] = ()
    exists: bool = True
    damage: str = ""
    version: int = VERSION
    strange: tuple[object, ...] = ()
    extra: tuple[tuple[str, object], ...] = ()
    embedding_model: str = EMBEDDING_MODEL
    updated_at: str = ""

    @property
    def read_only(self) -> bool:
        """Whether a newer version wrote it."""
        return self.version > VERSION

    def require_ours(self) -> None:
        """Refuse to write over what a newer version wrote.

        Raises:
            StorageError: One did.
        """
        if self.read_only:
            raise StorageError(
                f"{FILE} has version {self.version}, this program writes {VERSION}: a newer version wrote it.",
                hint="Use the newer code-intel; until then nothing is learned into this file.",
            )


def load(path: Path) -> PairsFile:
    """Read the file; a missing one is empty, a damaged one says what is wrong with it.

    Raises:
        StorageError: It is there but cannot be read: unreadable is not empty.
    """
    try:
        if path.exists() and path.stat().st_size > MAX_BYTES:
            return PairsFile(damage="It is larger than 64 MiB.")
        data = regular(path, MAX_BYTES)
    except FileNotFoundError:
        return PairsFile(exists=False)
    except OSError as error:
        raise StorageError(
            f"{path} cannot be read: {error.strerror or error}.",
            hint="Make it readable, or move it away: it is rebuilt from the agreements.",
        ) from error
    return parse(data)


def parse(data: bytes) -> PairsFile:
    """Read the bytes of a pairs file; never raises. The last ones read or written are remembered."""
    return _LAST.get(data) or _keep(data, _parsed(data))


_LAST: dict[bytes, PairsFile] = {}


def _keep(data: bytes, file: PairsFile) -> PairsFile:
    while len(_LAST) >= MOST_FILES:
        _LAST.pop(next(iter(_LAST)), None)
    _LAST[data] = file
    return file


def _parsed(data: bytes) -> PairsFile:
    try:
        found = _document(DECODER.decode(data.decode("utf-8-sig")))
    except (ValueError, RecursionError) as error:
        return replace(_salvaged(data), damage=f"It is not a pairs file: {error}.")
    if data.startswith(b"\xef\xbb\xbf"):
        return replace(found, damage="It starts with a byte order mark.")
    return found


def update(
    path: Path, change: Callable[[tuple[Pair, ...]], tuple[Pair, ...]], *, now: datetime
) -> PairsFile:
    """Change the pairs under a lock, from what the file says at that moment; return the new file.

    A damaged file is moved to `.corrupt-<time>` beside it first; what could be read of it goes on.

    Raises:
        StorageError: A newer version wrote the file, or the disk refused.
        BusyError: Another process is writing for too long.
    """
    with durable.locked(path.with_name(f"{path.name}.lock")):
        old = load(path)
        old.require_ours()
        if old.damage:
            set_aside(path, now)
        pairs = _newest(change(old.pairs))
        new = replace(old, pairs=pairs, exists=True, damage="", version=VERSION)
        if new != old:
            new = replace(new, updated_at=now.isoformat())
            durable.replace(path, data := dump(new))
            same = set(map(id, old.pairs))
            others = (pair for pair in pairs if id(pair) not in same)
            if all(_remembered(as_json(pair)) == pair for pair in others):
                _keep(data, new)
    return new


def add(path: Path, pair: Pair, *, now: datetime) -> PairsFile:
    """Add a pair, or replace the one with its key in place; keys that are not ours are kept."""

    def change(pairs: tuple[Pair, ...]) -> tuple[Pair, ...]:
        known = {item.key: item for item in pairs}
        old = known.get(pair.key)
        extra = (dict(old.extra) if old else {}) | dict(pair.extra)
        known[pair.key] = replace(pair, extra=tuple(extra.items()))
        return tuple(known.values())

    return update(path, change, now=now)


def dump(file: PairsFile) -> bytes:
    """Return the bytes of a file of version 2."""
    document = {
        "version": VERSION,
        "updated_at": file.updated_at,
        "embedding_model": file.embedding_model,
        "pairs": [],
        **dict(file.extra),
    }
    items = [*map(_text_of, file.pairs), *map(_item, file.strange)]
    text = _json(document)
    if items:  # no text in JSON has a line end of its own: this is the list
        text = text.replace('\n  "pairs": []', '\n  "pairs": [\n' + ",\n".join(items) + "\n  ]", 1)
    return f"{text}\n".encode("utf-8", "replace")


def _text_of(pair: Pair) -> str:
    return _item(as_json(pair)) if pair.extra else _text_of_ours(pair)


@lru_cache(maxsize=MOST_REMEMBERED)
def _text_of_ours(pair: Pair) -> str:
    return _item(as_json(pair))


def _item(value: object) -> str:
    return "    " + _json(value).replace("\n", "\n    ")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def as_json(pair: Pair) -> dict[str, Any]:
    """Return a pair as its JSON object; the symbol's words stand beside it, for readers."""
    told: dict[str, Any] = {}
    for name in _FIELDS:
        value = getattr(pair, name)
        told[name] = float(value) if name == "similarity" else value
        if name == "symbol":
            told[_NORMALIZED] = split_symbol(pair.symbol)
    return told | dict(pair.extra)


def set_aside(path: Path, now: datetime) -> Path:
    """Move a file to `<name>.corrupt-<time>` beside it, over no other; return where it is."""
    stem = f"{path.name}.corrupt-{now:%Y%m%dT%H%M%S}"
    aside, number = path.with_name(stem), 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{stem}-{number}")
    durable.move(path, aside)
    return aside


def _salvaged(data: bytes) -> PairsFile:
    """Return what of damaged bytes is whole; never raises."""
    try:
        whole = salvage(data.decode("utf-8-sig", "surrogateescape"), DECODER)
        if type(whole.get("version", VERSION)) is not int:
            del whole["version"]
        return _document(whole)
    except RecursionError:
        return PairsFile()


def _document(document: object) -> PairsFile:
    if not isinstance(document, dict):
        raise ValueError("it holds no JSON object")  # noqa: TRY004 - damage is one kind of error here
    version, items = document.get("version", 1), document.get("pairs", [])
    if type(version) is not int or not isinstance(items, list):
        raise ValueError("version or pairs has the wrong type")
    pairs = [_remembered(item) if isinstance(item, dict) else None for item in items]
    top = masked_data({key: value for key, value in document.items() if key != "pairs"})
    return PairsFile(
        pairs=_newest(pair for pair in pairs if pair),
        version=version,
        strange=tuple(
            masked_data(item) for item, pair in zip(items, pairs, strict=True) if not pair
        ),
        extra=_others(top, _TOP),
        embedding_model=str(top.get("embedding_model") or EMBEDDING_MODEL),
        updated_at=str(top.get("updated_at") or ""),
    )


def _remembered(item: dict[str, Any]) -> Pair | None:
    """Return `_pair(item)`, which most files have said before."""
    try:
        return _pair_of(tuple((key, value, type(value)) for key, value in item.items()))
    except TypeError:  # a list or an object within
        return _pair(item)


@lru_cache(maxsize=MOST_REMEMBERED)
def _pair_of(items: tuple[tuple[str, Any, type], ...]) -> Pair | None:
    """As `_pair`; the types tell 1 from true."""
    return _pair({key: value for key, value, _ in items})


def _pair(item: dict[str, Any]) -> Pair | None:
    """Return a pair, its secrets masked, None for what is none; a missing optional field is empty."""
    item = masked_data(item)
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
    """Return a time with an offset; version 1 wrote none, and UTC is the same on every machine."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return text
    return text if time.tzinfo else time.replace(tzinfo=UTC).isoformat()


def _newest(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    """Return one pair a key, the newest, where the first of them stood."""
    found: dict[Key, Pair] = {}
    for pair in pairs:
        old = found.setdefault(key := pair.key, pair)
        if old is not pair and when(pair.learned_at) >= when(old.learned_at):
            found[key] = pair
    return tuple(found.values())


def _others(item: dict[str, Any], known: tuple[str, ...]) -> tuple[tuple[str, object], ...]:
    return tuple((key, value) for key, value in item.items() if key not in known)


def _unique(items: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(items)
    if len(found) != len(items):
        raise ValueError("it gives a key twice")
    return found


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no number of JSON")


DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse)
"""JSON without keys given twice, and without numbers that it does not have."""
