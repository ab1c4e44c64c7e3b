"""setup.sh as a stranger runs it: no privileges, no downloads of its own, no questions, any folder."""

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from projects import SHOP

ROOT = Path(__file__).resolve().parents[2]
FORBIDDEN = ("sudo", "su", "doas", "wget", "curl", "apt", "apt-get", "brew", "ldconfig")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a script for bash")


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """An environment as an earlier run of the script left it, so that nothing is to be installed."""
    place = tmp_path / "environment"
    venv.create(place, with_pip=False)
    (packages,) = place.glob("lib/python*/site-packages")
    own = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "installed.pth").write_text("\n".join([str(ROOT), *own]), encoding="utf-8")
    program = place / "bin" / "code-intel"
    program.write_text(f"#!/bin/sh\nexec '{place}/bin/python' -m code_intel \"$@\"\n", "utf-8")
    program.chmod(0o755)
    text = (ROOT / "pyproject.toml").read_bytes()
    marks = (
        subprocess.run(["cksum"], input=text, capture_output=True, check=True)
        .stdout.decode()
        .strip()
    )
    stamp = f"extras: \nsource: {ROOT}\npyproject: {marks}\n"
    (place / ".code-intel-installed").write_text(stamp, encoding="utf-8")
    return place


@pytest.fixture
def traps(tmp_path: Path) -> Path:
    """A folder of programs that a setup has no business with; each notes that it was called."""
    folder = tmp_path / "traps"
    folder.mkdir()
    for name in FORBIDDEN:
        trap = folder / name
        trap.write_text(f'#!/bin/sh\necho "{name} $*" >> "{tmp_path}/called"\nexit 1\n', "utf-8")
        trap.chmod(0o755)
    return folder


@pytest.mark.parametrize("name", ['it\'s "my" shop\\n', "店 x"])
def test_a_project_in_any_folder_is_set_up_without_privileges_downloads_or_questions(
    tmp_path: Path, installed: Path, traps: Path, name: str
) -> None:
    project, here = tmp_path / name, tmp_path / "here"
    shutil.copytree(SHOP, project)
    here.mkdir()
    env = {**os.environ, "CODE_INTEL_VENV": str(installed), "CODE_INTEL_EMBEDDING": "off"}
    env |= {"CODE_INTEL_CACHE_DIR": str(tmp_path / "cache"), "HOME": str(tmp_path / "home")}
    env |= {"PATH": f"{traps}:{env['PATH']}", "CODE_INTEL_QUESTION": "login"}
    done = subprocess.run(
        ["bash", str(ROOT / "setup.sh"), f"../{name}"],
        cwd=here,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "called").exists()
    assert "src/auth/service.py" in done.stdout
    servers = json.loads((project / ".mcp.json").read_text("utf-8"))["mcpServers"]
    assert {"code-intel", "devrag-map", "devrag-forest"} <= servers.keys()
    assert json.loads((project / "devrag-forest.json").read_text("utf-8"))["document_patterns"]
    assert list(here.iterdir()) == []
