"""Servers work in unusual environments, or report what is missing."""

import shutil
import subprocess

import pytest

from piped import GATEWAY, started
from projects import BIN, Project
from sampling import sampled

TERM = "ログイン処理"
ENVIRONMENTS: dict[str, dict[str, str]] = {
    "nothing": {},
    "the C locale and no place for temporary files": {
        "LC_ALL": "C",
        "LANG": "C",
        "TMPDIR": "/nowhere/at/all",
        "HOME": "",
    },
    "a locale of another century": {
        "LC_ALL": "ja_JP.eucJP",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONIOENCODING": "latin-1",
    },
    "an interpreter set up strangely": {
        "PYTHONOPTIMIZE": "2",
        "PYTHONWARNINGS": "error",
        "PYTHONSAFEPATH": "1",
        "PYTHONHASHSEED": "1",
        "PYTHONINSPECT": "1",
        "PYTHONSTARTUP": "/nowhere/at/all.py",
        "PYTHONASYNCIODEBUG": "1",
    },
}


def bare(project: Project, **env: str) -> Project:
    """Return the project with an environment of the fewest variables."""
    places = {
        name: str(project.root.parent / folder)
        for name, folder in (("CODE_INTEL_CACHE_DIR", "cache"), ("CODE_INTEL_STATE_DIR", "state"))
    }
    fewest = {"PATH": project.env["PATH"], "CODE_INTEL_EMBEDDING": "off", **places}
    return Project(project.root, {**fewest, **env})


@pytest.mark.parametrize("name", sampled(ENVIRONMENTS, step=2))
def test_a_gateway_works_in_unusual_environments(words: Project, name: str) -> None:
    with started(bare(words, **ENVIRONMENTS[name]), GATEWAY) as pipe:
        pipe.greet()
        session = pipe.call("start_session", intent="MODIFY", query=f"{TERM}を直す")
        framed = pipe.call("set_query_frame", target_feature={"value": TERM, "quote": TERM})
        assert framed["success"]
        added = pipe.call(
            "add_agreement", nl_term=TERM, symbol="AuthService.login", code_evidence="認証する"
        )
        assert added["success"]
        (found,) = pipe.call("search_map", query=TERM)["results"]
        assert found["agreement"]["nl_term"] == TERM
        status = pipe.call("get_session_status", session_id=session["session_id"])
        assert status["query"] == f"{TERM}を直す"
        assert pipe.close()[0] == 0
    (file,) = (words.root / ".code-intel" / "agreements").glob("*.md")
    assert file.name.startswith(TERM)
    assert TERM in file.read_text("utf-8")


def test_an_unusable_home_is_reported_with_a_remedy(words: Project) -> None:
    home = words.root / "README.md"  # unlike a folder, a file keeps root out as well
    project = bare(words, HOME=str(home), CODE_INTEL_STATE_DIR=str(home / "state"))
    with started(project, GATEWAY) as pipe:
        pipe.greet()
        refused = pipe.call("start_session", intent="MODIFY", query="fix the login")
        assert refused["error"] == "storage_failed"
        assert "CODE_INTEL_STATE_DIR" in refused["hint"]
        assert pipe.call("search_text", pattern="login")["matches"]
        assert pipe.call("search_smart", query="login")["results"]


def orphaned(words: Project, *command: str, **env: str) -> "subprocess.CompletedProcess[str]":
    """Run a command in a deleted folder."""
    gone = words.root.parent / "gone"
    gone.mkdir()
    line = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    return subprocess.run(
        ["sh", "-c", line, "sh", str(gone), str(BIN / command[0]), *command[1:]],
        env={**words.env, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=240,
    )


def test_a_deleted_working_folder_is_reported(words: Project) -> None:
    for command in (("code-intel", "serve"), ("code-intel", "status"), ("devrag", "search", "x")):
        done = orphaned(words, *command)
        assert done.returncode == 2, done.stderr
        assert "no longer exists" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_server_with_a_project_needs_no_working_folder(words: Project) -> None:
    done = orphaned(words, "code-intel", "serve", CODE_INTEL_ROOT=str(words.root))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_server_survives_the_deletion_of_its_working_folder(words: Project) -> None:
    folder = words.root.parent / "elsewhere"
    folder.mkdir()
    env = {**words.env, "CODE_INTEL_ROOT": str(words.root)}
    with started(Project(folder, env), GATEWAY) as pipe:
        pipe.greet()
        shutil.rmtree(folder)
        assert pipe.call("search_text", pattern="login")["matches"]
        assert pipe.call("start_session", intent="MODIFY", query="fix the login")["session_id"]
