"""Boost or penalise kinds of file: profiles `default`, `docs` and `none` (seed 002).

`files_search` multiplies the score of a file. `context_bundle` adds to it, and omits the folders in
`BLACKLIST`; its penalties only reduce positive scores.
"""

import re
from collections.abc import Collection, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Literal, NamedTuple

from code_intel.chunking.languages import row_of
from code_intel.forest.ranking.paths import PATH_KINDS
from code_intel.forest.ranking.question import TOPICS

BoostProfile = Literal["default", "docs", "none"]


class FileType(StrEnum):
    """The kind of a file, by its path."""

    IMPLEMENTATION = "src"
    TEST = "test"
    DOCUMENT = "docs"
    OTHER = "other"


class Boost(NamedTuple):
    """A boost profile.

    Attributes:
        factors: Factors for `files_search`; 1 if missing.
        terms: Terms that `context_bundle` adds; 0 if missing.
        blacklist: Folders that `context_bundle` omits.
        wanted: Rows of `question.TOPICS` whose files are not ranked lower.
    """

    factors: Mapping[FileType, float]
    terms: Mapping[FileType, float]
    blacklist: frozenset[str]
    wanted: frozenset[str] = frozenset()


_TESTS = "tests"
BLACKLIST = frozenset(
    {"docs", "tests", "test", "node_modules", ".git", ".cursor", "dist", "build", "coverage", "tmp"}
)

BOOSTS: Mapping[BoostProfile, Boost] = MappingProxyType(
    {
        "default": Boost(
            {FileType.IMPLEMENTATION: 1.5, FileType.TEST: 1.2, FileType.DOCUMENT: 0.5},
            {FileType.IMPLEMENTATION: 0.5, FileType.DOCUMENT: -0.3},
            BLACKLIST,
        ),
        "docs": Boost(
            {FileType.DOCUMENT: 1.5, FileType.IMPLEMENTATION: 0.7},
            {FileType.DOCUMENT: 0.5, FileType.IMPLEMENTATION: -0.2},
            BLACKLIST - {"docs"},
            frozenset({"docs", "settings"}),
        ),
        "none": Boost({}, {}, frozenset(), frozenset(TOPICS)),
    }
)

_DOCUMENT = re.compile(r"\.(?:md|mdx|markdown|rst|ya?ml)$", re.IGNORECASE)
_TEST = next(kind.pattern for kind in PATH_KINDS if kind.name == "test")
_SOURCE = re.compile(
    r"^(?:(?:packages|apps|crates|services)/[^/]+/)?(?:src|lib|app)/", re.IGNORECASE
)
_BUILD_SCRIPT = re.compile(
    r"(?:setup|noxfile|fabfile|conanfile|[^/]*[.]config|gulpfile|gruntfile)\.[cm]?(?:py|[jt]s)$",
    re.IGNORECASE,
)
"""Names of files beside the source that configure or build it."""
_DOCS_FOLDER = re.compile(r"(?:^|/)docs?/", re.IGNORECASE)
_ASIDE = re.compile(
    r"(?:^|/)(?:examples?|samples?|demos?|tutorials?|scripts|benchmarks?"
    r"|docs?_src|vendor"
    r"|third_party|node_modules|dist|build|out|target|coverage|tmp|\.[^/]+)/",
    re.IGNORECASE,
)
"""Paths of files that do not implement anything, unless they are in a source folder."""
_DATA = frozenset({"", "text", "json", "json5", "jsonl", "toml", "ini", "html", "css", "scss"})
_AMBIGUOUS = frozenset({"docs", "dist", "build", "coverage", "tmp"})
"""Folder names that mean nothing below a source folder: `src/build/plan.ts` is not build output."""


def file_type(path: str, language: str, *, defines: bool = True) -> FileType:
    """Return the kind of a file.

    Args:
        path: Relative to the indexed folder.
        language: Its language.
        defines: Whether it defines symbols; code in a folder of documents is source if it does.
    """
    if _DOCUMENT.search(path):
        return FileType.DOCUMENT
    if is_test(path):
        return FileType.TEST
    if language in _DATA or not (_SOURCE.search(path) or _is_code(path, defines=defines)):
        return FileType.OTHER
    return FileType.IMPLEMENTATION


def is_test(path: str) -> bool:
    """Return whether a path is that of a test, by its folder or its name."""
    return bool(_TEST.search(f"/{path.lower()}"))


def _is_code(path: str, *, defines: bool) -> bool:
    """Return whether a file outside the usual source folders implements something."""
    if _ASIDE.search(path) or (_DOCS_FOLDER.search(path) and not defines):
        return False
    return "/" in path or (row_of(path).complete and not _BUILD_SCRIPT.match(path))


def multiply_boost(score: float, kind: FileType, profile: BoostProfile) -> float:
    """Return a score of `files_search`, multiplied by its boost."""
    return score * BOOSTS[profile].factors.get(kind, 1.0)


def add_boost(score: float, kind: FileType, profile: BoostProfile, unit: float = 1.0) -> float:
    """Return a score of `context_bundle` plus its boost; penalties only apply to positive scores.

    `unit` is what a term of 1 adds to the score.
    """
    term = unit * BOOSTS[profile].terms.get(kind, 0.0)
    return score + term if term > 0 or score > 0 else score


def boost_tag(kind: FileType, profile: BoostProfile) -> str:
    """Return the tag of the boost for `why`, or an empty text."""
    factor = BOOSTS[profile].factors.get(kind, 1.0)
    if factor == 1.0:
        return ""
    return f"{'boost' if factor > 1 else 'penalty'}:{kind.value}"


def blacklisted_folder(path: str, profile: BoostProfile, exempt: Collection[str] = ()) -> str:
    """Return the blacklisted folder that contains a file, or an empty text; skip `exempt` files.

    A test beside the source, such as `login_test.go`, counts as one in the folder `tests`.
    """
    if path in exempt:
        return ""
    source = _SOURCE.match(path)
    inside = path[source.end() :].split("/")[:-1] if source else []
    for folder in path.split("/")[:-1]:
        if folder.lower() in BOOSTS[profile].blacklist and not (
            folder.lower() in _AMBIGUOUS and folder in inside
        ):
            return folder
    return _TESTS if _TESTS in BOOSTS[profile].blacklist and is_test(path) else ""
