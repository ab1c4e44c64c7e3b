"""Confirm that an agreement is true of its symbol as that is now; git carries it to your team."""

import argparse

from code_intel.cli.map_desk import at_desk
from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.errors import NotFoundError
from code_intel.learned.agreements import find, make_key
from code_intel.learned.learn import confirm
from code_intel.tools.declaration import Answer
from code_intel.tools.desk import Desk, thread
from code_intel.tools.freshen import refresh_map
from code_intel.tools.symbol_facts import definitions_of, nearest


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("term", help="its term")
    parser.add_argument("symbol", help="its symbol")
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Confirm it."""
    answer = at_desk(project_of(args), lambda desk: _confirm(desk, args.term, args.symbol))
    emit(args, answer.data, answer.text)
    return 0


async def _confirm(desk: Desk, term: str, symbol: str) -> Answer:
    """Confirm an agreement; its symbol must be defined."""
    definitions = (await definitions_of(desk, [symbol])).get(symbol)
    if not definitions:
        raise NotFoundError(
            f"{symbol} is not defined in the index.",
            hint="Run `code-intel sync --words-only`, or correct the agreement's symbol.",
        )
    entry = await thread(find, desk.settings.agreements, make_key(term, symbol))
    files = [file.path for file in entry.agreement.files] if entry and entry.agreement else []
    digest = nearest(definitions, files)[0].digest
    learned = await thread(confirm, desk.settings, (term, symbol), symbol_digest=digest)
    await refresh_map(desk, learned.agreement_file)
    data = {
        "agreement_file": learned.agreement_file.name,
        "pair": {"nl_term": term, "symbol": symbol},
    }
    return Answer(
        data, f"Confirmed: {term} → {symbol}. Commit {learned.agreement_file.name} to share it."
    )
