"""Nothing that `[upstreams]` of a repository names is used before its user approves it."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from code_intel.config import Settings, load_settings
from code_intel.config.upstream_approval import APPROVED_UPSTREAMS
from code_intel.foundation.state_folder import project_digest
from projects import BIN, Project, file_tree
from terminal import COLOUR_CODE
from upstreams import propose

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="owners, modes and links are POSIX's")
MAP = "devrag-map"
APPROVE = ("upstreams", "approve", MAP)


@pytest.fixture
def hostile(shop: Project, tmp_path: Path) -> Project:
    """A project whose settings start a program that leaves a file; with a state of its own."""
    propose(shop.root, map=trap(tmp_path))
    return replace(shop, env={**shop.env, "CODE_INTEL_STATE_DIR": str(tmp_path / "state")})


def trap(tmp_path: Path) -> dict[str, object]:
    """Return a table whose program leaves the file `ran`."""
    code = f"open({str(tmp_path / 'ran')!r}, 'w').close()"
    return {"command": sys.executable, "args": ["-I", "-S", "-c", code]}


def run(project: Project, *words: str, code: int = 0) -> dict[str, Any]:
    """Run a command; return its JSON."""
    done = project.call("code-intel", *words, "--json", check=False)
    assert done.returncode == code, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def settings(project: Project) -> Settings:
    return load_settings(project.root, project.env)


def is_approved(project: Project) -> bool:
    return settings(project).upstreams[MAP].is_approved


def approve(project: Project, code: int = 0) -> dict[str, Any]:
    digest = run(project, *APPROVE, "--dry-run")["upstream"]["digest"]
    return run(project, *APPROVE, "--digest", digest, code=code)


def approvals(project: Project) -> Path:
    return settings(project).state_dir / APPROVED_UPSTREAMS


def test_no_command_starts_the_program_of_a_repository(hostile: Project, tmp_path: Path) -> None:
    rows = run(hostile, "doctor")["findings"]
    (finding,) = [row for row in rows if row["area"] == "upstreams"]
    assert finding["level"] == "warning"
    assert "not approved" in finding["what"]
    assert f"`code-intel upstreams approve {MAP} --project {hostile.root}`" in finding["remedy"]
    item = next(row for row in run(hostile, "status")["upstreams"] if row["name"] == MAP)
    assert "not approved" in item["error"]
    assert "upstreams approve" in item["hint"]
    assert "upstreams approve" in hostile.call("code-intel", "status").stdout
    run(hostile, "search", "login")
    run(hostile, "upstreams", "list")
    assert not (tmp_path / "ran").exists()


def test_a_dry_run_shows_everything_and_writes_nothing(hostile: Project) -> None:
    before = file_tree(hostile.root)
    shown = run(hostile, *APPROVE, "--dry-run")
    upstream = shown["upstream"]
    assert (shown["dry_run"], upstream["approved"]) == (True, False)
    assert upstream["definition"]["command"] == sys.executable
    assert any(os.path.realpath(sys.executable) in effect for effect in upstream["effects"])
    text = COLOUR_CODE.sub("", hostile.call("code-intel", *APPROVE, "--dry-run").stdout)
    assert f"--digest {upstream['digest']}" in text
    assert not approvals(hostile).exists()
    assert file_tree(hostile.root) == before


def test_without_a_terminal_the_digest_is_needed(hostile: Project) -> None:
    assert run(hostile, *APPROVE, code=2)["field"] == "digest"
    assert run(hostile, *APPROVE, "--digest", "0" * 32, code=2)["field"] == "digest"
    assert not is_approved(hostile)
    assert run(hostile, "upstreams", "approve", "devrag-forest", "--dry-run", code=1)["hint"]


@POSIX
@pytest.mark.parametrize("typed", ["y\n", "n\n", "\n"])
def test_a_terminal_shows_the_definition_and_asks(hostile: Project, typed: str) -> None:
    approved = typed == "y\n"
    shown = on_terminal(hostile, typed, *APPROVE)
    assert shown.index("dangerous") < shown.index("[y/N]")
    assert ("Restart its servers" in shown) is approved
    assert is_approved(hostile) is approved


def on_terminal(project: Project, typed: str, *words: str) -> str:
    """Run a command in a terminal, and type the answer; return what it shows."""
    propose(project.root, map={"command": "sh", "args": ["-c", "dangerous"]})
    controller, terminal = os.openpty()
    line = [str(BIN / "code-intel"), *words]
    with subprocess.Popen(
        line,
        cwd=project.root,
        env=project.env,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
    ):
        os.close(terminal)
        os.write(controller, typed.encode())
        shown = b""
        with suppress(OSError):  # the terminal is closed
            while part := os.read(controller, 65536):
                shown += part
        os.close(controller)
    return shown.decode()


def test_a_long_definition_is_named_as_such(hostile: Project) -> None:
    propose(hostile.root, map={"command": "sh", "args": ["-c", " " * 3000 + "evil"]})
    effects = str(run(hostile, "upstreams", "list")["upstreams"][0]["effects"])
    assert "3,010 characters" in effects


def test_an_approved_program_is_started_until_it_is_revoked(
    hostile: Project, tmp_path: Path
) -> None:
    assert approve(hostile)["upstream"]["approved"]
    run(hostile, "doctor", code=1)  # the program ends without an answer
    (tmp_path / "ran").unlink()
    assert run(hostile, "upstreams", "revoke", "--dry-run") == {"revoked": 1, "dry_run": True}
    assert is_approved(hostile)
    assert run(hostile, "upstreams", "revoke", MAP) == {"revoked": 1, "dry_run": False}
    run(hostile, "doctor")
    assert not (tmp_path / "ran").exists()


CHANGES: tuple[dict[str, object], ...] = (
    {"args": ["-c", "evil()"]},
    {"args": []},
    {"env": {"PATH": "bin"}},
    {"cwd": "src"},
    {"command": "./python"},
    {"command": "", "url": "http://127.0.0.1:9/"},
)


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_changed_definition_must_be_approved_again(
    hostile: Project, tmp_path: Path, change: dict[str, object]
) -> None:
    approve(hostile)
    table = {**trap(tmp_path), **change}
    table = {key: value for key, value in table.items() if value != ""}
    propose(hostile.root, map=table)
    assert not is_approved(hostile)


URL: dict[str, object] = {"url": "http://127.0.0.1:9/", "token_file": "a", "headers": {"A": "b"}}


@pytest.mark.parametrize(
    "change",
    [{"url": "http://127.0.0.1:9/x"}, {"token_file": "b"}, {"headers": {"A": "${HOME}"}}],
    ids=str,
)
def test_a_changed_address_must_be_approved_again(
    hostile: Project, change: dict[str, object]
) -> None:
    propose(hostile.root, map=URL)
    approve(hostile)
    assert is_approved(hostile)
    propose(hostile.root, map=URL | change)
    assert not is_approved(hostile)
    propose(hostile.root, map=URL | {"call_seconds": 3})
    assert is_approved(hostile)


def test_an_approval_replaces_the_earlier_one(hostile: Project, tmp_path: Path) -> None:
    approve(hostile)
    propose(hostile.root, map=URL)
    approve(hostile)
    propose(hostile.root, map=trap(tmp_path))
    assert not is_approved(hostile)


def test_an_approval_is_of_one_upstream_and_one_project(hostile: Project, tmp_path: Path) -> None:
    approve(hostile)
    propose(hostile.root, forest=trap(tmp_path), map=trap(tmp_path))
    found = settings(hostile).upstreams
    assert [found[name].is_approved for name in (MAP, "devrag-forest")] == [True, False]
    copy = replace(hostile, root=tmp_path / "copy")
    shutil.copytree(hostile.root, copy.root, symlinks=True)
    assert not is_approved(copy)
    moved = replace(hostile, root=hostile.root.rename(tmp_path / "moved"))
    assert not is_approved(moved)


@POSIX
def test_links_in_a_repository_do_not_lend_an_approval(hostile: Project, tmp_path: Path) -> None:
    approve(hostile)
    env = {**hostile.env, "CODE_INTEL_OUTSIDE_FOLDERS": str(tmp_path)}
    other = replace(hostile, root=tmp_path / "other", env=env)
    other.root.mkdir()
    (other.root / ".code-intel").symlink_to(hostile.root / ".code-intel")
    assert not is_approved(other)
    link = replace(hostile, root=tmp_path / "link")
    link.root.symlink_to(hostile.root)
    assert is_approved(link)  # the same project by another name


def test_a_state_folder_inside_the_project_approves_nothing(hostile: Project) -> None:
    approve(hostile)
    line = approvals(hostile).read_text(encoding="ascii")
    shutil.rmtree(hostile.root / ".git")
    (hostile.root.parent / ".git").mkdir()  # the clone has folders beside the project
    for name in ("state", ".code-intel/state", "../beside"):
        inside = hostile.root / name
        inside.mkdir()
        (inside / APPROVED_UPSTREAMS).write_text(line, encoding="ascii")
        project = replace(hostile, env={**hostile.env, "CODE_INTEL_STATE_DIR": str(inside)})
        assert not is_approved(project)
        config = settings(project).upstreams[MAP]
        assert "inside the project" in config.problem
        assert "CODE_INTEL_STATE_DIR" in config.remedy
        assert approve(project, code=2)["field"] == "state_dir"


@POSIX
def test_a_link_to_a_state_folder_inside_the_project_approves_nothing(
    hostile: Project, tmp_path: Path
) -> None:
    approve(hostile)
    inside = hostile.root / "state"
    shutil.copytree(tmp_path / "state", inside)
    link = tmp_path / "link"
    link.symlink_to(inside)
    assert not is_approved(replace(hostile, env={**hostile.env, "CODE_INTEL_STATE_DIR": str(link)}))


@POSIX
def test_a_file_of_approvals_that_others_could_write_does_not_count(
    hostile: Project, tmp_path: Path
) -> None:
    approve(hostile)
    file = approvals(hostile)
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o660)
    assert not is_approved(hostile)
    assert "other users may change" in settings(hostile).upstreams[MAP].problem
    file.chmod(0o600)
    assert is_approved(hostile)
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert not is_approved(hostile)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"another format\n\n", b"a b c d\n", b"\0" * 64])
def test_a_damaged_file_of_approvals_approves_nothing(hostile: Project, content: bytes) -> None:
    approve(hostile)
    approvals(hostile).write_bytes(content)
    assert not is_approved(hostile)


def test_init_remove_revokes_the_approvals(hostile: Project) -> None:
    approve(hostile)
    other = f"{'0' * 32} {MAP} {'1' * 32}\n"
    with approvals(hostile).open("a", encoding="ascii") as file:
        file.write(other)
    run(hostile, "init", str(hostile.root), "--remove")
    assert approvals(hostile).read_text(encoding="ascii") == other
    assert project_digest(hostile.root) not in other


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Listen without accepting; a connection would wait in the queue."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        yield server


def test_nothing_is_sent_to_the_address_of_a_repository(
    hostile: Project, listener: socket.socket, tmp_path: Path
) -> None:
    secret = tmp_path / "key"
    secret.write_text("a-secret-of-the-user", encoding="ascii")
    port = listener.getsockname()[1]
    url = f"http://127.0.0.1:{port}/${{SECRET_OF_USER}}"
    propose(hostile.root, map={"url": url, "token_file": str(secret)})
    project = replace(hostile, env={**hostile.env, "SECRET_OF_USER": "worth-a-lot"})
    said = [project.call("code-intel", name).stdout for name in ("doctor", "status")]
    said.append(project.call("code-intel", "upstreams", "list").stdout)
    assert "worth-a-lot" not in "".join(said)
    assert "a-secret-of-the-user" not in "".join(said)
    with pytest.raises(BlockingIOError):
        listener.accept()
    config = settings(project).upstreams[MAP]
    assert (config.url, config.token_file, dict(config.headers), config.env) == ("", None, {}, {})
    assert "SECRET_OF_USER" in str(run(project, "upstreams", "list")["upstreams"][0]["effects"])


def test_what_hides_in_a_definition_is_shown(hostile: Project) -> None:
    args = ["-c", "password=hunter2hunter2 sh -c evil", "a\x1b[8mhidden\x1b[0m\r", "\u202eevil"]
    propose(hostile.root, map={"command": "pyth\u043en", "args": args})
    shown = hostile.call("code-intel", "upstreams", "list").stdout
    assert "hunter2hunter2 sh -c evil" in shown
    assert "\x1b" not in shown.replace("\x1b[0m", "")
    assert "\u202e" not in shown
    assert "look like others" in shown
    data = run(hostile, "upstreams", "list")["upstreams"][0]
    assert data["definition"]["args"] == args


def test_a_program_of_the_project_is_named_as_such(hostile: Project) -> None:
    program = hostile.root / "bin" / "devrag"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n", encoding="ascii")
    propose(hostile.root, map={"command": "./bin/devrag"})
    effects = str(run(hostile, "upstreams", "list")["upstreams"][0]["effects"])
    assert str(program) in effects
    assert "each commit can change it" in effects


@pytest.mark.parametrize("url", ["http://[${X}/", "https://[", "http://a\\@b/"])
def test_an_address_that_cannot_be_parsed_is_reported(hostile: Project, url: str) -> None:
    propose(hostile.root, map={"url": url})
    done = hostile.call("code-intel", "status", check=False)
    assert done.returncode in {0, 2}, done.stderr
    assert "upstreams" in done.stdout + done.stderr
