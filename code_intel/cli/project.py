"""Which project a command is about."""

import argparse
from pathlib import Path

from code_intel.config import Settings, find_root, load_settings


def add_project(parser: argparse.ArgumentParser) -> None:
    """Add `--project`."""
    parser.add_argument("--project", metavar="FOLDER", help="the project (default: where you are)")


def project_of(args: argparse.Namespace) -> Settings:
    """Return the settings of the project a command line names.

    Raises:
        UsageError: It is no folder.
        ConfigError: Its configuration cannot be used.
    """
    return load_settings(find_root(Path(args.project).expanduser() if args.project else None))
