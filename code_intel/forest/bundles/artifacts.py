"""What a caller has at hand besides words: failing tests, a diff, the file being edited, hints.

Files they name are told from words by the index: a name counts as a file when exactly one document
has it. Nothing is opened.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from code_intel.foundation.spelling import composed

MAX_DIFF_CHARS = 200_000
"""Characters of a diff that are read."""
MAX_ARTIFACT_FILES = 20
MAX_DIFF_WORDS = 12
"""Words taken from a diff: those that changed lines use most."""

_DIFF_FILE = re.compile(r"^(?:\+\+\+|---|rename to|rename from) (.+?)(?:\t.*)?$", re.MULTILINE)
_ESCAPED = re.compile(rb"\\(?:([0-3][0-7]{2})|(.))")
_SIDE = re.compile("^[ab]/")
_LINES = re.compile(r":\d+(?:[-:]\d+)?$")
_DIFF_LINE = re.compile(r"^[+-](?![+-]{2} )(.*)$", re.MULTILINE)
_BETWEEN = re.compile(r"[\s:\"'()\[\]<>,|]+")
"""What stands between the names of files in a text."""
_NAME = re.compile(r"[^\W\d]\w{2,}")


class GivenArtifacts(NamedTuple):
    """What is at hand, as the caller gives it."""

    failing_tests: tuple[str, ...] = ()
    last_diff: str = ""
    editing_path: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()


class AtHand(NamedTuple):
    """The same, read.

    Attributes:
        files: Documents that were named, with the artifacts that name them.
        hints: Words of hints that name no file.
        words: Words of failing tests and of the diff.
    """

    files: Mapping[str, tuple[str, ...]]
    hints: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


def read_artifacts(given: GivenArtifacts, documents: Collection[str]) -> AtHand:
    """Return which documents are named, and the words that are left."""
    known = _Names(documents)
    files: dict[str, list[str]] = {}

    def note(tag: str, paths: Iterable[str]) -> None:
        for path in paths:
            files.setdefault(path, []).append(tag)

    note("editing_path", filter(None, map(known.find, given.editing_path)))
    for test in given.failing_tests:
        note("failing_test", known.all_in(test))
    diff = given.last_diff[:MAX_DIFF_CHARS]
    note("last_diff", filter(None, map(known.find, map(_spelled, _DIFF_FILE.findall(diff)))))
    hints = []
    for hint in given.hints:
        path = known.find(hint)
        if path:
            note("hint", [path])
        else:
            hints.append(hint)
    tests = (name for test in given.failing_tests for name in _NAME.findall(test))
    named = list(files)[:MAX_ARTIFACT_FILES]
    return AtHand(
        {path: tuple(dict.fromkeys(files[path])) for path in named},
        tuple(hints),
        tuple(dict.fromkeys((*tests, *_changed(diff)))),
    )


def _spelled(name: str) -> str:
    """Return a file of a diff as it is on disk; git quotes what is not ASCII, byte by byte in octal."""
    if name.startswith('"') and name.endswith('"'):
        quoted = name[1:-1].encode("utf-8", "replace")
        plain = _ESCAPED.sub(lambda m: bytes([int(m[1], 8)]) if m[1] else m[2], quoted)
        name = plain.decode("utf-8", "replace")
    return _SIDE.sub("", name)


def _changed(diff: str) -> Sequence[str]:
    names = Counter(name for line in _DIFF_LINE.findall(diff) for name in _NAME.findall(line))
    return [name for name, _ in names.most_common(MAX_DIFF_WORDS)]


class _Names:
    """Documents by the names people give them: whole, from any folder on, or below a root."""

    def __init__(self, documents: Collection[str]) -> None:
        self._documents = {composed(path): path for path in documents}
        self._last: dict[str, list[str]] = {}
        for path in self._documents:
            self._last.setdefault(path.rpartition("/")[2], []).append(path)

    def find(self, name: str) -> str:
        """Return the one document that a name means, or empty; `a.py:12` means `a.py`."""
        asked = composed(name.strip().replace("\\", "/")).removeprefix("./")
        if asked not in self._documents:
            asked = _LINES.sub("", asked)
        if asked in self._documents:
            return self._documents[asked]
        alike = [
            path
            for path in self._last.get(asked.rpartition("/")[2], ())
            if path.endswith(f"/{asked}") or asked.endswith(f"/{path}")
        ]
        return self._documents[alike[0]] if len(alike) == 1 else ""

    def all_in(self, text: str) -> list[str]:
        """Return the documents that a text names."""
        found = (self.find(name) for name in _BETWEEN.split(text[:MAX_DIFF_CHARS]) if "." in name)
        return list(dict.fromkeys(filter(None, found)))[:MAX_ARTIFACT_FILES]
