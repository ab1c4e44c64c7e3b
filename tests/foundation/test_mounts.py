import subprocess
import sys
from pathlib import Path

import pytest

from code_intel.config import IndexConfig
from code_intel.foundation.mounts import NETWORK_FILE_SYSTEMS, file_system_of, journal_mode
from code_intel.index.doctor import network_disk_findings

TABLE = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:40 / /home rw shared:2 master:1 - nfs4 server:/home rw,vers=4.2
24 23 0:41 / /home/my\\040work rw - ext4 /dev/sdb1 rw
25 22 0:42 / /srv rw - ext4 /dev/sdc1 rw
26 25 0:43 / /srv rw - cifs //host/share rw
a line that is none
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/etc/x.db", "ext4"),
        ("/home/somebody/not there/x.db", "nfs4"),
        ("/homeless/x.db", "ext4"),
        ("/home/my work/x.db", "ext4"),
        ("/srv/x.db", "cifs"),
        ("/srv", "cifs"),
    ],
)
def test_the_deepest_and_last_mount_decides(tmp_path: Path, path: str, kind: str) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(TABLE, encoding="utf-8")
    assert file_system_of(Path(path), mounts) == kind
    assert journal_mode(Path(path), mounts) == ("delete" if kind in NETWORK_FILE_SYSTEMS else "wal")


def test_without_mount_data_a_disk_counts_as_local(tmp_path: Path) -> None:
    assert file_system_of(tmp_path, tmp_path / "none") == ""
    assert journal_mode(tmp_path, tmp_path / "none") == "wal"


@pytest.mark.skipif(sys.platform != "linux", reason="mounts are known on Linux only")
def test_the_file_system_of_this_test_is_known(tmp_path: Path) -> None:
    assert file_system_of(tmp_path)


CHILD = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from code_intel.foundation import mounts
from code_intel.config import IndexConfig
from code_intel.index.doctor import network_disk_findings
from code_intel.index.store import Store
from code_intel.learned.history.state import open_state

folder = Path(sys.argv[1])
if sys.argv[2] == "far":
    mounts.NETWORK_FILE_SYSTEMS = frozenset({mounts.file_system_of(folder)})
with Store.open(folder / "index.db", dimensions=2) as store:
    store.set_meta("key", "value")
    print(*sorted(path.name for path in folder.glob("index.db-*")))
with open_state(folder) as state:
    state.confirm("digest", datetime.now(UTC))
    print(*sorted(path.name for path in folder.glob("state.db-*")))
with open_state(folder) as state:
    assert state.confirmed() == {"digest"}
config = IndexConfig(
    path=folder / "forest.json", corpus="forest", patterns=("."), db_path=folder / "index.db"
)
print(*(finding.what for finding in network_disk_findings(config)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="mounts are known on Linux only")
def test_databases_on_a_network_disk_use_no_shared_memory(tmp_path: Path) -> None:
    def child(where: str) -> list[str]:
        command = [sys.executable, "-c", CHILD, str(tmp_path), where]
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
        ).stdout.split("\n")

    near = child("near")
    assert near[0] == "index.db-shm index.db-wal"
    assert "state.db-wal" in near[1]
    assert near[2] == ""
    far = child("far")  # the same databases
    assert "wal" not in far[0] + far[1]
    assert "shm" not in far[0] + far[1]
    assert far[2].startswith("index.db is on a network disk (")
    assert child("near")[:2] == near[:2]


def test_a_local_disk_is_no_finding(tmp_path: Path) -> None:
    config = IndexConfig(
        path=tmp_path / "f.json", corpus="forest", patterns=(".",), db_path=tmp_path / "x.db"
    )
    assert network_disk_findings(config) == []
