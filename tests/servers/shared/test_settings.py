"""The configuration of an instance."""

from pathlib import Path

import pytest

from code_intel.errors import ConfigError
from code_intel.servers.shared.settings import read_settings

SHORT = 'engine = "index.db"\ntoken_file = "tokens.json"\n'
OIDC = """
engine = "http://127.0.0.1:19530"
public_url = "https://code.example.com"

[oidc]
issuer = "https://id.example.com"
audience = "https://code.example.com/mcp"
jwks_url = "https://id.example.com/keys"

[[oidc.grants]]
claim = "groups"
value = "payments"
grants = ["read:payments/*"]
"""


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "shared.toml").write_text(SHORT)
    settings = read_settings(tmp_path / "shared.toml")
    assert settings.engine == str(tmp_path / "index.db")
    assert settings.token_file == tmp_path / "tokens.json"


def test_a_url_stays_a_url(tmp_path: Path) -> None:
    (tmp_path / "shared.toml").write_text(OIDC)
    settings = read_settings(tmp_path / "shared.toml")
    assert settings.engine == "http://127.0.0.1:19530"
    assert settings.oidc is not None
    assert settings.oidc.algorithms == ("RS256", "ES256")


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ('engine = "x"', "config"),
        (SHORT + "colour = 1", "colour"),
        (SHORT + "port = 70000", "port"),
        (SHORT + "[limits]\nburst = 0", "limits.burst"),
        (SHORT + 'public_url = "http://code.example.com"', "public_url"),
        (OIDC.replace('public_url = "https://code.example.com"', ""), "config"),
        (OIDC.replace("https://id.example.com/keys", "http://id.example.com"), "oidc.jwks_url"),
        (OIDC.replace("read:payments/*", "all:payments/*"), "oidc.grants.0.grants"),
        (OIDC.replace("[[oidc", 'algorithms = ["HS256"]\n[[oidc'), "oidc.algorithms.0"),
        ("engine = ", "config"),
    ],
)
def test_an_error_names_the_key(tmp_path: Path, text: str, field: str) -> None:
    (tmp_path / "shared.toml").write_text(text)
    with pytest.raises(ConfigError) as error:
        read_settings(tmp_path / "shared.toml")
    assert error.value.details["field"] == field
    assert error.value.hint
