"""Map languages to the rules by which their names are resolved."""

from collections.abc import Mapping
from types import MappingProxyType

from code_intel.chunking.languages import row_of
from code_intel.forest.references.c import C
from code_intel.forest.references.ecmascript import JAVASCRIPT, TYPESCRIPT
from code_intel.forest.references.go import GO
from code_intel.forest.references.java import JAVA
from code_intel.forest.references.python import PYTHON
from code_intel.forest.references.rules import NameRules

RULES: Mapping[str, NameRules] = MappingProxyType(
    {
        "python": PYTHON,
        "javascript": JAVASCRIPT,
        "typescript": TYPESCRIPT,
        "tsx": TYPESCRIPT,
        "go": GO,
        "java": JAVA,
        "c": C,
    }
)
"""Rules by the names of languages; names of other languages are compared as words."""


def is_resolved(path: str) -> bool:
    """Return whether names in a file are resolved, by its language."""
    return row_of(path).name in RULES
