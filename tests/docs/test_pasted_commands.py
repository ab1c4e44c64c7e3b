"""Paste every shell command of the READMEs and docs, page by page, into a fresh project."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from cli.migration.layouts import v38_by_script
from code_intel.cli import devrag
from code_intel.cli.main import main
from projects import files_of_own_agreements
from served import make_project
from standing import stand

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    "README.md",
    "README.ja.md",
    *sorted(p.relative_to(ROOT).as_posix() for p in ROOT.glob("docs/*.md")),
)
PARTS = (
    "code_intel/errors.py",
    "code_intel/records.py",
    "code_intel/session",
    *files_of_own_agreements(),
    "docs/phases.md",
    "docs/agreements.md",
    ".agent",
    ".code-intel/agreements",
)
"""What a copy of this repository needs for the commands of its pages."""
LEFT_OUT = {
    r"(PIP_NO_INDEX=1 .*)?\./setup\.sh": "installs; tests/project/test_setup.py and .ci/run run it",
    r"(python3 -m pip|pipx|uv tool|uvx) ": "installs; .ci/installed runs these tools",
    r"rm -rf \.venv ": "removes the environment",
    r".*(--http|commands$)": "serves until it is stopped; tests/servers and tests/cli start them",
    r"code-intel ui\b": "serves until it is stopped; tests/ui start it",
    r"code-intel serve-shared\b": "serves until it is stopped; tests/servers/shared start it",
    r"milvus-lite server\b": "serves until it is stopped; tests/servers/shared start it",
    r"code-intel init --shared ": "asks a server; tests/shared start one",
    r"code-intel shared (prune|delete) ": "asks the engine; tests/cli/shared run it",
    r"curl ": "asks a server",
}
"""Commands that are not run, and why."""
EXIT_CODES = {
    **dict.fromkeys(  # a fresh project has learned nothing
        (),
        1,
    ),
    "code-intel calibrate": 1,  # the embedding is off here
    # The same: there are no vectors. tests/cli/test_snapshot.py runs them with some.
    "code-intel snapshot write code-intel.snapshot": 1,
    "code-intel snapshot load --dry-run code-intel.snapshot": 1,
    "code-intel snapshot load code-intel.snapshot": 1,
    "devrag index ../outside.md": 2,  # the page shows the refusal
    # A new token has another id than that of the page.
    "code-intel shared token rotate 3b22bb52f21b --overlap-hours 24 --tokens tokens.json": 1,
    "code-intel shared token revoke 3b22bb52f21b --tokens tokens.json": 1,
}
"""Exit codes other than 0."""


class Line(NamedTuple):
    """A command of a page."""

    page: str
    text: str


def lines_of(page: str) -> Iterator[Line]:
    """Yield the commands of the fenced shell blocks of a page, continued lines joined."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for language, block in re.findall(
        r"^```(sh|console)\n(.*?)^```", text, re.MULTILINE | re.DOTALL
    ):
        for line in block.replace("\\\n", " ").splitlines():
            if language == "sh" and line and not line.startswith("#"):
                yield Line(page, line)
            elif language == "console" and line.startswith("$ "):
                yield Line(page, line.removeprefix("$ "))


def reason(line: Line) -> str:
    """Return why a command is not run, or the empty string."""
    words = " ".join(shlex.split(line.text, comments=True))
    return next((why for form, why in LEFT_OUT.items() if re.match(form, words)), "")


LINES = {page: found for page in PAGES if (found := list(lines_of(page)))}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of this repository, words indexed."""
    root = tmp_path_factory.mktemp("pasted") / "repository"
    for name in PARTS:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, root / name, ignore=ignore, dirs_exist_ok=True)
        else:
            shutil.copy(ROOT / name, root / name)
    return make_project(root)


def of_page(root: Path, page: str) -> Path:
    """Make a project of the files that a page shows."""
    text = (ROOT / page).read_text(encoding="utf-8")
    shown = re.findall(r"^<!-- file (\S+) -->\n```\w+\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    for name, content in shown:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content, encoding="utf-8")
    return root


def of_devrag(root: Path) -> Path:
    """Make a folder with the configuration of devrag and a document."""
    (root / "documents").mkdir(parents=True)
    (root / "documents" / "login.md").write_text("# Login\n\nHow to log in.\n", encoding="utf-8")
    (root / "config.json").write_text('{"documents_dir": "./documents"}', encoding="utf-8")
    (root.parent / "outside.md").write_text("# Outside\n", encoding="utf-8")
    return root


OTHER_PROJECTS: Mapping[str, Callable[[Path], Path]] = {
    "docs/command-registry.md": lambda root: of_page(root, "docs/command-registry.md"),
    "docs/devrag.md": of_devrag,
    "docs/migrating.md": v38_by_script,
}
"""The pages whose commands are meant for another project than this repository."""


@pytest.mark.parametrize("page", LINES)
def test_the_commands_of_a_page_run_in_a_fresh_project(
    page: str,
    repository: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    root = tmp_path / "project"
    if page in OTHER_PROJECTS:
        OTHER_PROJECTS[page](root)
    else:
        shutil.copytree(repository, root)
    stand(monkeypatch, root)
    for line in LINES[page]:
        if reason(line):
            continue
        text = line.text.replace("/tmp/", f"{tmp_path}/")  # noqa: S108 - as the page has it
        program, *words = shlex.split(text, comments=True)
        if program == "code-intel":
            code = main(words)
        elif program == "devrag":
            code = devrag.main(words)
        elif program == "export":
            name, _, value = words[0].partition("=")
            monkeypatch.setenv(name, value) if name != "PATH" else None
            code = 0
        else:
            code = subprocess.run(
                ["bash", "-c", text], check=False, stdin=subprocess.DEVNULL
            ).returncode
        output = capsys.readouterr()
        assert code == EXIT_CODES.get(" ".join([program, *words]), 0), (line, output)
        assert "Traceback" not in output.err, (line, output)


def test_every_reason_and_exit_code_belongs_to_a_command() -> None:
    every = [line for lines in LINES.values() for line in lines]
    assert {reason(line) for line in every} - {""} == set(LEFT_OUT.values())
    told = {" ".join(shlex.split(line.text, comments=True)) for line in every}
    assert told >= EXIT_CODES.keys()


def test_both_readmes_have_the_same_commands() -> None:
    english, japanese = (
        [shlex.split(line.text, comments=True)[:2] for line in LINES[page]] for page in PAGES[:2]
    )
    assert english == japanese
