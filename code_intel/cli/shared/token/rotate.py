"""Replace a token by a new one with the same grants, and print it.

The old token counts for some hours more, so that it can be replaced without a break.

--json: `token` (empty in a dry run), `id`, `name`, `state`, `grants`, `created_at`, `expires_at`,
`revoked_at`, `requests_per_minute`, `replaces`, `replaces_until`, `dry_run`.
"""

import argparse
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from code_intel.cli.shared.token.create import DAYS
from code_intel.cli.shared.token.options import add_tokens, print_token, require_days, row_data
from code_intel.errors import UsageError
from code_intel.servers.shared.access.principal import grant_of
from code_intel.servers.shared.access.token_file import TokenTable, change_tokens, new_token

OVERLAP_HOURS = 24
MAX_HOURS = 24 * 90


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("id", help="the old token's id, from `code-intel shared token list`")
    parser.add_argument(
        "--overlap-hours", type=int, default=OVERLAP_HOURS, metavar="N",
        help=f"how long the old token counts (default: {OVERLAP_HOURS})",
    )  # fmt: skip
    parser.add_argument(
        "--days", type=int, default=DAYS, metavar="N",
        help=f"the new token expires after N days (default: {DAYS}); 0 for never",
    )  # fmt: skip
    add_tokens(parser)


def run(args: argparse.Namespace) -> int:
    """Create the new token, and let the old one expire."""
    if not 0 <= args.overlap_hours <= MAX_HOURS:
        raise UsageError(
            f"--overlap-hours {args.overlap_hours} is not between 0 and {MAX_HOURS}.",
            details={"field": "overlap_hours"},
        )
    now, days = datetime.now(UTC), require_days(args.days)
    until = (now + timedelta(hours=args.overlap_hours)).isoformat(timespec="seconds")
    made = []

    def change(table: TokenTable) -> TokenTable:
        old = table.find(args.id)
        if old.state(now) != "active":
            raise UsageError(
                f"Token {old.id} is {old.state(now)}, so it cannot be replaced.",
                hint="Create another: `code-intel shared token create`.",
                details={"field": "id"},
            )
        grants = [grant_of(text) for text in old.grants]
        per_minute = old.requests_per_minute
        token, row = new_token(old.name, grants, now=now, days=days, requests_per_minute=per_minute)
        ends_before = bool(old.expires_at) and datetime.fromisoformat(
            old.expires_at
        ) < datetime.fromisoformat(until)
        ending = old if ends_before else replace(old, expires_at=until)
        made.append((token, row, ending.expires_at))
        return table.with_row(ending).with_row(row)

    change_tokens(args.tokens, change, dry_run=args.dry_run)
    token, row, ends = made[-1]
    data = {**row_data(row, now), "replaces": args.id, "replaces_until": ends}
    note = f"Token {row.id} replaces {args.id}, which counts until {ends}."
    if args.dry_run:
        print_token(args, "", data, f"Would be created: {note}")
    else:
        print_token(args, token, data, f"{note} It is not shown again.")
    return 0
