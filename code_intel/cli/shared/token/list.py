"""List the tokens, oldest first, without secrets. Exits with 1 if the list is empty.

--json: `tokens` {id, name, state, grants, created_at, expires_at, revoked_at,
requests_per_minute}, `denied`, `total`.
"""

import argparse
from datetime import UTC, datetime

from code_intel.cli.output import emit
from code_intel.cli.shared.token.options import add_tokens, row_data, row_line
from code_intel.servers.shared.access.token_file import read_table


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_tokens(parser, changes=False)


def run(args: argparse.Namespace) -> int:
    """Print the list; return 1 if it is empty."""
    table, now = read_table(args.tokens), datetime.now(UTC)
    rows = [row_data(row, now) for row in table.tokens]
    lines = [*map(row_line, rows), *(f"denied: {name}" for name in table.denied)]
    data = {"tokens": rows, "denied": list(table.denied), "total": len(rows)}
    emit(args, data, "\n".join(lines) or "There are no tokens.")
    return 0 if rows else 1
