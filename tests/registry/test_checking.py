"""Check the entries of registries and configs."""

from pathlib import Path
from typing import Any

import pytest

from code_intel.registry import checking
from code_intel.registry.checking import MalformedRegistry
from code_intel.registry.records import Command, CommandOptions
from registry_files import ONE, document

PATH = Path("/project/registry.json")


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
    registry = checking.registry(given, "climpt", PATH)
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
        (command,) = checking.registry(document({**ONE, "uv": value}), "climpt", PATH).commands
        assert command.variables == ((("uv-kept", "yes"),) if value is not uv else ())


def test_older_registries_list_one_boolean() -> None:
    older = {**ONE, "options": {"file": [True], "stdin": [False]}}
    (command,) = checking.registry(document(older), "climpt", PATH).commands
    assert command.options == CommandOptions(file=True)
    for wrong in ([], [True, False], [1], [[True]]):
        with pytest.raises(
            MalformedRegistry, match=r"tools\.commands\[0\]\.options\.file must be true or false"
        ):
            checking.registry(document({**ONE, "options": {"file": wrong}}), "climpt", PATH)


def test_empty_registry_is_valid() -> None:
    assert checking.registry({"tools": {"commands": []}}, "dev", PATH).commands == ()


def test_command_key_has_the_agent() -> None:
    (command,) = checking.registry(document(), "dev", PATH).commands
    assert command.key == ("dev", "climpt-git", "merge-up", "base-branch")


def test_duplicate_and_undescribed_commands_are_noted() -> None:
    registry = checking.registry(document(ONE, {**ONE, "description": " "}), "climpt", PATH)
    assert len(registry.commands) == 2
    assert registry.notes == (
        "tools.commands[1] has the same name as tools.commands[0], and search finds only that one",
        "tools.commands[1].description is empty, so search uses only its name",
    )
    many = checking.registry(document(*[ONE] * 5000), "climpt", PATH)
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
        checking.registry(document(ONE, {**ONE, field: bad}), "climpt", PATH)
    assert str(error.value).startswith(f"tools.commands[1].{field} must be an identifier")


WRONG: tuple[tuple[str, Any, str], ...] = (
    ("c1", 5, "c1 must be a text, not a number"),
    ("c3", None, "c3 must be a text, not null"),
    ("description", ["a"], "description must be a text, not a list"),
    ("description", "x" * 2001, "description has 2,001 characters; the limit is 2,000"),
    ("description", "\ud800", "description has an invalid character"),
    ("usage", True, "usage must be a text, not true or false"),
    ("options", [], "options must be an object, not a list"),
    ("options", {"edition": "default"}, "options.edition must be a list, not a text"),
    ("options", {"edition": [1]}, "options.edition[0] must be a text, not a number"),
    ("options", {"adaptation": ["詳細", "../b"]}, "options.adaptation[1] must be a name"),
    ("options", {"edition": [""]}, "options.edition[0] must be a name"),
    (
        "options",
        {"adaptation": ["a"] * 101},
        "options.adaptation has 101 entries; the limit is 100",
    ),
    ("options", {"file": 1}, "options.file must be true or false, not a number"),
    ("options", {"stdin": "yes"}, "options.stdin must be true or false, not a text"),
    ("options", {"destination": None}, "options.destination must be true or false, not null"),
)


@pytest.mark.parametrize(("field", "value", "reason"), WRONG, ids=[row[2] for row in WRONG])
def test_invalid_entry_is_named_with_its_field(field: str, value: Any, reason: str) -> None:
    with pytest.raises(MalformedRegistry) as error:
        checking.registry(document(ONE, ONE, {**ONE, field: value}), "climpt", PATH)
    assert str(error.value).startswith(f"tools.commands[2].{reason}")


@pytest.mark.parametrize("field", sorted(ONE))
def test_missing_field_is_named(field: str) -> None:
    entry = {key: value for key, value in ONE.items() if key != field}
    with pytest.raises(MalformedRegistry) as error:
        checking.registry(document(entry), "climpt", PATH)
    assert str(error.value) == f"tools.commands[0].{field} is missing"


def test_number_of_commands_is_limited() -> None:
    many = document(*[ONE] * checking.MAX_COMMANDS)
    assert len(checking.registry(many, "climpt", PATH).commands) == checking.MAX_COMMANDS
    many["tools"]["commands"].append(ONE)
    with pytest.raises(MalformedRegistry, match="has 20,001 entries; the limit is 20,000"):
        checking.registry(many, "climpt", PATH)


def test_config_keeps_the_order_of_registries() -> None:
    config = {"registries": {"z": "z.json", "a": ".agent/a/registry.json"}, "more": 1}
    assert list(checking.registries(config).items()) == [
        ("z", "z.json"),
        ("a", ".agent/a/registry.json"),
    ]
