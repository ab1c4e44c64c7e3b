"""What joins a bundle without matching its goal: dependencies of the files that were named, and their neighbours.

A hub that everything imports is no sign of anything, and a chain of imports soon reaches all of a project:
two steps, in either direction, and none through a hub.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from code_intel.forest.dependencies import Graph

HUB = 30
"""Neighbours above which a file is a hub, whose edges say nothing."""
FAR = 0.5
"""What an edge counts for that is two steps away."""


class Reach(NamedTuple):
    """How a file is joined to those that matter: how many edges, whether beside one, and tags."""

    edges: float = 0.0
    proximity: float = 0.0
    why: tuple[str, ...] = ()


def reach(named: Collection[str], graph: Graph, paths: Iterable[str]) -> dict[str, Reach]:
    """Return every file that is joined to a named one, named ones included.

    Args:
        named: Files the caller named.
        graph: Who imports whom.
        paths: Files that may lie beside one.
    """
    edges: dict[str, float] = {}
    why: dict[str, list[str]] = {}
    for seed in named:
        for path, count in _around(seed, graph).items():
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


def _around(seed: str, graph: Graph) -> dict[str, float]:
    """Return what the files within two steps of a seed count for; not the seed itself."""
    found: dict[str, float] = {}
    border, worth = [seed], 1.0
    for _ in range(2):
        near = ((*graph.outbound(path), *graph.inbound(path)) for path in border)
        ahead = [path for paths in near if len(paths) <= HUB for path in paths]
        ahead = [path for path in dict.fromkeys(ahead) if path != seed and path not in found]
        found |= dict.fromkeys(ahead, worth)
        border, worth = ahead, worth * FAR
    return found
