"""Judge names in languages without rules: by imports, and by who else has the name.

A name in code is likely to refer to a symbol if its file imports the symbol's file, or is in the
same folder, and imports no other file with a definition of the name. It is also likely if nothing
else in the project has the name. It is never `resolved`.
"""

from collections.abc import Iterable, Iterator, Sequence
from posixpath import dirname
from typing import TYPE_CHECKING

from code_intel.chunking.languages import row_of
from code_intel.chunking.tree import parse
from code_intel.forest.references.judgement import Certainty, Judgement
from code_intel.forest.references.project import ProjectNames
from code_intel.records import Definition

if TYPE_CHECKING:
    from tree_sitter import Node

_PROSE = ("comment", "string", "content", "text")
"""Parts of the names of node types that are no code."""
LIKELY = Judgement(Certainty.LIKELY)


class NearbyJudge:
    """Judge the occurrences of one name.

    Args:
        project: Reads the files.
        asked: The definitions that are meant.
        namesakes: All definitions of the name.
    """

    def __init__(
        self,
        project: ProjectNames,
        asked: Sequence[Definition],
        namesakes: Iterable[Definition],
    ) -> None:
        self._project = project
        self._asked = asked
        self._others = [d for d in namesakes if d not in asked]

    def lines_of(self, file: str) -> dict[int, Judgement]:
        """Return what is known of the lines of a file that contain the name."""
        text = self._project.read(file)
        if text is None or not row_of(file).grammar or not self._is_likely(file):
            return {}
        encoded = text.encode("utf-8", "replace")
        try:
            root, _ = parse(encoded, row_of(file))
        except (ImportError, ValueError):
            return {}
        names = _names(root, encoded, self._asked[0].name)
        return {node.start_point[0] + 1: LIKELY for node in names}

    def _is_likely(self, file: str) -> bool:
        """Return whether the name means the symbol in a file."""
        if not self._others:
            return True
        near = {file, *self._project.graph.outbound(file)}
        own, others = (
            {d.file in near or dirname(d.file) == dirname(file) for d in some}
            for some in (self._asked, self._others)
        )
        return True in own and True not in others


def _names(root: "Node", encoded: bytes, name: str) -> "Iterator[Node]":
    """Yield the nodes that are a name, outside comments and texts."""
    wanted = name.encode()
    start = encoded.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        node = root.named_descendant_for_byte_range(start, end)
        is_name = node is not None and (node.start_byte, node.end_byte) == (start, end)
        if node is not None and is_name and not any(part in node.type for part in _PROSE):
            yield node
        start = encoded.find(wanted, end)
