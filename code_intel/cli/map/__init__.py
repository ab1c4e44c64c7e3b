"""Work with the map: the project's agreements on which term refers to which symbol.

Each agreement is a Markdown file in `.code-intel/agreements`, to be committed to git.
`code-intel map SUBCOMMAND --help` shows the options of a subcommand.
"""

import argparse
import sys

from code_intel.cli.project import project_of
from code_intel.cli.subcommands import add_subcommands
from code_intel.learned.files.generated import notice


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands and their options."""
    add_subcommands(parser, "map")


def run(args: argparse.Namespace) -> int:
    """Run the chosen subcommand, and warn on stderr if learned_pairs.json was edited by hand."""
    code = int(args.subcommand_module.run(args))
    if note := notice(project_of(args)):
        print(note, file=sys.stderr, flush=True)
    return code
