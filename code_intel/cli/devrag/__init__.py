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
from code_intel.cli.main import Command, parser_of, usage
from code_intel.config import load_index_config
from code_intel.errors import CodeIntelError, UsageError

COMMANDS = (
    Command("serve", "code_intel.cli.devrag.serve", "run the index server on stdin and stdout"),
    Command("sync", "code_intel.cli.devrag.sync", "bring the index up to date, words and vectors"),
    Command("search", "code_intel.cli.devrag.search", "search the index"),
    Command("list", "code_intel.cli.devrag.list", "list the documents"),
    Command("status", "code_intel.cli.devrag.status", "what is indexed, what is missing"),
    Command("doctor", "code_intel.cli.devrag.doctor", "check every invariant"),
)
DEFAULT_CONFIG = "config.json"


def run() -> None:
    """Entry point of the console script."""
    sys.exit(main(sys.argv[1:]))


def main(argv: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    if argv and argv[0] in {"-h", "--help", "help"}:
        print(usage("devrag", COMMANDS))
        return 0
    if "--version" in argv:
        print(f"devrag {__version__}")
        return 0
    try:
        config_path, words = _config(argv)
        name = words[0] if words else "serve"
        command = next((command for command in COMMANDS if command.name == name), None)
        if command is None:
            raise UsageError(
                f"devrag has no command {name}.",
                code="unknown_command",
                hint=f"Commands: {', '.join(command.name for command in COMMANDS)}.",
            )
        args = parser_of(command, "devrag").parse_args(words[1:])
        args.config = load_index_config(config_path)
        return _answer(importlib.import_module(command.module).run(args), args.output)
    except CodeIntelError as error:
        code = error.exit_code
        print(json.dumps({"status": "error", "error": _error(error)}, ensure_ascii=False))
        print(f"devrag: {error.message}\n  {error.hint}", file=sys.stderr)
        return code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 0


def _answer(result: tuple[int, dict[str, Any] | None, str], output: str) -> int:
    """Print a command's (exit code, data, text); data None means that it has printed itself."""
    code, data, text = result
    if data is not None:
        envelope = json.dumps({"status": "ok", "data": data}, ensure_ascii=False)
        print(text if output == "text" else envelope, flush=True)
    return code


def _error(error: CodeIntelError) -> dict[str, Any]:
    wire = error.as_dict()
    return {
        "code": wire["error"],
        "message": wire["message"],
        "field": wire.get("field", ""),
        "hint": wire["hint"],
    }


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
    if path != DEFAULT_CONFIG and not Path(path).is_file():
        raise UsageError(f"{path} does not exist.", details={"field": "config"})
    return Path(path), words
