"""The files of deploy/ pass the linters and schemas of their formats, and contain no secret."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
YAML = sorted(DEPLOY.rglob("*.yaml"))
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
KUBERNETES = ("1.31", "1.34")
"""The oldest and the newest version whose schemas the manifests must fit."""


def run(name: str, *arguments: str | Path) -> None:
    """Run a program of this environment, which must find nothing."""
    command = [str(BIN / name), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=DEPLOY)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("file", YAML, ids=lambda file: file.name)
def test_the_yaml_is_well_formed(file: Path) -> None:
    run("yamllint", "--strict", "-c", DEPLOY / ".yamllint", file)


@pytest.mark.parametrize(
    ("schema", "file", "more"),
    [
        ("vendor.compose-spec", "compose.yaml", ()),
        ("vendor.github-workflows", "ci/github-push.yaml", ()),
        ("vendor.gitlab-ci", "ci/gitlab-push.yaml", ("--data-transform", "gitlab-ci")),
    ],
)
def test_a_file_has_the_schema_of_its_format(schema: str, file: str, more: tuple[str, ...]) -> None:
    run("check-jsonschema", "--builtin-schema", schema, *more, DEPLOY / file)


@pytest.mark.parametrize("version", KUBERNETES)
def test_the_manifests_have_the_schema_of_kubernetes(version: str) -> None:
    run("kubernetes-validate", "--strict", "--quiet", "-k", version, *MANIFESTS)


def test_the_dockerfile_has_no_findings() -> None:
    run("hadolint", DEPLOY / "Dockerfile")


def test_a_linter_finds_what_is_wrong(tmp_path: Path) -> None:
    broken = tmp_path / "compose.yaml"
    broken.write_text("services: {milvus: {image: [1]}}\n", encoding="utf-8")
    with pytest.raises(AssertionError):
        run("check-jsonschema", "--builtin-schema", "vendor.compose-spec", broken)
    pod = tmp_path / "pod.yaml"
    pod.write_text("apiVersion: v1\nkind: Pod\nspec: {container: []}\n", encoding="utf-8")
    with pytest.raises(AssertionError):
        run("kubernetes-validate", "--strict", "--quiet", "-k", KUBERNETES[0], pod)
    dockerfile = tmp_path / "Dockerfile"
    dockerfile.write_text("FROM python\nRUN cd /tmp\n", encoding="utf-8")
    with pytest.raises(AssertionError):
        run("hadolint", dockerfile)


def test_no_file_has_a_secret() -> None:
    secret = re.compile(
        r"(?i)(password|secret|token|key)[\w-]*\s*[:=]\s*[\"']?(?![$/{])[A-Za-z0-9+/]{12,}"
    )
    for file in DEPLOY.rglob("*"):
        if file.is_file() and file.suffix != ".md":
            assert not secret.search(file.read_text("utf-8")), file
