"""Set a project up for a shared index: `init --shared URL`.

The address is written to `config.toml`, for the team, and to the user's state folder, because
`config.toml` alone must not decide to whom this machine sends questions and a token.
"""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from code_intel.cli.setup.changes import FileChange, content
from code_intel.cli.setup.map_setup import CONFIG_FILE, is_own_settings
from code_intel.cli.setup.marked_block import BlockMarks, with_block, without_block
from code_intel.config import Settings, load_settings
from code_intel.config.shared import (
    TOKEN_VARIABLE,
    TOKENS,
    TRUSTED_SERVERS,
    is_repository,
    is_server,
    saved_token,
    sends_in_clear,
    trusted_lines,
)
from code_intel.errors import CodeIntelError, ConfigError, UsageError
from code_intel.foundation import durable, revisions
from code_intel.foundation.state_folder import project_digest
from code_intel.foundation.text import counted

if TYPE_CHECKING:
    from code_intel.shared.connection import Connection

MARKS = BlockMarks(b"# code-intel: begin of the shared index", b"# code-intel: end", b"\n")
ASK_TIMEOUT_S = 3.0
NOT_FOUND = 404
OWN_TABLE = (
    "{file} has a table [shared] that init did not write.",
    'Set `url = "{url}"` there, and run init again.',
)
READY_NOTE = (
    "The shared index has {files} of {repository} at {commit}. Search answers from it at once; a"
    " running gateway or `code-intel sync` completes the local index."
)
NO_INDEX_NOTE = (
    "The shared index has no {repository} that the token may read yet. `code-intel push` in CI"
    " creates it; until then, the local index answers."
)
SET_VARIABLE = "Set {variable} to your token, and run this again with --save-token to keep it."
NOT_PASSED_NOTE = (
    "{clients} does not pass {variable} on to servers. Run this again with --save-token: it saves"
    " the token on this machine, outside the project."
)
NOT_PASSING = {".codex": "Codex", ".gemini": "Gemini CLI"}
"""Clients that remove variables with tokens from the environment of servers, by their folders."""
CLEAR_NOTE = "The token is sent in clear text, because the address is http. Use https."
NO_ANSWER_NOTE = "The shared index does not answer: {reason}. The local index does."


def checked_url(url: str) -> str:
    """Return the address of a server without a `/` at its end.

    Raises:
        UsageError: It is not an address, or has a user or a query.
    """
    if not is_server(url):
        raise UsageError(
            "shared is not an http or https URL without user, query and fragment.",
            hint="Give the address of the server: init --shared https://code.example.com",
            details={"field": "shared"},
        )
    return url.rstrip("/")


def with_shared(root: Path, url: str, changes: Sequence[FileChange]) -> list[FileChange]:
    """Return the changes of `config.toml`, with the table `[shared]` if there is a `url`.

    Args:
        root: The project.
        url: The address of the server, or empty.
        changes: The change of the file that is planned otherwise; none if it stays as it is.

    Raises:
        ConfigError: The file has such a table already, which init did not write.
    """
    if not url:
        return [*changes]
    path = root / CONFIG_FILE
    before = content(path)
    planned = changes[0].after if changes else before
    if _has_own_table(planned):
        message, hint = OWN_TABLE
        raise ConfigError(
            message.format(file=CONFIG_FILE),
            hint=hint.format(url=url),
            details={"field": "shared.url"},
        )
    return [FileChange(path, before, with_block(planned, MARKS, _lines(root, url)))]


def _lines(root: Path, url: str) -> list[bytes]:
    """Return the lines of the table; the name of the repository is the same for forks."""
    repository = revisions.repository_name(root)
    lines = [
        "# The index that the team shares. CODE_INTEL_SHARED_TOKEN has the token of each user.",
        "[shared]",
        f'url = "{url}"',
    ]
    if is_repository(repository):
        lines.append(f'repository = "{repository}"')
    return [line.encode() for line in lines]


def _has_own_table(data: bytes | None) -> bool:
    """Return whether a `config.toml` has a table `[shared]` outside our block."""
    rest = without_block(data, MARKS) if data is not None else None
    try:
        return "shared" in tomllib.loads((rest or b"").decode("utf-8-sig"))
    except ValueError:
        return False  # reading the settings says what is wrong


def removed(data: bytes) -> bytes | None:
    """Return a `config.toml` without what init wrote; None if nothing else is left."""
    rest = without_block(data, MARKS)
    return None if rest is None or is_own_settings(rest) else rest


