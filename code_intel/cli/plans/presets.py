"""List presets (named expectations), including the project's own in `.gistdex/config.json`.

--json: `presets` {name, about, aboutJa, own, expectedResults, strategy, evaluationMode}.
"""

import argparse
from typing import Any

from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.foundation.text import visible
from code_intel.planning import place, presets, settings
from code_intel.planning.presets import Preset
from code_intel.planning.stored import as_json


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the list."""
    own = settings.load(place.root_of(project_of(args))).presets
    all_presets = presets.known(own)
    width = max(map(len, all_presets)) + 2
    lines = [
        f"{name:<{width}}{visible(preset.about)}{'  (own)' if name in own else ''}"
        for name, preset in all_presets.items()
    ]
    rows = [_data(preset, own=name in own) for name, preset in all_presets.items()]
    emit(args, {"presets": rows}, "\n".join(lines))
    return 0


def _data(preset: Preset, *, own: bool) -> dict[str, Any]:
    return {
        "name": preset.name,
        "about": preset.about,
        "aboutJa": preset.ja,
        "own": own,
        "expectedResults": {
            "keywords": list(preset.keywords),
            "contentPatterns": list(preset.patterns),
            "minMatches": preset.min_matches,
            "confidence": preset.confidence,
        },
        "strategy": as_json(preset.strategy) if preset.strategy else None,
        "evaluationMode": preset.mode,
    }
