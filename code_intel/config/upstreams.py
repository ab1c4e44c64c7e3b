"""The tables `[upstreams.devrag-map]` and `[upstreams.devrag-forest]` of `.code-intel/config.toml`.

Each names a command or a URL that searches one corpus for the gateway. A corpus without a table is
searched in process (docs/decisions/0018). A problem that may exist on this machine only, such as a
variable that is not set, is stored in `problem`: that corpus then does not answer and says why, and
everything else works. So it is with a definition that the user has not approved: of such a table,
the configuration has nothing that could be started, contacted or read (docs/decisions/0100).

The checks do not use pydantic, because `code-intel hook` also reads these settings and importing
pydantic takes several times as long as starting the interpreter.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from code_intel.config.reading import require, unknown_key_warnings
from code_intel.config.upstream_approval import Approvals, definition_digest
from code_intel.foundation.state_folder import is_within

UPSTREAMS = ("devrag-map", "devrag-forest")
DEPTH = "CODE_INTEL_DEPTH"
"""Variable with the number of gateways above a process, to prevent loops."""
MAX_SECONDS = 3600
"""Maximum of a time limit."""
MASK = "***"

INHERITED_VARIABLES = (
    *("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ"),
    *("TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "VIRTUAL_ENV", "HF_HOME"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"),
    *("http_proxy", "https_proxy", "no_proxy", "all_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
    *("DENO_DIR", "DENO_CERT", "DENO_TLS_CA_STORE", "JSR_URL", "NPM_CONFIG_REGISTRY"),
    *("APPDATA", "LOCALAPPDATA", "PATHEXT", "SYSTEMROOT", "TEMP", "USERPROFILE"),
)
"""Variables that a program inherits: those it needs to run, without secrets or code to load."""

INHERITED = (
    *INHERITED_VARIABLES,
    "CLAUDE_PROJECT_DIR",
    "CODE_INTEL_CACHE_DIR",
    "CODE_INTEL_EMBEDDING",
)
"""Variables that an upstream inherits; `env` adds to them."""


class UpstreamKey(NamedTuple):
    """A key of a table; `docs/settings.md` lists each."""

    name: str
    type: type
    expected: str
    default: object
    applies_to: Literal["command", "url", "both"]


UPSTREAM_KEYS = (
    UpstreamKey("command", str, "a string", "", "command"),
    UpstreamKey("args", list, "a list of strings", (), "command"),
    UpstreamKey("env", dict, "a table of strings", {}, "command"),
    UpstreamKey("cwd", str, "a string", "", "command"),
    UpstreamKey("url", str, "an http or https URL", "", "url"),
    UpstreamKey("headers", dict, "a table of strings without line endings", {}, "url"),
    UpstreamKey("token_file", str, "a string", "", "url"),
    UpstreamKey("start_seconds", float, f"a number above 0, at most {MAX_SECONDS}", 5.0, "both"),
    UpstreamKey("call_seconds", float, f"a number above 0, at most {MAX_SECONDS}", 10.0, "both"),
)


@dataclass(frozen=True, slots=True)
class UpstreamConfig:
    """Where one corpus is searched.

    Attributes:
        name: `devrag-map` or `devrag-forest`.
        command: The program to start with `args`, the environment `env` and `cwd`; or empty.
        url: The address to call with `headers` and the bearer token in `token_file`; or empty.
        start_seconds: Time limit of a start.
        call_seconds: Time limit of a question, including the start.
        problem: Why the corpus cannot be used on this machine, or empty.
        remedy: What to do about the problem, if it is not to correct the table.
        definition: The keys of the table as they are written.
        digest: The digest of the definition, which the user approves.
        is_approved: Whether the user of this machine has approved it for this project. If not, all
            that follows from the definition is empty.
        root: The project.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    cwd: Path = field(default_factory=Path)
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    token_file: Path | None = None
    start_seconds: float = 5.0
    call_seconds: float = 10.0
    problem: str = ""
    remedy: str = ""
    definition: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    digest: str = ""
    is_approved: bool = False
    root: Path = field(default_factory=Path, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def where(self) -> str:
        """The program's name, or the URL without user, password and query."""
        url = self.url or str(self.definition.get("url", ""))
        if not url:
            command = self.command or str(self.definition.get("command", ""))
            return f"command {Path(command).name}"
        try:
            parts = urlsplit(url)
        except ValueError:
            return "a URL that is not valid"
        host = parts.netloc.rpartition("@")[2]
        return f"{parts.scheme}://{host}{parts.path}"

    @property
    def is_token_moved(self) -> bool:
        """Whether a link in the project decides which file the token comes from.

        The user has approved a path; a commit could change a link to another file of the user.
        """
        if self.token_file is None:
            return False
        for folder in reversed(self.token_file.parents):
            if is_within(folder, self.root):
                rest = self.token_file.relative_to(folder)
                written = os.path.normpath(Path(os.path.realpath(folder)) / rest)
                return os.path.realpath(self.token_file) != written
        return False

    def masked(self, text: str) -> str:
        """Return `text` without the values of `env`, `headers` and the URL that may be secret."""
        for secret in self.secrets:
            text = text.replace(secret, MASK)
        return text


def read_upstreams(
    file: Path, given: Mapping[str, Any], environ: Mapping[str, str], approvals: Approvals
) -> tuple[dict[str, UpstreamConfig], tuple[str, ...]]:
    """Read the `[upstreams]` tables.

    Args:
        file: The file that contains them.
        given: Its content.
        environ: The environment.
        approvals: The project, and what the user has approved of its definitions.

    Returns:
        Configurations by name, and warnings.

    Raises:
        ConfigError: A value is invalid; the error names the key.
    """
    tables = given.get("upstreams", {})
    require(file, "upstreams", isinstance(tables, dict), "a table")
    warnings = list(unknown_key_warnings("upstreams", tables, UPSTREAMS))
    depth = environ.get(DEPTH, "")
    depth_above = int(depth) if re.fullmatch("[0-9]{1,3}", depth) else 0
    found = {}
    for name in UPSTREAMS:
        if name not in tables:
            continue
        where = f"upstreams.{name}"
        table = tables[name]
        require(file, where, isinstance(table, dict), "a table")
        warnings += unknown_key_warnings(where, table, tuple(key.name for key in UPSTREAM_KEYS))
        values = {key.name: _checked(file, where, key, table) for key in UPSTREAM_KEYS}
        warnings += _keys_without_effect(where, table)
        has_one_target = bool(values["command"]) != bool(values["url"])
        require(file, where, has_one_target, "a table with either command or url")
        definition = {key.name: values[key.name] for key in UPSTREAM_KEYS if key.name in table}
        digest = definition_digest(name, definition)
        problem, remedy = approvals.refusal(name, digest)
        config = UpstreamConfig(name, problem=problem, remedy=remedy)
        if not problem:
            config, notes = _config(name, values, approvals.root, environ, depth_above)
            warnings += notes
        found[name] = replace(
            config,
            definition=MappingProxyType(definition),
            digest=digest,
            is_approved=not problem,
            root=approvals.root,
        )
    return found, tuple(warnings)


def _checked(file: Path, where: str, key: UpstreamKey, table: Mapping[str, Any]) -> Any:
    value = table.get(key.name, key.default)
    if key.name not in table:
        return value
    if key.type is float:
        is_valid = type(value) in {int, float} and 0 < value <= MAX_SECONDS
    elif key.type is list:
        is_valid = isinstance(value, list) and all(_is_text(item, empty=True) for item in value)
    elif key.type is dict:
        is_valid = isinstance(value, dict) and all(
            _is_text(n) and "=" not in n and _is_text(v, empty=True) for n, v in value.items()
        )
        is_valid = is_valid and not (
            key.name == "headers" and re.search(r"[\r\n]", "".join(value.values()))
        )
    else:
        is_valid = _is_text(value) and (key.name != "url" or _is_url(value))
    require(file, f"{where}.{key.name}", bool(is_valid), key.expected)
    return value


def _is_text(value: object, *, empty: bool = False) -> bool:
    return isinstance(value, str) and (empty or bool(value)) and "\0" not in value


def _is_url(value: str) -> bool:
    if "${" in value:
        return True  # checked again once the variables are expanded
    try:
        parts = urlsplit(value)
        if re.search(r"[\s\x00-\x1f]", value):
            return False
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _keys_without_effect(where: str, table: Mapping[str, Any]) -> list[str]:
    kind = "url" if table.get("url") else "command"
    return [
        f"{where}.{key.name} has no effect without {key.applies_to}."
        for key in UPSTREAM_KEYS
        if key.name in table and key.applies_to not in {kind, "both"}
    ]


def _config(
    name: str, values: Mapping[str, Any], root: Path, environ: Mapping[str, str], depth_above: int
) -> tuple[UpstreamConfig, list[str]]:
    missing: list[str] = []
    used: list[str] = []

    def expand(text: str) -> str:
        return _expand(text, environ, missing, used)

    env = {key: expand(value) for key, value in values["env"].items()}
    headers = {key: expand(value) for key, value in values["headers"].items()}
    url = expand(values["url"])
    command = expand(values["command"])
    args = tuple(expand(item) for item in values["args"])
    problem = ""
    if missing:
        problem = f"the environment variable {missing[0]} is not set"
    elif url and not _is_url(url):
        problem = "its url is not an http or https URL"
    elif not all(_HEADER.fullmatch(f"{key}\n{value}") for key, value in headers.items()):
        problem = "a header is not valid: names are words, values printable ASCII"
    elif depth_above:
        problem = "this gateway was itself started as an upstream of another gateway"
    token_file = values["token_file"]
    inherited = {key: environ[key] for key in INHERITED if key in environ}
    config = UpstreamConfig(
        name=name,
        command=_program(root, command),
        args=args,
        env=MappingProxyType({**inherited, **env, DEPTH: str(depth_above + 1)}),
        cwd=absolute_path(root, values["cwd"] or "."),
        url=url,
        headers=MappingProxyType(headers),
        token_file=absolute_path(root, token_file) if token_file else None,
        start_seconds=float(values["start_seconds"]),
        call_seconds=float(values["call_seconds"]),
        problem=problem,
        secrets=_secrets((*env.values(), *used), headers, url),
    )
    is_unencrypted = (headers or token_file) and url.startswith("http://") and not _is_loopback(url)
    note = f"upstreams.{name}: secrets are sent in clear text over http; use https."
    return config, [note] if is_unencrypted else []


_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\n[\t\x20-\x7e]*")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def _expand(text: str, environ: Mapping[str, str], missing: list[str], used: list[str]) -> str:
    """Replace `${NAME}` and `${NAME:-default}`; add unset names to `missing`, values to `used`."""

    def value(match: re.Match[str]) -> str:
        name, default = match.group(1), match.group(2)
        if default is None and name not in environ:
            missing.append(name)
        used.append(environ.get(name, ""))
        return environ.get(name) or default or ""

    return _VARIABLE.sub(value, text)


def _secrets(values: Iterable[str], headers: Mapping[str, str], url: str) -> tuple[str, ...]:
    """Return the values to mask, longest first; short ones would mask ordinary words."""
    words = [*values, *headers.values()]
    words += [part for value in headers.values() for part in value.split()]
    parts = urlsplit(url) if _is_url(url) else None
    if parts is not None:
        words += [parts.username or "", parts.password or "", parts.query]
    shortest = 6
    return tuple(sorted({w for w in words if len(w) >= shortest}, key=len, reverse=True))


def _is_loopback(url: str) -> bool:
    return urlsplit(url).hostname in {"localhost", "127.0.0.1", "::1"}


def _program(root: Path, command: str) -> str:
    """Return the program; a path is relative to the project, and a name is searched for on PATH."""
    return str(absolute_path(root, command)) if "/" in command or "\\" in command else command


def absolute_path(root: Path, text: str) -> Path:
    """Return a path of a table; a relative one is relative to the project."""
    try:
        return (root / Path(text).expanduser()).absolute()
    except RuntimeError:  # no such user
        return (root / text).absolute()
