"""Find the index config that `--config` names, or the default one.

Without `--config`, `devrag` uses devrag's own `config.json` if there is one, else the forest config
that `init` writes, because older `.mcp.json` files start `devrag` without the option
(docs/decisions/0017).
"""

import json
import os
from pathlib import Path

from code_intel.config.index_config import FOREST_CONFIG, KNOWN_KEYS, STATE_FOLDER
from code_intel.config.reading import read_regular_file
from code_intel.config.settings import find_root, find_served_root
from code_intel.errors import UsageError

DEFAULT_CONFIG = "config.json"
DEFAULT_NAMES = (DEFAULT_CONFIG, "devrag.json", FOREST_CONFIG, f"{STATE_FOLDER}/{FOREST_CONFIG}")

DEVRAG_ONLY_KEYS = frozenset(
    {"document_patterns", "documents_dir", "db_path", "chunk_size", "search_top_k"}
)
"""Keys that the `config.json` of another program is unlikely to have."""


def locate_config(given: str | None, *, serving: bool) -> Path:
    """Return the path of an index config; it exists unless it is devrag's default.

    Looks in the current folder. A server then looks in the project that its client names
    (`settings.find_served_root`), since clients start servers in any folder.

    Raises:
        UsageError: `given` is not a file.
    """
    names = DEFAULT_NAMES if given is None else (given, _in_state_folder(Path(given)))
    here = Path()
    for name in names:
        if _is_usable(here / name, given):
            return here / name
    if serving:
        served = find_served_root()
        for name in names:
            if _is_usable(served / name, given):
                return served / name
        here = here if served == find_root() else served
    if given in {None, DEFAULT_CONFIG}:
        return here / DEFAULT_CONFIG
    raise UsageError(
        f"{given} does not exist.",
        hint="Pass the path of a devrag configuration; `code-intel init` writes two.",
        details={"field": "config"},
    )


def _in_state_folder(path: Path) -> str:
    """Return the path of a config in `.code-intel`, as in older layouts."""
    return str(path.parent / STATE_FOLDER / path.name)


def _is_usable(path: Path, given: str | None) -> bool:
    """Return whether to use the file; a `config.json` found by default may be another program's."""
    if not os.path.isfile(path):  # noqa: PTH113 - Path.is_file raises for long names
        return False
    if given is not None or path.name != DEFAULT_CONFIG:
        return True
    try:
        content = json.loads(read_regular_file(path).decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return True  # reading it as a config reports the error
    if not isinstance(content, dict):
        return True
    return bool(content.keys() & DEVRAG_ONLY_KEYS) or content.keys() <= set(KNOWN_KEYS[""])
