"""The errors that this package raises on purpose, each with its remedy.

    CodeIntelError
    ├── UsageError             an argument is wrong; names the field           (exit 2)
    ├── ConfigError            a configuration file cannot be used             (exit 2)
    ├── NotFoundError          a file, symbol or agreement does not exist      (exit 1)
    ├── SessionError           the session does not exist, or forbids the call
    │   ├── PhaseError         the phase forbids the tool; lists those allowed
    │   └── RequirementError   something is missing before the next phase
    ├── BusyError              another process holds a lock; trying again helps
    ├── ConflictError          a file has changed since it was shown; nothing was written
    ├── StorageError           a file or database cannot be read or written
    ├── UpstreamError          the map or the forest did not answer
    ├── RegistryError          a command registry is unusable; names file and entry
    ├── ExecutionError         a command failed; contains its stderr
    └── EmbeddingError         no embedding model is usable

Two modules report them: `servers.protocol` as MCP error results
``{"error", "message", "hint"}``, `cli.main` as lines on stderr and exit codes.
Any other exception is a bug: its error code is `unexpected`, and the traceback goes to stderr.
"""

from collections.abc import Mapping
from typing import Any, ClassVar


class CodeIntelError(Exception):
    """Base class of all errors.

    Attributes:
        code: Stable machine-readable name; the `error` field on the wire.
        message: The problem, in one sentence.
        hint: The next step, in one sentence; never empty.
        details: Extra fields for the wire, such as `field` or `current_phase`.
    """

    code: ClassVar[str] = "error"
    remedy: ClassVar[str] = "Run `code-intel doctor` to see what is wrong."
    exit_code: ClassVar[int] = 1

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        code: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.error = code or self.code
        self.details = dict(details or {})
        self.hint = hint or self.remedy.format_map({"field": "the named field", **self.details})

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON object for a client: `error`, `message`, `hint` and any details."""
        return {"error": self.error, "message": self.message, "hint": self.hint, **self.details}


class UsageError(CodeIntelError):
    """An argument is missing, has the wrong type, or is out of range."""

    code = "invalid_argument"
    remedy = "Correct {field} and call again."
    exit_code = 2


class ConfigError(CodeIntelError):
    """A configuration file is unreadable, malformed or contradicts itself."""

    code = "invalid_config"
    remedy = "Correct the file, or remove it and run `code-intel init`."
    exit_code = 2


class NotFoundError(CodeIntelError):
    """What was requested does not exist."""

    code = "not_found"
    remedy = "Check the name and try again."


class SessionError(CodeIntelError):
    """The session does not exist or has ended."""

    code = "no_active_session"
    remedy = "Call start_session and pass the session_id it returns."


class PhaseError(SessionError):
    """The tool is not allowed in the session's phase."""

    code = "phase_blocked"
    remedy = "Finish this phase first; allowed_tools lists the tools for that."


class RequirementError(SessionError):
    """A submission is incomplete; the phase does not change."""

    code = "requirements_missing"
    remedy = "Supply what missing_requirements lists, then submit again."


class BusyError(CodeIntelError):
    """Another process holds the lock or the database."""

    code = "busy"
    remedy = "Try again in a few seconds."


class ConflictError(CodeIntelError):
    """A file has changed since it was shown; nothing was written."""

    code = "conflict"
    remedy = "Look at the current content, then decide again."


class StorageError(CodeIntelError):
    """A file or database cannot be read or written; nothing was lost."""

    code = "storage_failed"
    remedy = "Check free space and permissions, then run `code-intel doctor`."


class UpstreamError(CodeIntelError):
    """The map or the forest did not answer, or its answer was invalid."""

    code = "upstream_failed"
    remedy = "Search the other of map and forest; `code-intel status` shows the state of both."


class EmbeddingError(CodeIntelError):
    """No embedding model can be used; search uses words only."""

    code = "embed_failed"
    remedy = "Reinstall code-intel, or search with words only."


class RegistryError(CodeIntelError):
    """A registry of commands cannot be used; details are `path` and `details` (seed 001)."""

    code = "Failed to load registry"
    remedy = (
        "Correct the file; the next call reads it. "
        "`code-intel commands list` checks every registry."
    )
    exit_code = 2


class ExecutionError(CodeIntelError):
    """A command failed or timed out; details are `command` and `stderr` (seed 001)."""

    code = "Execution failed"
    remedy = "See stderr; `code-intel commands describe` lists the options of the command."
