"""The files of npm packages are as their list says: digests, licences, and no other file."""

import hashlib
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "code_intel" / "ui" / "static" / "vendor"
PACKAGES: list[dict[str, Any]] = tomllib.loads((FOLDER / "VENDORED.toml").read_text("utf-8"))[
    "package"
]
FILES = [file for package in PACKAGES for file in package["files"]]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file["path"]))
def test_a_file_of_a_package_has_the_digest_of_the_list(file: dict[str, str]) -> None:
    content = (FOLDER / file["path"]).read_bytes()
    assert hashlib.sha256(content).hexdigest() == file["sha256"], (
        f"{file['path']} was changed. Run .ci/vendor, which names the version that is listed."
    )


def test_the_list_names_every_file() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {"VENDORED.toml"} | {
        file["path"] for file in FILES
    }


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: str(package["name"]))
def test_a_package_names_its_version_and_brings_its_licence(package: dict[str, Any]) -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", package["version"])
    assert [file["npm"] for file in package["files"] if "LICENSE" in file["path"]] == ["LICENSE"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert package["licence"] in project["license"].split(" AND ")


def test_scripts_of_packages_name_no_host() -> None:
    for path in FOLDER.glob("*.js"):
        assert not re.search(rb"https?://", path.read_bytes()), path.name
