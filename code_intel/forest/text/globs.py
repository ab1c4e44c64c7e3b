"""Match paths with globs: `**/` matches any number of folders, braces contain alternatives.

In the filter of a search (`matches`), `*` also matches slashes. In a glob that lists files
(`selector`), it does not, as in .gitignore and in editors. pathspec is not used, because it needs
nine seconds for `*a*a*a*a*a*a*b` (decision 0030).
"""

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase, translate
from functools import lru_cache

from code_intel.errors import UsageError

MAX_ALTERNATIVES = 64
"""Maximum number of globs without braces that one glob expands to."""
_CHOICE = re.compile(r"\{([^{}]*,[^{}]*)\}")
_STARS = re.compile(r"\*{3,}")


def matches(name: str, glob: str) -> bool:
    """Return whether `glob` matches `name`; `*` also matches slashes."""
    return _pattern(glob).match(name) is not None


@lru_cache(maxsize=64)
def _pattern(glob: str) -> re.Pattern[str]:
    return re.compile("|".join(translate(plain) for plain in expand(glob)))


@lru_cache(maxsize=64)
def expand(glob: str) -> tuple[str, ...]:
    """Return the glob and those that its braces and `**/` expand to."""
    found, waiting = [glob], [glob.removeprefix("./")]
    while waiting and len(found) + len(waiting) < MAX_ALTERNATIVES:
        plain = _STARS.sub("**", waiting.pop(0))
        head, any_folder, tail = plain.partition("**/")
        if chosen := _alternatives(plain):
            waiting += chosen
        elif any_folder:
            waiting += [f"{head}*/{tail}", f"{head}{tail}"]
        else:
            found.append(plain)
    return tuple(dict.fromkeys([*found, *waiting]))


def selector(glob: str, field: str = "pattern") -> Callable[[str], bool]:
    """Return a predicate for paths: `*.py` matches at any depth, `src/*.py` directly below `src`.

    `*`, `?` and `[…]` do not match slashes, `**` matches any number of folders, and a glob that
    ends in `/` matches everything in that folder. A path that equals the glob always matches.

    Raises:
        UsageError: The braces expand to too many globs; the message names `field`.

    >>> is_source = selector("src/**/*.{py,ts}")
    >>> is_source("src/auth/login.ts"), is_source("tests/login.py")
    (True, False)
    """
    plain = tuple(_split_parts(each) for each in _expand_braces(glob, field))
    return lambda path: path == glob or any(_match_parts(path.split("/"), parts) for parts in plain)


def _expand_braces(glob: str, field: str) -> list[str]:
    """Return the globs without braces that a glob expands to."""
    found, waiting = [], [glob]
    while waiting:
        plain = waiting.pop()
        chosen = _alternatives(plain)
        waiting += chosen
        found += [] if chosen else [plain]
        if len(found) + len(waiting) > MAX_ALTERNATIVES:
            raise UsageError(
                f"{field} expands to more than {MAX_ALTERNATIVES} globs.",
                hint="Use fewer alternatives in braces.",
                details={"field": field},
            )
    return found


def _alternatives(glob: str) -> list[str]:
    """Return the glob once for each alternative of its first braces; nothing without braces."""
    choice = _CHOICE.search(glob)
    if choice is None:
        return []
    before, after = glob[: choice.start()], glob[choice.end() :]
    return [f"{before}{part}{after}" for part in choice[1].split(",")]


def _split_parts(glob: str) -> tuple[str, ...]:
    folders = f"{glob}**" if glob.endswith("/") else glob
    parts = [part for part in folders.split("/") if part not in {"", "."}]
    if len(parts) == 1 and not glob.startswith("/"):
        parts.insert(0, "**")
    every = zip(parts, [*parts[1:], ""], strict=False)  # `.` has no parts
    return tuple(part for part, after in every if not part == after == "**")


def _match_parts(path: Sequence[str], glob: Sequence[str]) -> bool:
    """Return whether a path's parts match a glob's; backtrack only to the last `**`."""
    path_index = glob_index = 0
    star_index, retry_index = -1, 0
    while path_index < len(path):
        if glob_index < len(glob) and glob[glob_index] == "**":
            star_index, retry_index = glob_index, path_index
            glob_index += 1
        elif glob_index < len(glob) and fnmatchcase(path[path_index], glob[glob_index]):
            path_index += 1
            glob_index += 1
        elif star_index >= 0:
            retry_index += 1
            path_index, glob_index = retry_index, star_index + 1
        else:
            return False
    return all(part == "**" for part in glob[glob_index:])
