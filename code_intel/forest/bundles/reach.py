"""Find files to add to a bundle although they do not match its goal: dependencies and neighbours.

Imports are followed for two steps in both directions, but not through hubs, which would lead to the
whole project.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from code_intel.forest.dependencies.graph import Graph

MAX_EDGES = 30
"""A file with more imports and importers is a hub."""
SECOND_STEP_WEIGHT = 0.5
"""Weight of an edge that is two steps away."""


class Reach(NamedTuple):
    """How a file is connected to named files: weighted edges, proximity, and tags."""

    edges: float = 0.0
    proximity: float = 0.0
    why: tuple[str, ...] = ()


def reach(named: Collection[str], graph: Graph, paths: Iterable[str]) -> dict[str, Reach]:
    """Return the files that are connected to a named file by imports, or are neighbours of one.

    Named files are included if another one reaches them. `paths` are the possible neighbours.
    """
    edges: dict[str, float] = {}
    why: dict[str, list[str]] = {}
    for seed in named:
        for path, count in _nearby_files(seed, graph).items():
            edges[path] = edges.get(path, 0.0) + count
            why.setdefault(path, []).append(f"dep:{seed}")
    joined = {path: Reach(count, 0.0, tuple(why[path][:1])) for path, count in edges.items()}
    folders = {path.rpartition("/")[0] for path in named}
    for path in paths:
        folder = path.rpartition("/")[0]
        if folder in folders and path not in named:
            known = joined.get(path, Reach())
            joined[path] = known._replace(proximity=1.0, why=(*known.why, f"near:{folder or '.'}"))
    return joined


def _nearby_files(seed: str, graph: Graph) -> dict[str, float]:
    """Return the weights of the files within two steps of a seed, without the seed."""
    found: dict[str, float] = {}
    frontier, weight = [seed], 1.0
    for _ in range(2):
        near = ((*graph.outbound(path), *graph.inbound(path)) for path in frontier)
        next_files = [path for paths in near if len(paths) <= MAX_EDGES for path in paths]
        next_files = [
            path for path in dict.fromkeys(next_files) if path != seed and path not in found
        ]
        found |= dict.fromkeys(next_files, weight)
        frontier, weight = next_files, weight * SECOND_STEP_WEIGHT
    return found
