"""Check that any content of a registry or config is read or refused."""

import codecs
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.errors import RegistryError
from code_intel.index.safe_files import read_resolved
from code_intel.registry import place
from code_intel.registry.loading import MAX_CONFIG_BYTES, MAX_REGISTRY_BYTES, Registries
from registry_files import ONE, configured, document, written

PRIVATE = "do-not-repeat-me"


def _many(count: int) -> bytes:
    entry = json.dumps({"c1": "a", "c2": "b", "c3": "c", "description": "d"})
    return b'{"tools": {"commands": [' + ",".join([entry] * count).encode() + b"]}}"


FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "The file: Invalid JSON: EOF while parsing a value at line 1 column 0"),
    "no JSON": (PRIVATE.encode(), "The file: Invalid JSON: expected value at line 1 column 1"),
    "cut off": (b'{"tools": {"comm', "The file: Invalid JSON: EOF while parsing a string"),
    "more behind it": (b"{} {}", "The file: Invalid JSON: trailing characters at line 1 column 4"),
    "no UTF-8": (b'{"tools": "\xff"}', "The file: Invalid JSON: invalid unicode code point"),
    "UTF-16": ("{}".encode("utf-16"), "The file: Invalid JSON: expected value"),
    "a number that is none": (b'{"tools": NaN}', "tools: Input should be an object"),
    "half of a pair": (b'{"version": "\\ud800"}', "The file: Invalid JSON"),
    "a number without end": (b"1" * 5000, "The file: Invalid JSON: number out of range"),
    "too deep": (b"[" * 100_000, "The file: Invalid JSON: recursion limit exceeded"),
    "objects too deep": (b'{"a":' * 100_000, "The file: Invalid JSON: recursion limit exceeded"),
    "a list": (b"[]", "The file: Input should be an object"),
    "null": (b"null", "The file: Input should be an object"),
    "no tools": (b"{}", "tools: Field required"),
    "tools are a text": (
        json.dumps({"tools": PRIVATE}).encode(),
        "tools: Input should be an object",
    ),
    "no commands": (b'{"tools": {}}', "tools.commands: Field required"),
    "commands are an object": (
        b'{"tools": {"commands": {}}}',
        "tools.commands: Input should be a valid array",
    ),
    "commands are null": (
        b'{"tools": {"commands": null}}',
        "tools.commands: Input should be a valid array",
    ),
    "a command is a text": (
        json.dumps(document(ONE, PRIVATE)).encode(),
        "tools.commands[1]: Input should be an object",
    ),
    "a version that is a number": (
        json.dumps(document() | {"version": 1.5}).encode(),
        "version: Input should be a valid string",
    ),
    "an option as an identifier": (
        json.dumps(document({**ONE, "c2": f"--help; rm {PRIVATE}"})).encode(),
        "tools.commands[0].c2: String should match pattern",
    ),
    "100,000 commands": (_many(100_000), "tools.commands: List should have at most 20000 items"),
    "too large": (b" " * (MAX_REGISTRY_BYTES + 1), "it is larger than 8,192 KiB"),
}
"""Content by kind, and the beginning of `details`."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def _registries(project: Path) -> Registries:
    return Registries(project, project.parent / "home")


def _refused(registries: Registries, path: str, reason: str) -> None:
    """Assert an error with path and reason that repeats no content."""
    with pytest.raises(RegistryError) as error:
        registries.of()
    error_data = error.value.as_dict()
    assert set(error_data) == {"error", "message", "hint", "path", "details"}
    assert (error_data["error"], error_data["path"]) == ("Failed to load registry", path)
    assert error_data["details"].startswith(reason), error_data["details"]
    assert PRIVATE not in json.dumps(error_data)


@pytest.mark.parametrize("case", FILES)
def test_unusable_registry_is_an_error_with_path_and_reason(case: str, project: Path) -> None:
    content, reason = FILES[case]
    written(project, content)
    started = time.monotonic()
    _refused(_registries(project), place.REGISTRY, reason)
    assert time.monotonic() - started < 60


CONFIGS: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "The file: Invalid JSON"),
    "a list": (b"[]", "The file: Input should be an object"),
    "no registries": (b"{}", "registries: Field required"),
    "registries are a list": (
        b'{"registries": ["climpt"]}',
        "registries: Input should be an object",
    ),
    "a path that is a number": (
        b'{"registries": {"climpt": 5}}',
        "registries.climpt: Input should be a valid string",
    ),
    "an empty path": (
        b'{"registries": {"climpt": ""}}',
        "registries.climpt: String should match pattern",
    ),
    "a path with NUL": (
        b'{"registries": {"climpt": "a\\u0000b"}}',
        "registries.climpt: String should match pattern",
    ),
    "a path with half a pair": (
        b'{"registries": {"climpt": "\\ud800"}}',
        "The file: Invalid JSON",
    ),
    "a path without end": (
        json.dumps({"registries": {"climpt": "a" * 2001}}).encode(),
        "registries.climpt: String should have at most 2000 characters",
    ),
    "an agent that is an option": (
        b'{"registries": {"--rm -rf": "a.json"}}',
        "registries.(a key that is not a name): String should match pattern",
    ),
    "too many agents": (
        json.dumps({"registries": {f"a{number}": "a" for number in range(101)}}).encode(),
        "registries: Dictionary should have at most 100 items",
    ),
    "no agent": (b'{"registries": {}}', "registries has no such agent; agents: none"),
    "../../etc": (
        b'{"registries": {"climpt": "../../../../../../../../etc/passwd"}}',
        "registries.climpt is outside the project and the home folder",
    ),
    "an absolute path": (
        b'{"registries": {"climpt": "/etc/passwd"}}',
        "registries.climpt is outside the project and the home folder",
    ),
    "too large": (b" " * (MAX_CONFIG_BYTES + 1), "it is larger than 256 KiB"),
}


@pytest.mark.parametrize("case", CONFIGS)
def test_unusable_config_is_an_error_with_its_path(case: str, project: Path) -> None:
    content, reason = CONFIGS[case]
    written(project, document())
    written(project, content, place.CONFIG)
    _refused(_registries(project), place.CONFIG, reason)


def test_invalid_path_of_one_agent_leaves_others_usable(project: Path) -> None:
    written(project, document())
    configured(project, bad="../../../../etc/passwd", climpt=place.REGISTRY)
    registries = _registries(project)
    assert registries.agents() == ("bad", "climpt")
    assert len(registries.of("climpt").registry.commands) == 1
    with pytest.raises(RegistryError, match="is outside"):
        registries.of("bad")


def _linked_outside(path: Path, outside: Path) -> None:
    outside.write_text(json.dumps(document()), encoding="utf-8")
    path.symlink_to(outside)


def _below_a_link(path: Path, outside: Path) -> None:
    path.parent.rmdir()
    outside.mkdir()
    written(outside, document(), path.name)
    path.parent.symlink_to(outside)


def _looped(path: Path, _: Path) -> None:
    path.symlink_to(path)


PLANTED: dict[str, tuple[Callable[[Path, Path], Any], str]] = {
    "a link outside": (_linked_outside, "it is outside the project and the home folder"),
    "a folder that is a link outside": (
        _below_a_link,
        "it is outside the project and the home folder",
    ),
    "a link to a device": (lambda path, _: path.symlink_to("/dev/zero"), "it is outside"),
    "a link to nothing": (lambda path, _: path.symlink_to("nothing"), "File not found"),
    "a link to itself": (_looped, "Too many levels of symbolic links"),
    "a pipe": (lambda path, _: os.mkfifo(path), "is not a regular file"),
    "a folder": (lambda path, _: path.mkdir(), "Is a directory"),
}


@pytest.mark.parametrize("case", PLANTED)
@pytest.mark.parametrize("name", [place.REGISTRY, place.CONFIG])
def test_links_outside_and_special_files_are_refused(
    case: str, name: str, project: Path, tmp_path: Path
) -> None:
    path = project / name
    path.parent.mkdir(parents=True)
    plant, reason = PLANTED[case]
    plant(path, tmp_path / "outside")
    _refused(_registries(project), name, reason)


def test_link_of_a_project_into_the_home_folder_is_refused(project: Path) -> None:
    written(project.parent / "home", document(), "mine.json")
    path = project / place.REGISTRY
    path.parent.mkdir(parents=True)
    path.symlink_to(project.parent / "home" / "mine.json")
    _refused(_registries(project), place.REGISTRY, "it is outside")


def test_content_behind_a_planted_config_is_not_read(project: Path) -> None:
    home = project.parent / "home"
    written(home, f"password = {PRIVATE}\n".encode(), ".netrc")
    written(home, {PRIVATE: {"tools": PRIVATE}, "tools": {PRIVATE: 1}}, "private.json")
    for name in (".netrc", "private.json"):
        configured(project, climpt=name)
        _refused(_registries(project), name, "File not found")


def test_folder_swapped_before_opening_is_refused(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured(project, climpt="data/registry.json")
    folder = written(project, document(ONE), "data/registry.json").parent
    planted = {**ONE, "description": PRIVATE}
    outside = written(tmp_path, document(planted), "outside/registry.json").parent

    def swapped(real: str, limit: int) -> tuple[bytes, os.stat_result]:
        if real.endswith("data/registry.json"):
            folder.rename(project / "moved")
            folder.symlink_to(outside)
        return read_resolved(real, limit)

    assert _registries(project).of().registry.commands[0].description == "Merge up"
    with monkeypatch.context() as patch:
        patch.setattr(place, "read_resolved", swapped)
        _refused(_registries(project), "data/registry.json", "")
    assert PRIVATE in (folder / "registry.json").read_text("utf-8")  # without the check
    folder.unlink()
    (project / "moved").rename(folder)
    assert _registries(project).of().registry.commands[0].description == "Merge up"


def test_byte_order_mark_is_ignored(project: Path) -> None:
    written(project, codecs.BOM_UTF8 + json.dumps(document()).encode())
    assert len(_registries(project).of().registry.commands) == 1


def test_unknown_home_folder_leaves_the_project(project: Path) -> None:
    registries = Registries(project, Path("~nobody"))
    _refused(registries, place.REGISTRY, "File not found")
    written(project, document())
    assert len(registries.of().registry.commands) == 1


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)
NEAR = st.fixed_dictionaries(
    {"tools": st.fixed_dictionaries({"commands": st.lists(st.dictionaries(
        st.sampled_from(["c1", "c2", "c3", "description", "usage", "options", "uv"]),
        st.sampled_from(["a", "merge-up", "", "-x"]) | JSON,
    ) | st.just(ONE), max_size=4)})},
    optional={"version": SCALARS, "description": SCALARS},
)  # fmt: skip


@given(value=JSON | NEAR)
def test_any_value_is_a_registry_or_a_registry_error(
    value: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    project = tmp_path_factory.getbasetemp() / "any-value"
    written(project, value)
    error_data: dict[str, Any] = {}
    try:
        loaded = Registries(project, project / "home").of()
    except RegistryError as error:
        error_data = error.details
    else:
        assert len(loaded.registry.commands) == len(value["tools"]["commands"])
    assert not error_data or (
        set(error_data) == {"path", "details"} and error_data["path"] == place.REGISTRY
    )


PARTS = st.sampled_from(["..", ".", "", "/", "~", "home", "project", "etc", "passwd", "a.json"])


@given(written_as=st.lists(PARTS, max_size=8).map("/".join) | st.text(max_size=30))
def test_any_path_of_a_config_is_inside_or_refused(
    written_as: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    top = tmp_path_factory.getbasetemp() / "any-path"
    project = top / "project"
    configured(project, climpt=written_as)
    written(project, document(), "a.json")
    written(top, document({**ONE, "description": "outside"}), "a.json")
    found = "an error"
    with suppress(RegistryError):
        found = Registries(project, top / "home").of().registry.commands[0].description
    assert found in {"an error", "Merge up"}
