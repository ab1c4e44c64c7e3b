"""Parse the artifacts of a bundle request: failing tests, a diff, the edited file, hints.

A name in them means a file if it fits exactly one document of the index. No file is opened.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from code_intel.foundation.spelling import composed

MAX_DIFF_CHARS = 200_000
MAX_FILES = 20
MAX_DIFF_WORDS = 12
"""Maximum words taken from a diff: the most frequent ones in changed lines."""

_DIFF_FILE = re.compile(r"^(?:\+\+\+|---|rename to|rename from) (.+?)(?:\t.*)?$", re.MULTILINE)
_ESCAPED = re.compile(rb"\\(?:([0-3][0-7]{2})|(.))")
_SIDE = re.compile("^[ab]/")
_LINES = re.compile(r":\d+(?:[-:]\d+)?$")
_DIFF_LINE = re.compile(r"^[+-](?![+-]{2} )(.*)$", re.MULTILINE)
_SEPARATORS = re.compile(r"[\s:\"'()\[\]<>,|]+")
"""Separators of file names in a text."""
_NAME = re.compile(r"[^\W\d]\w{2,}")


class GivenArtifacts(NamedTuple):
    """The artifacts that the caller gave."""

    failing_tests: tuple[str, ...] = ()
    last_diff: str = ""
    editing_path: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()


class ParsedArtifacts(NamedTuple):
    """Parsed artifacts.

    Attributes:
        files: Documents that the artifacts name → the kinds of these artifacts.
        hints: Hints that are not names of files.
        words: Words from failing tests and the diff.
    """

    files: Mapping[str, tuple[str, ...]]
    hints: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


def read_artifacts(given: GivenArtifacts, documents: Collection[str]) -> ParsedArtifacts:
    """Return the documents that artifacts name, and the remaining words."""
    known = _Names(documents)
    files: dict[str, list[str]] = {}

    def note(tag: str, paths: Iterable[str]) -> None:
        for path in paths:
            files.setdefault(path, []).append(tag)

    note("editing_path", filter(None, map(known.find, given.editing_path)))
    for test in given.failing_tests:
        note("failing_test", known.all_in(test))
    diff = given.last_diff[:MAX_DIFF_CHARS]
    note("last_diff", filter(None, map(known.find, map(_unquote, _DIFF_FILE.findall(diff)))))
    hints = []
    for hint in given.hints:
        path = known.find(hint)
        if path:
            note("hint", [path])
        else:
            hints.append(hint)
    tests = (name for test in given.failing_tests for name in _NAME.findall(test))
    named = list(files)[:MAX_FILES]
    return ParsedArtifacts(
        {path: tuple(dict.fromkeys(files[path])) for path in named},
        tuple(hints),
        tuple(dict.fromkeys((*tests, *_changed_words(diff)))),
    )


def _unquote(name: str) -> str:
    """Return the path of a file in a diff; git writes non-ASCII bytes as octal escapes."""
    if name.startswith('"') and name.endswith('"'):
        quoted = name[1:-1].encode("utf-8", "replace")
        unescaped = _ESCAPED.sub(lambda m: bytes([int(m[1], 8)]) if m[1] else m[2], quoted)
        name = unescaped.decode("utf-8", "replace")
    return _SIDE.sub("", name)


def _changed_words(diff: str) -> Sequence[str]:
    names = Counter(name for line in _DIFF_LINE.findall(diff) for name in _NAME.findall(line))
    return [name for name, _ in names.most_common(MAX_DIFF_WORDS)]


class _Names:
    """Finds documents by full path, by the end of the path, or by a path with extra folders."""

    def __init__(self, documents: Collection[str]) -> None:
        self._documents = {composed(path): path for path in documents}
        self._by_name: dict[str, list[str]] = {}
        for path in self._documents:
            self._by_name.setdefault(path.rpartition("/")[2], []).append(path)

    def find(self, name: str) -> str:
        """Return the only document that a name fits, or an empty text; `a.py:12` means `a.py`."""
        wanted = composed(name.strip().replace("\\", "/")).removeprefix("./")
        if wanted not in self._documents:
            wanted = _LINES.sub("", wanted)
        if wanted in self._documents:
            return self._documents[wanted]
        matching = [
            path
            for path in self._by_name.get(wanted.rpartition("/")[2], ())
            if path.endswith(f"/{wanted}") or wanted.endswith(f"/{path}")
        ]
        return self._documents[matching[0]] if len(matching) == 1 else ""

    def all_in(self, text: str) -> list[str]:
        """Return the documents that are named in a text."""
        found = (
            self.find(name) for name in _SEPARATORS.split(text[:MAX_DIFF_CHARS]) if "." in name
        )
        return list(dict.fromkeys(filter(None, found)))[:MAX_FILES]
