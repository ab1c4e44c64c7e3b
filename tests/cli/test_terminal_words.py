"""What a command prints names commands and options, and no tool that only agents can call."""

import ast
import importlib
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from code_intel.cli.main import COMMANDS
from code_intel.cli.terminal_words import TERMINAL_WORDS
from code_intel.tools.table import COMMAND_TOOLS, GATEWAY_TOOLS, INDEX_TOOLS
from code_intel.tools.wire.reader import in_words
from projects import Project

TOOLS = {tool.name: tool for tool in (*GATEWAY_TOOLS, *INDEX_TOOLS, *COMMAND_TOOLS)}
NAMES = {name for name in TOOLS if "_" in name}
INPUTS = {
    name
    for tool in TOOLS.values()
    for name in tool.schema["properties"]
    if "_" in name or name.lower() != name
}
TOOL_NAME = re.compile(rf"(?<![\w.])(?:{'|'.join(sorted(NAMES))})(?!\w)")
TOOL_INPUT = re.compile(rf"(?<![\w.-])(?:{'|'.join(sorted(INPUTS))})(?![\w(])")

FAILING = (
    "code-intel search",
    "code-intel search x --top-k 0",
    "code-intel search qqqzzz",
    "code-intel files qqqzzz",
    "code-intel files shipping --top-k 99",
    "code-intel files shipping --cursor x",
    "code-intel files shipping --top-k 1",
    "code-intel files shipping --directory no/such",
    "code-intel context x --limit 99",
    "code-intel context qqqzzz",
    "code-intel context 'what does delivery cost' --budget 200",
    "code-intel context 'guide to the shop' --profile nope",
    "code-intel context x --editing ../../x",
    "code-intel rerank x src/cart/cart.py",
    "code-intel rerank x ' '",
    "code-intel rerank x ../../x",
    "code-intel deps no/such.py",
    "code-intel deps src/auth/service.py --depth 99",
    "code-intel deps src/auth/service.py --limit 1",
    "code-intel deps src/auth/service.py --cursor x",
    "code-intel snippets",
    "code-intel snippets no/such.py",
    "code-intel snippets src/cart/cart.py:9-3",
    "code-intel snippets src/cart/cart.py:999",
    "code-intel snippets src/cart/cart.py --budget 50",
    "code-intel snippets --symbol qqqzzz",
    "code-intel snippets src/cart/cart.py:1-2 --symbol Cart",
    "code-intel snippets src/cart/cart.py --budget 1",
    "code-intel defs qqqzzz",
    "code-intel defs '' ",
    "code-intel defs x no/such",
    "code-intel refs qqqzzz",
    "code-intel refs x ..",
    "code-intel grep '('",
    "code-intel grep x -C 99",
    "code-intel grep x -t nope",
    "code-intel grep x .env",
    "code-intel plan 'what does delivery cost' --max-iterations 1",
    "code-intel plan",
    "code-intel plan x --continue nope",
    "code-intel plan x --confidence 7",
    "code-intel plan x --preset nope",
    "code-intel plans show nope",
    "code-intel map list",
    "code-intel map show nope",
    "code-intel map add x y --evidence ' '",
    "code-intel map add x y --evidence e --file ../../x",
    "code-intel map add x qqqzzz --evidence e",
    "code-intel map confirm x qqqzzz",
    "code-intel map confirm x",
    "code-intel map rename x y --to z",
    "code-intel map reject x y",
    "code-intel map delete x y",
    "code-intel map check",
    "code-intel map stats",
    "code-intel map export /no/such/file",
    "code-intel map import /no/such/file",
    "code-intel map trash restore nope",
    "code-intel commands search x",
    "code-intel commands describe a b c",
    "code-intel commands execute a b c",
    "code-intel commands list",
    "code-intel session show nope",
    "code-intel status",
    "code-intel doctor",
)
"""Lines that find nothing, find too much or are wrong."""


@pytest.mark.parametrize("line", FAILING)
def test_messages_of_a_command_name_commands_and_options(shop: Project, line: str) -> None:
    for extra in ("", " --json"):
        done = shop.call(*shlex.split(line + extra), check=False)
        printed = done.stderr if extra else done.stdout + done.stderr
        assert "Traceback" not in printed
        assert TOOL_NAME.findall(printed) == [], printed
        assert TOOL_INPUT.findall(printed) == [], printed


AGENTS = {
    "session": "sessions belong to agents; commands only show them",
    "tools/session": "the same",
    "tools/hooks": "read by agents",
    "servers": "read by agents",
    "cli/setup": "text that init writes for agents, and patterns of hooks",
    "cli/hook": "read by agents",
}
"""Packages with texts for agents only, with the reason."""
OTHER = {
    "errors.py": "SessionError: commands take part in no session",
    "tools/declaration.py": "the input session_id, which commands do not have",
    "tools/context/gateway.py": "the same",
    "tools/context/degraded.py": "searches of a session whose upstream failed",
}
"""Modules with such a text, with the reason."""


def texts() -> Iterator[tuple[str, str]]:
    """Yield the module and each text with a tool's name, of all modules that commands import."""
    modules = [command.module for command in COMMANDS]
    program = f"import importlib, sys\nfor m in {modules}: importlib.import_module(m)\n"
    program += "print(*(m for m in sys.modules if m.startswith('code_intel.')))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    for name in done.stdout.split():
        path = Path(str(importlib.import_module(name).__file__))
        tree = ast.parse(path.read_text(encoding="utf-8"))
        shown = path.as_posix().rpartition("/code_intel/")[2]
        described = [
            node.body[0].value
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            if isinstance(node.body[0], ast.Expr)
        ]
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                is_text = " " in node.value.strip() and node not in described
                if is_text and TOOL_NAME.search(node.value):
                    yield shown, node.value


def test_every_tool_that_a_text_of_a_command_names_has_a_command() -> None:
    found = {(module, text) for module, text in texts()}
    kept = {module for module, _ in found if module in OTHER or module.startswith((*AGENTS,))}
    assert kept >= OTHER.keys()
    unnamed = {
        (module, text)
        for module, text in found
        if module not in kept and TOOL_NAME.search(in_words(text, TERMINAL_WORDS))
    }
    assert unnamed == set()


def test_every_command_that_stands_for_a_tool_exists(bare: Project) -> None:
    for words in TERMINAL_WORDS.values():
        if words.startswith("`"):
            _, *line = shlex.split(words.strip("`"))
            assert "usage:" in bare.call("code-intel", *line, "--help").stdout
    assert TERMINAL_WORDS.keys() & NAMES
