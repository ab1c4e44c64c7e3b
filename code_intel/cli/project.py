"""Which project a command is about."""

import argparse
import os
import shlex
from pathlib import Path

from code_intel.config import Settings, find_root, holds_all_projects, load_settings
from code_intel.errors import UsageError


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


def project_folder(text: str) -> Path:
    """Return the folder that a line names as one to be set up, links resolved.

    Raises:
        UsageError: It is no folder, or one that holds all projects.
    """
    root = Path(os.path.realpath(os.path.expanduser(text)))  # noqa: PTH111 - Path.expanduser fails without a home
    if not root.is_dir():
        raise UsageError(f"{text} is not a folder.", details={"field": "project"})
    if holds_all_projects(root):
        raise UsageError(
            f"{root} is no project.",
            hint="Name the folder of one project.",
            details={"field": "project"},
        )
    return root


def as_project_says(root: Path, path: str) -> str:
    """Return a path that is said from where one stands as the project says it."""
    whole = Path(os.path.abspath(os.path.expanduser(path)))  # noqa: PTH100, PTH111 - links are the tool's to judge
    return whole.relative_to(root).as_posix() if whole.is_relative_to(root) else str(whole)


def is_set_up(settings: Settings) -> bool:
    """Whether the project has anything of ours."""
    return settings.state.is_dir() or settings.map.path.is_file() or settings.forest.path.is_file()


def setting_up(settings: Settings) -> str:
    """Return the command line that sets the project up, from wherever it is called."""
    return f"code-intel init {shlex.quote(str(settings.root))}"
