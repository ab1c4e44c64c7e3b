"""Return errors with devrag's codes, which scripts rely on (docs/decisions/0017)."""

from typing import Any, NamedTuple

from code_intel.errors import CodeIntelError


class CodeRule(NamedTuple):
    """Maps an error to a code; `*` matches anything, and the first rule that matches counts."""

    error: str
    field: str
    command: str
    code: str


WRITING = ("index", "index-code", "reindex", "sync")
UNWRITTEN = ("busy", "storage_failed", "index_damaged", "index_unusable")

CODES = (
    CodeRule("path_outside_root", "*", "*", "invalid_path"),
    CodeRule("invalid_argument", "path", "*", "invalid_path"),
    CodeRule("invalid_argument", "directory", "*", "invalid_path"),
    *(CodeRule(error, "*", command, "insert_failed") for error in UNWRITTEN for command in WRITING),
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
"""The code of any other error of a command; `init_failed` for other commands."""
DEVRAG_CODES = frozenset({
    "unknown_command", "missing_argument", "invalid_argument", "invalid_input", "invalid_json",
    "invalid_config", "embed_failed", "init_failed", "index_failed", "frontmatter_failed",
    "read_failed", "unexpected",
})  # fmt: skip
"""Our codes that devrag has as well."""
OPERATIONAL = frozenset({
    "embed_failed", "init_failed", "index_failed", "insert_failed", "search_failed", "list_failed",
    "delete_failed", "frontmatter_failed", "read_failed",
})  # fmt: skip
"""Codes of failures that the command line did not cause: exit 1."""


def code_of(error: CodeIntelError, command: str) -> str:
    """Return devrag's code of an error in a command."""
    where = str(error.details.get("field", ""))
    said = (error.error, where, command)
    for row in CODES:
        if all(want in {"*", have} for want, have in zip(row[:3], said, strict=True)):
            return row.code
    return error.error if error.error in DEVRAG_CODES else FAILED.get(command, "init_failed")


def refusal(error: CodeIntelError, command: str) -> dict[str, Any]:
    """Return the envelope of an error."""
    described = {
        "code": code_of(error, command),
        "message": error.message,
        "field": error.details.get("field", ""),
        "hint": error.hint,
    }
    return {"status": "error", "error": described}
