"""What symbols are called, read off the text of their names and of what the names are attached to."""

import re

_NO_SCOPE = frozenset({"exports", "module", "prototype", "this", "window", "globalThis"})
_SCOPE = re.compile(r"[\w.$*\[\]<>?, ]+")
_SCOPE_PART = re.compile(r"[\w$]+")
_ARGUMENTS = re.compile(r"(?<=\w)<[^<>]*>")


def scope(text: str) -> str:
    """Return what a name is attached to: `Foo.prototype` is `Foo`, `*Server[T]` is `Server`."""
    if not _SCOPE.fullmatch(text):
        return ""
    parts = _SCOPE_PART.findall(re.split(r"[\[<]", text, maxsplit=1)[0])
    return ".".join(part for part in parts if part not in _NO_SCOPE)


def plain(name: str) -> str:
    """Return a name without arguments of templates, and without a type that a macro made part of it."""
    bare, *operator = re.split(r"(?=\boperator\b)", name, maxsplit=1)
    while (shorter := _ARGUMENTS.sub("", bare)) != bare:
        bare = shorter
    return "".join([*bare.split()[-1:], *operator])
