"""The tables `[upstreams.devrag-map]` and `[upstreams.devrag-forest]` of `.code-intel/config.toml`.

Each points one corpus of the gateway at a command or a URL; without a table it is searched in
process (docs/decisions/0018). A fault that may be one of this machine only, such as a variable that
is not set, is kept as `problem`: that corpus does not answer and says why, and the rest of the
program works.

The checks are written by hand because `code-intel hook` reads these settings, too: importing
pydantic takes several times as long as starting the interpreter.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from code_intel.config.reading import require, unknown_key_warnings

UPSTREAMS = ("devrag-map", "devrag-forest")
DEPTH = "CODE_INTEL_DEPTH"
"""Variable with the number of gateways above a process; it prevents loops."""
MAX_SECONDS = 3600
"""Of a time limit."""
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
"""Variables that a program inherits: what it needs to run, no secrets, nothing that loads code."""

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
    of: Literal["command", "url", "both"]


UPSTREAM_KEYS = (
    UpstreamKey("command", str, "a string", "", "command"),
    UpstreamKey("args", list, "a list of strings", (), "command"),
    UpstreamKey("env", dict, "a table of strings", {}, "command"),
    UpstreamKey("cwd", str, "a string", "", "command"),
    UpstreamKey("url", str, "an http or https URL", "", "url"),
    UpstreamKey("headers", dict, "a table of strings without line ends", {}, "url"),
    UpstreamKey("token_file", str, "a string", "", "url"),
    UpstreamKey("start_seconds", float, f"a number above 0, at most {MAX_SECONDS}", 5.0, "both"),
    UpstreamKey("call_seconds", float, f"a number above 0, at most {MAX_SECONDS}", 10.0, "both"),
)


@dataclass(frozen=True, slots=True)
class UpstreamConfig:
    """Where one corpus is searched.

    Attributes:
        name: `devrag-map` or `devrag-forest`.
        command: The program to start, or empty; then its `args`, whole `env` and `cwd`.
        url: The address, or empty; then its `headers`, and `token_file` (a bearer token).
        start_seconds: Seconds a start may take.
        call_seconds: Seconds a question may take, waiting for the start included.
        problem: Why it cannot be used here, or empty.
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
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def where(self) -> str:
        """What may be shown: the program's name, or the URL without user, password and query."""
        if self.command:
            return f"command {Path(self.command).name}"
        parts = urlsplit(self.url)
        host = parts.netloc.rpartition("@")[2]
        return f"{parts.scheme}://{host}{parts.path}"

    def masked(self, text: str) -> str:
        """Return `text` without the values of `env`, `headers` and the URL that may be secret."""
        for secret in self.secrets:
            text = text.replace(secret, MASK)
        return text


def read_upstreams(
    file: Path, given: Mapping[str, Any], root: Path, environ: Mapping[str, str]
) -> tuple[dict[str, UpstreamConfig], tuple[str, ...]]:
    """Read the `[upstreams]` tables.

    Returns:
        Configurations by name, and warnings.

    Raises:
        ConfigError: A value is of the wrong type; names the key.
    """
    tables = given.get("upstreams", {})
    require(file, "upstreams", isinstance(tables, dict), "a table")
    warnings = list(unknown_key_warnings("upstreams", tables, UPSTREAMS))
    depth = environ.get(DEPTH, "")
    above = int(depth) if re.fullmatch("[0-9]{1,3}", depth) else 0
    found = {}
    for name in UPSTREAMS:
        if name not in tables:
            continue
        where = f"upstreams.{name}"
        table = tables[name]
        require(file, where, isinstance(table, dict), "a table")
        warnings += unknown_key_warnings(where, table, tuple(key.name for key in UPSTREAM_KEYS))
        values = {key.name: _checked(file, where, key, table) for key in UPSTREAM_KEYS}
        warnings += _useless(where, table)
        one = bool(values["command"]) != bool(values["url"])
        require(file, where, one, "a table with either command or url")
        config, notes = _config(name, values, root, environ, above)
        warnings += notes
        found[name] = config
    return found, tuple(warnings)


