"""Read `.gistdex/config.json`: limits of stored files, defaults of inputs, own presets.

The table of keys describes the file. A missing file means the defaults; reading creates none.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, get_args

from code_intel.config.reading import unknown_key_warnings
from code_intel.errors import CodeIntelError, ConfigError, StorageError
from code_intel.foundation import durable
from code_intel.planning import place, presets
from code_intel.planning.presets import Preset
from code_intel.planning.records import (
    DEFAULT_CONFIDENCE,
    ITERATIONS,
    MAX_ITERATIONS,
    MAX_MATCHES,
    MAX_PLAN_SECONDS,
    MIN_MATCHES,
    MIN_PLAN_SECONDS,
    SECONDS,
    Mode,
    Refinement,
)

SETTINGS_REMEDY = "Correct the file, or remove it; the next plan writes the defaults."
SETTINGS_VERSION = 1
MIB = 1024 * 1024
MAX_SETTINGS_BYTES = MIB
MAX_PRESETS = 100


class PlanSettingKey(NamedTuple):
    """One key of the file: place, default, limits or choices, description."""

    part: str
    name: str
    default: int | float | str | bool
    least: float = 0
    most: float = 0
    choices: tuple[str, ...] = ()
    about: str = ""


PLAN_KEYS = (
    PlanSettingKey("limits", "plans", 200, 1, 100_000, about="Number of stored plans."),
    PlanSettingKey("limits", "plansMiB", 64, 1, 10_000, about="Disk space for plans."),
    PlanSettingKey("limits", "queries", 1000, 1, 100_000, about="Number of stored search answers."),
    PlanSettingKey("limits", "queriesMiB", 64, 1, 10_000, about="Disk space for search answers."),
    PlanSettingKey(
        "limits", "knowledge", 200, 1, 10_000, about="Number of stored knowledge pages."
    ),
    PlanSettingKey("limits", "knowledgeMiB", 4, 1, 1000, about="Disk space for knowledge pages."),
    PlanSettingKey(
        "defaults", "maxIterations", ITERATIONS, 1, MAX_ITERATIONS, about="Queries per call."
    ),
    PlanSettingKey(
        "defaults",
        "timeoutSeconds",
        SECONDS,
        MIN_PLAN_SECONDS,
        MAX_PLAN_SECONDS,
        about="Time per call.",
    ),
    PlanSettingKey(
        "defaults", "minMatches", MIN_MATCHES, 1, MAX_MATCHES, about="Number of expected results."
    ),
    PlanSettingKey(
        "defaults", "confidence", DEFAULT_CONFIDENCE, 0, 1, about="Score at which a plan succeeds."
    ),
    PlanSettingKey(
        "defaults", "evaluationMode", "fuzzy", choices=get_args(Mode), about="How keywords match."
    ),
    PlanSettingKey(
        "defaults",
        "refinementMethod",
        "hybrid",
        choices=get_args(Refinement),
        about="How queries are refined.",
    ),
    PlanSettingKey(
        "defaults",
        "saveIntermediateResults",
        default=True,
        about="Whether the texts of all results are stored, or only of the final ones.",
    ),
)
"""In the order in which the file is written; docs/plans.md has the same table."""

Values = Mapping[str, int | float | str | bool]


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """What config.json says, or the defaults.

    Attributes:
        limits: By key of the part `limits`.
        defaults: By key of the part `defaults`, in the names of the tool's inputs.
        presets: The project's own, by name.
        warnings: Unknown keys.
    """

    limits: Values = field(default_factory=lambda: _defaults("limits"))
    defaults: Values = field(default_factory=lambda: _defaults("defaults"))
    presets: Mapping[str, Preset] = field(default_factory=lambda: MappingProxyType({}))
    warnings: tuple[str, ...] = ()

    def most(self, kind: str) -> tuple[int, int]:
        """Return the maximum number and bytes of stored `plans`, `queries` or `knowledge`."""
        return int(self.limits[kind]), int(self.limits[f"{kind}MiB"]) * MIB


def load(root: Path) -> PlanSettings:
    """Read the file below a root.

    Raises:
        ConfigError: It cannot be read, or a value is wrong: names it as `limits.plans`.
    """
    path = root / place.CONFIG
    try:
        data = place.read(place.file_in(root, place.CONFIG), MAX_SETTINGS_BYTES)
        document = json.loads(data.decode("utf-8-sig"))
    except FileNotFoundError:
        return PlanSettings()
    except CodeIntelError as error:
        raise ConfigError(
            error.message, hint=SETTINGS_REMEDY, details={"field": place.CONFIG}
        ) from error
    except (ValueError, RecursionError) as error:
        raise _wrong(path, place.CONFIG, f"is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise _wrong(path, place.CONFIG, "must be a JSON object")
    if document.get("version", SETTINGS_VERSION) != SETTINGS_VERSION:
        raise _wrong(path, "version", f"must be {SETTINGS_VERSION}")
    notes = unknown_key_warnings("", document, ("version", "limits", "defaults", "presets"))
    read = {part: _part(path, part, document.get(part, {}), notes) for part in _PARTS}
    own = _presets(path, document.get("presets", {}))
    return PlanSettings(**read, presets=own, warnings=tuple(f"{path}: {n}" for n in notes))


def limits_of(root: Path, kind: str) -> tuple[int, int]:
    """Return what `PlanSettings.most` says, the defaults where the file cannot be used."""
    try:
        return load(root).most(kind)
    except CodeIntelError:  # told where a plan begins; here something is being kept
        return PlanSettings().most(kind)


def write_defaults(root: Path) -> None:
    """Write the file with the defaults, unless there is anything in its place.

    Raises:
        StorageError: The disk refused.
    """
    path = root / place.CONFIG
    if os.path.lexists(path):
        return
    try:
        durable.create(path, template())
    except StorageError as error:
        if not isinstance(error.__cause__, FileExistsError):  # another process created it
            raise


def template() -> bytes:
    """Return the file that the first plan of a project writes: every key with its default."""
    parts = {part: dict(_defaults(part)) for part in _PARTS}
    text = json.dumps({"version": SETTINGS_VERSION, **parts, "presets": {}}, indent=2)
    return f"{text}\n".encode()


_PARTS = ("limits", "defaults")


def _defaults(part: str) -> Values:
    return MappingProxyType({key.name: key.default for key in PLAN_KEYS if key.part == part})


def _part(path: Path, part: str, given: object, notes: list[str]) -> Values:
    if not isinstance(given, dict):
        raise _wrong(path, part, "must be an object")
    rows = {key.name: key for key in PLAN_KEYS if key.part == part}
    notes += unknown_key_warnings(part, given, tuple(rows))
    return MappingProxyType(
        {name: _checked(path, row, given.get(name, row.default)) for name, row in rows.items()}
    )


def _checked(path: Path, row: PlanSettingKey, value: Any) -> int | float | str | bool:
    where = f"{row.part}.{row.name}"
    if row.choices:
        if value not in row.choices:
            raise _wrong(path, where, f"must be one of {', '.join(row.choices)}")
    elif isinstance(row.default, bool):
        if not isinstance(value, bool):
            raise _wrong(path, where, "must be true or false")
    else:
        numbers = {int, float} if isinstance(row.default, float) else {int}
        kind = "number" if isinstance(row.default, float) else "whole number"
        if type(value) not in numbers or not row.least <= value <= row.most:
            raise _wrong(path, where, f"must be a {kind} from {row.least:g} to {row.most:g}")
    return value  # type: ignore[no-any-return]  # checked above


def _presets(path: Path, given: object) -> Mapping[str, Preset]:
    if not isinstance(given, dict) or len(given) > MAX_PRESETS:
        raise _wrong(path, "presets", f"must be an object of at most {MAX_PRESETS} presets")
    try:
        return MappingProxyType({name: presets.read(name, own) for name, own in given.items()})
    except ConfigError as error:
        raise ConfigError(
            f"{path}: {error.message}", hint=error.hint, details=error.details
        ) from None


def _wrong(path: Path, where: str, what: str) -> ConfigError:
    return ConfigError(f"{path}: {where} {what}.", hint=SETTINGS_REMEDY, details={"field": where})
