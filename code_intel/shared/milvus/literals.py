"""Write conditions of Milvus. Texts enter them only through this module.

Milvus Lite has no parameters for conditions, so texts are literals. Layers, files and cards are
digests, which need no escapes.
"""

import re
from collections.abc import Collection, Iterable, Mapping

from code_intel.config.shared import is_repository
from code_intel.errors import UsageError

_DIGEST = re.compile(r"[0-9a-f]{1,64}")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ANY = re.compile(r"[^\w.$]")

MAX_NAME_BYTES = 255


def quoted(text: str) -> str:
    """Return the literal for a text, in double quotes."""
    return '"' + "".join(_ESCAPES.get(char, char) for char in text) + '"'


def digest(text: str) -> str:
    """Return the literal for a digest in hexadecimal.

    Raises:
        UsageError: It is something else.
    """
    if not _DIGEST.fullmatch(text):
        raise UsageError(f"{text[:80]!r} is not a digest.", details={"field": "digest"})
    return f'"{text}"'


def any_of(field: str, digests: Iterable[str]) -> str:
    """Return the condition that a field is one of some digests."""
    return f"{field} in [{', '.join(map(digest, digests))}]"


def repositories(names: Iterable[str]) -> str:
    """Return the condition that a row belongs to one of some repositories."""
    return f"repository in [{', '.join(quoted(checked_name(name)) for name in names)}]"


def checked_name(repository: str) -> str:
    """Return the name of a repository.

    Raises:
        UsageError: It is not of letters, digits and `._+~@-`, with `/` between parts.
    """
    if not is_repository(repository) or len(repository.encode()) > MAX_NAME_BYTES:
        raise UsageError(
            "The name of a repository has letters, digits and any of `._+~@-`, with `/` between "
            f"its parts, and at most {MAX_NAME_BYTES} bytes: `team/shop`.",
            details={"field": "repository"},
        )
    return repository


def containing(field: str, text: str) -> str:
    """Return a condition that holds at least where a field contains a text.

    Any character stands for one that has a meaning in a pattern or a literal.

    >>> containing("folded", "a%b.c")
    'folded like "%a_b.c%"'
    """
    return f'{field} like "%{_ANY.sub("_", text)}%"'


def rows_of(layers: Mapping[str, Iterable[str]]) -> str:
    """Return the condition for the rows of layers by repository."""
    every = (layer for some in layers.values() for layer in some)
    return f"{repositories(layers)} and {any_of('layer', every)}"


def visible_rows(layers: Mapping[str, Mapping[str, Collection[str]]]) -> str:
    """Return the condition for the rows of layers, without hidden files.

    Args:
        layers: For each repository, the hidden files by layer; files and layers as digests.
    """
    whole = [layer for hidden in layers.values() for layer, files in hidden.items() if not files]
    parts = [any_of("layer", whole)] if whole else []
    for hidden in layers.values():
        for layer, files in hidden.items():
            if files:
                inside = ", ".join(map(digest, sorted(files)))
                parts.append(f"(layer == {digest(layer)} and file not in [{inside}])")
    return f"{repositories(layers)} and ({' or '.join(parts)})"
