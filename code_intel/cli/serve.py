"""Run the gateway on stdin and stdout.

This is what a client's configuration starts; it serves one project, the one it is started in.
"""

import argparse

from code_intel.config import find_root, load_settings
from code_intel.errors import ConfigError
from code_intel.servers.wire import take_stdout


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare no options: the project is where the server is started, or CODE_INTEL_ROOT."""


def run(_args: argparse.Namespace) -> int:
    """Serve until stdin ends."""
    wire = take_stdout()
    settings = load_settings(find_root())
    if not settings.root.is_dir():
        raise ConfigError(f"{settings.root} is not a folder.")
    from code_intel.servers.gateway import build_gateway
    from code_intel.servers.stdio import serve

    serve(build_gateway(settings), wire)
