"""Index a folder as its leader, and stop by SIGSTOP before a statement.

python stopping_process.py FOLDER DB STATEMENT
"""

import os
import signal
import sys
from itertools import count
from pathlib import Path

import apsw

from code_intel.index.indexer import Indexer
from index.samples import HashEmbedder, index_config


def stop_at(place: int) -> None:
    """Stop before the statement of that number, counted over all connections."""
    numbers = count()

    def trace(_cursor: apsw.Cursor, _sql: str, _values: object) -> bool:
        if next(numbers) == place:
            os.kill(os.getpid(), signal.SIGSTOP)
        return True

    apsw.connection_hooks.append(lambda connection: setattr(connection, "exec_trace", trace))


def main(folder: Path, db_path: Path, place: int) -> None:
    """Index until stdin closes."""
    stop_at(place)
    indexer = Indexer(index_config(folder, db_path=db_path), embedder=HashEmbedder(), interval=0.02)
    indexer.start()
    sys.stdin.read()
    indexer.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
