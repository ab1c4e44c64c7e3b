"""Test that a server keeps little memory that its threads have freed."""

import subprocess
import sys
from pathlib import Path

import pytest

ALLOCATE = """
import ctypes, re, sys, threading
from pathlib import Path

libc = ctypes.CDLL(None)
libc.malloc.restype = libc.fopen.restype = ctypes.c_void_p
libc.malloc_info.argtypes = (ctypes.c_int, ctypes.c_void_p)
libc.fclose.argtypes = (ctypes.c_void_p,)
barrier = threading.Barrier(6)

def allocate():
    libc.malloc(10_000)
    barrier.wait()

threads = [threading.Thread(target=allocate) for _ in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
file = libc.fopen(sys.argv[1].encode(), b"w")
libc.malloc_info(0, file)
libc.fclose(file)
print(len(re.findall("<heap nr=", Path(sys.argv[1]).read_text())))
"""
START = "from code_intel.servers.index_server import start_indexers\nstart_indexers()\n"


@pytest.mark.skipif(sys.platform != "linux", reason="the C library of Linux has several heaps")
def test_all_threads_of_a_server_allocate_from_one_heap(tmp_path: Path) -> None:
    """Each heap keeps what its threads have freed."""

    def heaps(program: str) -> int:
        run = [sys.executable, "-c", program, f"{tmp_path}/heaps.xml"]
        return int(subprocess.run(run, check=True, capture_output=True, text=True).stdout)

    assert heaps(ALLOCATE) > 1
    assert heaps(START + ALLOCATE) == 1
