"""What the project has agreed: list it, read it, add to it, confirm it, correct it, check it, share it.

One word a task, each with options of its own: `code-intel map WORD --help`.
"""

import argparse
import sys

from code_intel.cli.main import Command
from code_intel.cli.project import project_of
from code_intel.cli.subcommands import add_subcommands
from code_intel.learned.files.generated import notice

SUBCOMMANDS = (
    Command("list", "code_intel.cli.map.list", "list agreements with their status"),
    Command("show", "code_intel.cli.map.show", "show one in full, and what came of it"),
    Command("add", "code_intel.cli.map.add", "add an agreement, unconfirmed"),
    Command(
        "confirm", "code_intel.cli.map.confirm", "confirm one, or all, for the code as it is now"
    ),
    Command("rename", "code_intel.cli.map.rename", "give one another symbol or term"),
    Command("reject", "code_intel.cli.map.reject", "say that one is wrong, or for which words"),
    Command("stats", "code_intel.cli.map.stats", "show what the map was good for"),
    Command("check", "code_intel.cli.map.check", "fail when one is broken, for CI"),
    Command("sync", "code_intel.cli.map.sync", "generate learned_pairs.json, index the map"),
    Command(
        "rebuild", "code_intel.cli.map.rebuild", "replace learned_pairs.json, or take its edits in"
    ),
    Command("prune", "code_intel.cli.map.prune", "move what has had its time to the trash"),
    Command("trash", "code_intel.cli.map.trash", "list the trash, put one back, empty it"),
    Command("export", "code_intel.cli.map.export", "write agreements for another project"),
    Command("import", "code_intel.cli.map.import_", "take agreements in, unconfirmed"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the words and their options."""
    add_subcommands(parser, SUBCOMMANDS)


def run(args: argparse.Namespace) -> int:
    """Run the chosen word, and say on stderr when learned_pairs.json was edited by hand."""
    code = int(args.subcommand_module.run(args))
    if note := notice(project_of(args)):
        print(note, file=sys.stderr, flush=True)
    return code
