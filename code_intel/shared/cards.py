"""Say by what chunks and generations are known to every machine."""

from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from code_intel.chunking.languages import LANGUAGES
from code_intel.shared.layers import digest_of

_PACKAGE = Path(__file__).parents[1]
_SOURCES = (
    "chunking",
    "errors.py",
    "foundation/redaction.py",
    "foundation/secret_patterns.py",
    "foundation/text.py",
    "foundation/timed_parse.py",
    "index/rows.py",
    "records.py",
)
"""What decides on the chunks of a file and their words. A test checks that nothing is missing."""


def card_digest(identity: str, card: str) -> str:
    """Return the digest of a model's identity and a card; empty for a chunk without a card."""
    return digest_of("card", identity, card) if identity and card else ""


def settings_digest(identity: str, chunk_size: int) -> str:
    """Return the digest of what decides on the chunks of a file: chunker, grammars and model."""
    return digest_of("settings", chunker_digest(), str(chunk_size), identity)


@cache
def chunker_digest() -> str:
    """Return the digest of the code that makes chunks, and of the versions of the grammars.

    So a release that changes neither can build on layers that another release has pushed.
    """
    parts: list[str] = []
    for file in chunker_files():
        text = file.read_text(encoding="utf-8")  # line ends may differ between machines
        parts += (file.relative_to(_PACKAGE).as_posix(), text)
    for package in sorted(_grammars()):
        parts += (package, _version(package))
    return digest_of("chunker", *parts)


def chunker_files() -> list[Path]:
    """Return the files of the code that makes chunks, sorted."""
    found = (_PACKAGE / source for source in _SOURCES)
    return sorted(file for each in found for file in _files(each))


def _files(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
    for suffix in ("py", "tsv"):
        yield from place.rglob(f"*.{suffix}")


def _grammars() -> set[str]:
    """Return the names of the packages that parse."""
    modules = (row.grammar.partition(":")[0] for row in LANGUAGES if row.grammar)
    return {"tree-sitter", *(module.replace("_", "-") for module in modules)}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
