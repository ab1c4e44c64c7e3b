"""Outline components with code in `<script>` elements, such as those of Vue and Svelte."""

import re
from collections.abc import Iterator

from code_intel.chunking.languages import TYPESCRIPT, Language
from code_intel.chunking.outline import FileOutline
from code_intel.chunking.spans import Lines
from code_intel.chunking.symbols import outline as code_outline

_TAG = re.compile(r"<(/?)script\b[^<>]*>", re.IGNORECASE)
_IN_LINE = re.compile(r"[^\r\n]")


# The signature of readers.
def outline(text: str, lines: Lines, language: Language) -> FileOutline:  # noqa: ARG001
    """Parse the scripts as TypeScript, a superset of JavaScript; the rest becomes spaces.

    Raises:
        ImportError: The grammar is not installed.
        ValueError: The parser failed.
    """
    code = code_of(text)
    return code_outline(code, lines, TYPESCRIPT) if code.strip() else FileOutline()


def code_of(text: str) -> str:
    """Return a component in which spaces replace everything but scripts and line endings."""
    return "".join(_pieces(text))


def _pieces(text: str) -> Iterator[str]:
    """Yield the text in pieces of the same length, with spaces outside scripts."""
    last_end, in_script = 0, False
    for tag in _TAG.finditer(text):
        piece = text[last_end : tag.start()]
        yield piece if in_script else _IN_LINE.sub(" ", piece)
        yield _IN_LINE.sub(" ", tag[0])
        last_end, in_script = tag.end(), not tag[1]
    yield _IN_LINE.sub(" ", text[last_end:])
