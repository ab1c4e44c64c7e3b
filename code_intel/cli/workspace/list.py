"""List the projects that `code-intel search --all` searches, with the state of their indexes.

--json: `projects` {name, path, commit, own, index, files, notes}.
"""

import argparse

from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.cli.workspace.rows import row_data, row_text
from code_intel.operations import workspace

NONE_ADDED = "No other project is in the workspace. Add one: `code-intel workspace add PATH`."


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the list."""
    rows = workspace.list_projects(project_of(args))
    lines = [*map(row_text, rows), *([NONE_ADDED] if len(rows) == 1 else [])]
    emit(args, {"projects": [row_data(row) for row in rows]}, "\n".join(lines))
    return 0
