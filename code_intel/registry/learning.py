"""Remember which command was executed for which feature (docs/decisions/0047).

`.code-intel/commands.json` has a row for each command and feature, with the number of uses and the
last time. People may edit it, and a repository may contain it. So each row is checked, and the file
can only move up commands that the registry has. Failing to record a use is not an error.
"""

import json
import unicodedata
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from code_intel.chunking.lexicon import unread
from code_intel.config.reading import read_regular_file
from code_intel.errors import BusyError, StorageError
from code_intel.foundation import durable
from code_intel.foundation.redaction import masked
from code_intel.foundation.state_folder import STATE_FOLDER
from code_intel.foundation.text import without_hidden
from code_intel.learned.files.pairs import set_aside
from code_intel.learned.recall.english import Idea, covered, ideas, stems
from code_intel.registry.records import CommandKey

USES_FILE = "commands.json"
USES_VERSION = 1
MAX_USES = 500
"""Stored uses, the latest first; a project has a few dozen commands."""
MAX_USES_BYTES = 4 << 20
MAX_FEATURE_CHARS = 300
"""Characters of a feature, and of a name."""
MAX_FEATURE_CHARS_READ = 4_000
"""Characters of a feature to read before cutting it."""
MAX_USE_COUNT = 1_000_000
MIN_LIKENESS = 0.06
"""Least likeness of two features; below it common words are chance (docs/decisions/0047)."""
MAX_LIFTED = 2
"""Commands that one feature moves up; the first one without them stays among the first three."""
MAX_LIKENESS = 0.99
"""Maximum likeness of two different features."""
USES_LOCK_TIMEOUT_S = 2.0
"""Seconds that a change waits for another process; the caller waits, too."""


@dataclass(frozen=True, slots=True)
class CommandUse:
    """The executions of a command for a feature.

    Attributes:
        agent, c1, c2, c3: The command.
        feature: The feature, in the caller's words.
        times: Number of executions.
        last: Time of the last one, ISO 8601 with a zone.
    """

    agent: str
    c1: str
    c2: str
    c3: str
    feature: str
    times: int
    last: str

    @property
    def key(self) -> CommandKey:
        """The command's name."""
        return CommandKey(self.agent, self.c1, self.c2, self.c3)


class _FeatureText(NamedTuple):
    """A feature's folded text, its ideas in English, and all their stems."""

    folded: str
    ideas: tuple[Idea, ...]
    stems: frozenset[str]


class UseStore(NamedTuple):
    """The content of the file; `damage` says why it is unusable. A `newer` file is not changed."""

    uses: tuple[CommandUse, ...] = ()
    damage: str = ""
    newer: bool = False

    @property
    def note(self) -> str:
        """Why it says nothing, a sentence; empty where nothing is wrong."""
        if self.newer:
            return f"{USES_FILE} was written by a newer version. It is neither read nor changed."
        return f"{USES_FILE} cannot be read: {self.damage}." if self.damage else ""


class CommandExperience:
    """The uses of a project's commands; any number of threads and processes may note and ask.

    Args:
        root: Of the project.
        now: The time, aware.
        patience: Seconds that a change waits for another process.
    """

    def __init__(
        self,
        root: Path,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        patience: float = USES_LOCK_TIMEOUT_S,
    ) -> None:
        self.path = root / STATE_FOLDER / USES_FILE
        self._now = now
        self._patience = patience
        self._read: tuple[object, UseStore] = (None, UseStore())

    def note(self, key: CommandKey, feature: str) -> bool:
        """Record a successful execution of a command for a feature; return whether that worked.

        False for a feature without words, in a read-only project, while another process has the
        lock, and if a newer version wrote the file.
        """
        told = cleaned(feature)
        if not told:
            return False

        def noted(uses: Iterable[CommandUse]) -> list[CommandUse]:
            others = {(one.key, _folded(one.feature)): one for one in uses}
            old = others.pop((key, _folded(told)), None)
            times = min(MAX_USE_COUNT, (old.times if old else 0) + 1)
            return [CommandUse(*key, told, times, self._stamp()), *others.values()]

        with suppress(StorageError, BusyError):
            return self._change(noted)
        return False

    def uses(self) -> list[CommandUse]:
        """Return the uses, the latest first; none if the file is missing or damaged."""
        return list(self.kept().uses)

    def near(self, feature: str) -> list[tuple[CommandKey, float, CommandUse]]:
        """Return the commands executed for similar features, best first, each with its best use.

        Likeness is 1 for the same feature. Else it is the share of the ideas of each feature that
        the other has, multiplied. Ideas are weighted by rarity and compared across languages.
        """
        asked = _said(cleaned(feature))
        if not asked.folded:
            return []
        found: dict[CommandKey, tuple[float, CommandUse]] = {}
        for use in self.kept().uses:
            share = _likeness(asked, _said(use.feature))
            old = found.get(use.key)
            if share >= MIN_LIKENESS and (
                old is None or (share, use.times) > (old[0], old[1].times)
            ):
                found[use.key] = (share, use)
        rows = [(key, share, use) for key, (share, use) in found.items()]
        return sorted(rows, key=lambda row: (-row[1], -row[2].times))

    def forget(self, key: CommandKey | None = None, feature: str = "") -> int:
        """Remove the uses of a command, of a feature, of both, or all; return their number.

        Raises:
            StorageError: The file cannot be written, or a newer version wrote it.
            BusyError: Another process holds the lock.
        """
        about = _folded(cleaned(feature))

        def is_meant(use: CommandUse) -> bool:
            return key in {None, use.key} and (not about or _folded(use.feature) == about)

        gone = 0

        def without(uses: Iterable[CommandUse]) -> list[CommandUse]:
            nonlocal gone
            listed = list(uses)
            left = [use for use in listed if not is_meant(use)]
            gone = len(listed) - len(left)
            return left

        if self.path.exists() and not self._change(without):
            raise StorageError(
                f"{USES_FILE} was written by a newer version.",
                hint="Use the newer version of code-intel.",
            )
        return gone

    def kept(self) -> UseStore:
        """Return the content of the file, read again after changes; never raises."""
        try:
            at = self.path.lstat()
        except OSError:
            return UseStore()
        state = (at.st_mtime_ns, at.st_size, at.st_ino)
        known, kept = self._read
        if known != state:
            kept = _parsed(self.path, self._now())
            self._read = (state, kept)
        return kept

    def _change(self, change: Callable[[Iterable[CommandUse]], list[CommandUse]]) -> bool:
        with durable.locked(self.path.with_name(f"{USES_FILE}.lock"), self._patience):
            old = _parsed(self.path, self._now()) if self.path.exists() else UseStore()
            if old.newer:
                return False
            if old.damage:
                set_aside(self.path, self._now())
            new = change(old.uses)[:MAX_USES]
            if new != [*old.uses]:
                durable.replace(self.path, _dumped(new))
        return True

    def _stamp(self) -> str:
        return self._now().astimezone(UTC).isoformat(timespec="seconds")


