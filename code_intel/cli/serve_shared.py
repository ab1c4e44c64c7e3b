"""Serve the shared index of many repositories over HTTP: MCP at /mcp, the API below /v1.

Instances have no state: any number of them can serve the same index, behind a balancer. The
configuration is a TOML file; docs/shared-server.md describes it. `code-intel shared token` manages
the tokens. It stops on SIGTERM, after the running requests.
"""

import argparse
from pathlib import Path
from typing import NoReturn

from code_intel.config import load_settings
from code_intel.errors import ConfigError
from code_intel.foundation.installing import extra_hint


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--config", type=Path, required=True, metavar="FILE", help="the configuration, a TOML file"
    )
    parser.add_argument("--host", help="listen on this address instead of the configured one")
    parser.add_argument(
        "--port", type=int, metavar="N", help="listen on this port; 0 chooses a free one"
    )


def run(args: argparse.Namespace) -> NoReturn:
    """Serve until a signal."""
    from code_intel.servers.shared.settings import read_settings

    settings = read_settings(args.config)
    given = {"host": args.host, "port": args.port}
    changes = {name: value for name, value in given.items() if value is not None}
    try:
        from code_intel.servers.shared.serving import serve_shared
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"serve-shared needs the package {error.name}, which is not installed.",
            hint=extra_hint("shared"),
        ) from None
    serve_shared(settings.model_copy(update=changes), load_settings(args.config.absolute().parent))
