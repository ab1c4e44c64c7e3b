"""Declare the options of the token commands, and print tokens."""

import argparse
import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from code_intel.errors import UsageError
from code_intel.servers.shared.access.token_file import TokenRow

MAX_DAYS = 3650


def add_tokens(parser: argparse.ArgumentParser, *, changes: bool = True) -> None:
    """Declare `--tokens`, and `--dry-run` for a command that changes the file."""
    parser.add_argument(
        "--tokens",
        type=Path,
        required=True,
        metavar="FILE",
        help="the token file, `token_file` of the server's configuration",
    )
    if changes:
        parser.add_argument(
            "--dry-run", action="store_true", help="show what would change; write nothing"
        )


def require_days(days: int) -> int:
    """Return a number of days.

    Raises:
        UsageError: It is negative or too large.
    """
    if not 0 <= days <= MAX_DAYS:
        raise UsageError(
            f"--days {days} is not between 0 and {MAX_DAYS}.",
            hint="Use 90, or 0 for a token that does not expire.",
            details={"field": "days"},
        )
    return days


def row_data(row: TokenRow, now: datetime) -> dict[str, Any]:
    """Return a token's fields, without its digest."""
    return {
        "id": row.id,
        "name": row.name,
        "state": row.state(now),
        "grants": list(row.grants),
        "created_at": row.created_at,
        "expires_at": row.expires_at,
        "revoked_at": row.revoked_at,
        "requests_per_minute": row.requests_per_minute,
    }


def row_line(data: dict[str, Any]) -> str:
    """Return a token as one line."""
    times = {"expired": "expires_at", "revoked": "revoked_at", "active": "expires_at"}
    at = data[times[data["state"]]] or "does not expire"
    return f"{data['id']}  {data['state']:<7}  {at}  {data['name']}  {' '.join(data['grants'])}"


def print_token(args: argparse.Namespace, token: str, data: dict[str, Any], note: str) -> None:
    """Print a new token, which `emit` would mask: the token on stdout, the rest on stderr."""
    shown = {"token": token, **data, "dry_run": args.dry_run}
    if args.json:
        print(json.dumps(shown, ensure_ascii=False), flush=True)
    elif token:
        print(note, file=sys.stderr, flush=True)
        print(token, flush=True)
    else:
        print(note, flush=True)
