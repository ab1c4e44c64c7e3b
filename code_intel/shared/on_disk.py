"""Show what a server found only if it is on the disk of this machine.

What a server says is a hypothesis, and may be a lie. So a hit keeps its text only if the file has
the same text now, and its lines are those of the file.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from code_intel.chunking import decode
from code_intel.index.safe_files import read_document
from code_intel.records import Hit

_LINE_ENDING = re.compile(r"\r\n|\r|\n")


class Disk:
    """The files of a folder, each read once.

    Args:
        folder: The folder that document names are relative to.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._texts: dict[str, str] = {}

    def verified(self, hits: Iterable[Hit]) -> Iterator[Hit]:
        """Yield the hits whose texts are in their files, with their lines there."""
        for hit in hits:
            checked = self._located(hit)
            if checked is not None:
                yield replace(checked, others=tuple(self.verified(hit.others)))

    def _located(self, hit: Hit) -> Hit | None:
        """Return a hit with the lines of its text; None if the file does not have it."""
        text = self._text(hit.document)
        starts = [0, *(match.end() for match in _LINE_ENDING.finditer(text))]
        claimed = starts[min(max(hit.start_line, 1), len(starts)) - 1]
        at = text.find(hit.chunk, claimed)
        at = text.find(hit.chunk) if at < 0 else at
        if at < 0 or not hit.chunk.strip():
            return None
        first, last = bisect_right(starts, at), bisect_left(starts, at + len(hit.chunk))
        symbol = hit.symbol if hit.symbol.rpartition(".")[2] in hit.chunk else ""
        return replace(hit, start_line=first, end_line=max(first, last), symbol=symbol)

    def _text(self, document: str) -> str:
        """Return the text of a file as the index would have it; empty if it cannot be read."""
        if document not in self._texts:
            try:
                self._texts[document] = decode(read_document(self._folder, document)) or ""
            except (OSError, ValueError):
                self._texts[document] = ""
        return self._texts[document]
