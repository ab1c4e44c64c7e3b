"""What people write for a set of files: `**/` is any number of folders, braces are a choice.

A filter of a search (`matches`) is generous: `*` crosses folders. Who asks for files by a glob (`selector`)
means what git means in .gitignore and editors in their search.
"""

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from code_intel.errors import UsageError

MAX_GLOBS = 64
"""Plain globs that one is taken for; nobody writes as many."""
_CHOICE = re.compile(r"\{([^{}]*,[^{}]*)\}")
_STARS = re.compile(r"\*{3,}")


def matches(name: str, glob: str) -> bool:
    """Whether `glob` means `name`; a name of the very letters of the glob is meant, too."""
    return any(fnmatchcase(name, plain) for plain in expand(glob))


@lru_cache(maxsize=64)
def expand(glob: str) -> tuple[str, ...]:
    """Return the globs without braces and without `**/` that `glob` stands for, itself first."""
    found, waiting = [glob], [glob.removeprefix("./")]
    while waiting and len(found) + len(waiting) < MAX_GLOBS:
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
    """Return whether a path is meant by `glob`: `*.py` at any depth, `src/*.py` right below `src`.

    `*`, `?` and `[…]` stay within a folder, `**` is any number of folders, a glob that ends in `/` means
    all that is below; a path of the very letters of the glob is meant, too.

    Raises:
        UsageError: Its braces stand for too many globs; names `field`.

    >>> is_source = selector("src/**/*.{py,ts}")
    >>> is_source("src/auth/login.ts"), is_source("tests/login.py")
    (True, False)
    """
    plain = tuple(_parts(each) for each in _chosen(glob, field))
    return lambda path: path == glob or any(_fits(path.split("/"), parts) for parts in plain)


def _chosen(glob: str, field: str) -> list[str]:
    """Return the globs without braces that one stands for."""
    found, waiting = [], [glob]
    while waiting:
        plain = waiting.pop()
        chosen = _alternatives(plain)
        waiting += chosen
        found += [] if chosen else [plain]
        if len(found) + len(waiting) > MAX_GLOBS:
            raise UsageError(
                f"{field} stands for more than {MAX_GLOBS} globs.",
                hint="Ask with fewer alternatives in braces.",
                details={"field": field},
            )
    return found


def _alternatives(glob: str) -> list[str]:
    """Return a glob with each choice of its first braces; nothing where it has none."""
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
    every = zip(parts, [*parts[1:], ""], strict=False)  # of `.` there are no parts
    return tuple(part for part, after in every if not part == after == "**")


def _fits(path: Sequence[str], glob: Sequence[str]) -> bool:
    """Whether the parts of a path fit those of a glob; goes back to the last `**` alone, so it ends soon."""
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
