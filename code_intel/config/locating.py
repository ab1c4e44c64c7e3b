"""Which index config is meant: a path as given, or one of the names that devrag's users have.

`devrag` without `--config` is the forest, which is what the single entry of older `.mcp.json` files
starts: devrag's own `config.json` where there is one, else what `init` writes (docs/decisions/0017).
"""

import json
import os
from pathlib import Path

from code_intel.config.index_config import FOREST_CONFIG, KEYS, STATE_FOLDER
from code_intel.config.reading import regular
from code_intel.config.settings import find_root, find_served_root
from code_intel.errors import UsageError

DEFAULT_CONFIG = "config.json"
DEFAULT_NAMES = (DEFAULT_CONFIG, "devrag.json", FOREST_CONFIG, f"{STATE_FOLDER}/{FOREST_CONFIG}")

OWN = frozenset({"document_patterns", "documents_dir", "db_path", "chunk_size", "search_top_k"})
"""Keys that no other program's `config.json` is likely to have."""


def locate_config(given: str | None, *, serving: bool) -> Path:
    """Return the path of an index config; only devrag's default name may name a file that is missing.

    It is looked for where the process runs; a server that does not find it there looks in the project
    that its client names (`settings.find_served_root`), since clients start servers anywhere.

    Raises:
        UsageError: `given` is no file.
    """
    names = DEFAULT_NAMES if given is None else (given, _in_state_folder(Path(given)))
    here = Path()
    for name in names:
        if _is_meant(here / name, given):
            return here / name
    if serving:
        served = find_served_root()
        for name in names:
            if _is_meant(served / name, given):
                return served / name
        here = here if served == find_root() else served
    if given in {None, DEFAULT_CONFIG}:
        return here / DEFAULT_CONFIG
    raise UsageError(
        f"{given} does not exist.",
        hint="Name a devrag configuration; `code-intel init` writes two.",
        details={"field": "config"},
    )


def _in_state_folder(path: Path) -> str:
    """Return the path with `.code-intel` before its last name: where older layouts have it."""
    return str(path.parent / STATE_FOLDER / path.name)


def _is_meant(path: Path, given: str | None) -> bool:
    """Whether that is the file; a `config.json` that nobody named may belong to another program."""
    if not os.path.isfile(path):  # noqa: PTH113 - Path.is_file fails for a name that is too long
        return False
    if given is not None or path.name != DEFAULT_CONFIG:
        return True
    try:
        content = json.loads(regular(path).decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return True  # reading it as a config says what is wrong
    if not isinstance(content, dict):
        return True
    return bool(content.keys() & OWN) or content.keys() <= set(KEYS[""])
