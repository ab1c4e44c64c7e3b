"""Find out which file system a path is on, and which SQLite journal works there.

A write-ahead log needs memory that all its readers share, which network file systems do not offer.
Databases there use a rollback journal, with which readers and writers wait for each other. On
systems other than Linux every folder counts as local.
"""

import os
import re
from pathlib import Path
from typing import Literal

NETWORK_FILE_SYSTEMS = frozenset({
    "9p", "afs", "beegfs", "ceph", "cifs", "davfs", "fuse.ceph", "fuse.davfs2", "fuse.gcsfuse",
    "fuse.glusterfs", "fuse.grpcfuse", "fuse.rclone", "fuse.s3fs", "fuse.sshfs", "fuse.vmhgfs-fuse",
    "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "prl_fs", "smb2",
    "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs",
})  # fmt: skip
"""File systems of another machine, or of the host of a virtual one, as Linux names them."""
MOUNT_TABLE = Path("/proc/self/mountinfo")
_OCTAL_ESCAPE = re.compile(r"\\([0-7]{3})")


def journal_mode(path: Path, mounts: Path = MOUNT_TABLE) -> Literal["wal", "delete"]:
    """Return SQLite's journal mode for a database at `path`, which need not exist."""
    return "delete" if is_network(path, mounts) else "wal"


def is_network(path: Path, mounts: Path = MOUNT_TABLE) -> bool:
    """Return whether `path` is, or would be, on a network file system."""
    return file_system_of(path, mounts) in NETWORK_FILE_SYSTEMS


def file_system_of(path: Path, mounts: Path = MOUNT_TABLE) -> str:
    """Return the type of the file system that contains `path`; empty without a mount table."""
    try:
        table = mounts.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
    real, deepest, result = os.path.realpath(path), "", ""
    for line in table.splitlines():
        folder, file_system = _parse_mount(line)
        inside = real == folder or real.startswith(folder.rstrip("/") + "/")
        if inside and len(folder) >= len(deepest):  # a later mount hides an earlier one
            deepest, result = folder, file_system
    return result


def _parse_mount(line: str) -> tuple[str, str]:
    """Return mount point and file system: field 5, and the field after a lone dash."""
    before, dash, after = line.partition(" - ")
    fields = before.split(" ")
    if not dash or len(fields) < 5:  # noqa: PLR2004 - proc(5) numbers the fields
        return "?", ""
    return _OCTAL_ESCAPE.sub(lambda match: chr(int(match[1], 8)), fields[4]), after.split(" ")[0]
