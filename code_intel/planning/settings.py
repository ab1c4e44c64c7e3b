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
from code_intel.planning import place
from code_intel.planning.expectations import PlanPart, Preset
from code_intel.planning.patterns import all_compiled
from code_intel.planning.presets import MAX_PRESET_NAME_CHARS
from code_intel.planning.records import (
    DEFAULT_CONFIDENCE,
    ITERATIONS,
    MAX_ITERATIONS,
    MAX_PLAN_SECONDS,
    MIN_MATCHES,
    MIN_PLAN_SECONDS,
    SECONDS,
    MinMatches,
    Mode,
    Refinement,
    Share,
)
from code_intel.planning.stored import first_problem

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
    """What a plan is told by no call and no preset."""

    maxIterations: int = Field(
        default=ITERATIONS, ge=1, le=MAX_ITERATIONS, description="Queries per call."
    )
    timeoutSeconds: int = Field(
        default=SECONDS, ge=MIN_PLAN_SECONDS, le=MAX_PLAN_SECONDS, description="Time per call."
    )
    minMatches: MinMatches = Field(default=MIN_MATCHES, description="Number of expected results.")
    confidence: Share = Field(
        default=DEFAULT_CONFIDENCE, description="Confidence at which a plan succeeds."
    )
    evaluationMode: Mode = Field(default="fuzzy", description="How keywords match.")
    refinementMethod: Refinement = Field(default="hybrid", description="How queries are refined.")
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

    @property
    def warnings(self) -> tuple[str, ...]:
        """A warning for each unknown key."""
        return tuple(self.unknown_keys())

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
            all_compiled(preset.expectedResults.contentPatterns, field)
    except FileNotFoundError:
        return PlanSettings()
    except ValidationError as error:
        field, problem = first_problem(error)
        raise _refused(root, f"{field}: {problem}" if field else problem, field) from None
    except UsageError as error:
        raise _refused(root, f"{error.message} {error.hint}", error.details["field"]) from None
    except CodeIntelError as error:
        raise _refused(root, error.message) from error
    return found


def limits_of(root: Path, kind: str) -> tuple[int, int]:
    """Return `PlanSettings.most`, of the defaults where the file cannot be used."""
    try:
        return load(root).most(kind)
    except CodeIntelError:  # told where a plan begins; here something is being kept
        return PlanSettings().most(kind)


def write_defaults(root: Path) -> None:
    """Write the file with the defaults, unless there is anything in its place."""
    path = root / place.CONFIG
    if not os.path.lexists(path):
        durable.replace(path, f"{PlanSettings().model_dump_json(indent=2)}\n".encode())


def _refused(root: Path, problem: str, field: str = "") -> ConfigError:
    return ConfigError(
        f"{root / place.CONFIG}: {problem.removesuffix('.')}.",
        hint=SETTINGS_REMEDY,
        details={"field": field or place.CONFIG},
    )
