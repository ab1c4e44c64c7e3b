"""Write `config.json` with devrag's defaults if none exists (docs/decisions/0017)."""

import json
import os
import sys
from contextlib import suppress
from pathlib import Path

from code_intel.config.index_config import DEVRAG_DEFAULTS
from code_intel.errors import StorageError
from code_intel.foundation import durable


def create_config(path: Path) -> None:
    """Write the file and report it, unless the folder is the home folder or is not writable.

    An existing file is kept; the folders that the defaults name are not created.
    """
    folder = path.absolute().parent
    # Path.home fails without one.
    if folder in {Path(folder.anchor), Path(os.path.expanduser("~"))}:  # noqa: PTH111
        return
    text = json.dumps(dict(DEVRAG_DEFAULTS), indent=2) + "\n"
    with suppress(StorageError):
        durable.create(path, text.encode())
        print(f"devrag: created {path} with default settings.", file=sys.stderr, flush=True)
