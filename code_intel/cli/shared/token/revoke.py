"""Revoke tokens: servers refuse them within seconds.

`oidc:SUBJECT` denies a person whose JWTs an issuer still signs; --undo allows it again.

--json: `revoked`: the ids, `dry_run`.
"""

import argparse
from dataclasses import replace
from datetime import UTC, datetime

from code_intel.cli.output import emit
from code_intel.cli.shared.token.options import add_tokens
from code_intel.errors import UsageError
from code_intel.servers.shared.access.token_file import TokenTable, change_tokens

OIDC = "oidc:"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("id", nargs="+", help="a token's id, or oidc:SUBJECT")
    parser.add_argument(
        "--undo", action="store_true", help="allow oidc:SUBJECT again; tokens stay revoked"
    )
    add_tokens(parser)


def run(args: argparse.Namespace) -> int:
    """Revoke the tokens."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    subjects = [name for name in args.id if name.startswith(OIDC)]
    ids = [name for name in args.id if not name.startswith(OIDC)]
    if args.undo and ids:
        raise UsageError(
            "A revoked token stays revoked.",
            hint="Create another: `code-intel shared token create`.",
            details={"field": "undo"},
        )

    def change(table: TokenTable) -> TokenTable:
        for token_id in ids:
            row = table.find(token_id)
            table = table.with_row(replace(row, revoked_at=row.revoked_at or now))
        denied = {*table.denied} - {*subjects} if args.undo else {*table.denied, *subjects}
        return replace(table, denied=tuple(sorted(denied)))

    change_tokens(args.tokens, change, dry_run=args.dry_run)
    verb = "allowed again" if args.undo else "revoked"
    head = f"Would be {verb}" if args.dry_run else verb.capitalize()
    emit(args, {"revoked": args.id, "dry_run": args.dry_run}, f"{head}: {', '.join(args.id)}.")
    return 0
