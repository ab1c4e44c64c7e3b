"""docs/command-registry.md.

Its example loads and renders, its command lines run, and its lists are complete.
"""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from code_intel.cli.main import main, parser_of
from code_intel.cli.subcommands import SUBCOMMANDS
from code_intel.config import SETTINGS
from code_intel.registry import (
    bm25,
    checking,
    loading,
    options,
    place,
    prompts,
    rrf,
    runners,
)
from code_intel.registry.execution import MAX_OUTPUT_BYTES
from code_intel.registry.records import DEFAULT_AGENT, MAX_NAME_CHARS, Command
from code_intel.tools.commands import command_execute, command_search
from code_intel.tools.table import COMMAND_GROUP, COMMAND_TOOLS
from standing import stand

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "command-registry.md").read_text(encoding="utf-8")
FILES = re.findall(r"^<!-- file (\S+) -->\n```\w+\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
SHOWN = re.findall(
    r"^<!-- run code-intel (.+) -->\n```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL
)
JSON = [
    json.loads(text) for text in re.findall(r"^```json\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the files of the page and no others, in which this process stands."""
    root = tmp_path / "project"
    for name, text in FILES:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    stand(monkeypatch, root)
    return root


def table(heading: str) -> list[list[str]]:
    """Return the rows of the first table below a heading, without its head, as lists of cells."""
    section = re.split(rf"^#+ {heading}\n", PAGE, maxsplit=1, flags=re.MULTILINE)[1]
    rows = rows_of(section)
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows][2:]


def rows_of(section: str) -> Iterator[str]:
    begun = False
    for line in section.splitlines():
        if line.startswith("|"):
            begun = True
            yield line
        elif begun:
            return


def test_the_example_is_a_registry_without_faults_and_every_command_has_its_prompt(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = loading.Registries(project, project.parent / "home").of()
    assert loaded.registry.notes == ()
    assert len(loaded.registry.commands) == 2
    assert main(["commands", "list"]) == 0
    for command in loaded.registry.commands:
        line = ["commands", "execute", command.c1, command.c2, command.c3]
        assert main(line) == 0
    assert "Note: {uv-audience} was not replaced" in capsys.readouterr().err


@pytest.mark.parametrize(("line", "text"), SHOWN, ids=range(len(SHOWN)))
def test_what_the_page_shows_is_what_is_printed(
    project: Path, capsys: pytest.CaptureFixture[str], line: str, text: str
) -> None:
    assert project.is_dir()
    assert main(shlex.split(line)) == 0
    assert capsys.readouterr().out == text


def test_the_python_of_the_page_runs_and_finds_what_it_says(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert project.is_dir()
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    known: dict[str, Any] = {}
    exec(code, known)  # noqa: S102 - our own page
    (found,), (fused,), (named,) = known["found"], known["fused"], known["named"]
    assert found.score > 1
    assert fused.ranks == (1, 1)
    assert {(one.c1, one.c2, one.c3) for one in (found, fused, named)} == {
        ("docs", "write", "release-notes")
    }
    assert capsys.readouterr() == ("", "")


def test_the_error_that_is_shown_is_the_one_that_comes(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (shown,) = [one for one in JSON if "error" in one]
    file = project / ".agent/climpt/registry.json"
    document = json.loads(file.read_text("utf-8"))
    good = document["tools"]["commands"][0]
    document["tools"]["commands"] = [good, good, good, good | {"c2": 7}]
    file.write_text(json.dumps(document), encoding="utf-8")
    assert main(["commands", "reload", "--json"]) == 2
    said = json.loads(capsys.readouterr().out)
    assert {key: said[key] for key in shown} == shown


def test_the_config_of_several_agents_is_one(project: Path) -> None:
    (config,) = [one for one in JSON if "registries" in one]
    assert next(iter(checking.registries(json.dumps(config).encode()))) == DEFAULT_AGENT
    (project / place.CONFIG).parent.mkdir(exist_ok=True)
    (project / place.CONFIG).write_text(json.dumps(config), encoding="utf-8")
    found = loading.Registries(project, project.parent / "home")
    assert found.agents() == tuple(config["registries"])
    assert len(found.of().registry.commands) == 2


def test_every_word_and_option_tool_and_setting_is_on_the_page() -> None:
    missing = [word.name for word in SUBCOMMANDS["commands"] if f"`{word.name}`" not in PAGE]
    for word in SUBCOMMANDS["commands"]:
        flags = set(re.findall(r"--[a-z][a-z-]+", parser_of(word, "x").format_help()))
        told = flags - {"--help", "--project", "--json"}
        missing += [f"{word.name} {flag}" for flag in sorted(told) if flag not in PAGE]
    missing += [
        tool.name for tool in (*COMMAND_TOOLS, *COMMAND_GROUP.tools) if tool.name not in PAGE
    ]
    names = {name for tool in COMMAND_TOOLS for name in tool.schema["properties"]}
    missing += [name for name in sorted(names) if f"`{name}`" not in PAGE and name != "options"]
    ours = [row.name for row in SETTINGS if row.name.startswith(("command", "climpt"))]
    missing += [name for name in ours if f"settings.md#{name}" not in PAGE]
    assert missing == []
    assert len(ours) == 3


def test_options_variables_and_runners_are_those_of_the_code() -> None:
    rows = {row[0].strip("`"): row for row in table("Execute")}
    assert rows.keys() == {*options.COMMAND_OPTIONS, "uv-NAME"}
    for key, flags in options.COMMAND_OPTIONS.items():
        if flags:
            assert rows[key][2].startswith(f"`{flags[0]}=")
    variables = {row[0].strip("`{}") for row in table("How code-intel renders prompts")}
    assert variables == {*prompts.GIVEN_BY, "uv-NAME"}
    runner = {row[0].strip("`"): row[1] for row in table("Runners")}
    assert {runners.CLIMPT, runners.DENO, runners.PROMPTS} < runner.keys()
    line = runners.command_line(
        runners.Runner("deno", "deno", (*runners.PERMISSIONS, "MODULE")),
        Command("C1", "C2", "C3", ""),
        options.OptionRequest(),
    )
    assert f"`{' '.join(line)} [options]`" in runner["deno"]


def test_numbers_are_those_of_the_code() -> None:
    said = {
        (
            f"at most {loading.MAX_REGISTRY_BYTES >> 20} MiB and {checking.MAX_COMMANDS:,} commands"
        ): "## Schema",
        f"`registry_config.json` at most {loading.MAX_CONFIG_BYTES >> 10} KiB": "## Schema",
        f"Up to {checking.MAX_AGENTS} agents can each have a registry": "## Files",
        f"at most {checking.MAX_TEXT_CHARS:,} characters": "## Schema",
        f"at most {MAX_NAME_CHARS} characters": "## Schema",
        f"at most {checking.MAX_EDITIONS} each": "## Schema",
        f"(k = {rrf.K})": "## Search",
        f"k1 = {bm25.K1}, b = {bm25.B}": "## Search",
        f"default 3, at most {command_search.MAX_COMMANDS}": "## Search",
        f"{options.MAX_INPUT_CHARS:,} characters": "## Execute",
        f"and has at most {options.MAX_VALUE_CHARS:,} characters": "## Execute",
        f"at most {options.MAX_VARIABLES} ": "## Execute",
        f"{command_execute.MAX_PROMPT_TOKENS:,} tokens": "## Execute",
        f"{MAX_OUTPUT_BYTES >> 10} KiB of output are read": "## Execute",
        f"at most {prompts.MAX_PROMPT_BYTES >> 10} KiB": "## Execute",
    }
    missing = [
        number
        for number, heading in said.items()
        if number not in " ".join(PAGE.partition(f"\n{heading}")[2].partition("\n## ")[0].split())
    ]
    assert missing == []


def test_every_page_that_is_linked_is_there() -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", PAGE):
        assert (ROOT / "docs" / target).resolve().exists(), target
    for target, anchor in re.findall(r"\]\(([^)#:]*)#([\w-]+)\)", PAGE):
        page = (ROOT / "docs" / target).read_text("utf-8") if target else PAGE
        headings = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
        assert anchor in {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings}
