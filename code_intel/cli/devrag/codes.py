"""Translate errors to devrag's codes, which scripts rely on (docs/decisions/0017)."""

from typing import Any, NamedTuple

from code_intel.errors import CodeIntelError


class CodeRule(NamedTuple):
    """Maps an error to a code; `*` matches anything, and the first matching rule applies."""

    error: str
    field: str
    command: str
    code: str


WRITING = ("index", "index-code", "reindex", "sync")
WRITE_ERRORS = ("busy", "storage_failed", "index_damaged", "index_unusable")

CODES = (
    CodeRule("path_outside_root", "*", "*", "invalid_path"),
    CodeRule("invalid_argument", "path", "*", "invalid_path"),
    CodeRule("invalid_argument", "directory", "*", "invalid_path"),
    *(CodeRule(error, "*", name, "insert_failed") for error in WRITE_ERRORS for name in WRITING),
)
"""Errors that have their own code in devrag."""
FAILED = {
    "search": "search_failed",
    "list": "list_failed",
    "delete": "delete_failed",
    "add-frontmatter": "frontmatter_failed",
    "update-frontmatter": "frontmatter_failed",
    **dict.fromkeys(WRITING, "index_failed"),
}
"""Codes of all other errors, by command; for commands not listed it is `init_failed`."""
DEVRAG_CODES = frozenset({
    "unknown_command", "missing_argument", "invalid_argument", "invalid_input", "invalid_json",
    "invalid_config", "embed_failed", "init_failed", "index_failed", "frontmatter_failed",
    "read_failed", "unexpected",
})  # fmt: skip
"""Codes that this program and devrag have in common."""
OPERATIONAL = frozenset({
    "embed_failed", "init_failed", "index_failed", "insert_failed", "search_failed", "list_failed",
    "delete_failed", "frontmatter_failed", "read_failed",
})  # fmt: skip
"""Codes of failures that the command line did not cause; the exit code is 1."""


def code_of(error: CodeIntelError, command: str) -> str:
    """Return devrag's code for an error of a command."""
    field = str(error.details.get("field", ""))
    actual = (error.error, field, command)
    for row in CODES:
        if all(expected in {"*", value} for expected, value in zip(row[:3], actual, strict=True)):
            return row.code
    return error.error if error.error in DEVRAG_CODES else FAILED.get(command, "init_failed")


def refusal(error: CodeIntelError, command: str) -> dict[str, Any]:
    """Return the answer that reports an error."""
    described = {
        "code": code_of(error, command),
        "message": error.message,
        "field": error.details.get("field", ""),
        "hint": error.hint,
    }
    return {"status": "error", "error": described}
