"""Index a folder repeatedly with changing models, until the process is killed.

python indexing_process.py FOLDER DB
"""

import sys
from pathlib import Path

from code_intel.index.store import Store
from code_intel.index.sync import sync
from code_intel.index.vectors import embed_pending
from index.samples import DIMENSIONS, HashEmbedder, index_config

MODELS = (HashEmbedder("one"), HashEmbedder("two"), HashEmbedder("small", dimensions=4))


def say(*numbers: int) -> None:
    sys.stdout.write(f"{numbers}\n")
    sys.stdout.flush()


def main(folder: Path, db_path: Path) -> None:
    config = index_config(folder, db_path=db_path)
    files = sorted(folder.glob("*.py"))
    turn = 0
    with Store.open(db_path, dimensions=DIMENSIONS) as store:
        while True:
            turn += 1
            for file in files[turn % 2 :: 2]:
                file.write_text(f"def f{turn}():\n    return '{file.stem}'\n", encoding="utf-8")
            sync(store, config, progress=say)
            embedder = MODELS[turn // 2 % len(MODELS)]
            store.dimensions = embedder.dimensions
            embed_pending(store, embedder, None, progress=say, batch=4)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
