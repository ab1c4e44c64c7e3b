"""What a path says about a file: test, example, documentation, built, legacy, facade.

Paths are judged relative to what was indexed: a project that lives below `/home/me/tests/` has no
test for that reason.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from code_intel.forest.ranking.question import Question


class Kind(NamedTuple):
    """A kind of file that answers fewer questions than its words suggest.

    Attributes:
        name: Tag in `Hit.why`, after `-`.
        topic: The row of `question.TOPICS` by which a question asks for it, or empty.
        factor: What its score is multiplied by when the question does not.
        pattern: Searched in `/` + path in lower case.
        reason: Why.
    """

    name: str
    topic: str
    factor: float
    pattern: re.Pattern[str]
    reason: str


def _folders(*names: str) -> str:
    return rf"/(?:{'|'.join(names)})/"


KINDS = (
    Kind(
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
                "(?:common|jvm|js|native|android|ios|unit|integration|functional|acceptance)[-_]?tests?",
            )
            + r"|/(?!(?:la|con|at|pro|fas|shor|grea)tests?\.)[^/]+tests?\.(?:java|kt|scala|groovy|cs|php|swift|dart)$"
            + r"|/(?:test_[^/]*|[^/]*_tests?|[^/]*[.-](?:test|spec|bench)|conftest|[^/]*_spec)\.[^/.]+$"
        ),
        "Repeats the words of what it tests, often more of them; worth .03 on whole checkouts.",
    ),
    Kind(
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
            + r"|\.pb\.[a-z]+$|_pb2(?:_grpc)?\.pyi?$|\.g\.[a-z]+$|\.generated\.[a-z]+$|/zz_generated[^/]*$"
        ),
        "Copies of source, and not what anyone edits.",
    ),
    Kind(
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
        "Uses what is asked about; worth .01 on whole checkouts.",
    ),
    Kind(
        "docs",
        "docs",
        0.3,
        re.compile(
            _folders("docs?", "documentation", "changelogs?")
            + r"|/(?:licen[cs]e|notice|authors|changelog|changes|history|pkg-info)[^/.]*$|\.(?:md|mdx|rst|markdown|txt)$"
        ),
        "Speaks about the code in the words of the question; worth .07 on whole checkouts.",
    ),
    Kind(
        "legacy",
        "legacy",
        0.3,
        re.compile(r"[/_.-](?:compat|legacy|deprecated)(?:[/_.-]|$)"),
        "The old way beside the one in use.",
    ),
    Kind(
        "settings",
        "settings",
        0.5,
        re.compile(r"\.(?:json5?|ya?ml|toml|ini|cfg|xml|svg|csv|tsv|ipynb)$|/\.[^/]+$"),
        "Data and dot files: name things, explain none.",
    ),
    Kind(
        "facade",
        "",
        0.85,
        re.compile(r"/(?:__init__\.pyi?|package-info\.java)$"),
        "Mentions every name of its folder and defines few; `index.ts` is as often the real thing.",
    ),
    Kind(
        "stub",
        "stubs",
        0.7,
        re.compile(r"\.d\.[cm]?ts$|\.pyi$"),
        "Declares what another file defines.",
    ),
)


def kinds_of(path: str, question: Question, bases: Sequence[str] = ()) -> list[Kind]:
    """Return the kinds a file is of, except those that the question asks for.

    Args:
        path: As the index names it.
        question: What is asked.
        bases: Folders that were indexed, in the same form; the longest that holds the path is cut.
    """
    found = _kinds("/" + relative(path, bases).lower())
    return [kind for kind in found if kind.topic not in question.topics]


@lru_cache(maxsize=1 << 14)
def _kinds(judged: str) -> tuple[Kind, ...]:
    return tuple(kind for kind in KINDS if kind.pattern.search(judged))


def relative(path: str, bases: Sequence[str]) -> str:
    """Return a path below the longest of the bases that holds it."""
    return _relative(path, tuple(bases))


@lru_cache(maxsize=1 << 14)
def _relative(path: str, bases: tuple[str, ...]) -> str:
    holding = (base.rstrip("/") + "/" for base in bases if path.startswith(base.rstrip("/") + "/"))
    return path[len(max(holding, key=len, default="")) :].lstrip("/")
