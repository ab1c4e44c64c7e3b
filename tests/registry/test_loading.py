"""Check that registries are read once per version of their files."""

import gc
import json
import os
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest

from code_intel.errors import RegistryError
from code_intel.registry import place
from code_intel.registry.loading import (
    MAX_CACHED_BYTES,
    MAX_REGISTRY_BYTES,
    LoadedRegistry,
    Registries,
)
from code_intel.registry.records import Command
from registry_files import ONE, configured, document, written


def _command(**changes: Any) -> dict[str, Any]:
    return {**ONE, **changes}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def _registries(project: Path) -> Registries:
    return Registries(project, project.parent / "home")


def _description(loaded: LoadedRegistry) -> str:
    return loaded.registry.commands[0].description


def _replaced(path: Path, content: Any, like: os.stat_result) -> None:
    """Replace a file and keep its times."""
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(content), encoding="utf-8")
    os.utime(fresh, ns=(like.st_atime_ns, like.st_mtime_ns))
    fresh.replace(path)


def test_default_agent_is_climpt(project: Path) -> None:
    registries = _registries(project)
    assert registries.agents() == ("climpt",)
    path = written(project, document())
    loaded = registries.of()
    assert loaded.registry.commands == (
        Command("climpt-git", "merge-up", "base-branch", "Merge up"),
    )
    assert loaded.registry.path == path


def test_each_agent_has_its_registry_in_config_order(project: Path) -> None:
    configured(project, dev="dev.json", climpt=place.REGISTRY)
    written(project, document(_command(description="dev")), "dev.json")
    written(project, document(_command(description="climpt")))
    registries = _registries(project)
    assert registries.agents() == ("dev", "climpt")
    assert [_description(registries.of(agent)) for agent in ("climpt", "dev")] == ["climpt", "dev"]


def test_project_is_searched_before_the_home_folder(
    project: Path,
) -> None:
    home = project.parent / "home"
    configured(home, climpt=".agent/mine.json", dev=".agent/dev.json")
    written(home, document(_command(description="at home")), ".agent/mine.json")
    written(home, document(_command(description="at home")), ".agent/dev.json")
    written(project, document(_command(description="in the project")), ".agent/mine.json")
    registries = _registries(project)
    assert _description(registries.of("climpt")) == "in the project"
    assert _description(registries.of("dev")) == "at home"
    configured(project, climpt=".agent/mine.json")
    assert registries.agents() == ("climpt",)


def test_reading_a_registry_writes_nothing(project: Path) -> None:
    registries = _registries(project)
    with pytest.raises(RegistryError):
        registries.of()
    registries.agents()
    assert [*project.iterdir(), *(project.parent / "home").iterdir()] == []


def test_missing_registry_is_the_error_of_the_seed(project: Path) -> None:
    with pytest.raises(RegistryError) as error:
        _registries(project).of()
    error_data = error.value.as_dict()
    assert error_data.pop("message")
    assert place.CONFIG in error_data.pop("hint")
    assert error_data == {
        "error": "Failed to load registry",
        "path": ".agent/climpt/registry.json",
        "details": "File not found",
    }


def test_unknown_agent_is_an_error_that_lists_agents(
    project: Path,
) -> None:
    configured(project, dev="dev.json", climpt=place.REGISTRY)
    with pytest.raises(RegistryError) as error:
        _registries(project).of("nobody")
    assert error.value.details == {
        "path": place.CONFIG,
        "details": "registries has no such agent; agents: dev, climpt",
    }
    assert error.value.message == "There is no such agent. Agents: dev, climpt."


def test_unknown_agent_without_a_config_lists_climpt(project: Path) -> None:
    with pytest.raises(RegistryError) as error:
        _registries(project).of("nobody")
    assert error.value.message == "There is no such agent. Agents: climpt."


def test_unchanged_registry_is_the_same_object(project: Path) -> None:
    written(project, document())
    registries = _registries(project)
    loaded = registries.of()
    assert registries.of() is loaded
    assert loaded.index is registries.of().index


def test_change_is_seen_at_the_next_call(project: Path) -> None:
    path = written(project, document())
    registries = _registries(project)
    first = registries.of()
    path.write_text(json.dumps(document(_command(description="Merge up and push"))), "utf-8")
    assert _description(registries.of()) == "Merge up and push"
    assert registries.of() is not first


def test_replaced_file_of_equal_size_and_time_is_noticed(project: Path) -> None:
    path = written(project, document(_command(description="Merge up")))
    registries = _registries(project)
    assert _description(registries.of()) == "Merge up"
    _replaced(path, document(_command(description="Merge UP")), path.stat())
    assert _description(registries.of()) == "Merge UP"


def test_file_rewritten_within_a_clock_tick_is_noticed(project: Path) -> None:
    path = written(project, document(_command(description="Merge up 0")))
    registries = _registries(project)
    for number in range(20):
        path.write_text(
            json.dumps(document(_command(description=f"Merge up {number % 10}"))), "utf-8"
        )
        assert _description(registries.of()) == f"Merge up {number % 10}"


def test_touched_file_with_equal_content_is_the_same_registry(project: Path) -> None:
    path = written(project, document())
    registries = _registries(project)
    loaded = registries.of()
    os.utime(path, (1, 1))
    assert registries.of() is loaded


def test_changed_config_takes_effect_at_once(project: Path) -> None:
    written(project, document(_command(description="old")), "old.json")
    written(project, document(_command(description="new")), "new.json")
    configured(project, climpt="old.json")
    registries = _registries(project)
    assert _description(registries.of()) == "old"
    configured(project, climpt="new.json")
    assert _description(registries.of()) == "new"
    (project / place.CONFIG).unlink()
    with pytest.raises(RegistryError, match="File not found"):
        registries.of()


def test_deleted_registry_is_not_answered_from_memory(project: Path) -> None:
    path = written(project, document())
    registries = _registries(project)
    registries.of()
    path.unlink()
    with pytest.raises(RegistryError, match="File not found"):
        registries.of()


def test_half_written_file_is_an_error_until_it_is_whole(project: Path) -> None:
    path = written(project, document())
    registries = _registries(project)
    loaded = registries.of()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(RegistryError, match="Invalid JSON: EOF"):
        registries.of()
    path.write_bytes(whole)
    assert registries.of().registry == loaded.registry


def test_memory_of_registries_is_bounded(project: Path) -> None:
    large = json.dumps(document()).encode().ljust(MAX_REGISTRY_BYTES)
    agents = [f"a{number}" for number in range(2 * MAX_CACHED_BYTES // MAX_REGISTRY_BYTES)]
    configured(project, **dict.fromkeys(agents, "large.json"))
    written(project, large, "large.json")
    registries = _registries(project)
    read = [weakref.ref(registries.of(agent)) for agent in agents]
    gc.collect()
    alive = [one() is not None for one in read]
    assert not any(alive[: len(agents) // 2])
    assert alive[-1]
    assert sum(alive) >= len(agents) // 2 - 1


def test_concurrent_threads_get_one_registry(project: Path) -> None:
    written(project, document(*[_command(c2=f"act-{number}") for number in range(2000)]))
    registries = _registries(project)
    found: list[LoadedRegistry] = []
    threads = [threading.Thread(target=lambda: found.append(registries.of())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(map(id, found))) == 1
