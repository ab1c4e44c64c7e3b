"""Show what the map is worth, how often it answered, and what became of its answers.

The figures cover the newest logged outcomes and the events stored on this machine. Tokens until
READY are those of the gateway's answers in the newest 300 sessions: the median of sessions that the
map led to READY or VERIFICATION, and of those that reached READY by the forest. What an agent read
with its own tools is not measured. A wrong answer is one that a session or a person objected to.
"""

import argparse

from code_intel.cli.map.context import print_answer
from code_intel.cli.project import add_project
from code_intel.operations.map.stats import map_stats
from code_intel.tools.context.gateway import run_in_thread


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the figures."""
    print_answer(args, lambda context: run_in_thread(map_stats, context))
    return 0
