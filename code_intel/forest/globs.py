"""What people write for a set of files: `*` crosses folders, `**/` is any number of them, braces are a choice."""

import re
from fnmatch import fnmatchcase
from functools import lru_cache

MOST = 64
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
    while waiting and len(found) + len(waiting) < MOST:
        plain = _STARS.sub("**", waiting.pop(0))
        choice = _CHOICE.search(plain)
        head, any_folder, tail = plain.partition("**/")
        if choice:
            before, after = plain[: choice.start()], plain[choice.end() :]
            waiting += [f"{before}{part}{after}" for part in choice[1].split(",")]
        elif any_folder:
            waiting += [f"{head}*/{tail}", f"{head}{tail}"]
        else:
            found.append(plain)
    return tuple(dict.fromkeys([*found, *waiting]))
