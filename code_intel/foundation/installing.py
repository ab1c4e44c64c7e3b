"""Say how to install packages into the environment of this program."""

import shlex
import sys
from importlib.util import find_spec


def install_command(*packages: str, again: bool = False) -> str:
    """Return a shell command that installs packages, or installs them again.

    setup.sh and uv make environments without pip, so it may have to be added first.
    """
    python = shlex.quote(sys.executable or "python3")
    words = ["install", *(["--force-reinstall"] if again else []), *packages]
    install = f"{python} -m pip {shlex.join(words)}"
    return install if find_spec("pip") else f"{python} -m ensurepip && {install}"
