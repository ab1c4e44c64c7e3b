"""Reading the tables of `[upstreams]`: values, refusals, masked secrets."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.config import UpstreamConfig, load_settings
from code_intel.config.upstream_approval import Approvals
from code_intel.config.upstreams import read_upstreams
from code_intel.errors import ConfigError

ROOT = Path("/project")
FILE = Path("config.toml")
HIDDEN = "k3y-that-nobody-may-see"


def read(table: object, **environ: str) -> tuple[UpstreamConfig, tuple[str, ...]]:
    """Read a table that the user has approved."""
    given = {"upstreams": {"devrag-map": table}}
    found, _ = read_upstreams(FILE, given, environ, Approvals(ROOT, {}))
    approvals = Approvals(ROOT, {name: config.digest for name, config in found.items()})
    found, warnings = read_upstreams(FILE, given, environ, approvals)
    return found["devrag-map"], warnings


def test_paths_are_relative_to_the_project_but_bare_names_are_not() -> None:
    config, warnings = read({"command": "./bin/devrag", "cwd": "docs"})
    assert (config.command, config.cwd) == ("/project/bin/devrag", Path("/project/docs"))
    config, _ = read({"command": "devrag"})
    assert (config.command, config.cwd) == ("devrag", ROOT)
    assert (config.start_seconds, config.call_seconds) == (5.0, 10.0)
    assert warnings == ()


@pytest.mark.parametrize(
    ("table", "field"),
    [
        ("devrag", "upstreams.devrag-map"),
        ({}, "upstreams.devrag-map"),
        ({"command": "a", "url": "http://b"}, "upstreams.devrag-map"),
        ({"command": ""}, "upstreams.devrag-map.command"),
        ({"command": ["devrag"]}, "upstreams.devrag-map.command"),
        ({"command": "a", "args": "--x"}, "upstreams.devrag-map.args"),
        ({"command": "a", "args": [1]}, "upstreams.devrag-map.args"),
        ({"command": "a", "env": {"A": 1}}, "upstreams.devrag-map.env"),
        ({"command": "a\0b"}, "upstreams.devrag-map.command"),
        ({"url": "ftp://host"}, "upstreams.devrag-map.url"),
        ({"url": "http://"}, "upstreams.devrag-map.url"),
        ({"url": "http://host:99999/"}, "upstreams.devrag-map.url"),
        ({"url": "http://h", "headers": {"A": "b\r\nC: d"}}, "upstreams.devrag-map.headers"),
        ({"url": "http://a b/"}, "upstreams.devrag-map.url"),
        ({"url": "http://a\ab/"}, "upstreams.devrag-map.url"),
        ({"command": "a", "env": {"A=B": "c"}}, "upstreams.devrag-map.env"),
        ({"command": "a", "start_seconds": 0}, "upstreams.devrag-map.start_seconds"),
        ({"command": "a", "call_seconds": True}, "upstreams.devrag-map.call_seconds"),
        ({"command": "a", "call_seconds": float("nan")}, "upstreams.devrag-map.call_seconds"),
        ({"command": "a", "call_seconds": 1e9}, "upstreams.devrag-map.call_seconds"),
    ],
)
def test_wrong_value_is_refused_by_name(table: object, field: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(table)
    assert caught.value.details["field"] == field


def test_variables_are_substituted_and_a_missing_one_is_a_problem() -> None:
    table = {"command": "a", "env": {"KEY": "${MY_KEY}", "MODE": "${MODE:-fast}", "PLAIN": "$X"}}
    config, _ = read(table, MY_KEY=HIDDEN, PATH="/bin", UNRELATED="x")
    assert config.env == {
        "KEY": HIDDEN,
        "MODE": "fast",
        "PLAIN": "$X",
        "PATH": "/bin",
        "CODE_INTEL_DEPTH": "1",
    }
    assert config.problem == ""
    config, _ = read(table)
    assert config.problem == "the environment variable MY_KEY is not set"


def test_secrets_are_masked_in_every_representation() -> None:
    headers = {"Authorization": "Bearer ${KEY}"}
    table = {"url": f"https://me:{HIDDEN}1@host/mcp?key={HIDDEN}2", "headers": headers}
    config, warnings = read(table, KEY=HIDDEN)
    shown = config.masked(f"{config.url} {config.headers}")
    assert HIDDEN not in shown + repr(config) + config.where + str(warnings)
    assert config.where == "https://host/mcp"


def test_secrets_over_plain_http_get_a_warning() -> None:
    headers = {"headers": {"X-Key": HIDDEN}}
    assert "https" in read({"url": "http://team/mcp", **headers})[1][0]
    assert read({"url": "http://127.0.0.1:8/mcp", **headers})[1] == ()
    assert read({"url": "https://team/mcp", **headers})[1] == ()


def test_unknown_keys_get_a_warning_with_a_suggestion(tmp_path: Path) -> None:
    file = tmp_path / ".code-intel" / "config.toml"
    file.parent.mkdir()
    text = 'expire_day = 3\n[upstreams.devrag-maps]\ncommand = "a"\n'
    file.write_text(
        text + '[upstreams.devrag-forest]\ncommand = "a"\narg = []\nheaders = {}\n',
        encoding="utf-8",
    )
    notes = "\n".join(load_settings(tmp_path, {}).warnings)
    assert "expire_day is unknown and ignored; did you mean expire_days?" in notes
    assert "upstreams.devrag-maps is unknown and ignored; did you mean devrag-map?" in notes
    assert "upstreams.devrag-forest.arg is unknown and ignored; did you mean args?" in notes
    assert "upstreams.devrag-forest.headers has no effect without url." in notes


def test_gateway_started_as_an_upstream_connects_no_upstream() -> None:
    config, _ = read({"command": "a"}, CODE_INTEL_DEPTH="1")
    assert "itself started as an upstream" in config.problem
    assert config.env["CODE_INTEL_DEPTH"] == "2"
    assert read({"command": "a"}, CODE_INTEL_DEPTH="x")[0].problem == ""


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ("command", "args", "env", "cwd", "url", "headers", "token_file", "start_seconds", "odd")
)


@given(st.dictionaries(KEYS, JSON, max_size=5))
def test_any_table_is_read_or_refused_by_name(table: dict[str, Any]) -> None:
    refused: ConfigError | None = None
    try:
        config, _ = read(table)
        assert bool(config.command) != bool(config.url) or config.problem
    except ConfigError as error:
        refused = error
    assert refused is None or refused.details["field"].startswith("upstreams.devrag-map")


@pytest.mark.parametrize(
    "table", [{"command": "${NOPE}"}, {"command": "a", "args": ["--key", "${NOPE}"]}]
)
def test_unset_variable_prevents_the_start(table: object) -> None:
    config, _ = read(table)
    assert config.problem == "the environment variable NOPE is not set"


@pytest.mark.parametrize("headers", [{"X Y": "a"}, {"X": "日本"}, {"X": "a\x01b"}, {"X:": "a"}])
def test_invalid_header_is_a_problem_of_its_upstream(headers: dict[str, str]) -> None:
    config, _ = read({"url": "http://127.0.0.1/", "headers": headers})
    assert "a header is not valid" in config.problem


def test_settings_with_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    file = tmp_path / ".code-intel" / "config.toml"
    file.parent.mkdir()
    file.write_text('\N{ZERO WIDTH NO-BREAK SPACE}[upstreams.devrag-map]\ncommand = "x"\n', "utf-8")
    assert load_settings(tmp_path, {}).upstreams["devrag-map"].definition == {"command": "x"}
