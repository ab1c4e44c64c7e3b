"""Define the scoring profiles of seed 002: the weights of evidence for each kind of task.

`.code-intel/scoring-profiles.toml` can change these profiles and add others. It is read at each
use, so edits take effect at once:

    [bugfix]
    dependency = 0.9

    [review]            # weights not given here are those of `default`
    proximity = 0.5
"""

import math
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from code_intel.config.reading import read_regular_file, toml_values, unknown_key_warnings
from code_intel.errors import ConfigError

PROFILES_FILE = "scoring-profiles.toml"
MAX_WEIGHT = 10.0
"""Maximum weight; a larger one would outweigh all other evidence."""


class Profile(NamedTuple):
    """The weights of the formula."""

    text_match: float = 1.0
    path_match: float = 1.5
    editing_path: float = 2.0
    dependency: float = 0.6
    proximity: float = 0.25
    structural: float = 0.6


WEIGHT_KEYS: Mapping[str, str] = MappingProxyType(
    {
        "textMatch": "text_match",
        "pathMatch": "path_match",
        "editingPath": "editing_path",
        "dependency": "dependency",
        "proximity": "proximity",
        "structural": "structural",
    }
)
"""Weight names in the file → fields."""

DEFAULT_PROFILE = "default"
PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        DEFAULT_PROFILE: Profile(),
        # A bug is often in a dependency of the code at hand.
        "bugfix": Profile(editing_path=1.8, dependency=0.7, proximity=0.35, structural=0.7),
        # A failing test imports the code that fails.
        "testfail": Profile(editing_path=1.6, dependency=0.85, proximity=0.3, structural=0.7),
        # Type errors cluster within a module.
        "typeerror": Profile(editing_path=1.4, proximity=0.4),
        # New code has few dependencies and is placed beside similar code.
        "feature": Profile(editing_path=1.5, dependency=0.45, proximity=0.5),
        # The seed gives no weights for it.
        "refactor": Profile(),
    }
)


class ChosenProfile(NamedTuple):
    """The selected profile, and warnings for the caller."""

    name: str
    weights: Profile
    warnings: tuple[str, ...] = ()


def choose(name: str, state: Path) -> ChosenProfile:
    """Return the profile of that name; if it is unknown, return `default` and a warning.

    Raises:
        ConfigError: The user's file is invalid; the message names the file, profile and key.
    """
    profiles, warnings = load(state / PROFILES_FILE)
    name = name.strip() or DEFAULT_PROFILE
    if name in profiles:
        return ChosenProfile(name, profiles[name], warnings)
    known = ", ".join(profiles)
    note = f"profile {name[:100]!r} is not known, so default was used. Known profiles: {known}."
    return ChosenProfile(DEFAULT_PROFILE, profiles[DEFAULT_PROFILE], (*warnings, note))


def load(file: Path) -> tuple[dict[str, Profile], tuple[str, ...]]:
    """Return all profiles by name, with the user's overrides, and warnings.

    Raises:
        ConfigError: As `choose`.
    """
    try:
        given = toml_values(read_regular_file(file).decode("utf-8-sig"))
    except FileNotFoundError:
        return dict(PROFILES), ()
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file} cannot be read: {error}.", hint=_hint(file)) from error
    profiles, warnings = dict(PROFILES), list[str]()
    for name in sorted(given, key=lambda key: key != DEFAULT_PROFILE):
        base = profiles.get(name, profiles[DEFAULT_PROFILE])
        profiles[name] = _read(file, name, given[name], base)
        warnings += [
            f"{file}: {note}"
            for note in unknown_key_warnings(name, given[name], tuple(WEIGHT_KEYS))
        ]
    return profiles, tuple(warnings)


def _read(file: Path, name: str, given: Any, base: Profile) -> Profile:
    if not isinstance(given, dict):
        raise _error(file, name, name, "a table of weights", given)
    for key, value in given.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if key in WEIGHT_KEYS and not (
            number and math.isfinite(value) and 0 <= value <= MAX_WEIGHT
        ):
            raise _error(file, name, key, f"a number from 0 to {MAX_WEIGHT:g}", value)
    known = {field: float(given[key]) for key, field in WEIGHT_KEYS.items() if key in given}
    return base._replace(**known)


def _error(file: Path, profile: str, key: str, expected: str, value: object) -> ConfigError:
    where = profile if key == profile else f"[{profile}] {key}"
    return ConfigError(
        f"{file}: {where} is {str(value)[:100]!r}; expected {expected}.",
        hint=_hint(file),
        details={"field": key, "profile": profile},
    )


def _hint(file: Path) -> str:
    return f"Correct {file.name}, or remove it to use the shipped profiles."
