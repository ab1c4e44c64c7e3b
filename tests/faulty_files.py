"""Changes of files by `durable` that `benchmarks/fault_sweep.py` interrupts.

A file has its old content or its new content. A change that was acknowledged survives a power loss.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from code_intel.foundation import durable
from faulty_disk import TAKEN


class FileWork(NamedTuple):
    """A change of files by `durable`, and the states that it may leave.

    Attributes:
        run: What is interrupted.
        before: The files before, by name.
        after: The files after it.
        appends: Whether a part of the new content may be there after a power loss.
    """

    run: Callable[[Path], object]
    before: dict[str, bytes]
    after: dict[str, bytes]
    appends: bool = False

    def prepare(self, root: Path) -> None:
        """Write the files."""
        root.mkdir(parents=True)
        for name, data in self.before.items():
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_bytes(data)


OLD_TEXT, NEW_TEXT = b"old\n" * 300, b"new\n" * 500
FILE_WORKS = {
    "replace": FileWork(
        lambda root: durable.replace(root / "f" / "x", NEW_TEXT),
        {"f/x": OLD_TEXT},
        {"f/x": NEW_TEXT},
    ),
    "replace in a new folder": FileWork(
        lambda root: durable.replace(root / "f" / "g" / "x", NEW_TEXT), {}, {"f/g/x": NEW_TEXT}
    ),
    "create": FileWork(
        lambda root: durable.create(root / "f" / "x", NEW_TEXT),
        {"f/y": OLD_TEXT},
        {"f/y": OLD_TEXT, "f/x": NEW_TEXT},
    ),
    "move": FileWork(
        lambda root: durable.move(root / "f" / "x", root / "g" / "y"),
        {"f/x": OLD_TEXT},
        {"g/y": OLD_TEXT},
    ),
    "move over": FileWork(
        lambda root: durable.move(root / "f" / "x", root / "f" / "y", overwrite=True),
        {"f/x": NEW_TEXT, "f/y": OLD_TEXT},
        {"f/y": NEW_TEXT},
    ),
    "remove": FileWork(lambda root: durable.remove(root / "f" / "x"), {"f/x": OLD_TEXT}, {}),
    "append": FileWork(
        lambda root: durable.append(root / "f" / "x", NEW_TEXT),
        {"f/x": OLD_TEXT},
        {"f/x": OLD_TEXT + NEW_TEXT},
        appends=True,
    ),
    "append to a new file": FileWork(
        lambda root: durable.append(root / "f" / "x", NEW_TEXT),
        {},
        {"f/x": NEW_TEXT},
        appends=True,
    ),
}


def file_faults(work: FileWork, root: Path, came: int, way: str) -> Iterator[str]:
    """Yield what is wrong after a fault of a change by `durable`."""
    if way == "lost sync":
        return
    now = {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and path.suffix != ".tmp"
    }
    if came == TAKEN and now != work.after:
        yield f"it was acknowledged, and is not done: {sorted(now)}"
    for name in work.before.keys() | work.after.keys() | now.keys():
        allowed = {work.before.get(name), work.after.get(name)}
        is_part = work.appends and _is_prefix(name, now.get(name), work)
        if now.get(name) not in allowed and not is_part:
            yield f"{name} is neither old nor new"
    if work.before and work.after and not now:
        yield "everything is gone"


def _is_prefix(name: str, text: bytes | None, work: FileWork) -> bool:
    """Return whether a file has what it had before, and a part of what was appended."""
    old, new = work.before.get(name, b""), work.after.get(name, b"")
    return text is not None and text.startswith(old) and new.startswith(text)
