"""Say how to install packages into the environment of this program."""

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path


def install_command(*packages: str, again: bool = False) -> str:
    """Return a shell command that installs packages, or installs them again.

    setup.sh and uv make environments without pip, so it may have to be added first.
    """
    python = shlex.quote(sys.executable or "python3")
    words = ["install", *(["--force-reinstall"] if again else []), *packages]
    install = f"{python} -m pip {shlex.join(words)}"
    return install if find_spec("pip") else f"{python} -m ensurepip && {install}"


def extra_hint(extra: str) -> str:
    """Return how to install an extra; the package comes from a clone or a wheel, not from PyPI."""
    return (
        f"Install the extra: `./setup.sh --with-{extra}` in a clone, or `pip install"
        f" 'WHEEL[{extra}]'` with the path or URL of the wheel."
    )


def version_of(package: str) -> str:
    """Return the version of an installed package, from the name of the folder of its metadata.

    `importlib.metadata` loads the modules of e-mail and ZIP files; it is used for other packages.

    Raises:
        importlib.metadata.PackageNotFoundError: The package is not installed.
    """
    name = package.replace("-", "_")
    for folder in sys.path:
        for metadata in Path(folder).glob(f"{name}-*.dist-info"):
            return metadata.name.removesuffix(".dist-info").rpartition("-")[2]
    from importlib.metadata import version

    return version(package)