def _checked(file: Path, where: str, key: UpstreamKey, table: Mapping[str, Any]) -> Any:
    value = table.get(key.name, key.default)
    if key.name not in table:
        return value
    if key.type is float:
        good = type(value) in {int, float} and 0 < value <= MAX_SECONDS
    elif key.type is list:
        good = isinstance(value, list) and all(_is_text(item, empty=True) for item in value)
    elif key.type is dict:
        good = isinstance(value, dict) and all(
            _is_text(n) and "=" not in n and _is_text(v, empty=True) for n, v in value.items()
        )
        good = good and not (
            key.name == "headers" and re.search(r"[\r\n]", "".join(value.values()))
        )
    else:
        good = _is_text(value) and (key.name != "url" or _is_url(value))
    require(file, f"{where}.{key.name}", bool(good), key.expected)
    return value


def _is_text(value: object, *, empty: bool = False) -> bool:
    return isinstance(value, str) and (empty or bool(value)) and "\0" not in value


def _is_url(value: str) -> bool:
    if "${" in value:
        return True  # judged once the variables are filled in
    try:
        parts = urlsplit(value)
        if re.search(r"[\s\x00-\x1f]", value):
            return False
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _useless(where: str, table: Mapping[str, Any]) -> list[str]:
    kind = "url" if table.get("url") else "command"
    rows = [key for key in UPSTREAM_KEYS if key.name in table and key.of not in {kind, "both"}]
    return [f"{where}.{key.name} has no effect without {key.of}." for key in rows]


def _config(
    name: str, values: Mapping[str, Any], root: Path, environ: Mapping[str, str], above: int
) -> tuple[UpstreamConfig, list[str]]:
    missing: list[str] = []
    used: list[str] = []

    def filled(text: str) -> str:
        return _expand(text, environ, missing, used)

    env = {key: filled(value) for key, value in values["env"].items()}
    headers = {key: filled(value) for key, value in values["headers"].items()}
    url = filled(values["url"])
    command = filled(values["command"])
    args = tuple(filled(item) for item in values["args"])
    problem = ""
    if missing:
        problem = f"the environment variable {missing[0]} is not set"
    elif url and not _is_url(url):
        problem = "its url is not an http or https URL"
    elif not all(_HEADER.fullmatch(f"{key}\n{value}") for key, value in headers.items()):
        problem = "a header is not valid: names are words, values printable ASCII"
    elif above:
        problem = "this gateway was itself started as an upstream of another gateway"
    token_file = values["token_file"]
    inherited = {key: environ[key] for key in INHERITED if key in environ}
    config = UpstreamConfig(
        name=name,
        command=_program(root, command),
        args=args,
        env=MappingProxyType({**inherited, **env, DEPTH: str(above + 1)}),
        cwd=_below(root, values["cwd"] or "."),
        url=url,
        headers=MappingProxyType(headers),
        token_file=_below(root, token_file) if token_file else None,
        start_seconds=float(values["start_seconds"]),
        call_seconds=float(values["call_seconds"]),
        problem=problem,
        secrets=_secrets((*env.values(), *used), headers, url),
    )
    open_line = (headers or token_file) and url.startswith("http://") and not _is_here(url)
    note = f"upstreams.{name}: secrets are sent in clear text over http; use https."
    return config, [note] if open_line else []


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
    """Return the texts that must not be shown, longest first; short ones would mask plain words."""
    words = [*values, *headers.values()]
    words += [part for value in headers.values() for part in value.split()]
    parts = urlsplit(url) if _is_url(url) else None
    if parts is not None:
        words += [parts.username or "", parts.password or "", parts.query]
    shortest = 6
    return tuple(sorted({w for w in words if len(w) >= shortest}, key=len, reverse=True))


def _is_here(url: str) -> bool:
    return urlsplit(url).hostname in {"localhost", "127.0.0.1", "::1"}


def _program(root: Path, command: str) -> str:
    """Return a program: a path is relative to the project, a bare name is looked up on PATH."""
    return str(_below(root, command)) if "/" in command or "\\" in command else command


def _below(root: Path, text: str) -> Path:
    try:
        return (root / Path(text).expanduser()).absolute()
    except RuntimeError:  # no such user
        return (root / text).absolute()
