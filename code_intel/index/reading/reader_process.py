"""Read batches for another process until it closes our stdin; see `readers`.

A request is a pickled pair: the files of a batch and the size of Markdown chunks. The answer is the
pickled batch. Both ends are this program, and the pipes have no name.
"""

import gc
import os
import pickle
import sys

from code_intel.index.reading.batches import read_batch


def main() -> None:
    """Answer requests until stdin ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not get among the answers
    gc.disable()  # takes 4 % of the time, and finds nothing: parsing makes no cycles
    while True:
        try:
            files, chunk_size = pickle.load(sys.stdin.buffer)  # noqa: S301 - from our parent
        except EOFError:
            return
        pickle.dump(read_batch(files, chunk_size), answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()


if __name__ == "__main__":
    main()
