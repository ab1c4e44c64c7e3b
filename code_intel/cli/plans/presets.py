"""List presets (named expectations), including the project's own in `.gistdex/config.json`.

--json: `presets` {name, about, aboutJa, expectedResults, strategy, evaluationMode, initialQueries,
own}.
"""

import argparse

from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.foundation.text import visible
from code_intel.planning import expectations, place, settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the list."""
    own = settings.load(place.root_of(project_of(args))).presets
    all_presets = expectations.known(own)
    width = max(map(len, all_presets)) + 2
    lines = [
        f"{name:<{width}}{visible(preset.about)}{'  (own)' if name in own else ''}"
        for name, preset in all_presets.items()
    ]
    rows = [
        {"name": name, **preset.model_dump(), "own": name in own}
        for name, preset in all_presets.items()
    ]
    emit(args, {"presets": rows}, "\n".join(lines))
    return 0
