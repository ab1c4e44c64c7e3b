"""Find the project that a command is for, and describe its set-up."""

import argparse
import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from code_intel.config import Settings, find_root, holds_all_projects, load_settings
from code_intel.errors import NotFoundError, UsageError
from code_intel.operations.project import is_set_up, setup_command
from code_intel.tools.wire.reader import Terminal

_LINES = re.compile(r"(?<=.):\d+(?:-\d*)?$")


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
    """Return the folder to set up, with links resolved.

    Raises:
        UsageError: It is not a folder, or it is the home folder or the root of the file system.
    """
    # Path.expanduser fails without a home.
    root = Path(os.path.realpath(os.path.expanduser(text)))  # noqa: PTH111
    if not root.is_dir():
        raise UsageError(f"{text} is not a folder.", details={"field": "project"})
    if holds_all_projects(root):
        raise UsageError(
            f"{root} contains all of your projects, so it cannot be a project itself.",
            hint="Name the folder of one project.",
            details={"field": "project"},
        )
    return root


def as_project_path(root: Path, path: str) -> str:
    """Return a path, which may be relative to the current folder, relative to the project.

    What does not exist in the current folder is looked for in the project, as answers in JSON name
    files. Lines after the path, as in `a.py:3-9`, are kept.
    """
    if lines := _LINES.search(path):
        return as_project_path(root, path[: lines.start()]) + lines[0]
    # The tool checks links.
    absolute = Path(os.path.abspath(os.path.expanduser(path)))  # noqa: PTH100, PTH111
    if not os.path.lexists(absolute) and os.path.lexists(root / path):
        return path
    return absolute.relative_to(root).as_posix() if absolute.is_relative_to(root) else str(absolute)


def terminal_of(settings: Settings, words: Mapping[str, str]) -> Terminal:
    """Return what the texts of an answer depend on.

    Args:
        settings: The project.
        words: Names of tools and inputs, and what they are called in the terminal.
    """
    root, folder = (Path(os.path.realpath(each)) for each in (settings.root, "."))
    sync = "code-intel sync"
    if not folder.is_relative_to(root):
        sync += f" {shlex.quote(str(settings.root))}"
    return Terminal(root, folder, words, sync)


def require_index(settings: Settings) -> None:
    """Check that the project is indexed.

    Raises:
        NotFoundError: There is no index; the hint gives the commands to run.
    """
    if not settings.forest.db_path.exists():
        setup_step = "" if is_set_up(settings) else f"`{setup_command(settings)}`, then "
        sync = f"code-intel sync {shlex.quote(str(settings.root))}"
        hint = f"Run {setup_step}`{sync}`."
        raise NotFoundError(f"{settings.root} is not indexed yet.", hint=hint)
