"""Name files in addresses and forms, where their names may have characters that pages hide.

Pages mask secrets and show hidden characters as escapes, in addresses, too. A name that this would
change is replaced by a digest.
"""

import hashlib
from collections.abc import Iterable

from code_intel.foundation.redaction import masked
from code_intel.foundation.text import visible

_DIGEST = "sha256-"


def reference(name: str) -> str:
    """Return a name if pages show it as it is, or else a short digest of it."""
    if name and visible(masked(name)) != name:
        data = name.encode("utf-8", "surrogatepass")
        return f"{_DIGEST}{hashlib.sha256(data).hexdigest()[:16]}"
    return name


def named(given: str, names: Iterable[str]) -> str:
    """Return the name that `reference` has named; the given text if it is no digest of one."""
    if not given.startswith(_DIGEST):
        return given
    return next((name for name in names if reference(name) == given), given)
