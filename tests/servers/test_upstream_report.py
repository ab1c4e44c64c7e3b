"""A gateway reports its upstreams to other processes as long as it runs."""

import subprocess
import sys
from pathlib import Path

from code_intel.records import UpstreamStatus
from code_intel.servers.upstream.report import StatusFile, running

STATES = (UpstreamStatus("devrag-map", "in process"), UpstreamStatus("devrag-forest", "command x"))
KILLED = """
import os, signal, sys
from pathlib import Path
from code_intel.records import UpstreamStatus
from code_intel.servers.upstream.report import StatusFile
report = StatusFile(Path(sys.argv[1]))
report.write((UpstreamStatus("devrag-map", "command x", "ready"),))
print("told", flush=True)
signal.pause()
"""


def test_report_exists_while_the_gateway_runs(tmp_path: Path) -> None:
    assert list(running(tmp_path)) == []
    report = StatusFile(tmp_path)
    report.write(STATES)
    (gateway,) = running(tmp_path)
    assert [state["name"] for state in gateway.states] == ["devrag-map", "devrag-forest"]
    assert gateway.states[1] == {"name": "devrag-forest", "where": "command x", "state": "idle"}
    report.close()
    assert list(running(tmp_path)) == []
    assert list((tmp_path / "logs").iterdir()) == []


def test_report_omits_the_time_of_the_next_attempt(tmp_path: Path) -> None:
    report = StatusFile(tmp_path)
    report.write((UpstreamStatus("devrag-map", "command x", "backoff", error="e", retry_in=0.5),))
    (gateway,) = running(tmp_path)
    assert gateway.states[0]["error"] == "e"
    assert "retry_in" not in gateway.states[0]
    report.close()


def test_report_of_a_killed_gateway_is_ignored_and_removed(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "told\n"
            assert [gateway.pid for gateway in running(tmp_path)] == [process.pid]
        finally:
            process.kill()
    assert list(running(tmp_path)) == []
    report = StatusFile(tmp_path)
    report.write(STATES)
    names = {path.name for path in (tmp_path / "logs").iterdir()}
    assert not any(str(process.pid) in name for name in names)
    report.close()
