"""Change an agreement's symbol, its term, or both. The old term stays as an alias.

Without --to, the new symbol is the one that the old one was renamed to in the code, if the index
shows exactly one. --to may be qualified, as in `module.function`. Uses and aliases are kept. A
confirmed agreement stays confirmed if the index shows the rename; otherwise confirm it again.

--json: `pair`, `before`, `definition` (empty if the symbol stays), `agreement_file`, `confirmed`,
`dry_run`, `map_sync`.
"""

import argparse

from code_intel.cli.map.context import add_dry_run, print_answer
from code_intel.operations.map.rename import rename_agreement


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("term", help="the agreement's term")
    parser.add_argument("symbol", help="the agreement's symbol")
    parser.add_argument("--to", default="", metavar="SYMBOL", help="the new symbol")
    parser.add_argument("--term", dest="new_term", default="", metavar="TERM", help="the new term")
    add_dry_run(parser)


def run(args: argparse.Namespace) -> int:
    """Rename the agreement."""
    print_answer(
        args,
        lambda context: rename_agreement(
            context,
            args.term,
            args.symbol,
            to=args.to,
            new_term=args.new_term,
            dry=args.dry_run,
        ),
        current=True,
    )
    return 0
