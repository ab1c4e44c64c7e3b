"""Create, list, rotate and revoke the tokens of `code-intel serve-shared`.

The token file has no secrets: a token is shown once, when it is created. Servers follow its changes
within seconds.
"""

import argparse

from code_intel.cli.subcommands import add_subcommands


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands and their options."""
    add_subcommands(parser, "shared token")
