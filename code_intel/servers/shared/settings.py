"""Read the configuration of `code-intel serve-shared`, which docs/shared-server.md describes."""

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from code_intel.errors import ConfigError, UsageError
from code_intel.servers.shared.access.principal import grant_of

Algorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"
]
"""Algorithms whose verification needs the public key only."""
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
Count = Annotated[int, Field(ge=1)]


class Table(BaseModel):
    """A table of the file; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ClaimGrant(Table):
    """Gives grants to tokens whose claim has a value.

    Attributes:
        claim: Name of the claim; a dot leads into an object, `realm_access.roles`.
        value: The value, or a pattern as in grants. A list matches if one of its items does, and
            `scope` if one of its words does.
        grants: The grants; `{value}` stands for the matched value.
    """

    claim: str
    value: str
    grants: tuple[str, ...]

    @field_validator("grants")
    @classmethod
    def _check_grants(cls, grants: tuple[str, ...]) -> tuple[str, ...]:
        for text in grants:
            try:
                grant_of(text.replace("{value}", "value"))
            except UsageError as error:
                raise ValueError(error.message) from None
        return grants


class Issuer(Table):
    """An OIDC issuer whose JWTs are accepted.

    Attributes:
        issuer: The exact value of `iss`.
        audience: The value that `aud` must have or contain.
        jwks_url: Where the issuer publishes its keys; its openid-configuration has it as jwks_uri.
        algorithms: The accepted algorithms.
        leeway_s: How far clocks may differ, in seconds.
        grants: Which claims give which grants.
    """

    issuer: str
    audience: Annotated[str, Field(min_length=1)]
    jwks_url: str
    algorithms: Annotated[tuple[Algorithm, ...], Field(min_length=1)] = ("RS256", "ES256")
    leeway_s: Annotated[int, Field(ge=0, le=300)] = 30
    grants: tuple[ClaimGrant, ...]

    @field_validator("issuer", "jwks_url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        return _checked_url(url)


class RateLimits(Table):
    """What one token may do on one instance.

    Attributes:
        requests_per_minute: Requests in the long run; a token may have its own value.
        burst: Requests at once.
        concurrent: Requests that are answered at the same time.
        mib_per_day: Received bodies in a day, in MiB.
    """

    requests_per_minute: Count = 600
    burst: Count = 120
    concurrent: Count = 32
    mib_per_day: Count = 4096


class SharedSettings(Table):
    """The configuration of an instance; paths are relative to the file.

    Attributes:
        engine: Address of Milvus: a URL, or the path of a file for Milvus Lite.
        engine_token_file: File with Milvus's own token, `user:password`.
        engine_partitions: Over how many partitions Milvus spreads the repositories of a new index.
        token_file: The tokens that `code-intel shared token` manages.
        oidc: An issuer of JWTs, accepted besides tokens.
        public_url: The URL by which clients call the server; its host is allowed in Host.
        host: The address to listen on.
        port: The port to listen on; 0 for a free one.
        allow_hosts: Further host names of the server.
        audit_file: Where each request is logged, a JSON object per line; empty for nowhere.
        audit_questions: Whether the log has the text of questions, masked and cut.
        metrics_open: Whether /metrics needs no token.
        drain_s: How long running requests may take after SIGTERM.
        connections: Open connections.
        body_mib: Body of a request, in MiB.
        push_body_mib: Body of a request that pushes, in MiB; clients send at most 16.
        threads: Requests that work at the same time; others wait.
        limits: What one token may do.
    """

    engine: Annotated[str, Field(min_length=1)]
    engine_token_file: Path | None = None
    engine_partitions: Annotated[int, Field(ge=1, le=1024)] = 16
    token_file: Path | None = None
    oidc: Issuer | None = None
    public_url: str = ""
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8770
    allow_hosts: tuple[str, ...] = ()
    audit_file: Path | None = None
    audit_questions: bool = False
    metrics_open: bool = False
    drain_s: Annotated[int, Field(ge=0, le=600)] = 20
    connections: Count = 1000
    body_mib: Annotated[int, Field(ge=1, le=64)] = 4
    push_body_mib: Annotated[int, Field(ge=1, le=16)] = 16
    threads: Annotated[int, Field(ge=1, le=256)] = 16
    limits: RateLimits = RateLimits()

    @field_validator("public_url")
    @classmethod
    def _check_public_url(cls, url: str) -> str:
        return _checked_url(url) if url else url

    @model_validator(mode="after")
    def _check_credentials(self) -> "SharedSettings":
        if self.token_file is None and self.oidc is None:
            raise ValueError("token_file or [oidc] is required, because each request needs a token")
        if self.oidc is not None and not self.public_url:
            raise ValueError("public_url is required with [oidc]: clients compare it")
        return self

    @property
    def is_local_engine(self) -> bool:
        """Whether the engine is a file, which only one process can open."""
        return "://" not in self.engine

    def engine_token(self) -> str:
        """Return Milvus's own token.

        Raises:
            ConfigError: The file cannot be read.
        """
        if self.engine_token_file is None:
            return ""
        try:
            return self.engine_token_file.read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"{self.engine_token_file} cannot be read: {error}.",
                details={"field": "engine_token_file"},
            ) from None


def _checked_url(url: str) -> str:
    parts = urlsplit(url)
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    if not is_safe or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("use an https URL; http is possible on loopback only")
    return url


def read_settings(path: Path) -> SharedSettings:
    """Read the configuration.

    Raises:
        ConfigError: The file is missing or malformed; the error names the key.
    """
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{path} cannot be read: {error}.",
            hint="docs/shared-server.md describes the file.",
            details={"field": "config"},
        ) from None
    try:
        settings = SharedSettings.model_validate(given)
    except ValidationError as error:
        raise _unusable(path, error) from None
    return settings.model_copy(update=_absolute(settings, path.absolute().parent))


def _absolute(settings: SharedSettings, folder: Path) -> dict[str, Any]:
    """Return the paths of the settings, relative to the folder of the file."""
    names = ("engine_token_file", "token_file", "audit_file")
    paths = {name: getattr(settings, name) for name in names}
    changed: dict[str, Any] = {name: folder / path for name, path in paths.items() if path}
    if settings.is_local_engine:
        changed["engine"] = str(folder / settings.engine)
    return changed


def _unusable(path: Path, error: ValidationError) -> ConfigError:
    first = error.errors(include_url=False)[0]
    field = ".".join(map(str, first["loc"])) or "config"
    problem = first["msg"].removeprefix("Value error, ").rstrip(".")[:400]
    return ConfigError(
        f"{path}: {field}: {problem}.",
        hint=f"Correct {field}; docs/shared-server.md describes it.",
        details={"field": field},
    )
