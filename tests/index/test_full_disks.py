"""Servers and commands on a real disk that becomes full, and has space again without a restart."""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from piped import Pipe, started
from projects import Project
from served import make_shop
from small_disk import ADVICE, PAGE, mounted

FOREST = ("devrag", "--config", "devrag-forest.json")


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """A shop on a small disk, with its state and its caches."""
    with mounted(tmp_path / "disk", "24m") as disk:
        folders = {
            f"CODE_INTEL_{name}_DIR": str(disk / name.lower()) for name in ("STATE", "CACHE")
        }
        env = {**os.environ, **folders, "CODE_INTEL_EMBEDDING": "off"}
        yield Project(make_shop(disk / "shop"), env)


def filled(project: Project, rest: int = 0) -> Path:
    """Fill the disk, while a server may write to it, so that about `rest` bytes are free."""
    ballast = project.root.parent / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 16, PAGE):
            with suppress(OSError):
                while file.write(b"\xff" * size) == size:
                    pass
        file.truncate(max(0, file.tell() - rest))
    return ballast


def asked(server: Pipe, tool: str, **arguments: Any) -> tuple[bool, str]:
    """Return whether a call succeeds, and its whole answer."""
    answer = server.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
    return not answer.get("isError"), json.dumps(answer, ensure_ascii=False)


def test_a_gateway_on_a_full_disk_names_the_remedy_and_goes_on_when_there_is_space(
    project: Project,
) -> None:
    start = {"intent": "MODIFY", "query": "fix the shipping fee"}
    new = {"symbol": "shipping_fee", "code_evidence": "it computes the fee"}
    with started(project, ("code-intel", "serve")) as server:
        server.greet()
        assert asked(server, "start_session", **start)[0]
        assert asked(server, "add_agreement", nl_term="kept", **new)[0]
        ballast = filled(project)
        for tool, arguments in (
            ("start_session", start),
            ("add_agreement", {"nl_term": "refused", **new}),
        ):
            done, said = asked(server, tool, **arguments)
            assert not done, said
            assert ADVICE.search(said), said
        done, said = asked(server, "search_map", query="kept")
        assert (done, "shipping_fee" in said) == (True, True), said
        ballast.unlink()
        for tool, arguments in (
            ("start_session", start),
            ("add_agreement", {"nl_term": "refused", **new}),
            ("search_smart", {"query": "shipping fee"}),
        ):
            done, said = asked(server, tool, **arguments)
            assert done, said
    findings = json.loads(project.spawn("code-intel", "doctor", "--json", check=False).stdout)
    assert findings["ok"], findings
    terms = {row["nl_term"] for row in listed(project)}
    assert terms == {"kept", "refused"}


def listed(project: Project) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(
        project.spawn("code-intel", "map", "list", "--json").stdout
    )["agreements"]
    return rows


def test_an_index_server_syncs_when_a_full_disk_has_space_again(project: Project) -> None:
    with started(project, FOREST) as server:
        server.greet()
        assert asked(server, "sync")[0]
        large = "".join(f"def fee_{n}(order):\n    return order * {n}\n\n\n" for n in range(4000))
        (project.root / "src" / "large.py").write_text(large, encoding="utf-8")
        ballast = filled(project, PAGE)
        done, said = asked(server, "sync")
        assert ADVICE.search(said), said
        found = asked(server, "search", query="shipping fee")
        assert found[0], found[1]
        ballast.unlink()
        assert asked(server, "sync")[0]
        done, said = asked(server, "search", query="fee_3999")
        assert (done, "large.py" in said) == (True, True), said


def test_a_vacuum_on_a_full_disk_is_refused_and_works_afterwards(project: Project) -> None:
    ballast = filled(project, PAGE)
    words = ("--config", "devrag-forest.json", "vacuum")
    done = project.spawn("devrag", *words, check=False)
    assert done.returncode != 0, done.stdout
    assert ADVICE.search(done.stdout + done.stderr), done.stdout + done.stderr
    ballast.unlink()
    project.spawn("devrag", *words)
    findings = json.loads(project.spawn("code-intel", "doctor", "--json", check=False).stdout)
    assert findings["ok"], findings


def test_a_command_that_syncs_on_a_full_disk_names_the_remedy(project: Project) -> None:
    for number in range(60):
        text = "".join(f"def zone_{number}_{n}(x):\n    return x + {n}\n\n" for n in range(60))
        (project.root / "src" / f"zone_{number}.py").write_text(text, encoding="utf-8")
    ballast = filled(project, PAGE)
    done = project.spawn("code-intel", "sync", check=False)
    assert done.returncode != 0, done.stdout
    assert ADVICE.search(done.stdout + done.stderr), done.stdout + done.stderr
    ballast.unlink()
    project.spawn("code-intel", "sync")
    assert "zone_59.py" in project.spawn("code-intel", "search", "zone_59_59").stdout
