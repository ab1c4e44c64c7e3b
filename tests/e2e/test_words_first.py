"""A new project is searched by words at once; vectors follow, and a kill loses none."""

import select
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from code_intel.config import load_settings
from code_intel.index.store import Store
from piped import GATEWAY, Pipe, doctor, grow, started
from projects import Project

QUESTION = "task_7_3"
FILES = 20


@pytest.mark.model
def test_a_new_project_is_searched_by_words_until_it_has_vectors(
    bare_project: Project, tmp_path: Path
) -> None:
    project = replace(
        bare_project, env={**bare_project.env, "CODE_INTEL_CACHE_DIR": str(tmp_path / "vectors")}
    )
    project.run("code-intel", "init")
    grow(project, FILES)
    with started(project, GATEWAY) as pipe:
        pipe.greet()
        first = until(pipe, lambda answer: answer["results"])
        assert first["results"][0]["document"] == "src/grown_7.py"
        assert first["index"]["pending"] > 0
        some = first["index"]["pending"]
        until(pipe, lambda answer: answer["index"]["pending"] < some)
        pipe.process.kill()
        pipe.process.wait()
    with Store.open(load_settings(project.root).forest.db_path, readonly=True) as store:
        left = store.pending_count()
        made, cards = store.generations.progress(store.generations.newest().identity)
    assert made > 0
    assert left == cards - made > 0
    with started(project, GATEWAY) as pipe:
        pipe.greet()
        assert until(pipe, lambda answer: answer["results"])["index"]["pending"] <= left
        last = until(pipe, lambda answer: answer["index"]["pending"] == 0)
        assert last["index"]["degraded"] == []
        assert last["results"][0]["document"] == "src/grown_7.py"
    doctor(project)


def until(pipe: Pipe, wanted: Any) -> dict[str, Any]:
    """Repeat the search until its answer is as wanted."""
    for _ in range(300):
        answer = pipe.call("search_forest", query=QUESTION)
        if wanted(answer):
            return answer
        select.select([], [], [], 0.5)  # the indexer pauses while the server answers
    raise AssertionError("no answer was as wanted")
