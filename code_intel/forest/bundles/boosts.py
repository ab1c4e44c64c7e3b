"""What kind of file is wanted: boost profiles `default`, `docs` and `none` (seed 002).

`files_search` multiplies, `context_bundle` adds, and it leaves the folders of `BLACKLIST` out. A boost
is applied once a file, after the sum; a penalty only takes from what is above zero.
"""

import re
from collections.abc import Collection, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Literal, NamedTuple

from code_intel.forest.ranking.question import TOPICS

BoostProfile = Literal["default", "docs", "none"]


class FileType(StrEnum):
    """What a path says of a file."""

    IMPLEMENTATION = "src"
    TEST = "test"
    DOCUMENT = "docs"
    OTHER = "other"


class Boost(NamedTuple):
    """One profile.

    Attributes:
        factors: What `files_search` multiplies a score by, 1 where nothing is said.
        terms: What `context_bundle` adds to a score, 0 where nothing is said.
        blacklist: Folders that `context_bundle` leaves out.
        wanted: Kinds of file that the ranking does not put behind others then; rows of `question.TOPICS`.
    """

    factors: Mapping[FileType, float]
    terms: Mapping[FileType, float]
    blacklist: frozenset[str]
    wanted: frozenset[str] = frozenset()


BLACKLIST = frozenset(
    {"docs", "tests", "test", "node_modules", ".git", ".cursor", "dist", "build", "coverage", "tmp"}
)
PENALTY = -100.0
"""Score of a file in such a folder: nothing brings it back above zero."""

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
_TEST = re.compile(
    r"(?:^|/)(?:tests?|__tests__|specs?)/|(?:^|/)(?:test_[^/]*|[^/]*[._-](?:test|spec))\.[^/.]+$",
    re.IGNORECASE,
)
_SOURCE = re.compile(
    r"^(?:(?:packages|apps|crates|services)/[^/]+/)?(?:src|lib|app)/", re.IGNORECASE
)
_ASIDE = re.compile(
    r"^[^/]*$|(?:^|/)(?:examples?|samples?|demos?|tutorials?|scripts|benchmarks?|docs?(?:_src)?|vendor"
    r"|third_party|node_modules|dist|build|out|target|coverage|tmp|\.[^/]+)/",
    re.IGNORECASE,
)
"""What is no implementation where no source folder says that it is: files at the top, and folders beside it."""
_DATA = frozenset({"", "text", "json", "json5", "jsonl", "toml", "ini", "html", "css", "scss"})
_AMBIGUOUS = frozenset({"docs", "dist", "build", "coverage", "tmp"})
"""Below a source folder these are names of modules: `src/build/plan.ts` is nobody's output."""


def file_type(path: str, language: str) -> FileType:
    """Return what kind of file a path names; many a project has its source in a folder of its own name.

    Args:
        path: Relative to what was indexed.
        language: As chunking named it; empty when it knows none.
    """
    if _DOCUMENT.search(path):
        return FileType.DOCUMENT
    if _TEST.search(path):
        return FileType.TEST
    if language in _DATA or (_ASIDE.search(path) and not _SOURCE.search(path)):
        return FileType.OTHER
    return FileType.IMPLEMENTATION


def multiplied(score: float, kind: FileType, profile: BoostProfile) -> float:
    """Return a score of `files_search` with its boost."""
    return score * BOOSTS[profile].factors.get(kind, 1.0)


def added(score: float, kind: FileType, profile: BoostProfile, unit: float = 1.0) -> float:
    """Return a score of `context_bundle` with its boost; no penalty where there is no score.

    `unit` is what a term of 1 is on the scale of the score.
    """
    term = unit * BOOSTS[profile].terms.get(kind, 0.0)
    return score + term if term > 0 or score > 0 else score


def tag(kind: FileType, profile: BoostProfile) -> str:
    """Return what `why` says of the boost, or empty."""
    factor = BOOSTS[profile].factors.get(kind, 1.0)
    if factor == 1.0:
        return ""
    return f"{'boost' if factor > 1 else 'penalty'}:{kind.value}"


def blacklisted(path: str, profile: BoostProfile, exempt: Collection[str] = ()) -> str:
    """Return the folder for which a bundle leaves a file out, or empty.

    Args:
        path: Relative to what was indexed.
        profile: `docs` lifts `docs`, `none` lifts all.
        exempt: Files that the caller named: what is being edited, fails or was changed.
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
    return ""
