"""Only the server reads the messages of its client, not its child processes."""

import os
import select
from pathlib import Path

import pytest

from piped import GATEWAY, MAP, started
from projects import Project
from sampling import sampled

HUNGRY = """
import os, subprocess, threading, time

def eat() -> None:
    while not os.path.exists({eaten!r} + ".go"):
        time.sleep(0.01)
    with open({eaten!r}, "wb") as eaten:
        subprocess.run(["cat"], stdout=eaten)
    open({eaten!r} + ".done", "wb").close()

timer = threading.Thread(target=eat, daemon=True)
timer.start()
"""
"""Starts a child that reads its stdin once the file `.go` exists."""


@pytest.mark.parametrize("server", sampled([GATEWAY, MAP], GATEWAY), ids=("gateway", "map"))
def test_no_child_reads_the_stdin_of_the_server(
    words: Project, server: tuple[str, ...], tmp_path: Path
) -> None:
    folder, eaten = tmp_path / "hungry", tmp_path / "eaten"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(HUNGRY.format(eaten=str(eaten)), encoding="utf-8")
    paths = os.pathsep.join([str(folder), *filter(None, [words.env.get("PYTHONPATH")])])
    with started(words, server, PYTHONPATH=paths) as pipe:
        pipe.greet()
        eaten.with_name("eaten.go").touch()
        for _ in range(100):
            answer = pipe.read(pipe.send("tools/list"), timeout=60)
            assert answer["result"]["tools"]
            if eaten.with_name("eaten.done").exists():
                break
            select.select([], [], [], 0.1)
        assert eaten.read_bytes() == b""
        assert pipe.close()[0] == 0
