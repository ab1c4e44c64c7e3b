"""`devrag`: one index server and its commands, a drop-in for devrag's users (docs/decisions/0017).

`devrag [--config PATH] [COMMAND …]`; flags may stand in any place; without a command it serves on stdin
and stdout. Answers are JSON, `{"status": "ok", "data": …}` or `{"status": "error", "error": …}`, unless
`--output text`. Exit codes: 1 when something failed, 2 when the line or the configuration is wrong. A server
that cannot start says so on stderr alone.
"""

import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from code_intel import __version__
from code_intel.cli.devrag.codes import OPERATIONAL, code_of, refusal
from code_intel.cli.devrag.line import Line, read
from code_intel.cli.main import Command, bounded, parser_of, speak_utf8, usage
from code_intel.config import IndexConfig, find_root, load_index_config, load_settings
from code_intel.config.find_index_config import locate_config
from code_intel.config.index_config import DEFAULT_MODEL_NAMES, with_model_dir
from code_intel.config.settings import warn_once
from code_intel.config.writable_folders import with_writable_database
from code_intel.errors import CodeIntelError, EmbeddingError, UsageError
from code_intel.foundation.redaction import masked, masked_data

COMMANDS = (
    Command("serve", "code_intel.cli.devrag.serve", "run the index server, on stdin and stdout or over HTTP"),
    Command("sync", "code_intel.cli.devrag.sync", "bring the index up to date, words and vectors"),
    Command("search", "code_intel.cli.devrag.search", "search the index"),
    Command("list", "code_intel.cli.devrag.list", "list the documents"),
    Command("index", "code_intel.cli.devrag.index", "index one file, whatever the patterns say"),
    Command("index-code", "code_intel.cli.devrag.index_code", "index source files, or all below a folder"),
    Command("reindex", "code_intel.cli.devrag.reindex", "parse one document again"),
    Command("delete", "code_intel.cli.devrag.delete", "take one document out of the index"),
    Command("add-frontmatter", "code_intel.cli.devrag.add_frontmatter", "give a Markdown file front matter"),
    Command("update-frontmatter", "code_intel.cli.devrag.update_frontmatter", "merge fields into front matter"),
    Command("status", "code_intel.cli.devrag.status", "what is indexed, what is missing"),
    Command("doctor", "code_intel.cli.devrag.doctor", "check every invariant (also: check)"),
    Command("vacuum", "code_intel.cli.devrag.vacuum", "give unused space back to the disk"),
    Command("schema", "code_intel.cli.devrag.schema", "describe every command for programs"),
)  # fmt: skip
ALIASES = {"": "serve", "check": "doctor"}
MISSING = {
    "search-relations": "Relations are in the index of code-intel: find_definitions and find_references "
    "of `code-intel serve`, or `devrag search SYMBOL`.",
    "build-dictionary": "No dictionary is needed: questions in Japanese find English text by meaning, and "
    "agreements (`code-intel map add`) say which word means which symbol.",
}
"""Commands of devrag that there are not, and what to use instead."""
MAKING = frozenset({"serve", "sync"})
"""Commands that make devrag's template where there is no configuration; the others only look for it."""
COMPUTING = frozenset({"serve", "sync", "search", "index", "index-code", "reindex"})


def run() -> None:
    """Entry point of the console script."""
    speak_utf8()
    sys.exit(main(sys.argv[1:]))


def main(argv: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    line = Line()
    failed = []

    def work() -> int:
        nonlocal line
        line = read(argv)
        return _main(line)

    def tell(error: CodeIntelError) -> None:
        failed.append(code_of(error, line.command) in OPERATIONAL)
        if line.command != "serve":  # a client reads the protocol there, and nothing else
            print(json.dumps(masked_data(refusal(error, line.command)), ensure_ascii=False))

    code = bounded(work, tell, "devrag")
    return 1 if any(failed) else code


def _main(line: Line) -> int:
    if line.version:
        print(f"devrag {__version__}")
        return 0
    if line.command == "help" or (not line.command and "--help" in line.flags):
        print(usage("devrag", COMMANDS))
        return 0
    line.command = ALIASES.get(line.command, line.command)
    command = next((command for command in COMMANDS if command.name == line.command), None)
    if command is None:
        names = ", ".join(command.name for command in COMMANDS)
        raise UsageError(
            f"devrag has no command {line.command}.",
            code="unknown_command",
            hint=MISSING.get(line.command, f"Commands: {names}."),
        )
    if line.unknown:
        raise UsageError(
            f"devrag {command.name} has no flag {line.unknown}.",
            hint=f"`devrag {command.name} --help` lists its flags; a word that begins with a dash "
            f"goes last, behind `--`.",
        )
    words = ["--", *line.words] if line.words else []  # a word may begin with a dash
    args = parser_of(command, "devrag").parse_args([*line.flags, *words])
    if command.name != "schema":
        args.config = _config(line)
    return _answer(importlib.import_module(command.module).run(args), args.output)


def _config(line: Line) -> IndexConfig:
    """Read the configuration that a line means, and say what is odd about it."""
    path = locate_config(line.config, serving=line.command == "serve")
    if line.command in MAKING and not path.exists():
        from code_intel.cli.devrag.template import make

        make(path)
    config = load_index_config(path)
    if line.model_dir:
        config = with_model_dir(config, Path(line.model_dir).absolute())
    config = with_writable_database(config, load_settings(find_root(config.folder)).cache_dir)
    warn_once(config.notes)
    if (
        line.command in COMPUTING
        and config.device == "gpu"
        and not config.fallback_to_cpu
        and config.model in DEFAULT_MODEL_NAMES
    ):
        raise EmbeddingError(
            "compute.device is gpu, the built-in model knows the CPU alone, and fallback_to_cpu is false.",
            code="init_failed",
            hint="Set compute.fallback_to_cpu to true, or compute.device to auto.",
        )
    return config


def _answer(result: tuple[int, dict[str, Any] | None, str], output: str) -> int:
    """Print a command's (exit code, data, text); data None means that it has printed itself."""
    code, data, text = result
    if data is not None:
        envelope = {"status": "ok", "data": masked_data(data)}
        shown = masked(text) if output == "text" else json.dumps(envelope, ensure_ascii=False)
        print(shown, flush=True)
    return code
