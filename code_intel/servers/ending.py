"""How the process of a server ends: at once, and with the programs it has started."""

import os
from typing import NoReturn

from code_intel import git, processes


def leave(code: int) -> NoReturn:
    """End the process; worker threads are abandoned, whatever they are doing."""
    git.kill_all()
    processes.kill_all()
    os._exit(code)
