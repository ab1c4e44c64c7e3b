"""Hooks import the package, so it must load quickly."""

import subprocess
import sys

HEAVY = (
    "dataclasses",
    "inspect",
    "asyncio",
    "pydantic",
    "filelock",
    "apsw",
    "numpy",
    "mcp",
    "yaml",
)


def test_the_package_imports_no_heavy_module() -> None:
    code = (
        "import sys; from code_intel.session import journal, phases, write_gate\n"
        "own = {n for n in sys.modules if n.startswith('code_intel.')}\n"
        "light = ('foundation', 'foundation.durable', 'foundation.state_folder', "
        "'foundation.text')\n"
        "allowed = {f'code_intel.{n}' for n in (*light, 'errors', 'records', 'session')}\n"
        "print([n for n in sorted(own) if n not in allowed and '.session.' not in n])\n"
        f"print([n for n in {HEAVY!r} if n in sys.modules])"
    )
    # -S: site hooks of the environment may import whatever they like.
    paths = f"import sys; sys.path[:] = {sys.path!r}\n"
    ran = subprocess.run(
        [sys.executable, "-S", "-c", paths + code], capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines() == ["[]", "[]"]
