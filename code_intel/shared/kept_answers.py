"""Keep answers of the shared index on this machine, so that they are there without the server."""

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from code_intel.errors import CodeIntelError
from code_intel.foundation import durable
from code_intel.shared.calls import METHODS
from code_intel.shared.wire import WireError, pack, unpack

KEPT_GENERATIONS = 4
"""Number of generations of a repository of which answers stay on disk."""


class KeptAnswers:
    """Answers about one generation that are kept in a folder of this machine.

    Args:
        folder: The folder of all generations of a repository.
        generation: The id of the generation.
    """

    def __init__(self, folder: Path, generation: str) -> None:
        self._all = folder
        self._folder = folder / generation

    def get(self, method: str, arguments: object) -> Any | None:
        """Return a checked answer; None if there is none, or a damaged one."""
        try:
            data = self._file(method, arguments).read_bytes()
            return unpack(data, METHODS[method].result)
        except (OSError, WireError):
            return None

    def put(self, method: str, arguments: object, result: object) -> None:
        """Keep an answer, and remove those of the oldest generations; do nothing on a full disk."""
        with suppress(CodeIntelError, OSError):
            durable.replace(self._file(method, arguments), pack(result))
            others = sorted(self._all.iterdir(), key=lambda each: each.stat().st_mtime)
            for folder in others[:-KEPT_GENERATIONS]:
                if folder != self._folder:
                    for file in folder.iterdir():
                        durable.remove(file, flushed=False)
                    durable.remove_folder(folder)

    def _file(self, method: str, arguments: object) -> Path:
        key = hashlib.sha256(repr(arguments).encode("utf-8", "replace")).hexdigest()[:16]
        return self._folder / f"{method}-{key}.json.gz"
