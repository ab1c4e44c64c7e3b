"""Keep what a client printed before its session has a session of the gateway.

Once a session is opened, it takes over what was kept: reading before the first call counts, too.
All functions block. The file lies beside the binding of the client session, and like that is
deleted after a month.
"""

import hashlib
import json
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from code_intel.config import Settings
from code_intel.foundation import durable
from code_intel.session import steps
from code_intel.session.heads import PRIVATE_FILE_MODE
from code_intel.session.state import Print, Step
from code_intel.tools.context.client_sessions import clients_folder

WRITE_TOOL = "Write"
"""The name under which a session notes a file that a tool of the client was about to write."""
SHELL_WRITE = "Shell write"
"""The same for a shell command."""
MAX_KEPT_PRINTS = 2000
"""Maximum printed blocks of lines that are kept; the oldest are dropped first."""
MAX_KEPT_FILES = 500
"""Maximum written files that are kept, likewise."""


class ClientReads(NamedTuple):
    """What a client printed, and which files it was about to write, without a session.

    Attributes:
        printed: The printed lines.
        written: The files, relative to the root.
    """

    printed: tuple[Print, ...] = ()
    written: tuple[str, ...] = ()


def read_client_reads(settings: Settings, key: str) -> ClientReads:
    """Return what is kept of a client session; `key` names the client and its session."""
    try:
        row = json.loads(_path(settings, key).read_bytes())
        printed = tuple(
            Print(str(file), int(first), int(last), str(digest))
            for file, first, last, digest in row["printed"]
        )
        return ClientReads(printed, tuple(map(str, row["written"])))
    except (OSError, ValueError, KeyError, TypeError):
        return ClientReads()


def keep_client_reads(
    settings: Settings, key: str, printed: Iterable[Print] = (), written: Iterable[str] = ()
) -> None:
    """Keep more of what a client printed, and of the files that it was about to write.

    Raises:
        BusyError: Another process held the lock for too long.
        StorageError: The file could not be written.
    """
    with _locked(settings):
        before = read_client_reads(settings, key)
        prints = tuple(dict.fromkeys((*before.printed, *printed)))[-MAX_KEPT_PRINTS:]
        files = tuple(dict.fromkeys((*before.written, *written)))[-MAX_KEPT_FILES:]
        if (prints, files) == before:
            return
        path = _path(settings, key)
        data = json.dumps({"printed": prints, "written": files}).encode()
        if path.exists():
            durable.replace(path, data, flushed=False)
        else:
            durable.create(path, data, PRIVATE_FILE_MODE, flushed=False)


def take_client_reads(settings: Settings, key: str) -> tuple[Step, ...]:
    """Return the steps by which a session takes over what was kept, and forget it.

    Raises:
        BusyError: Another process held the lock for too long.
        StorageError: The file could not be removed.
    """
    found = read_client_reads(settings, key)
    if found == ClientReads():
        return ()
    with _locked(settings):
        found = read_client_reads(settings, key)
        durable.remove(_path(settings, key), flushed=False)
    return (
        *steps_of_prints("Read", found.printed),
        *(steps.called(WRITE_TOOL, file) for file in found.written),
    )


def steps_of_prints(tool: str, printed: Iterable[Print]) -> tuple[Step, ...]:
    """Return the steps that record lines which a tool of the client printed."""
    rows = list(dict.fromkeys(printed))
    found = []
    for start in range(0, len(rows), steps.MAX_PRINTS):
        part = rows[start : start + steps.MAX_PRINTS]
        files = list(dict.fromkeys(item.file for item in part))
        found.append(steps.called(tool, files[0], found=len(files), files=files, printed=part))
    return tuple(found)


def _path(settings: Settings, key: str) -> Path:
    digest = hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
    return clients_folder(settings) / f"{digest}.reads.json"


def _locked(settings: Settings) -> AbstractContextManager[None]:
    folder = clients_folder(settings)
    durable.make_folder(folder, 0o700)
    return durable.locked(folder / "reads.lock")
