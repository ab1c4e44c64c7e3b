"""Outline components with code in `<script>` elements: Vue, Svelte."""

import re
from collections.abc import Iterator

from code_intel.chunking.languages import TYPESCRIPT, Language
from code_intel.chunking.outline import FileOutline
from code_intel.chunking.spans import Lines
from code_intel.chunking.symbols import outline as code_outline

_TAG = re.compile(r"<(/?)script\b[^<>]*>", re.IGNORECASE)
_SHOWN = re.compile(r"[^\r\n]")


def outline(text: str, lines: Lines, language: Language) -> FileOutline:  # noqa: ARG001 - every reader has it
    """Parse the scripts as TypeScript, a superset of JavaScript; the rest becomes blanks.

    Raises:
        ImportError: The grammar is not installed.
        ValueError: The parser failed.
    """
    code = code_of(text)
    return code_outline(code, lines, TYPESCRIPT) if code.strip() else FileOutline()


def code_of(text: str) -> str:
    """Return a component with blanks in place of everything but scripts and line ends."""
    return "".join(_code(text))


def _code(text: str) -> Iterator[str]:
    """Yield the text in pieces of the same length, with blanks outside scripts."""
    done, inside = 0, False
    for tag in _TAG.finditer(text):
        piece = text[done : tag.start()]
        yield piece if inside else _SHOWN.sub(" ", piece)
        yield _SHOWN.sub(" ", tag[0])
        done, inside = tag.end(), not tag[1]
    yield _SHOWN.sub(" ", text[done:])
