"""Classify files by their path: test, example, documentation, built, legacy, facade.

Paths are relative to the indexed folder, because a project in `/home/me/tests/` is not a test.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from code_intel.forest.ranking.question import RankedQuestion


class PathKind(NamedTuple):
    """A kind of file that ranks lower unless a question asks for it.

    Attributes:
        name: The tag in `Hit.why`, after `-`.
        topic: The row of `question.TOPICS` by which a question asks for it, or empty.
        factor: Factor for the score if the question does not ask for it.
        asked: Share of the reduction that remains if the question asks for it.
        pattern: Matches part of `/` followed by the path in lower case.
        reason: Why the row exists.
    """

    name: str
    topic: str
    factor: float
    pattern: re.Pattern[str]
    reason: str
    asked: float = 0.0


def _folders(*names: str) -> str:
    return rf"/(?:{'|'.join(names)})/"


PATH_KINDS = (
    PathKind(
        "test",
        "tests",
        0.1,
        re.compile(
            _folders(
                "tests?",
                "__tests__",
                "specs?",
                "e2e",
                "testdata",
                "fixtures?",
                "__mocks__",
                "mocks?",
                r"[^/]+\.tests?",
                "(?:common|jvm|js|native|android|ios)[-_]?tests?",
                "(?:unit|integration|functional|acceptance)[-_]?tests?",
            )
            + r"|/(?!(?:la|con|at|pro|fas|shor|grea)tests?\.)[^/]+tests?\."
            + r"(?:java|kt|scala|groovy|cs|php|swift|dart)$"
            + r"|/(?:test_[^/]*|[^/]*_tests?|[^/]*[.-](?:test|spec|bench)|conftest|[^/]*_spec)"
            + r"\.[^/.]+$"
        ),
        "Contains the words of the tested code, often more of them; worth .03 on whole checkouts."
        " A request to test a change is mostly about the change.",
        asked=0.3,
    ),
    PathKind(
        "built",
        "built",
        0.1,
        re.compile(
            _folders(
                "dist",
                "build",
                "out",
                "target",
                "generated",
                "_?vendor(?:ed)?",
                "third_?party",
                "node_modules",
                r"[^/]+\.egg-info",
            )
            + r"|\.min\.[a-z]+$|\.map$|[.-]lockb?(?:\.(?:json5?|ya?ml|toml|hcl|txt))?$"
            + r"|\.pb\.[a-z]+$|_pb2(?:_grpc)?\.pyi?$|\.g\.[a-z]+$|\.generated\.[a-z]+$"
            + r"|/zz_generated[^/]*$"
        ),
        "Copies of source that people do not edit.",
    ),
    PathKind(
        "example",
        "examples",
        0.3,
        re.compile(
            _folders(
                "examples?",
                "samples?",
                "demos?",
                "docs_src",
                "tutorials?",
                "playgrounds?",
                "cookbooks?",
                "fuzz(?:ing)?",
                "bench(?:es|marks?)?",
            )
        ),
        "Uses the code in question; worth .01 on whole checkouts.",
    ),
    PathKind(
        "docs",
        "docs",
        0.3,
        re.compile(
            _folders("docs?", "documentation", "changelogs?")
            + r"|/(?:licen[cs]e|notice|authors|changelog|changes|history|pkg-info)[^/.]*$"
            + r"|\.(?:md|mdx|rst|markdown|txt)$"
        ),
        "Describes the code in the words of the question; worth .07 on whole checkouts.",
    ),
    PathKind(
        "legacy",
        "legacy",
        0.3,
        re.compile(r"[/_.-](?:compat|legacy|deprecated)(?:[/_.-]|$)"),
        "Old code beside the code in use.",
    ),
    PathKind(
        "settings",
        "settings",
        0.5,
        re.compile(r"\.(?:json5?|ya?ml|toml|ini|cfg|xml|svg|csv|tsv|ipynb)$|/\.[^/]+$"),
        "Data and dot files name things without defining them.",
    ),
    PathKind(
        "facade",
        "",
        0.85,
        re.compile(r"/(?:__init__\.pyi?|package-info\.java)$"),
        "Mentions all names of its folder and defines few; `index.ts` often defines them.",
    ),
    PathKind(
        "stub",
        "stubs",
        0.7,
        re.compile(r"\.d\.[cm]?ts$|\.pyi$"),
        "Declares what another file defines.",
    ),
)
"""Kinds that the path tells."""


def kinds_of(path: str, question: RankedQuestion, bases: Sequence[str] = ()) -> list[PathKind]:
    """Return the kinds of a document, except those that the question asks for; see `relative`."""
    found = _kinds("/" + relative(path, bases).lower())
    return [kind for kind in found if kind.topic not in question.topics]


def asked_kinds_of(path: str, question: RankedQuestion, bases: Sequence[str]) -> list[PathKind]:
    """Return the kinds of a document that the question asks for."""
    found = _kinds("/" + relative(path, bases).lower())
    return [kind for kind in found if kind.topic in question.topics]


@lru_cache(maxsize=1 << 14)
def _kinds(path: str) -> tuple[PathKind, ...]:
    return tuple(kind for kind in PATH_KINDS if kind.pattern.search(path))


def relative(path: str, bases: Sequence[str]) -> str:
    """Return a path relative to the longest of the bases that contains it."""
    return _relative(path, tuple(bases))


@lru_cache(maxsize=1 << 14)
def _relative(path: str, bases: tuple[str, ...]) -> str:
    folders = (base.rstrip("/") + "/" for base in bases)
    containing = (folder for folder in folders if path.startswith(folder))
    return path[len(max(containing, key=len, default="")) :].lstrip("/")
