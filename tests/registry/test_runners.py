"""Check how the runner is selected and its command line."""

from pathlib import Path

import pytest

from code_intel.config import Settings, load_settings
from code_intel.errors import ConfigError, NotFoundError
from code_intel.registry.options import OptionRequest
from code_intel.registry.records import Command
from code_intel.registry.runners import Runner, chosen, command_line, environment
from left_behind import noting as program
from registry.execution_projects import GROUP


def settings(root: Path, path: str = "", **loaded: str) -> Settings:
    return load_settings(root, {"PATH": path, **loaded})


@pytest.fixture
def climpt(tmp_path: Path) -> Path:
    return program(tmp_path / "one", "exit 0", "climpt")


@pytest.fixture
def deno(tmp_path: Path) -> Path:
    return program(tmp_path / "two", "exit 0", "deno")


def test_command_line_of_deno_follows_the_specification(tmp_path: Path, deno: Path) -> None:
    runner = chosen(settings(tmp_path, str(deno.parent)))
    request = OptionRequest(edition="detailed", file="input.md", stdin="never an argument")
    assert command_line(runner, GROUP, request) == [
        *(str(deno), "run"),
        *("--allow-read", "--allow-write", "--allow-env", "--allow-run", "--allow-net"),
        *("--no-config", "jsr:@aidevtool/climpt"),
        *("--config=climpt-git", "group-commit", "unstaged-changes"),
        *("--edition=detailed", "--from=input.md"),
    ]


def test_config_of_another_agent_starts_with_its_name() -> None:
    command = Command("git", "merge", "branch", "Merge", agent="iterator")
    line = command_line(Runner("climpt", "/bin/climpt"), command, OptionRequest())
    assert line == ["/bin/climpt", "--config=iterator-git", "merge", "branch"]


def test_climpt_is_preferred_to_deno_and_deno_to_prompts(
    tmp_path: Path, climpt: Path, deno: Path
) -> None:
    one, two = str(climpt.parent), str(deno.parent)
    assert chosen(settings(tmp_path, f"{two}:{one}")) == Runner("climpt", str(climpt))
    assert chosen(settings(tmp_path, two)).name == "deno"
    assert chosen(settings(tmp_path, "")) == Runner("prompts")


def test_setting_selects_the_runner(tmp_path: Path, climpt: Path, deno: Path) -> None:
    path = f"{climpt.parent}:{deno.parent}"
    for name in ("climpt", "deno", "prompts"):
        assert chosen(settings(tmp_path, path, CODE_INTEL_COMMAND_RUNNER=name)).name == name
    own = settings(tmp_path, path, CODE_INTEL_COMMAND_RUNNER="/opt/bin/mine")
    assert chosen(own) == Runner("mine", "/opt/bin/mine")


@pytest.mark.parametrize("name", ["climpt", "deno"])
def test_missing_runner_is_an_error_with_a_hint(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotFoundError, match=f"{name} is not on PATH") as caught:
        chosen(settings(tmp_path, CODE_INTEL_COMMAND_RUNNER=name))
    assert "CODE_INTEL_COMMAND_RUNNER" in caught.value.hint


@pytest.mark.parametrize("value", ["", "clmpt", "bin/climpt", "./climpt", "/bin/a\nb"], ids=repr)
def test_invalid_runner_setting_is_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigError, match="command_runner") as caught:
        chosen(settings(tmp_path, CODE_INTEL_COMMAND_RUNNER=value))
    assert "CODE_INTEL_COMMAND_RUNNER" in caught.value.hint


@pytest.mark.parametrize("path", [".", "", "bin", "node_modules/.bin:bin:."])
def test_program_in_a_repository_is_not_used_as_runner(
    tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (tmp_path, tmp_path / "bin", tmp_path / "node_modules" / ".bin"):
        folder.mkdir(parents=True, exist_ok=True)
        program(folder, "exit 0", "climpt")
    monkeypatch.chdir(tmp_path)
    assert chosen(settings(tmp_path, path)) == Runner("prompts")


def test_project_config_cannot_set_runner_or_module(tmp_path: Path) -> None:
    (tmp_path / ".code-intel").mkdir()
    (tmp_path / ".code-intel" / "config.toml").write_text(
        'command_runner = "/bin/sh"\nclimpt_module = "file:///evil.ts"\ncommand_timeout = 7\n',
        encoding="utf-8",
    )
    loaded = settings(tmp_path)
    assert (loaded.command_runner, loaded.climpt_module) == ("auto", "jsr:@aidevtool/climpt")
    assert loaded.command_timeout == 7
    assert ["CODE_INTEL_COMMAND_RUNNER" in note for note in loaded.warnings] == [True, False]


@pytest.mark.parametrize("seconds", ["0", "3601", "-1", "x", "1.5"])
def test_time_limit_must_be_at_most_an_hour(tmp_path: Path, seconds: str) -> None:
    with pytest.raises(ConfigError, match=r"(?i)command_timeout"):
        settings(tmp_path, CODE_INTEL_COMMAND_TIMEOUT=seconds)


def test_program_environment_has_no_secrets(tmp_path: Path) -> None:
    passed = {
        "HOME": "/home/me",
        "LANG": "C.UTF-8",
        "DENO_DIR": "/cache",
        "HTTPS_PROXY": "http://p",
    }
    secret = dict.fromkeys(("GITHUB_TOKEN", "CODE_INTEL_HTTP_TOKEN", "DENO_AUTH_TOKENS"), "s3cret")
    loads = ("LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "NODE_OPTIONS", "DENO_V8_FLAGS", "BASH_ENV")
    loaded = settings(tmp_path, "/bin", **passed, **secret, **dict.fromkeys(loads, "x"))
    quiet = {"NO_COLOR": "1", "DENO_NO_PROMPT": "1", "DENO_NO_UPDATE_CHECK": "1"}
    assert environment(loaded) == {"PATH": "/bin", **passed, **quiet}
    assert "/home/me" not in repr(loaded)
