"""Check identifiers and options before a command starts."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.errors import UsageError
from code_intel.foundation.text import hidden_character
from code_intel.registry.options import (
    COMMAND_OPTIONS,
    MAX_INPUT_CHARS,
    MAX_VALUE_CHARS,
    MAX_VARIABLES,
    OptionRequest,
    argv,
    checked,
)
from code_intel.registry.records import Command
from registry.execution_projects import BARE, CLOSED, GROUP

WHOLE = {
    "edition": "detailed",
    "adaptation": "strict",
    "file": "docs/todo.md",
    "destination": "out/plan.md",
    "stdin": "the changes",
    "uv-style": "short; `rm -rf` $(HOME)",
}


def refused(given: Any, root: Path, command: Command = GROUP) -> UsageError:
    with pytest.raises(UsageError) as caught:
        checked(given, command, root)
    return caught.value


def test_every_option_has_the_flag_of_the_specification(root: Path) -> None:
    request = checked(WHOLE, GROUP, root)
    assert request.stdin == "the changes"
    assert argv(request) == [
        "--edition=detailed",
        "--adaptation=strict",
        "--from=docs/todo.md",
        "--destination=out/plan.md",
        "--uv-style=short; `rm -rf` $(HOME)",
    ]


@pytest.mark.parametrize(
    "flags",
    [
        ("-e", "-a", "-f", "-d"),
        ("--edition", "--adaptation", "--from", "--destination"),
        ("--edition", "-a", "--file", "-o"),
    ],
)
def test_list_of_flags_equals_the_mapping(root: Path, flags: tuple[str, ...]) -> None:
    values = ("detailed", "strict", "docs/todo.md", "out/plan.md")
    listed = [f"{flag}={value}" for flag, value in zip(flags, values, strict=True)]
    listed.append("--uv-style=a=b")
    mapping = {**WHOLE, "stdin": None, "uv-style": "a=b"}
    assert checked(listed, GROUP, root) == checked(mapping, GROUP, root)


@pytest.mark.parametrize(
    "given", [None, {}, [], (), {"edition": None}, {"file": ""}, {"file": False}], ids=repr
)
def test_empty_options_are_no_options(root: Path, given: Any) -> None:
    assert checked(given, CLOSED, root) == OptionRequest()
    assert argv(OptionRequest()) == []


REFUSED: dict[str, tuple[Any, str, str]] = {
    "an unknown option": ({"editon": "x"}, "options.editon", "is not an option"),
    "an environment": ({"env": {"LD_PRELOAD": "x.so"}}, "options.env", "is not an option"),
    "a variable of the environment": (
        {"LD_PRELOAD": "x.so"},
        "options.LD_PRELOAD",
        "not an option",
    ),
    "a name with an equals sign": ({"uv-a=b": "c"}, "options.uv-a=b", "is not an option"),
    "a name that is none": ({"uv-": "c"}, "options.uv-", "is not an option"),
    "a key with a line in it": ({"uv-a\nb": "c"}, "options.uv-a\\nb", "is not an option"),
    "true where a path is meant": (
        {"file": True},
        "options.file",
        "`bool`: it should be a text",
    ),
    "no number is false": ({"file": 0}, "options.file", "`int`: it should be a text"),
    "a list of editions": ({"edition": ["x"]}, "options.edition", "it should be a text"),
    "an option as a value": ({"uv-a": "--help"}, "options.uv-a", "is `--help`"),
    "an option as an edition": ({"edition": "--help; rm"}, "options.edition", "`--help; rm`"),
    "a line end": ({"uv-a": "b\n--c"}, "options.uv-a", "`b\\n--c`"),
    "a NUL": ({"uv-a": "b\0c"}, "options.uv-a", "`b\\x00c`"),
    "a lone surrogate": ({"uv-a": "\ud800"}, "options.uv-a", "`\\ud800`"),
    "a long value": (
        {"uv-a": "b" * (MAX_VALUE_CHARS + 1)},
        "options.uv-a",
        "at most 1000 characters",
    ),
    "a long text": (
        {"stdin": "b" * (MAX_INPUT_CHARS + 1)},
        "options.stdin",
        "at most 200000 characters",
    ),
    "an edition that it has not": ({"edition": "bug"}, "options.edition", "default, detailed"),
    "an adaptation that it has not": ({"adaptation": "x"}, "options.adaptation", "has strict"),
    "an edition that is a path": ({"edition": "../../x"}, "options.edition", "../../x"),
    "a file that is not there": ({"file": "docs/no.md"}, "options.file", "does not exist"),
    "a folder": ({"file": "docs"}, "options.file", "which is not a file"),
    "a file elsewhere": ({"file": "../secret"}, "options.file", "outside the project"),
    "an absolute file elsewhere": ({"file": "/etc/passwd"}, "options.file", "outside the project"),
    "a file of secrets": ({"file": ".env"}, "options.file", "may hold secrets"),
    "a link out of the project": ({"file": "link"}, "options.file", "outside the project"),
    "a place elsewhere": ({"destination": "../x"}, "options.destination", "must not be written"),
    "an absolute place": ({"destination": "/var/x"}, "options.destination", "must not be written"),
    "a place behind a link": (
        {"destination": "away/x"},
        "options.destination",
        "must not be written",
    ),
    "a place in git": (
        {"destination": ".git/hooks/x"},
        "options.destination",
        "must not be written",
    ),
    "a place in our state": (
        {"destination": ".code-intel/x"},
        "options.destination",
        "must not be written",
    ),
    "what says which servers there are": (
        {"destination": "docs/../.mcp.json"},
        "options.destination",
        "must not be written",
    ),
    "what another client reads": (
        {"destination": ".cursor/mcp.json"},
        "options.destination",
        "must not be written",
    ),
    "what says who asks before a write": (
        {"destination": ".Claude/settings.local.json"},
        "options.destination",
        "must not be written",
    ),
    "a word in the list": (["detailed"], "options[0]", "is `detailed`"),
    "a flag without a value": (["-e=default", "--help"], "options[1]", "is `--help`"),
    "an unknown flag": (["--config=other"], "options[0]", "is `--config=other`"),
    "a flag without dashes": (["edition=x"], "options[0]", "is `edition=x`"),
    "an option twice": (["-e=default", "--edition=default"], "options.edition", "given twice"),
    "many variables": (
        {f"uv-v{n}": "x" for n in range(MAX_VARIABLES + 1)},
        "options",
        "more than 50 variables",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_invalid_option_is_refused_by_name(root: Path, case: str) -> None:
    outside = root.parent / "elsewhere"
    outside.mkdir()
    (root.parent / "secret").write_text("x", encoding="utf-8")
    (root / ".env").write_text("x", encoding="utf-8")
    (root / "link").symlink_to(root.parent / "secret")
    (root / "away").symlink_to(outside)
    given, field, says = REFUSED[case]
    error = refused(given, root)
    assert error.details["field"] == field
    assert says in error.message
    assert error.hint


@pytest.mark.parametrize("key", ["file", "destination", "stdin"])
def test_option_that_the_command_excludes_is_refused(root: Path, key: str) -> None:
    error = refused({key: WHOLE[key]}, root, CLOSED)
    assert "climpt-meta create instruction does not take it" in error.message
    assert getattr(checked({key: WHOLE[key]}, BARE, root), key) == WHOLE[key]


def test_unlisted_editions_must_be_names(root: Path) -> None:
    assert checked({"edition": "詳細"}, BARE, root).edition == "詳細"
    assert "not a name" in refused({"edition": "a/b"}, root, BARE).message


def test_paths_are_resolved_and_relative_to_the_project(root: Path) -> None:
    (root / "alias").symlink_to(root / "docs")
    for path in (root / "docs/todo.md", "alias/todo.md", "./docs/../docs/todo.md"):
        assert checked({"file": str(path)}, GROUP, root).file == "docs/todo.md"
    assert checked({"destination": str(root / "alias/new/x.md")}, GROUP, root).destination == (
        "docs/new/x.md"
    )


values = st.text(max_size=40) | st.sampled_from(["--help", "-e=x", "docs/todo.md", "default"])
keys = st.sampled_from([*COMMAND_OPTIONS, "uv-a", "uv-B-2"]) | st.text(max_size=8)


def outcome(options: dict[str, str]) -> tuple[OptionRequest, UsageError | None]:
    try:
        return checked(options, GROUP, Path(__file__).parent), None
    except UsageError as error:
        return OptionRequest(), error


@given(options=st.dictionaries(keys, values, max_size=4))
def test_argument_is_a_known_flag_with_a_value(
    options: dict[str, str],
) -> None:
    request, error = outcome(options)
    if error is not None:
        assert error.details["field"].startswith("options")
        assert not hidden_character(error.message)
    known = {flags[0] for flags in COMMAND_OPTIONS.values() if flags}
    for argument in argv(request):
        flag, equals, value = argument.partition("=")
        assert flag in known or flag[2:] in options
        assert equals
        assert value
        assert not hidden_character(argument)
