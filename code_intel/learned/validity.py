"""How far an agreement may be trusted now: computed from facts, never stored (docs/decisions/0013).

Validity comes before age: an agreement whose symbol is provably unchanged does not expire, one whose
symbol is gone is not served however young it is (seed 004 §7 C).
"""

import hashlib
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from types import MappingProxyType

from code_intel import git
from code_intel.config import Settings
from code_intel.learned.agreements import Entry, when
from code_intel.learned.state import State
from code_intel.records import Agreement, Definition, Validity
from code_intel.spelling import composed

SERVED: frozenset[Validity] = frozenset({"valid", "changed", "unchecked", "expired", "unconfirmed"})
"""What a search may answer; the others are only listed."""

READY_ALLOWED: frozenset[Validity] = frozenset({"valid"})
"""What may lead straight to READY."""

SCORE_CAP: Mapping[Validity, float] = MappingProxyType(
    {
        "valid": 1.0,
        "changed": 0.799,
        "unchecked": 1.0,
        "expired": 1.0,
        "unconfirmed": 1.0,
        "broken": 0.0,
        "conflict": 0.0,
        "invalid": 0.0,
    }
)
"""The most its calibrated score may be; only a changed symbol says something about the content."""


@dataclass(frozen=True, slots=True)
class SymbolFacts:
    """What the local index knows of an agreement's symbol.

    Attributes:
        complete: Whether the index has seen every file; only then does absence mean anything.
        definitions: Every definition of the symbol, as `lookup_name` spells it.
    """

    complete: bool
    definitions: tuple[Definition, ...] = ()


NO_FACTS = SymbolFacts(complete=False)


@dataclass(frozen=True, slots=True)
class _Case:
    """An agreement and everything that is known when it is judged."""

    agreement: Agreement
    facts: SymbolFacts
    confirmed: bool
    now: datetime
    expire_days: int
    last_use: datetime

    @property
    def meant(self) -> tuple[Definition, ...]:
        """The definitions in the agreement's own files; all of them once it is defined elsewhere.

        Other files may define the same name: what happens to those says nothing.
        """
        files = {file.path for file in self.agreement.files}
        own = tuple(found for found in self.facts.definitions if found.file in files)
        if not own:  # the same names, written in the other Unicode form
            files = {composed(file) for file in files}
            own = tuple(d for d in self.facts.definitions if composed(d.file) in files)
        return own or self.facts.definitions

    @property
    def unchanged(self) -> bool:
        """Whether a definition is provably the one that was agreed on."""
        known = {definition.digest for definition in self.meant}
        return bool(self.agreement.digest) and self.agreement.digest in known


def lookup_name(symbol: str) -> str:
    """Return a symbol as an index knows it: ``AuthService.login()`` gives ``AuthService.login``."""
    return (
        re.sub(r"\(.*\Z", "", symbol, flags=re.DOTALL).strip().replace("::", ".").replace("#", ".")
    )


def judge(
    entry: Entry,
    facts: SymbolFacts,
    *,
    confirmed: bool,
    now: datetime,
    expire_days: int,
    last_confirmed_use: datetime | None = None,
) -> tuple[Validity, tuple[str, ...]]:
    """Return how far an entry may be trusted, and every reason why not more; pure.

    Args:
        entry: The agreement, or the file that should have been one.
        facts: What the index knows of its symbol now.
        confirmed: What `is_confirmed` said.
        now: With an offset.
        expire_days: Days without confirmed use; 0 for never.
        last_confirmed_use: From the state store; its learning counts as well.
    """
    if entry.agreement is None:
        return entry.problem or "invalid", (entry.reason,)
    learned = when(entry.agreement.learned_at)
    last_use = max(learned, last_confirmed_use) if last_confirmed_use else learned
    case = _Case(entry.agreement, facts, confirmed, now, expire_days, last_use)
    found = [(validity, reason) for validity, rule in _RULES if (reason := rule(case))]
    note = (entry.reason,) if entry.reason else ()
    return found[0][0] if found else "valid", (*(reason for _, reason in found), *note)


