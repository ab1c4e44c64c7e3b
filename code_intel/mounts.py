"""What kind of file system a path is on, and with it how SQLite may keep its journal there.

A write-ahead log needs memory that all its readers share. A folder of another machine gives none: there
databases keep a rollback journal, whose readers and writers wait for each other instead. Where the system
does not tell (only Linux does, in a file), a folder counts as this machine's.
"""

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Literal

NETWORK = frozenset({
    "9p", "afs", "beegfs", "ceph", "cifs", "davfs", "fuse.ceph", "fuse.davfs2", "fuse.gcsfuse",
    "fuse.glusterfs", "fuse.grpcfuse", "fuse.rclone", "fuse.s3fs", "fuse.sshfs", "glusterfs", "gpfs",
    "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "prl_fs", "smb2", "smb3", "smbfs", "vboxsf",
    "virtiofs", "vmhgfs", "fuse.vmhgfs-fuse",
})  # fmt: skip
"""File systems of another machine, or of the host of a virtual one, as Linux calls them."""
MOUNTS = Path("/proc/self/mountinfo")
_OCTAL = re.compile(r"\\([0-7]{3})")


def journal_mode(path: Path, mounts: Path = MOUNTS) -> Literal["wal", "delete"]:
    """Return SQLite's journal mode for a database at `path`, which need not exist."""
    return "delete" if is_network(path, mounts) else "wal"


def is_network(path: Path, mounts: Path = MOUNTS) -> bool:
    """Whether `path` is, or would be, on the disk of another machine."""
    return kind_of(path, mounts) in NETWORK


@lru_cache(maxsize=64)
def kind_of(path: Path, mounts: Path = MOUNTS) -> str:
    """Return the file system that holds `path`, in the words of `mounts`; empty where nobody tells."""
    try:
        table = mounts.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
    real, deepest, kind = os.path.realpath(path), "", ""
    for line in table.splitlines():
        place, found = _mount(line)
        inside = real == place or real.startswith(place.rstrip("/") + "/")
        if inside and len(place) >= len(deepest):  # of two at one place the later hides the earlier
            deepest, kind = place, found
    return kind


def _mount(line: str) -> tuple[str, str]:
    """Return where something is mounted and what: fields 5 and, behind a lone dash, the next one."""
    before, dash, after = line.partition(" - ")
    fields = before.split(" ")
    if not dash or len(fields) < 5:  # noqa: PLR2004 - proc(5) numbers the fields
        return "?", ""
    return _OCTAL.sub(lambda found: chr(int(found[1], 8)), fields[4]), after.split(" ")[0]
