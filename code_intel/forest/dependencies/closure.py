"""Follow imports transitively from a document, in either direction.

The search is breadth first and visits each document once (docs/decisions/0022).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from code_intel.forest.dependencies.graph import Graph

Direction = Literal["outbound", "inbound", "both"]
DEFAULT_DEPTH = 2
MAX_CLOSURE_DEPTH = 10
MAX_NODES = 200
"""Maximum documents of a closure; a larger one says little about where it started."""
MAX_CYCLES = 10


class Node(NamedTuple):
    """One document of a closure.

    Attributes:
        path: The document.
        depth: Number of import steps from the start.
        direction: `outbound` if the start imports it, `inbound` if it imports the start.
        via: The document one step nearer to the start; the first by name if there are several.
    """

    path: str
    depth: int
    direction: Literal["outbound", "inbound"]
    via: str


class Closure(NamedTuple):
    """The documents that a document imports, or that import it, directly or indirectly.

    Attributes:
        nodes: The documents without the start, ordered by depth and name.
        packages: Names of packages that are imported within the depth; outbound only.
        cycles: A shortest cycle of each group of documents that import each other. The last
            document of a cycle imports the first.
        truncated: Whether there are more documents than the cap.
    """

    nodes: tuple[Node, ...] = ()
    packages: tuple[str, ...] = ()
    cycles: tuple[tuple[str, ...], ...] = ()
    truncated: bool = False


def closure(
    graph: Graph,
    path: str,
    direction: Direction = "outbound",
    depth: int = DEFAULT_DEPTH,
    cap: int = MAX_NODES,
) -> Closure:
    """Return the documents within `depth` imports of one.

    Args:
        graph: The import graph.
        path: The document.
        direction: Which documents to return: imported ones, importing ones, or both. A document
            that is both is listed once: with the shorter path, or as imported if they are equal.
        depth: Maximum number of steps.
        cap: Maximum number of documents.
    """
    found: dict[str, Node] = {}
    truncated = False
    sides = _sides(graph, direction)
    frontiers: dict[str, list[str]] = {name: [path] for name in sides}
    seen: dict[str, set[str]] = {name: {path} for name in sides}
    for step in range(1, depth + 1):
        if truncated or not any(frontiers.values()):
            break
        for name, neighbours in sides.items():
            reached = _step(frontiers[name], seen[name], neighbours)
            frontiers[name] = sorted(reached)
            for other in frontiers[name]:
                if other not in found and len(found) >= cap:
                    truncated = True
                    break
                found.setdefault(other, Node(other, step, name, reached[other]))
    nodes = tuple(sorted(found.values(), key=lambda node: (node.depth, node.path)))
    near = (node.path for node in nodes if node.direction == "outbound" and node.depth < depth)
    used = [path, *near] if direction != "inbound" else []
    packages = sorted({name for each in used for name in graph.packages(each)})
    cycles = tuple(_cycles(graph, {path, *found}))[:MAX_CYCLES]
    return Closure(nodes, tuple(packages), cycles, truncated)


def _sides(
    graph: Graph, direction: Direction
) -> Mapping[Literal["outbound", "inbound"], Callable[[str], Iterable[str]]]:
    sides: dict[Literal["outbound", "inbound"], Callable[[str], Iterable[str]]] = {}
    if direction != "inbound":
        sides["outbound"] = graph.outbound
    if direction != "outbound":
        sides["inbound"] = graph.inbound
    return sides


def _step(
    frontier: Iterable[str], seen: set[str], neighbours: Callable[[str], Iterable[str]]
) -> dict[str, str]:
    """Add newly reached documents to `seen`, and return them with their predecessors."""
    reached: dict[str, str] = {}
    for path in frontier:
        for other in neighbours(path):
            if other not in seen:
                seen.add(other)
                reached[other] = path
    return reached


def _cycles(graph: Graph, within: Collection[str]) -> Iterator[tuple[str, ...]]:
    """Yield a shortest cycle through the first document of each group that imports each other."""
    for group in sorted(sorted(group) for group in _groups(graph, within)):
        first = group[0]
        members = frozenset(group)
        predecessors: dict[str, str] = {}
        frontier = [first]
        while frontier and first not in predecessors:
            next_paths = []
            for path in frontier:
                for other in graph.outbound(path):
                    if other in members and other not in predecessors:
                        predecessors[other] = path
                        next_paths.append(other)
            frontier = next_paths
        cycle = [first]
        while (before := predecessors[cycle[-1]]) != first:
            cycle.append(before)
        yield first, *reversed(cycle[1:])


def _groups(graph: Graph, within: Collection[str]) -> Iterator[list[str]]:
    """Yield the strongly connected components with a cycle (Tarjan's algorithm, iterative)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    open_paths: dict[str, None] = {}
    for root in sorted(within):
        work = [(root, iter(graph.outbound(root)))] if root not in order else []
        while work:
            path, next_paths = work[-1]
            if path not in order:
                order[path] = low[path] = len(order)
                open_paths[path] = None
            for other in next_paths:
                if other not in within:
                    continue
                if other not in order:
                    work.append((other, iter(graph.outbound(other))))
                    break
                if other in open_paths:
                    low[path] = min(low[path], order[other])
            else:
                work.pop()
                if work:
                    outer = work[-1][0]
                    low[outer] = min(low[outer], low[path])
                if low[path] == order[path]:
                    yield from _close_component(graph, path, open_paths)


def _close_component(graph: Graph, path: str, open_paths: dict[str, None]) -> Iterator[list[str]]:
    """Remove a finished component from the open documents; yield it if it has a cycle."""
    group = []
    while path in open_paths:
        group.append(open_paths.popitem()[0])
    if len(group) > 1 or path in graph.outbound(path):
        yield group
