"""A search in a terminal loads what it needs, and no more."""

import subprocess
import sys

from projects import Project

UNNEEDED = (
    *("anyio", "asyncio", "email", "filelock", "http", "importlib.metadata", "mcp"),
    *("pathspec", "pydantic", "tempfile", "urllib.request"),
)
LOADED = (
    "import sys; from code_intel.cli.main import main; code = main(sys.argv[1:]); "
    f"print(code, *(name for name in {UNNEEDED!r} if name in sys.modules), file=sys.stderr)"
)


def test_a_search_by_words_loads_neither_schemas_nor_an_event_loop(shop: Project) -> None:
    command = [sys.executable, "-c", LOADED, "search", "shipping fee"]
    done = subprocess.run(
        command, cwd=shop.root, env=dict(shop.env), capture_output=True, check=True, text=True
    )
    assert "shipping" in done.stdout
    assert done.stderr == "0\n"
