"""Create a token and print it. It is shown only now; the file has its digest.

A grant is a scope and a pattern of repository names: `read:payments/*`. `*` matches any characters
but `/`, and `**` matches all. The scope push includes read, and admin includes push.

--json: `token` (empty in a dry run), `id`, `name`, `state`, `grants`, `created_at`, `expires_at`,
`revoked_at`, `requests_per_minute`, `dry_run`.
"""

import argparse
from datetime import UTC, datetime

from code_intel.cli.shared.token.options import add_tokens, print_token, require_days, row_data
from code_intel.errors import UsageError
from code_intel.servers.shared.access.principal import grant_of
from code_intel.servers.shared.access.token_file import change_tokens, new_token

DAYS = 90
MAX_NAME_CHARS = 100


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("name", help="what the token is for, such as `ci of payments`")
    parser.add_argument(
        "--grant",
        action="append",
        required=True,
        metavar="SCOPE:PATTERN",
        help="what the token allows, such as read:payments/*; may be repeated",
    )
    parser.add_argument(
        "--days", type=int, default=DAYS, metavar="N",
        help=f"expire after N days (default: {DAYS}); 0 for never",
    )  # fmt: skip
    parser.add_argument(
        "--requests-per-minute", type=int, default=0, metavar="N",
        help="the token's own rate limit (default: that of the server)",
    )  # fmt: skip
    add_tokens(parser)


def run(args: argparse.Namespace) -> int:
    """Create the token."""
    if not 0 < len(args.name) <= MAX_NAME_CHARS or not args.name.isprintable():
        raise UsageError(
            f"The name must have 1 to {MAX_NAME_CHARS} printable characters.",
            details={"field": "name"},
        )
    if args.requests_per_minute < 0:
        raise UsageError(
            "--requests-per-minute must not be negative.", details={"field": "requests_per_minute"}
        )
    now = datetime.now(UTC)
    token, row = new_token(
        args.name,
        [grant_of(text) for text in args.grant],
        now=now,
        days=require_days(args.days),
        requests_per_minute=args.requests_per_minute,
    )
    change_tokens(args.tokens, lambda table: table.with_row(row), dry_run=args.dry_run)
    expiry = f"It expires at {row.expires_at}." if row.expires_at else "It does not expire."
    note = f"Token {row.id} ({row.name}): {' '.join(row.grants)}. {expiry}"
    if args.dry_run:
        print_token(args, "", row_data(row, now), f"Would be created: {note}")
    else:
        print_token(args, token, row_data(row, now), f"{note} It is not shown again.")
    return 0
