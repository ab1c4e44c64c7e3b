"""Propose settings of the map: the language of its headings, and folders of decision records."""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from code_intel.chunking.decode import decode
from code_intel.chunking.notes import decision_record
from code_intel.cli.setup.changes import FileChange, content, to_json
from code_intel.config import MAP_CONFIG, STATE_FOLDER, Settings, default_config
from code_intel.index.safe_files import read_plain
from code_intel.records import Language

RECORD_FOLDERS = (
    "docs/adr", "docs/adrs", "docs/decisions", "docs/architecture/decisions",
    "docs/architecture/adr", "doc/adr", "doc/decisions", "doc/architecture/decisions", "adr",
)  # fmt: skip
"""Folders in which projects keep decision records."""
CONFIG_FILE = f"{STATE_FOLDER}/config.toml"
RECORDS_NOTE = (
    '{folder} has decision records. Add "./{folder}" to document_patterns in {file}, and the map'
    " will find them."
)
MAX_FILES = 50
"""Limit of the files that are read to recognise a folder, and to find the language."""
MAX_BYTES = 64 * 1024
MIN_LETTERS = 200
"""Fewer letters do not show a project's language."""
JAPANESE_SHARE = 0.15
"""Share of Japanese letters from which a project's text is Japanese. The rest is names of code."""
_JAPANESE = re.compile("[\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff]")
_CONFIG = """\
# Settings of code-intel for this project. Commit this file.

# The language of the headings in the files of the map.
language = "{language}"
"""


def map_config(root: Path) -> dict[str, Any]:
    """Return the map's configuration with the project's folders of decision records."""
    config = default_config("map")
    config["document_patterns"] += [f"./{folder}" for folder in record_folders(root)]
    return config


def record_folders(root: Path) -> list[str]:
    """Return the usual folders that contain a decision record."""
    return [folder for folder in RECORD_FOLDERS if any(map(_is_record, _markdown(root / folder)))]


def project_language(root: Path) -> Language | None:
    """Return the language of a project's README and documents; None if they say too little."""
    texts = list(map(_text, islice(_documents(root), MAX_FILES)))
    letters = sum(char.isalpha() for text in texts for char in text)
    if letters < MIN_LETTERS:
        return None
    japanese = sum(len(_JAPANESE.findall(text)) for text in texts)
    return "ja" if japanese / letters >= JAPANESE_SHARE else "en"


def settings_file(root: Path) -> list[FileChange]:
    """Return the creation of `config.toml` with the project's language, if it is known."""
    path = root / CONFIG_FILE
    before, language = content(path), project_language(root)
    if before is not None or language is None:
        return []
    return [FileChange(path, None, settings_text(language))]


def settings_text(language: Language) -> bytes:
    """Return the `config.toml` that `init` writes."""
    return _CONFIG.format(language=language).encode()


def is_own_settings(data: bytes) -> bool:
    """Return whether a `config.toml` is as `init` wrote it."""
    return data in {settings_text("ja"), settings_text("en")}


def is_own_map_config(root: Path, data: bytes) -> bool:
    """Return whether a map's configuration is as `init` wrote it, now or earlier."""
    return data in {to_json(map_config(root)), to_json(default_config("map"))}


def records_notes(root: Path, settings: Settings) -> list[str]:
    """Return notes on folders of decision records that the map does not include."""
    known = set(settings.decisions)
    return [
        RECORDS_NOTE.format(folder=folder, file=MAP_CONFIG)
        for folder in record_folders(root)
        if root / folder not in known
    ]


def _documents(root: Path) -> Iterator[Path]:
    yield from sorted(path for path in _markdown(root) if path.stem.lower().startswith("readme"))
    yield from _markdown(root / "docs")


def _markdown(folder: Path) -> Iterator[Path]:
    try:
        yield from islice(sorted(folder.glob("*.md")), MAX_FILES)
    except OSError:
        return


def _text(path: Path) -> str:
    try:
        return decode(read_plain(path, MAX_BYTES)) or ""
    except OSError:
        return ""


def _is_record(path: Path) -> bool:
    return decision_record.read(_text(path), path.stem) is not None
