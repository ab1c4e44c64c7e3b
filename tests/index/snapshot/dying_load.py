"""Load a snapshot, or write one, and end by a signal at every few steps.

python dying_load.py load FOLDER SNAPSHOT   loads into FOLDER.0, FOLDER.1 … until one completes
python dying_load.py write FILE             writes FILE.0, FILE.1 … in the same way

It prints how each process ended.
"""

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from code_intel.foundation import durable
from code_intel.index.facade import Index
from index.dying_process import die_at
from index.samples import HashEmbedder, index_config
from index.snapshot.clones import load_into

NEW = b"code-intel snapshot 1\nnew"
OLD = b"code-intel snapshot 1\nold"


def index_at(folder: Path, place: int) -> Index:
    """Return the index of a project, with a database of its own for each place."""
    config = replace(
        index_config(folder), db_path=folder.with_name(f"{folder.name}.{place}") / "f.db"
    )
    config.db_path.parent.mkdir(exist_ok=True)
    return Index(config, embedder=HashEmbedder())


def die_at_step(place: int) -> None:
    """Have the system call of that number, of those that change files, never made."""
    calls = iter(range(place))

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **options: Any) -> Any:
            if next(calls, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **options)

        return run

    durable.DISK = durable.Disk(*[counted(call) for call in durable.DISK])


def loading(folder: Path, snapshot: Path) -> Callable[[int], None]:
    def work(place: int) -> None:
        die_at(7 * place)
        with index_at(folder, place) as index:
            load_into(index, snapshot)

    return work


def writing(file: Path) -> Callable[[int], None]:
    def work(place: int) -> None:
        target = file.with_name(f"{file.name}.{place}")
        durable.replace(target, OLD)
        die_at_step(place)
        durable.replace(target, NEW)

    return work


def main(work: Callable[[int], None]) -> None:
    """Die at every place."""
    place = status = -1
    while status:
        place += 1
        child = os.fork()
        if not child:
            work(place)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        sys.stdout.write("done\n" if status == 0 else f"signal {os.WTERMSIG(status)}\n")


if __name__ == "__main__":
    paths = [Path(word) for word in sys.argv[2:]]
    main(loading(*paths) if sys.argv[1] == "load" else writing(*paths))
