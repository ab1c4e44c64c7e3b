"""Build projects with agreements for tests, and return what their files and memory say."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from code_intel.config import Settings, load_settings
from code_intel.learned.files import pairs
from code_intel.learned.files.agreements import Key, look
from code_intel.learned.files.pairs import Pair
from code_intel.learned.history.state import open_state
from code_intel.learned.status.validity import trust_of
from code_intel.records import Agreement

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def project(folder: Path) -> Settings:
    """Return the settings of a project that the environment does not change."""
    return load_settings(folder, {})


def agreements_of(settings: Settings) -> dict[Key, Agreement]:
    """Return the readable agreements of a project, by key."""
    entries = look(settings.agreements).by_key
    return {key: entry.agreement for key, entry in entries.items() if entry.agreement}


def pairs_of(settings: Settings) -> dict[Key, Pair]:
    """Return the pairs in learned_pairs.json, by key; fail if the file is damaged."""
    file = pairs.load(pairs.path_of(settings))
    assert not file.damage, file.damage
    return {pair.key: pair for pair in file.pairs}


def confirmed_keys(settings: Settings) -> set[Key]:
    """Return the keys of the agreements that count as confirmed."""
    with open_state(settings.state, create=False) as state:
        trust = trust_of(settings, frozenset(state.confirmed()))
    entries = look(settings.agreements).by_key
    return {key for key, entry in entries.items() if trust.confirms(entry)}


def file_contents(folder: Path) -> dict[str, bytes]:
    """Return the content of every file below a folder by its path in it, except databases."""
    files = (path for path in folder.rglob("*") if path.is_file() and ".db" not in path.name)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def rewrite(path: Path, change: Callable[[str], str]) -> None:
    """Replace the text of a file."""
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