def cleaned(feature: str) -> str:
    """Return a feature for storage: one short line without secrets and invisible characters."""
    # Masked before it is cut: half a secret is not known for one.
    return masked(without_hidden(" ".join(feature[:MAX_FEATURE_CHARS_READ].split())))[
        :MAX_FEATURE_CHARS
    ].strip()


def _parsed(path: Path, now: datetime) -> UseStore:
    """Parse the file; describe a damaged one without quoting it."""
    try:
        if path.is_symlink():
            return UseStore(damage="it is a link")
        document = json.loads(read_regular_file(path, MAX_USES_BYTES))
        rows = document["uses"]
        if document["version"] > USES_VERSION:
            return UseStore(newer=True)
        if not isinstance(rows, list):
            return UseStore(damage="uses is not a list")
    except OSError as error:
        return UseStore(damage=error.strerror or str(error))
    except (ValueError, RecursionError, KeyError, TypeError):
        return UseStore(damage="it is not a JSON object with version and uses")
    found = [use for row in rows[: 2 * MAX_USES] if (use := _use(row, now))]
    found.sort(key=lambda use: use.last, reverse=True)
    return UseStore(tuple(found[:MAX_USES]))


def _use(row: Any, now: datetime) -> CommandUse | None:
    """Return a row as a use, None if it is invalid; a time in the future becomes now."""
    try:
        names = [row[name] for name in ("agent", "c1", "c2", "c3")]
        feature, times = cleaned(row["feature"]), row["times"]
        last = min(datetime.fromisoformat(row["last"]).astimezone(UTC), now.astimezone(UTC))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return None
    good = all(isinstance(name, str) and 0 < len(name) <= MAX_FEATURE_CHARS for name in names)
    if not good or not feature or type(times) is not int or times < 1:
        return None
    agent, c1, c2, c3 = names
    return CommandUse(
        agent, c1, c2, c3, feature, min(times, MAX_USE_COUNT), last.isoformat(timespec="seconds")
    )


def _dumped(uses: Iterable[CommandUse]) -> bytes:
    """Return the bytes of the file, with one use per line for readable diffs."""
    rows = ",\n".join(f"  {json.dumps(asdict(use), ensure_ascii=False)}" for use in uses)
    text = f'{{\n "version": {USES_VERSION},\n "uses": [\n{rows}\n ]\n}}\n'
    return text.encode("utf-8", "replace")


def _folded(feature: str) -> str:
    return unicodedata.normalize("NFKC", feature).casefold()


@lru_cache(maxsize=4 * MAX_USES)
def _said(feature: str) -> _FeatureText:
    unknown = (frozenset({run}) for run in unread(feature))
    said = (*ideas(feature), *unknown)
    return _FeatureText(_folded(feature), said, stems(said))


def _likeness(one: _FeatureText, other: _FeatureText) -> float:
    """Return the likeness of two features, 0 to 1; the order does not matter."""
    if one.folded == other.folded:
        return 1.0
    if one.stems.isdisjoint(other.stems):
        return 0.0
    there, back = covered(one.ideas, other.stems), covered(other.ideas, one.stems)
    return min(MAX_LIKENESS, there * back)
