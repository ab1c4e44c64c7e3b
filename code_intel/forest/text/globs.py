"""Match paths with globs: `**/` is any number of folders, braces are alternatives.

In the filter of a search (`matches`), `*` crosses folders. A glob that lists files (`selector`)
works as in .gitignore and in editors. pathspec cannot do this: `*a*a*a*a*a*a*b` takes it nine
seconds (decision 0030).
"""

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from code_intel.errors import UsageError

MAX_ALTERNATIVES = 64
"""Maximum number of globs without braces that one glob expands to."""
_CHOICE = re.compile(r"\{([^{}]*,[^{}]*)\}")
_STARS = re.compile(r"\*{3,}")


def matches(name: str, glob: str) -> bool:
    """Whether `glob` matches `name`, as a pattern or literally."""
    return any(fnmatchcase(name, plain) for plain in expand(glob))


@lru_cache(maxsize=64)
def expand(glob: str) -> tuple[str, ...]:
    """Expand braces and `**/` of a glob; the glob itself comes first."""
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

    `*`, `?` and `[…]` do not cross folders, `**` is any number of folders, and a glob that ends in
    `/` matches everything below. A path that equals the glob matches, too.

    Raises:
        UsageError: The braces expand to too many globs; names `field`.

    >>> is_source = selector("src/**/*.{py,ts}")
    >>> is_source("src/auth/login.ts"), is_source("tests/login.py")
    (True, False)
    """
    plain = tuple(_parts(each) for each in _expand_braces(glob, field))
    return lambda path: path == glob or any(_fits(path.split("/"), parts) for parts in plain)


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
    """Return a glob with each alternative of its first braces; nothing if it has none."""
    choice = _CHOICE.search(glob)
    if choice is None:
        return []
    before, after = glob[: choice.start()], glob[choice.end() :]
    return [f"{before}{part}{after}" for part in choice[1].split(",")]


def _parts(glob: str) -> tuple[str, ...]:
    folders = f"{glob}**" if glob.endswith("/") else glob
    parts = [part for part in folders.split("/") if part not in {"", "."}]
    if len(parts) == 1 and not glob.startswith("/"):
        parts.insert(0, "**")
    every = zip(parts, [*parts[1:], ""], strict=False)  # `.` has no parts
    return tuple(part for part, after in every if not part == after == "**")


def _fits(path: Sequence[str], glob: Sequence[str]) -> bool:
    """Whether the parts of a path match those of a glob; backtracks to the last `**` only."""
    at = done = 0
    star, retry = -1, 0
    while at < len(path):
        if done < len(glob) and glob[done] == "**":
            star, retry, done = done, at, done + 1
        elif done < len(glob) and fnmatchcase(path[at], glob[done]):
            at, done = at + 1, done + 1
        elif star >= 0:
            retry += 1
            at, done = retry, star + 1
        else:
            return False
    return all(part == "**" for part in glob[done:])
