"""Read `.gistdex/config.json`: limits of stored files, defaults of inputs, own presets.

A missing file means the defaults; reading creates none.
"""
# ruff: noqa: N815 - the names of the file

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from code_intel.config.reading import printable_key
from code_intel.errors import CodeIntelError, ConfigError, UsageError
from code_intel.foundation import durable
from code_intel.planning import place, records
from code_intel.planning.expectations import MAX_PRESET_NAME_CHARS, PlanPart, Preset
from code_intel.planning.patterns import check

SETTINGS_REMEDY = "Correct the file, or remove it; the next plan writes the defaults."
MIB = 1024 * 1024
MAX_SETTINGS_BYTES = MIB
MAX_PRESETS = 100

PresetName = Annotated[
    str, Field(max_length=MAX_PRESET_NAME_CHARS, pattern=r"^[\p{L}\p{M}\p{N}\p{P}\p{S} ]+$")
]


class Limits(PlanPart):
    """How much is kept; what was used last stays."""

    plans: int = Field(default=200, ge=1, le=100_000, description="Number of stored plans.")
    plansMiB: int = Field(default=64, ge=1, le=10_000, description="Disk space for plans.")
    knowledge: int = Field(
        default=200, ge=1, le=10_000, description="Number of stored knowledge pages."
    )
    knowledgeMiB: int = Field(
        default=4, ge=1, le=1000, description="Disk space for knowledge pages."
    )


class Defaults(PlanPart):
    """Values that neither a call nor a preset gives."""

    maxIterations: records.Iterations = Field(
        default=records.ITERATIONS, description="Queries per call."
    )
    timeoutSeconds: records.Seconds = Field(default=records.SECONDS, description="Time per call.")
    minMatches: records.MinMatches = Field(
        default=records.MIN_MATCHES, description="Number of expected results."
    )
    confidence: records.Share = Field(
        default=records.DEFAULT_CONFIDENCE, description="Confidence at which a plan succeeds."
    )
    evaluationMode: records.Mode = Field(default="fuzzy", description="How keywords match.")
    refinementMethod: records.Refinement = Field(
        default="hybrid", description="How queries are refined."
    )
    saveIntermediateResults: bool = Field(
        default=True,
        description="Whether the texts of all results are stored, or only of the final ones.",
    )


class PlanSettings(PlanPart):
    """What config.json says, or the defaults."""

    version: Literal[1] = 1
    limits: Limits = Limits.model_construct()
    defaults: Defaults = Defaults.model_construct()
    presets: dict[PresetName, Preset] = Field(default={}, max_length=MAX_PRESETS)

    def most(self, kind: str) -> tuple[int, int]:
        """Return the maximum number and bytes of stored `plans` or `knowledge`."""
        return getattr(self.limits, kind), getattr(self.limits, f"{kind}MiB") * MIB


def load(root: Path) -> PlanSettings:
    """Read the file below a root.

    Raises:
        ConfigError: It cannot be read, or a value is wrong: names it as `limits.plans`.
    """
    try:
        data = place.read(place.file_in(root, place.CONFIG), MAX_SETTINGS_BYTES)
        found = PlanSettings.model_validate_json(data.removeprefix(b"\xef\xbb\xbf"), strict=True)
        for name, preset in found.presets.items():
            field = f"presets.{printable_key(name)}.expectedResults.contentPatterns"
            check(preset.expectedResults.contentPatterns, field)
    except FileNotFoundError:
        return PlanSettings()
    except ValidationError as error:
        field, problem = records.first_problem(error)
        problem = ": ".join(filter(None, (field, problem)))
    except UsageError as error:
        field, problem = error.details["field"], f"{error.message} {error.hint}"
    except CodeIntelError as error:
        field, problem = "", error.message
    else:
        return found
    raise ConfigError(
        f"{root / place.CONFIG}: {problem.removesuffix('.')}.",
        hint=SETTINGS_REMEDY,
        details={"field": field or place.CONFIG},
    )


def write_defaults(root: Path) -> None:
    """Write the file with the defaults, unless there is anything in its place."""
    path = root / place.CONFIG
    if not os.path.lexists(path):
        durable.sweep(root)
        durable.replace(path, f"{PlanSettings().model_dump_json(indent=2)}\n".encode())
