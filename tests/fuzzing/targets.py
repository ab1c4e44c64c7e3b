"""The functions that read bytes of others, by name, for `benchmarks/fuzz.py`."""

from collections.abc import Callable
from pathlib import Path

from fuzzing import map_files, messages, project_files, sources
from fuzzing.engine import Target

TARGETS: dict[str, Callable[[Path], Target]] = {
    "front matter": map_files.front_matter,
    "agreement": map_files.agreement,
    "note": map_files.note,
    "pairs": map_files.pairs,
    "export": map_files.export,
    "journal": messages.journal,
    "index config": project_files.index_config,
    "settings": project_files.settings,
    "registry": project_files.registry,
    "plan": project_files.plan,
    "commits": project_files.commits,
    "frames": messages.frames,
    "hooks": messages.hooks,
    "snapshot": messages.snapshot,
    "wire": messages.wire,
    "upstream": messages.upstream,
    "gitignore": project_files.ignore,
    "packages": project_files.packages,
    **{f"source {name}": sources.source(name) for name in sources.SOURCES},
}
