"""Name expectations and strategies for the most frequent questions (seed 003 §9.4).

A preset fills missing inputs of a plan. Its keywords are added to those of the goal, because the
preset only says which kind of place is wanted. The shipped ones are in `presets.toml`. A project's
own are in `.gistdex/config.json` under `presets`, and replace shipped ones. A kept plan is a
preset, too, named by its id (docs/decisions/0089).
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import resources

from code_intel.config.reading import printable_key
from code_intel.errors import UsageError
from code_intel.planning import outcome
from code_intel.planning.expectations import (
    MAX_ABOUT_CHARS,
    ExpectedResults,
    Preset,
    StrategyGiven,
)
from code_intel.planning.records import QueryPlan
from code_intel.planning.stored import as_json

MAX_PRESET_NAME_CHARS = 64
_INDENT = re.compile(r"(?:^|\n) +")


@cache
def shipped() -> Mapping[str, Preset]:
    """Return the shipped presets by name, in the order in which they are listed."""
    text = resources.files(__package__).joinpath("presets.toml").read_text("utf-8")
    found = {}
    for name, row in tomllib.loads(text).items():
        alternatives = "|".join(_INDENT.sub("", each) for each in row.pop("alternatives"))
        row.setdefault("expectedResults", {})["contentPatterns"] = [f"(?m){alternatives}"]
        found[name] = Preset.model_validate(row)
    return found


def known(own: Mapping[str, Preset]) -> dict[str, Preset]:
    """Return all presets by name; shipped ones first, replaced by the project's own."""
    return {**shipped(), **own}


def chosen(name: str, own: Mapping[str, Preset]) -> Preset:
    """Return the preset of a name.

    Raises:
        UsageError: There is no such preset; it names all presets.
    """
    presets = known(own)
    if name not in presets:
        raise UsageError(
            f"There is no preset {name[:MAX_PRESET_NAME_CHARS]!r}.",
            hint=f"Use one of {', '.join(map(printable_key, presets))}, or the id of a plan.",
            details={"field": "preset"},
        )
    return presets[name]


def of_plan(plan: QueryPlan) -> Preset:
    """Return what a kept plan teaches: its best query, and the keywords that its results contain.

    Of a plan that found nothing this is its goal and its strategy.
    """
    best = outcome.best(plan)
    found = best.evaluation.matched if best else ()
    expected = replace(
        plan.expected, keywords=tuple(word for word in plan.expected.keywords if word in found)
    )
    return Preset.model_construct(
        about=plan.goal[:MAX_ABOUT_CHARS],
        expectedResults=ExpectedResults.model_construct(**as_json(expected)),
        strategy=StrategyGiven.model_construct(**as_json(plan.strategy)),
        evaluationMode=plan.mode,
        initialQueries=[best.query] if best and found else [],
    )
