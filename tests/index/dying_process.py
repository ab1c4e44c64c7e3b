"""Replace documents in a copy of an index, and end by a signal, once at every third statement.

python dying_process.py DB      makes DB.0, DB.1 ... until one completes, prints how each ended
"""

import os
import shutil
import signal
import sys
from pathlib import Path

import apsw

from code_intel.index.rows import DocumentRow
from code_intel.index.store import Store
from index.samples import DIMENSIONS, parsed, put_vectors, unit_vector

OLD = {"a.py": ("one", "two"), "b.py": ("three",), "c.py": ("four", "five")}
NEW = {"a.py": ("two", "zero", "six"), "b.py": ("three", "seven"), "d.py": ("eight",)}


def plant(store: Store) -> None:
    """Store the old documents with a vector for each chunk."""
    for path, texts in OLD.items():
        store.put_document(DocumentRow(path, "old"), parsed(*texts))
    vectors = [(chunk, unit_vector(card)) for chunk, card in store.pending(99)]
    put_vectors(store, vectors, identity="hash-1")


def change(store: Store) -> None:
    """Put the new documents in the place of the old ones, as a sync does."""
    with store.batch():
        for path, texts in NEW.items():
            store.put_document(DocumentRow(path, "new"), parsed(*texts))
    with store.batch():
        store.delete_document("c.py")


def die_at(place: int) -> None:
    """Have the statement of that number, counted over all connections, never executed."""
    executed = iter(range(place))

    def count(_cursor: apsw.Cursor, _sql: str, _values: object) -> bool:
        if next(executed, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        return True

    apsw.connection_hooks.append(lambda connection: setattr(connection, "exec_trace", count))


def main(db_path: Path) -> None:
    """Die at every third statement."""
    place = status = -1
    while status:
        place += 1
        copy = db_path.with_name(f"{db_path.name}.{place}")
        shutil.copy(db_path, copy)
        child = os.fork()
        if not child:
            die_at(3 * place)
            with Store.open(copy, dimensions=DIMENSIONS) as store:
                change(store)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        sys.stdout.write("done\n" if status == 0 else f"signal {os.WTERMSIG(status)}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
