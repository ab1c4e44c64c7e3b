"""Exit the process of a server at once, together with the programs it has started."""

import os
from typing import NoReturn

from code_intel.foundation import git, processes


def leave(code: int) -> NoReturn:
    """Exit the process and its programs; running worker threads are abandoned."""
    git.kill_all()
    processes.kill_all()
    os._exit(code)
