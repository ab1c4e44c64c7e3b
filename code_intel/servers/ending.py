"""Exit a server process at once, together with the programs it has started."""

import os
from typing import NoReturn

from code_intel.foundation import git, processes


def exit_process(code: int) -> NoReturn:
    """Exit, and kill the programs that were started; running worker threads are abandoned."""
    git.kill_all()
    processes.kill_all()
    os._exit(code)
