"""Read batches in several processes, so that indexing uses every core (docs/decisions/0103).

The batches come back in order, so the index does not depend on the number of processes. A process
works on one batch at a time and ends when our end of its pipe closes, however we end. If one
fails, this process reads its batch, and the following ones, itself.
"""

import pickle
import select
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress

from code_intel.foundation.cores import available_cores
from code_intel.index.reading.batches import Batch, FileToRead, read_batch

MIN_FILES = 1000
"""Fewer files take no longer than the processes need to start."""
MAX_PROCESSES = 3
"""More would wait for the one that writes."""
POLL_MS = 100
"""How often `stop` is polled while a process reads."""

Files = Sequence[FileToRead]
Stop = Callable[[], bool]


def read_batches(batches: Sequence[Files], chunk_size: int, stop: Stop) -> Generator[Batch]:
    """Yield what each batch contains, in order, until `stop` returns True."""
    count = process_count(sum(map(len, batches)))
    readers = [reader for _ in range(count) if (reader := _start()) is not None]
    try:
        yield from _read(deque(batches), chunk_size, stop, readers)
    finally:
        for reader in readers:
            reader.close()


def process_count(files: int) -> int:
    """Return how many processes read so many files; 0 if this one does."""
    if files < MIN_FILES or not hasattr(select, "poll"):
        return 0
    cores = available_cores()
    return min(cores, MAX_PROCESSES) if cores > 1 else 0


def _read(
    waiting: deque[Files], chunk_size: int, stop: Stop, readers: Sequence["_Reader"]
) -> Generator[Batch]:
    at_work: deque[tuple[_Reader, Files]] = deque()
    for reader in readers:
        if waiting:
            at_work.append((reader, waiting.popleft()))
            reader.ask(at_work[-1][1], chunk_size)
    while at_work or waiting:
        if not at_work:
            batch = read_batch(waiting.popleft(), chunk_size, stop)
            if batch is None:
                return
            yield batch
            continue
        reader, files = at_work.popleft()
        batch = reader.answer(stop)
        if batch is not None and waiting:
            at_work.append((reader, waiting.popleft()))
            reader.ask(at_work[-1][1], chunk_size)
        if batch is None:
            batch = read_batch(files, chunk_size, stop)
        if batch is None:
            return
        yield batch


class _Reader:
    """A process that reads batches."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdin is not None  # noqa: S101 - started with pipes
        assert process.stdout is not None  # noqa: S101
        self._process = process
        self._requests, self._answers = process.stdin, process.stdout
        self._ready = select.poll()
        self._ready.register(self._answers, select.POLLIN | select.POLLHUP)

    def ask(self, files: Files, chunk_size: int) -> None:
        """Send a batch; if that fails, `answer` returns None."""
        with suppress(OSError):
            pickle.dump((files, chunk_size), self._requests, pickle.HIGHEST_PROTOCOL)
            self._requests.flush()

    def answer(self, stop: Stop) -> Batch | None:
        """Return what was read; None if the process failed, or `stop` returned True."""
        is_ready = False
        while not is_ready:
            if stop():
                return None
            is_ready = bool(self._ready.poll(POLL_MS))
        try:
            return _checked(pickle.load(self._answers))  # noqa: S301 - from our child
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            return None

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        with suppress(OSError):  # what could not be sent
            self._requests.close()
        self._answers.close()
        self._process.wait()


def _checked(batch: object) -> Batch:
    if not isinstance(batch, Batch):
        raise TypeError(f"a reader sent {type(batch).__name__}")
    return batch


def start_process() -> "subprocess.Popen[bytes]":
    """Start a process that reads batches, and ends when its stdin closes.

    Raises:
        OSError: It cannot be started.
    """
    # -P: nothing is imported from the current folder, which may be a project's.
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "code_intel.index.reading.reader_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _start() -> _Reader | None:
    try:
        return _Reader(start_process())
    except OSError:
        return None