def trust(settings: Settings, url: str) -> None:
    """Note that the user of this machine has named the server for this project; empty: none.

    Raises:
        StorageError: The user's state folder cannot be written.
    """
    file, digest = settings.state_dir / TRUSTED_SERVERS, project_digest(settings.root)
    wanted = [f"{digest} {url}"] if url else []
    if wanted == [line for line in trusted_lines(settings.state_dir) if _is_of(line, digest)]:
        return
    durable.make_folder(file.parent, 0o700)
    with durable.locked(file.with_name(f"{file.name}.lock")):
        before = trusted_lines(settings.state_dir)
        others = [line for line in before if not _is_of(line, digest)]
        durable.replace(file, "".join(f"{line}\n" for line in [*others, *wanted]).encode())
        used = {_url(line) for line in [*others, *wanted]}
        for address in {_url(line) for line in before} - used:
            _change_tokens(settings.state_dir, address, "")


def require_token(settings: Settings, url: str) -> None:
    """Check that there is a server and a token to save for it.

    Raises:
        UsageError: One is missing.
    """
    if not (url and settings.shared.token):
        raise UsageError(
            f"--save-token saves the token of {TOKEN_VARIABLE} for the server that --shared names.",
            hint=f"Set {TOKEN_VARIABLE}, and run `code-intel init --shared URL --save-token`.",
            details={"field": "save_token"},
        )


def save_token(settings: Settings, url: str) -> None:
    """Save the token of the environment for a server, in a file that only the user may read.

    Raises:
        StorageError: The user's state folder cannot be written.
    """
    _change_tokens(settings.state_dir, url, settings.shared.token)


def _change_tokens(state: Path, url: str, token: str) -> None:
    """Replace the token of a server; an empty one removes it."""
    file = state / TOKENS
    if not token and not file.exists():
        return
    durable.make_folder(state, 0o700)
    with durable.locked(file.with_name(f"{file.name}.lock")):
        before = file.read_text("ascii").splitlines() if file.exists() else []
        lines = [line for line in before if line.partition(" ")[0] != url]
        lines += [f"{url} {token}"] if token else []
        if not file.exists():
            durable.create(file, b"", 0o600)
        durable.replace(file, "".join(f"{line}\n" for line in lines).encode("ascii"))


def _url(line: str) -> str:
    return line.partition(" ")[2]


def _is_of(line: str, digest: str) -> bool:
    return line.startswith(f"{digest} ")


def prepare(root: Path) -> list[str]:
    """Create the indexes, so that a terminal can search, and say what the server has."""
    from code_intel.shared.connection import connection_of
    from code_intel.tools.context.corpus_service import open_project

    settings = load_settings(root)
    services = open_project(settings)
    try:
        services[0].index.complete(words_only=True)
        services[1].index.store  # noqa: B018 - creates it
    finally:
        for service in services:
            service.index.close()
    notes = _token_notes(settings)
    notes += [CLEAR_NOTE] if sends_in_clear(settings.shared) else []
    connection = connection_of(settings)
    if connection is None:
        return [*notes, NO_ANSWER_NOTE.format(reason=settings.shared.problem)]
    return [*notes, _answer_note(connection)]


def _token_notes(settings: Settings) -> list[str]:
    """Return what the user must do so that servers get the token."""
    config = settings.shared
    if not config.token:
        return [] if config.problem else [SET_VARIABLE.format(variable=TOKEN_VARIABLE)]
    names = [name for folder, name in NOT_PASSING.items() if (settings.root / folder).is_dir()]
    if not names or saved_token(settings.state_dir, config.url)[0] == config.token:
        return []
    return [NOT_PASSED_NOTE.format(clients=" or ".join(names), variable=TOKEN_VARIABLE)]


def _answer_note(connection: "Connection") -> str:
    """Return what the server has of the project."""
    from code_intel.shared.client import SharedIndexError
    from code_intel.shared.fields import MAX_COMMITS

    try:
        commits = revisions.ancestors(connection.folder, MAX_COMMITS)
        found = connection.generation(commits, ASK_TIMEOUT_S)
    except SharedIndexError as error:
        if error.status == NOT_FOUND:
            return NO_INDEX_NOTE.format(repository=connection.repository)
        return NO_ANSWER_NOTE.format(reason=error.reason)
    except CodeIntelError as error:
        return f"{error.message} {error.hint}"
    if found is None:
        return NO_INDEX_NOTE.format(repository=connection.repository)
    files = counted(found.files, "file")
    return READY_NOTE.format(files=files, repository=found.repository, commit=found.commit[:12])