def is_confirmed(settings: Settings, entry: Entry, state: State) -> bool:
    """Say whether an agreement's content was confirmed here, or agreed on in git."""
    return entry.path in confirmed_paths(settings, [entry], state)


def confirmed_paths(settings: Settings, entries: Sequence[Entry], state: State) -> set[Path]:
    """Return the paths of the entries that are confirmed; git is asked at most once for all.

    This machine's store holds the content's digest, or, with `trust_git`, the file says
    `confirmed: true` and is byte for byte (line ends aside) what HEAD holds.
    """
    here = state.confirmed()
    found = {entry.path for entry in entries if entry.agreement and entry.digest in here}
    claimed = [
        entry
        for entry in entries
        if entry.path not in found and entry.agreement and entry.agreement.confirmed
    ]
    if not settings.trust_git or not claimed:
        return found
    head = _blobs_in_head(settings.agreements)
    return found | {
        entry.path
        for entry in claimed
        if all(_is_committed(settings.agreements, path, head) for path in (entry.path, *entry.also))
    }


def _broken(case: _Case) -> str:
    gone = case.facts.complete and not case.facts.definitions
    return f"{lookup_name(case.agreement.symbol)} is not defined anywhere any more." if gone else ""


def _changed(case: _Case) -> str:
    if not case.facts.complete or not case.agreement.digest or case.unchanged:
        return ""
    places = ", ".join(f"{found.file}:{found.line}" for found in case.meant[:3])
    return f"The symbol has changed since it was agreed on: {places}." if places else ""


def _unconfirmed(case: _Case) -> str:
    return "" if case.confirmed else "Nobody has confirmed this content here or in git."


def _unchecked(case: _Case) -> str:
    return (
        ""
        if case.facts.complete
        else "There is no complete index of the source to check it against."
    )


def _expired(case: _Case) -> str:
    proven = case.facts.complete and case.unchanged
    if (
        proven
        or not case.expire_days
        or case.now - case.last_use <= timedelta(days=case.expire_days)
    ):
        return ""
    return f"It was not used with success for {case.expire_days} days."


_RULES: tuple[tuple[Validity, Callable[[_Case], str]], ...] = (
    ("broken", _broken),
    ("changed", _changed),
    ("unconfirmed", _unconfirmed),
    ("unchecked", _unchecked),
    ("expired", _expired),
)
"""The first that applies names the validity, all that apply give their reasons."""


def _blobs_in_head(folder: Path) -> dict[str, str]:
    """Return path (NFC, relative to `folder`) and object id of each file in HEAD below `folder`."""
    try:
        listed = git.run(folder, "ls-tree", "-r", "-z", "HEAD", "--", ".") or b""
    except TimeoutError:
        listed = b""  # a repository slower than that confirms nothing
    blobs = {}
    for record in listed.split(b"\0"):
        facts, _, name = record.partition(b"\t")
        if facts.startswith(b"100"):  # a regular file; links and submodules confirm nothing
            blobs[_name(os.fsdecode(name))] = facts.split(b" ")[-1].decode()
    return blobs


def _is_committed(folder: Path, path: Path, head: Mapping[str, str]) -> bool:
    try:
        expected = head[_name(path.relative_to(folder).as_posix())]
        data = path.read_bytes()
    except (KeyError, ValueError, OSError):
        return False
    return expected in _object_ids((data, data.replace(b"\r\n", b"\n")), len(expected))


def _object_ids(contents: Iterable[bytes], length: int) -> set[str]:
    """Return git's blob ids: SHA-1, or SHA-256 in repositories made with it."""
    kind = "sha1" if length == 40 else "sha256"  # noqa: PLR2004 - hex digits of SHA-1
    return {hashlib.new(kind, b"blob %d\0" % len(data) + data).hexdigest() for data in contents}


def _name(path: str) -> str:
    return unicodedata.normalize("NFC", path)
