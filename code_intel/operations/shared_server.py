"""Report the server of the shared index, for `status` and `doctor`: both ask it."""

from http import HTTPStatus
from typing import Any

from code_intel.config import Settings
from code_intel.config.shared import TOKEN_VARIABLE
from code_intel.errors import CodeIntelError
from code_intel.foundation import revisions
from code_intel.foundation.text import counted
from code_intel.index.doctor import IndexFinding
from code_intel.shared.client import SharedIndexError
from code_intel.shared.connection import Connection, connection_of
from code_intel.shared.fields import MAX_COMMITS
from code_intel.shared.records import Generation

STATUS_TIMEOUT_S = 1.0
DOCTOR_TIMEOUT_S = 5.0
NEW_TOKEN = (
    f"Set {TOKEN_VARIABLE} to a valid token, which `code-intel shared token create` makes on the"
    " server, and run `code-intel init --shared URL --save-token`."
)
REMEDIES = {
    HTTPStatus.UNAUTHORIZED: NEW_TOKEN,
    HTTPStatus.FORBIDDEN: NEW_TOKEN,
    HTTPStatus.NOT_FOUND: (
        "Push the repository with `code-intel push`, or use a token that may read it."
    ),
}
UNREACHABLE = "Check shared.url, the network, and that the server runs. The local index answers."
REFUSED = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})


def shared_status(settings: Settings) -> dict[str, Any] | None:
    """Return the server, what it has of the project, and why it has nothing; None without one."""
    config = settings.shared
    if not config.url:
        return None
    data: dict[str, Any] = {"url": config.url, "repository": config.repository, "commit": ""}
    connection = connection_of(settings)
    if connection is None:
        return {**data, "error": config.problem}
    try:
        data["repository"] = connection.repository
        found = _generation(connection, STATUS_TIMEOUT_S)
    except SharedIndexError as error:
        return {**data, "error": error.reason}
    except CodeIntelError as error:
        return {**data, "error": f"{error.message} {error.hint}"}
    if found is None:
        return {**data, "error": "the server has no index of this repository yet"}
    return {**data, "commit": found.commit, "error": ""}


def shared_line(data: dict[str, Any] | None) -> list[str]:
    """Return the status as a line; none without a server."""
    if data is None:
        return []
    has = f" has {data['repository']} at {data['commit'][:12]}"
    return [f"shared     {data['url']}{has if data['commit'] else ': ' + data['error']}"]


def shared_findings(settings: Settings) -> list[IndexFinding]:
    """Ask the server; return whether it answers, accepts the token and has the repository."""
    config = settings.shared
    if not config.url:
        return []
    connection = connection_of(settings)
    if connection is None:
        remedy = f"Run `code-intel init --shared {config.url}`, or correct [shared] in config.toml."
        return [IndexFinding("warning", f"The shared index is not used: {config.problem}.", remedy)]
    try:
        readable = len({head.repository for head in connection.heads(DOCTOR_TIMEOUT_S)})
        found = _generation(connection, DOCTOR_TIMEOUT_S)
    except SharedIndexError as error:
        what, remedy = f"{config.url}: {error.reason}.", _remedy(error.status)
        return [IndexFinding("error" if error.status in REFUSED else "warning", what, remedy)]
    except CodeIntelError as error:
        return [IndexFinding("warning", error.message, error.hint)]
    if found is None:
        what = f"{config.url} has no index of {connection.repository} yet."
        return [IndexFinding("warning", what, REMEDIES[HTTPStatus.NOT_FOUND])]
    repositories = counted(readable, "repository", "repositories")
    what = (
        f"{config.url} answers: {found.repository} at {found.commit[:12]}, and the token may read"
        f" {repositories}."
    )
    return [IndexFinding("info", what)]


def _remedy(status: int) -> str:
    return REMEDIES[HTTPStatus(status)] if status in REMEDIES else UNREACHABLE


def _generation(connection: Connection, seconds: float) -> Generation | None:
    """Return what the server has of the nearest commit.

    Raises:
        SharedIndexError: It does not answer.
        UsageError: The name of the repository is not known.
    """
    return connection.generation(revisions.ancestors(connection.folder, MAX_COMMITS), seconds)
