"""Components whose code stands in `<script>` elements: Vue, Svelte."""

import re
from collections.abc import Iterator

from code_intel.chunking.languages import TYPESCRIPT, Language
from code_intel.chunking.outline import Outline
from code_intel.chunking.spans import Lines
from code_intel.chunking.symbols import outline as code_outline

_TAG = re.compile(r"<(/?)script\b[^<>]*>", re.IGNORECASE)
_SHOWN = re.compile(r"[^\r\n]")


def outline(text: str, lines: Lines, language: Language) -> Outline:  # noqa: ARG001 - what every reader is handed
    """Read the scripts as TypeScript, which JavaScript is part of; all else is left blank.

    Raises:
        ImportError: The grammar is not installed.
        ValueError: The parser could make nothing of the scripts.
    """
    code = code_of(text)
    return code_outline(code, lines, TYPESCRIPT) if code.strip() else Outline()


def code_of(text: str) -> str:
    """Return a component with blanks for all that is no script, line ends aside."""
    return "".join(_code(text))


def _code(text: str) -> Iterator[str]:
    """Yield the text in pieces, of the same length, with blanks for what is no script."""
    done, inside = 0, False
    for tag in _TAG.finditer(text):
        piece = text[done : tag.start()]
        yield piece if inside else _SHOWN.sub(" ", piece)
        yield _SHOWN.sub(" ", tag[0])
        done, inside = tag.end(), not tag[1]
    yield _SHOWN.sub(" ", text[done:])
