"""Check the entries of registries and configs."""

import json
from pathlib import Path
from typing import Any

import pytest

from code_intel.registry import checking
from code_intel.registry.checking import MalformedRegistry
from code_intel.registry.records import Command, CommandOptions, Registry
from registry_files import ONE, document

PATH = Path("/project/registry.json")


def checked(given: object, agent: str = "climpt", path: Path = PATH) -> Registry:
    """Return the registry in a document."""
    return checking.registry(json.dumps(given).encode(), agent, path)


def test_every_field_of_the_schema_is_read() -> None:
    whole = {
        **ONE,
        "usage": "climpt-git merge-up base-branch",
        "options": {
            "edition": ["default", "bug"],
            "adaptation": ["detailed"],
            "file": True,
            "stdin": False,
            "destination": True,
        },
        "uv": [{"branch": "which"}],
    }
    given = document(whole, ONE) | {
        "tools": {"availableConfigs": ["git"], "commands": [whole, ONE]}
    }
    registry = checked(given, "climpt", PATH)
    assert (registry.version, registry.description, registry.path) == ("1.0.0", "For tests", PATH)
    assert registry.commands == (
        Command(
            c1="climpt-git",
            c2="merge-up",
            c3="base-branch",
            description="Merge up",
            usage="climpt-git merge-up base-branch",
            options=CommandOptions(("default", "bug"), ("detailed",), file=True, destination=True),
            variables=(("uv-branch", "which"),),
        ),
        Command("climpt-git", "merge-up", "base-branch", "Merge up"),
    )


@pytest.mark.parametrize(
    "uv",
    [
        "",
        None,
        7,
        {"branch": "which"},
        ["branch"],
        [{"a b": "x"}],
        [{"--rm": "x"}],
        [{"branch": 1}],
        [{"branch": "a" * 2001}],
        [{"branch": "\0"}],
        [{"b" * 100: "x"}],
    ],
    ids=[
        "empty",
        "null",
        "number",
        "object",
        "texts",
        "space",
        "flag",
        "type",
        "long",
        "nul",
        "name",
    ],
)
def test_malformed_variables_are_ignored(uv: Any) -> None:
    rows = uv if isinstance(uv, list) else []
    for value in (uv, [*rows, {"kept": "yes"}]):
        (command,) = checked(document({**ONE, "uv": value}), "climpt", PATH).commands
        assert command.variables == ((("uv-kept", "yes"),) if value is not uv else ())


def test_older_registries_list_one_boolean() -> None:
    older = {**ONE, "options": {"file": [True], "stdin": [False]}}
    (command,) = checked(document(older), "climpt", PATH).commands
    assert command.options == CommandOptions(file=True)
    for wrong in ([], [True, False], [1], [[True]]):
        with pytest.raises(
            MalformedRegistry,
            match=r"tools\.commands\[0\]\.options\.file: Input should be a valid boolean",
        ):
            checked(document({**ONE, "options": {"file": wrong}}), "climpt", PATH)


def test_empty_registry_is_valid() -> None:
    assert checked({"tools": {"commands": []}}, "dev", PATH).commands == ()


def test_command_key_has_the_agent() -> None:
    (command,) = checked(document(), "dev", PATH).commands
    assert command.key == ("dev", "climpt-git", "merge-up", "base-branch")


def test_duplicate_and_undescribed_commands_are_noted() -> None:
    registry = checked(document(ONE, {**ONE, "description": " "}), "climpt", PATH)
    assert len(registry.commands) == 2
    assert registry.notes == (
        "tools.commands[1] has the same name as tools.commands[0], and search finds only that one",
        "tools.commands[1].description is empty, so search uses only its name",
    )
    many = checked(document(*[ONE] * 5000), "climpt", PATH)
    assert many.notes[-1] == "4,989 more of this kind"
    assert len(many.notes) == checking.MAX_REGISTRY_NOTES + 1


@pytest.mark.parametrize(
    "bad",
    ["", "-x", "--help; rm", "a b", "a/b", "..", ".a", "a\n", "a\0", "ａ", "é", "x" * 101, "$(a)"],
    ids=repr,
)
@pytest.mark.parametrize("field", ["c1", "c2", "c3"])
def test_identifier_cannot_be_an_option_a_path_or_multiline(field: str, bad: str) -> None:
    with pytest.raises(MalformedRegistry) as error:
        checked(document(ONE, {**ONE, field: bad}), "climpt", PATH)
    assert str(error.value).startswith(f"tools.commands[1].{field}: String should ")


WRONG: tuple[tuple[str, Any, str], ...] = (
    ("c1", 5, "c1: Input should be a valid string"),
    ("c3", None, "c3: Input should be a valid string"),
    ("description", ["a"], "description: Input should be a valid string"),
    ("description", "x" * 2001, "description: String should have at most 2000 characters"),
    ("description", "a\0", "description: String should match pattern"),
    ("usage", True, "usage: Input should be a valid string"),
    ("options", [], "options: Input should be an object"),
    ("options", {"edition": "default"}, "options.edition: Input should be a valid array"),
    ("options", {"edition": [1]}, "options.edition[0]: Input should be a valid string"),
    (
        "options",
        {"adaptation": ["詳細", "../b"]},
        "options.adaptation[1]: String should match pattern",
    ),
    ("options", {"edition": [""]}, "options.edition[0]: String should match pattern"),
    (
        "options",
        {"adaptation": ["a"] * 101},
        "options.adaptation: Tuple should have at most 100 items after validation, not 101",
    ),
    ("options", {"file": 1}, "options.file: Input should be a valid boolean"),
    ("options", {"stdin": "yes"}, "options.stdin: Input should be a valid boolean"),
    ("options", {"destination": None}, "options.destination: Input should be a valid boolean"),
)


@pytest.mark.parametrize(("field", "value", "reason"), WRONG, ids=[row[2] for row in WRONG])
def test_invalid_entry_is_named_with_its_field(field: str, value: Any, reason: str) -> None:
    with pytest.raises(MalformedRegistry) as error:
        checked(document(ONE, ONE, {**ONE, field: value}), "climpt", PATH)
    assert str(error.value).startswith(f"tools.commands[2].{reason}")


@pytest.mark.parametrize("field", sorted(ONE))
def test_missing_field_is_named(field: str) -> None:
    entry = {key: value for key, value in ONE.items() if key != field}
    with pytest.raises(MalformedRegistry) as error:
        checked(document(entry), "climpt", PATH)
    assert str(error.value) == f"tools.commands[0].{field}: Field required"


def test_number_of_commands_is_limited() -> None:
    many = document(*[ONE] * checking.MAX_COMMANDS)
    assert len(checked(many, "climpt", PATH).commands) == checking.MAX_COMMANDS
    many["tools"]["commands"].append(ONE)
    with pytest.raises(MalformedRegistry, match="should have at most 20000 items"):
        checked(many, "climpt", PATH)


def test_config_keeps_the_order_of_registries() -> None:
    config = {"registries": {"z": "z.json", "a": ".agent/a/registry.json"}, "more": 1}
    assert list(checking.registries(json.dumps(config).encode()).items()) == [
        ("z", "z.json"),
        ("a", ".agent/a/registry.json"),
    ]
