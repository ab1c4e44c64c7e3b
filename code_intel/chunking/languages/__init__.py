"""Define the table of languages: their file names and how to find their symbols.

There is one module for each family of languages. Grammars are single-language wheels
(docs/decisions/0005) and are imported on first use. Languages without a grammar or a reader are
chunked by lines.
"""

import importlib
import re
from functools import cache
from typing import TYPE_CHECKING

from code_intel.chunking.languages import (
    ecmascript,
    jvm,
    markup,
    native,
    plain,
    python,
    scripting,
)
from code_intel.chunking.languages.ecmascript import TYPESCRIPT
from code_intel.chunking.languages.plain import MARKDOWN, PLAIN
from code_intel.chunking.languages.row import CAPTURE_KINDS, SCOPES, Language

if TYPE_CHECKING:
    from tree_sitter import Language as Grammar
    from tree_sitter import Query

__all__ = [
    "CAPTURE_KINDS",
    "LANGUAGES",
    "MARKDOWN",
    "PLAIN",
    "SCOPES",
    "TYPESCRIPT",
    "Language",
    "grammar_of",
    "language_of",
    "row_of",
    "row_of_text",
]

LANGUAGES = (
    *python.PYTHON_LANGUAGES,
    *ecmascript.ECMASCRIPT_LANGUAGES,
    *native.NATIVE_LANGUAGES,
    *jvm.JVM_LANGUAGES,
    *scripting.SCRIPTING_LANGUAGES,
    *markup.MARKUP_LANGUAGES,
    *plain.PLAIN_LANGUAGES,
)

_BY_FILE = {file: language for language in LANGUAGES for file in language.files}
_BY_NAME = {language.name: language for language in LANGUAGES}
_BY_PROGRAM = {program: language for language in LANGUAGES for program in language.interpreters}

_PROGRAM = re.compile(r"#![ \t]*(?:\S*/)?(?:env[ \t]+(?:-\S+[ \t]+)*)?([a-z-]+)")
_HEADERS = (
    (re.compile(r"^[ \t]*@(?:interface|protocol|class|import)\b", re.MULTILINE), "objective-c"),
    (
        re.compile(
            r"^[ \t]*(?:class\s+\w[^;]*\{|namespace\b|template\s*<|using\s+\w"
            r"|(?:public|private|protected)\s*:"
            r"|enum\s+class\b|constexpr\b|extern\s+\"C\+\+\")",
            re.MULTILINE,
        ),
        "cpp",
    ),
)
"""Content that shows that a `.h` file is not C."""


def language_of(path: str) -> str:
    """Return the language of a file by its name; `text` if it is unknown."""
    return row_of(path).name


def row_of(path: str) -> Language:
    """Return the row of a file by its whole name, else by its extension."""
    name = path.replace("\\", "/").rstrip("/").rpartition("/")[2].lower()
    _, dot, ending = name.rpartition(".")
    return _BY_FILE.get(name) or _BY_FILE.get(dot + ending, PLAIN)


def row_of_text(path: str, text: str) -> Language:
    """Return the row of a file by name and content: C headers, scripts without extension."""
    language = row_of(path)
    if language is PLAIN and (match := _PROGRAM.match(text)):
        return _BY_PROGRAM.get(match[1], PLAIN)
    if language.name == "c" and path.lower().endswith(".h"):
        found = (name for mark, name in _HEADERS if mark.search(text))
        return _BY_NAME[next(found, "c")]
    return language


@cache
def grammar_of(language: Language) -> "tuple[Grammar, Query]":
    """Load the grammar of a language and compile its query, once per process.

    Raises:
        ImportError: The wheel is not installed.
    """
    from tree_sitter import Language as Grammar
    from tree_sitter import Query

    module, function = language.grammar.split(":")
    grammar = Grammar(getattr(importlib.import_module(module), function)())
    return grammar, Query(grammar, language.symbols)
