"""Answer one hook event of a client, which the client writes to stdin.

The set-up writes this command into the client's configuration. The gateway that runs answers; if
none does, this process does, without a model. Exit code 2 means that the client must not go on.
"""

import argparse

from code_intel.cli.hook import client


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options. `client.main` reads those of the set-up without argparse."""
    parser.add_argument("client", nargs="?", choices=client.CLIENTS, default=client.DEFAULT_CLIENT)
    parser.add_argument(
        client.ENFORCE, action="store_true", help="deny writes that the session has not earned"
    )


def run(args: argparse.Namespace) -> int:
    """Answer the event on stdin."""
    return client.answer(args.client, enforces=args.enforce)
