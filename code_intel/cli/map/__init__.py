"""Work with the map, the project's agreements: facts that say which term means which symbol.

Each agreement is a Markdown file in `.code-intel/agreements` that git carries. `code-intel map
SUBCOMMAND --help` shows the options of a subcommand.
"""

import argparse
import sys

from code_intel.cli.main import CliCommand
from code_intel.cli.project import project_of
from code_intel.cli.subcommands import add_subcommands
from code_intel.learned.files.generated import notice

SUBCOMMANDS = (
    CliCommand("list", "code_intel.cli.map.list", "list agreements with their status"),
    CliCommand("show", "code_intel.cli.map.show", "show one agreement in full, with its history"),
    CliCommand("add", "code_intel.cli.map.add", "add an unconfirmed agreement"),
    CliCommand(
        "confirm",
        "code_intel.cli.map.confirm",
        "confirm one agreement, or all, against the current code",
    ),
    CliCommand("rename", "code_intel.cli.map.rename", "change an agreement's symbol or term"),
    CliCommand(
        "reject", "code_intel.cli.map.reject", "mark an agreement as wrong, or wrong for some words"
    ),
    CliCommand("stats", "code_intel.cli.map.stats", "show how useful the map was"),
    CliCommand("check", "code_intel.cli.map.check", "fail if an agreement is broken, for CI"),
    CliCommand(
        "sync", "code_intel.cli.map.sync", "generate learned_pairs.json and update the map's index"
    ),
    CliCommand(
        "rebuild", "code_intel.cli.map.rebuild", "replace learned_pairs.json, or import its edits"
    ),
    CliCommand("prune", "code_intel.cli.map.prune", "move outdated agreements to the trash"),
    CliCommand("trash", "code_intel.cli.map.trash", "list, show, restore or empty the trash"),
    CliCommand("export", "code_intel.cli.map.export", "write agreements for another project"),
    CliCommand("import", "code_intel.cli.map.import_", "import agreements, unconfirmed"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands and their options."""
    add_subcommands(parser, SUBCOMMANDS)


def run(args: argparse.Namespace) -> int:
    """Run the chosen subcommand, and warn on stderr if learned_pairs.json was edited by hand."""
    code = int(args.subcommand_module.run(args))
    if note := notice(project_of(args)):
        print(note, file=sys.stderr, flush=True)
    return code
