"""Find the project that a command line names."""

import argparse
import os
import shlex
from pathlib import Path

from code_intel.config import Settings, find_root, holds_all_projects, load_settings
from code_intel.errors import NotFoundError, UsageError


def add_project(parser: argparse.ArgumentParser) -> None:
    """Add `--project`."""
    parser.add_argument(
        "--project",
        metavar="FOLDER",
        help="the project (default: the one that contains this folder)",
    )


def project_of(args: argparse.Namespace) -> Settings:
    """Return the settings of the project that a command line names.

    Raises:
        UsageError: It is not a folder.
        ConfigError: Its configuration cannot be used.
    """
    return load_settings(find_root(Path(args.project).expanduser() if args.project else None))


def project_folder(text: str) -> Path:
    """Return the folder to set up, links resolved.

    Raises:
        UsageError: It is not a folder, or it is the home folder or the root.
    """
    root = Path(os.path.realpath(os.path.expanduser(text)))  # noqa: PTH111 - Path.expanduser fails without a home
    if not root.is_dir():
        raise UsageError(f"{text} is not a folder.", details={"field": "project"})
    if holds_all_projects(root):
        raise UsageError(
            f"{root} contains all of your projects and cannot be one.",
            hint="Name the folder of one project.",
            details={"field": "project"},
        )
    return root


def as_project_says(root: Path, path: str) -> str:
    """Return a path given relative to the current folder as the project names it."""
    whole = Path(os.path.abspath(os.path.expanduser(path)))  # noqa: PTH100, PTH111 - links are the tool's to judge
    return whole.relative_to(root).as_posix() if whole.is_relative_to(root) else str(whole)


def is_set_up(settings: Settings) -> bool:
    """Whether the project has a configuration or a state folder."""
    return settings.state.is_dir() or settings.map.path.is_file() or settings.forest.path.is_file()


def setting_up(settings: Settings) -> str:
    """Return the command line that sets the project up, from any folder."""
    return f"code-intel init {shlex.quote(str(settings.root))}"


def require_index(settings: Settings) -> None:
    """Refuse a project whose source is not indexed yet.

    Raises:
        NotFoundError: There is no index; the hint has the commands to run.
    """
    if not settings.forest.db_path.exists():
        before = "" if is_set_up(settings) else f"`{setting_up(settings)}`, then "
        sync = f"code-intel sync {shlex.quote(str(settings.root))}"
        raise NotFoundError(f"{settings.root} is not indexed yet.", hint=f"Run {before}`{sync}`.")
