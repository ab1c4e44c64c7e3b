"""Run the gateway on stdin and stdout.

This is what a client's configuration starts; it serves one project: CODE_INTEL_ROOT, else
CLAUDE_PROJECT_DIR, else the one it is started in.
"""

import argparse

from code_intel.config import find_served_root, load_settings
from code_intel.errors import ConfigError
from code_intel.servers.wire import take_stdout


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare no options: the environment and the working folder say which project."""


def run(_args: argparse.Namespace) -> int:
    """Serve until stdin ends."""
    wire = take_stdout()
    settings = load_settings(find_served_root())
    if not settings.root.is_dir():
        raise ConfigError(f"{settings.root} is not a folder.")
    from code_intel.servers.gateway import build_gateway
    from code_intel.servers.stdio import serve

    serve(build_gateway(settings), wire)
