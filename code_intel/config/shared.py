"""The table `[shared]` of `.code-intel/config.toml`: the index that many machines share.

`config.toml` comes with the repository, so a URL in it is only a proposal. Nothing is sent to a
server before the user of this machine has named it, with `code-intel init --shared URL` or
`CODE_INTEL_SHARED_URL` (docs/decisions/0096).

The token comes from the environment, or from a file in the user's state folder, because some
clients do not pass variables with tokens to the servers that they start.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from code_intel.config.confinement import could_be_written_by
from code_intel.config.reading import read_regular_file
from code_intel.foundation.state_folder import project_digest

TRUSTED_SERVERS = "shared-servers"
"""The file in the user's state folder with the servers that the user has named: per line, the
digest of a project (see `state_folder.project_digest`) and an address."""
TOKENS = "shared-tokens"
"""The file in the user's state folder with tokens: per line, an address and a token."""
TOKEN_VARIABLE = "CODE_INTEL_SHARED_TOKEN"  # noqa: S105 - the name of a variable
URL_VARIABLE = "CODE_INTEL_SHARED_URL"
NOT_TRUSTED = (
    "the server {url} is named by config.toml only; run `code-intel init --shared {url}` to use it"
)
MAX_URL_CHARS = 500
_SEGMENT = r"(?=\.?[\w@+~-])[\w.@+~-]{1,100}"
_REPOSITORY = re.compile(rf"(?!.*\.\.){_SEGMENT}(?:/{_SEGMENT}){{0,9}}", re.ASCII)
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class SharedConfig:
    """Which shared index a project uses.

    Attributes:
        url: The address of the server, without a `/` at the end; empty without a shared index.
        repository: The name of this project there; empty: the name from the git remote.
        map: Whether agreements are shared, too.
        token: The bearer token, of the environment or the user's file; or empty.
        problem: Why the server cannot be used on this machine, or empty.
    """

    url: str = ""
    repository: str = ""
    map: bool = False
    token: str = field(default="", repr=False)
    problem: str = ""

    @property
    def is_usable(self) -> bool:
        """Whether questions may be sent to the server."""
        return bool(self.url) and not self.problem


def shared_config(
    values: Mapping[str, object], root: Path, state: Path, *, by_user: bool
) -> SharedConfig:
    """Return the configuration that the settings of the table describe.

    Args:
        values: The checked values, by name.
        root: The project.
        state: The user's state folder.
        by_user: Whether the URL comes from the environment.
    """
    url, token = str(values["url"]).rstrip("/"), str(values["token"]).strip()
    repository = str(values["repository"])
    token, problem = (token, "") if token or not url else saved_token(state, url)
    if url and not is_server(url):
        problem = "shared.url is not an http or https URL without user, query and fragment"
    elif repository and not is_repository(repository):
        problem = "shared.repository is not a name such as team/shop"
    elif token and not re.fullmatch(r"[\x21-\x7e]{1,8192}", token):
        problem = f"{TOKEN_VARIABLE} does not contain a token"
    elif url and not (by_user or is_trusted(root, state, url)):
        problem = NOT_TRUSTED.format(url=url)
    return SharedConfig(url, repository, bool(values["map"]), token, problem)


def is_trusted(root: Path, state: Path, url: str) -> bool:
    """Return whether the user has named a server; a list inside the project does not count."""
    line = f"{project_digest(root)} {url}"
    return line in trusted_lines(state) and not could_be_written_by(root, state)


def is_server(url: str) -> bool:
    """Return whether a text is the address of a server: http or https, without secrets in it."""
    if len(url) > MAX_URL_CHARS or not re.fullmatch(r"[\x21-\x7e]+", url) or '"' in url:
        return False
    try:
        parts = urlsplit(url)
        is_plain = not (parts.query or parts.fragment or "@" in parts.netloc or "\\" in url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and is_plain
    except ValueError:
        return False


def is_repository(name: str) -> bool:
    """Return whether a text is the name of a repository: words between slashes."""
    return bool(_REPOSITORY.fullmatch(name))


def sends_in_clear(config: SharedConfig) -> bool:
    """Return whether a token would be sent unencrypted over a network."""
    parts = urlsplit(config.url)
    return bool(config.token) and parts.scheme == "http" and parts.hostname not in _LOOPBACK


def saved_token(state: Path, url: str) -> tuple[str, str]:
    """Return the token that the user has saved for a server, and why it cannot be used.

    Another user must not be able to read it.
    """
    file = state / TOKENS
    try:
        readers = file.stat().st_mode & 0o077
        lines = read_regular_file(file).decode("ascii").splitlines()
    except FileNotFoundError:
        return "", ""
    except (OSError, ValueError):
        return "", f"{file} cannot be read"
    if readers and os.name == "posix":
        return "", f"other users may read {file}; run `chmod 600 {file}`"
    tokens = dict(line.split(" ", 1) for line in lines if " " in line)
    return tokens.get(url, "").strip(), ""


def trusted_lines(state: Path) -> list[str]:
    """Return the lines of `TRUSTED_SERVERS`."""
    try:
        text = read_regular_file(state / TRUSTED_SERVERS).decode()
    except (OSError, ValueError):
        return []
    return [line for line in text.splitlines() if line.strip()]
