"""List the tables `[upstreams.…]` of the project, and whether you have approved them.

--json: `upstreams` {name, approved, digest, definition, effects, problem}.
"""

import argparse

from code_intel.cli.project import add_project, project_of
from code_intel.cli.upstreams.shown import proposal_data, proposal_lines, show
from code_intel.operations.upstream_approvals import proposals

NONE = "The project has no table [upstreams.…]; it searches the map and the forest itself."


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the list."""
    found = proposals(project_of(args))
    lines = [line for each in found for line in proposal_lines(each)] or [NONE]
    show(args, {"upstreams": [proposal_data(each) for each in found]}, lines)
    return 0
