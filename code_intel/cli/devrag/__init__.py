"""`devrag`: one index server and its commands, a drop-in for devrag's users.

`devrag [--config PATH] [COMMAND …]`; flags may stand in any place; without a command it serves on stdin
and stdout. Answers are JSON, `{"status": "ok", "data": …}` or `{"status": "error", "error": …}`, unless
`--output text`.
"""

import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from code_intel import __version__
from code_intel.cli.devrag.options import refusal
from code_intel.cli.main import Command, bounded, parser_of, speak_utf8, usage
from code_intel.config import load_index_config
from code_intel.errors import CodeIntelError, UsageError
from code_intel.redaction import masked, masked_data

COMMANDS = (
    Command("serve", "code_intel.cli.devrag.serve", "run the index server (stdio or HTTP)"),
    Command("sync", "code_intel.cli.devrag.sync", "bring the index up to date, words and vectors"),
    Command("search", "code_intel.cli.devrag.search", "search the index"),
    Command("list", "code_intel.cli.devrag.list", "list the documents"),
    Command("status", "code_intel.cli.devrag.status", "what is indexed, what is missing"),
    Command("doctor", "code_intel.cli.devrag.doctor", "check every invariant"),
)
DEFAULT_CONFIG = "config.json"


def run() -> None:
    """Entry point of the console script."""
    speak_utf8()
    sys.exit(main(sys.argv[1:]))


def main(argv: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    return bounded(lambda: _main(argv), _tell, "devrag")


def _main(argv: Sequence[str]) -> int:
    if "--version" in argv:
        print(f"devrag {__version__}")
        return 0
    config_path, words = _config(argv)
    name = words[0] if words else "serve"
    if name in {"-h", "--help", "help"}:
        print(usage("devrag", COMMANDS))
        return 0
    command = next((command for command in COMMANDS if command.name == name), None)
    if command is None:
        raise UsageError(
            f"devrag has no command {name}.",
            code="unknown_command",
            hint=f"Commands: {', '.join(command.name for command in COMMANDS)}.",
        )
    args = parser_of(command, "devrag").parse_args(words[1:])
    args.config = load_index_config(_existing(config_path))
    return _answer(importlib.import_module(command.module).run(args), args.output)


def _answer(result: tuple[int, dict[str, Any] | None, str], output: str) -> int:
    """Print a command's (exit code, data, text); data None means that it has printed itself."""
    code, data, text = result
    if data is not None:
        envelope = {"status": "ok", "data": masked_data(data)}
        shown = masked(text) if output == "text" else json.dumps(envelope, ensure_ascii=False)
        print(shown, flush=True)
    return code


def _tell(error: CodeIntelError) -> None:
    print(json.dumps(masked_data(refusal(error)), ensure_ascii=False))


def _config(argv: Sequence[str]) -> tuple[Path, list[str]]:
    """Take `--config PATH` out of the line, wherever it stands."""
    path, words, rest = DEFAULT_CONFIG, [], iter(argv)
    for word in rest:
        if word == "--":
            words += [word, *rest]
        elif word == "--config":
            path = next(rest, "")
        elif word.startswith("--config="):
            path = word.removeprefix("--config=")
        else:
            words.append(word)
    if not path:
        raise UsageError("--config needs a path.", details={"field": "config"})
    return Path(path), words


def _existing(path: Path) -> Path:
    """Return a config that was named, or the default one, which may be missing."""
    if path != Path(DEFAULT_CONFIG) and not path.is_file():
        raise UsageError(f"{path} does not exist.", details={"field": "config"})
    return path
