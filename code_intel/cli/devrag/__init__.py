"""Run `devrag`: one index server and its commands, compatible with the original (decision 0017).

Its usage is `devrag [--config PATH] [COMMAND …]`; flags may be anywhere. Without a command it
serves on stdin and stdout. Answers are JSON, `{"status": "ok", "data": …}` or `{"status": "error",
"error": …}`, unless `--output text` is given. Exit codes: 1 if something failed, 2 if the command
line or the configuration is wrong. A server that cannot start reports that on stderr only.
"""

import importlib
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from code_intel import __version__
from code_intel.cli.devrag.codes import OPERATIONAL, code_of, refusal
from code_intel.cli.devrag.line import SWITCHES, VALUES, Line, read
from code_intel.cli.main import CliCommand, did_you_mean, handle_errors, parser_of, usage, use_utf8
from code_intel.config import (
    IndexConfig,
    allowed_folders,
    find_root,
    load_index_config,
    load_settings,
)
from code_intel.config.confinement import confined
from code_intel.config.find_index_config import locate_config
from code_intel.config.index_config import DEFAULT_MODEL_NAMES, with_model_dir
from code_intel.config.settings import warn_once
from code_intel.config.writable_folders import with_writable_database
from code_intel.errors import CodeIntelError, EmbeddingError, UsageError
from code_intel.foundation.math_threads import limit_math_threads
from code_intel.foundation.redaction import masked, masked_data

DEVRAG_COMMANDS = (
    CliCommand("serve", "code_intel.cli.devrag.serve", "run the index server on stdio or HTTP"),
    CliCommand("sync", "code_intel.cli.devrag.sync", "update the index, words and vectors"),
    CliCommand("search", "code_intel.cli.devrag.search", "search the index"),
    CliCommand("list", "code_intel.cli.devrag.list", "list the documents"),
    CliCommand("index", "code_intel.cli.devrag.index", "index one file"),
    CliCommand("index-code", "code_intel.cli.devrag.index_code", "index files or a folder"),
    CliCommand("reindex", "code_intel.cli.devrag.reindex", "index one document again"),
    CliCommand("delete", "code_intel.cli.devrag.delete", "remove one document from the index"),
    CliCommand("add-frontmatter", "code_intel.cli.devrag.add_frontmatter", "add front matter"),
    CliCommand("update-frontmatter", "code_intel.cli.devrag.update_frontmatter", "merge fields"),
    CliCommand("status", "code_intel.cli.devrag.status", "show what the index contains"),
    CliCommand("doctor", "code_intel.cli.devrag.doctor", "check the index (also: check)"),
    CliCommand("vacuum", "code_intel.cli.devrag.vacuum", "free unused space of the database"),
    CliCommand("schema", "code_intel.cli.devrag.schema", "describe every command for programs"),
)  # fmt: skip
ALIASES = {"": "serve", "check": "doctor"}
REPLACED_COMMANDS = {
    "search-relations": "Use `code-intel defs` and `code-intel refs`, or `devrag search SYMBOL`.",
    "build-dictionary": "No dictionary is needed: Japanese questions find English text by "
    "meaning, and agreements (`code-intel map add`) define which term refers to which symbol.",
}
"""Commands of the original devrag that do not exist here, and what to use instead."""
CONFIG_CREATING_COMMANDS = frozenset({"serve", "sync"})
"""Commands that create devrag's default configuration if none exists."""
EMBEDDING_COMMANDS = frozenset({"serve", "sync", "search", "index", "index-code", "reindex"})


def run() -> None:
    """Entry point of the console script."""
    use_utf8()
    limit_math_threads()
    sys.exit(main(sys.argv[1:]))


def main(argv: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    line = Line()
    operational = []

    def work() -> int:
        nonlocal line
        line = read(argv)
        return _main(line)

    def report(error: CodeIntelError) -> None:
        operational.append(code_of(error, line.command) in OPERATIONAL)
        if line.command != "serve":  # its stdout is for the protocol
            print(json.dumps(masked_data(refusal(error, line.command)), ensure_ascii=False))

    code = handle_errors(work, report, "devrag")
    return 1 if any(operational) else code


def _main(line: Line) -> int:
    if line.version:
        print(f"devrag {__version__}")
        return 0
    if line.command == "help" and line.words:
        line = replace(line, command=line.words[0], flags=["--help"], words=[])
    if line.command == "help" or (not line.command and "--help" in line.flags):
        print(usage("devrag", DEVRAG_COMMANDS))
        return 0
    line.command = ALIASES.get(line.command, line.command)
    command = next((command for command in DEVRAG_COMMANDS if command.name == line.command), None)
    if command is None:
        names = [command.name for command in DEVRAG_COMMANDS]
        raise UsageError(
            f"devrag has no command {line.command}.{did_you_mean(line.command, names)}",
            code="unknown_command",
            hint=REPLACED_COMMANDS.get(line.command, f"Commands: {', '.join(names)}."),
        )
    if line.unknown:
        raise UsageError(
            f"devrag {command.name} has no flag {line.unknown}.{_meant_flag(line.unknown)}",
            hint=f"`devrag {command.name} --help` lists its flags. Put a word that begins with a "
            f"dash last, after `--`.",
        )
    words = ["--", *line.words] if line.words else []  # a word may begin with a dash
    args = parser_of(command, "devrag").parse_args([*line.flags, *words])
    if command.name != "schema":
        args.config = _config(line)
    return _print_answer(importlib.import_module(command.module).run(args), args.output)


def _meant_flag(unknown: str) -> str:
    """Return a question that names the flag most like an unknown one, or an empty text."""
    name = unknown.partition("=")[0].lstrip("-")
    return did_you_mean(f"--{name}", [f"--{flag}" for flag in sorted(SWITCHES | VALUES)])


def _config(line: Line) -> IndexConfig:
    """Read the configuration that a command line names, and print its warnings."""
    path = locate_config(line.config, serving=line.command == "serve")
    if line.command in CONFIG_CREATING_COMMANDS and not path.exists():
        from code_intel.cli.devrag.template import create_config

        create_config(path)
    config = load_index_config(path)
    if line.model_dir:
        config = with_model_dir(config, Path(line.model_dir).absolute())
    root = find_root(config.folder)
    cache = load_settings(root).cache_dir
    config = with_writable_database(confined(config, allowed_folders(root), cache), cache)
    warn_once(config.notes)
    if (
        line.command in EMBEDDING_COMMANDS
        and config.device == "gpu"
        and not config.fallback_to_cpu
        and config.model in DEFAULT_MODEL_NAMES
    ):
        raise EmbeddingError(
            "compute.device is gpu and fallback_to_cpu is false, but the built-in model runs on "
            "the CPU only.",
            code="init_failed",
            hint="Set compute.fallback_to_cpu to true, or compute.device to auto.",
        )
    return config


def _print_answer(result: tuple[int, dict[str, Any] | None, str], output: str) -> int:
    """Print a command's (exit code, data, text), if it has data, and return the exit code."""
    code, data, text = result
    if data is not None:
        envelope = {"status": "ok", "data": masked_data(data)}
        shown = masked(text) if output == "text" else json.dumps(envelope, ensure_ascii=False)
        print(shown, flush=True)
    return code
