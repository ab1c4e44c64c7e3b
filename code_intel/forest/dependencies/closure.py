"""What a document depends on, step by step, and what depends on it.

Breadth first with a visited set: a cycle, a self edge or an absurd depth ends like anything else. Depth 2
by default, at most 10, as docs/decisions/0022 says.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from code_intel.forest.dependencies.graph import Graph

Direction = Literal["outbound", "inbound", "both"]
DEFAULT_DEPTH = 2
MAX_CLOSURE_DEPTH = 10
MAX_NODES = 200
"""Documents of a closure; beyond that it says nothing about the one that was asked for."""
CYCLES = 10


class Node(NamedTuple):
    """One document of a closure.

    Attributes:
        path: The document.
        depth: How many imports away it is.
        direction: `outbound`: it is imported; `inbound`: it imports.
        via: The document one step nearer through which it is reached, the first by name.
    """

    path: str
    depth: int
    direction: Literal["outbound", "inbound"]
    via: str


class Closure(NamedTuple):
    """The documents around one, by depth and then name.

    Attributes:
        nodes: The documents, the one asked for left out.
        packages: What is imported from elsewhere within the same number of steps, by name; outbound alone.
        cycles: The shortest cycle of each group of documents that import each other; the first document
            of a cycle follows its last.
        truncated: Whether there were more documents than the cap.
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
        graph: Who imports whom.
        path: The document.
        direction: What it imports, who imports it, or both; a document that is both is told by the
            shorter way, then as imported.
        depth: Most steps.
        cap: Most documents.
    """
    found: dict[str, Node] = {}
    truncated = False
    sides = _sides(graph, direction)
    borders: dict[str, list[str]] = {name: [path] for name in sides}
    seen: dict[str, set[str]] = {name: {path} for name in sides}
    for step in range(1, depth + 1):
        if truncated or not any(borders.values()):
            break
        for name, neighbours in sides.items():
            reached = _step(borders[name], seen[name], neighbours)
            borders[name] = sorted(reached)
            for other in borders[name]:
                if other not in found and len(found) >= cap:
                    truncated = True
                    break
                found.setdefault(other, Node(other, step, name, reached[other]))
    nodes = tuple(sorted(found.values(), key=lambda node: (node.depth, node.path)))
    near = (node.path for node in nodes if node.direction == "outbound" and node.depth < depth)
    used = [path, *near] if direction != "inbound" else []
    packages = sorted({name for each in used for name in graph.packages(each)})
    cycles = tuple(_cycles(graph, {path, *found}))[:CYCLES]
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
    border: Iterable[str], seen: set[str], neighbours: Callable[[str], Iterable[str]]
) -> dict[str, str]:
    """Return what is reached for the first time, and from where; adds it to `seen`."""
    reached: dict[str, str] = {}
    for path in border:
        for other in neighbours(path):
            if other not in seen:
                seen.add(other)
                reached[other] = path
    return reached


def _cycles(graph: Graph, within: Collection[str]) -> Iterator[tuple[str, ...]]:
    """Yield the shortest cycle through the first document of each group of mutual imports, by name."""
    for group in sorted(sorted(group) for group in _groups(graph, within)):
        first = group[0]
        members = frozenset(group)
        came: dict[str, str] = {}
        border = [first]
        while border and first not in came:
            ahead = []
            for path in border:
                for other in graph.outbound(path):
                    if other in members and other not in came:
                        came[other] = path
                        ahead.append(other)
            border = ahead
        cycle = [first]
        while (before := came[cycle[-1]]) != first:
            cycle.append(before)
        yield first, *reversed(cycle[1:])


def _groups(graph: Graph, within: Collection[str]) -> Iterator[list[str]]:
    """Yield the strongly connected components that have a cycle (Tarjan's, without recursion)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    open_: dict[str, None] = {}
    for root in sorted(within):
        work = [(root, iter(graph.outbound(root)))] if root not in order else []
        while work:
            path, ahead = work[-1]
            if path not in order:
                order[path] = low[path] = len(order)
                open_[path] = None
            for other in ahead:
                if other not in within:
                    continue
                if other not in order:
                    work.append((other, iter(graph.outbound(other))))
                    break
                if other in open_:
                    low[path] = min(low[path], order[other])
            else:
                work.pop()
                if work:
                    outer = work[-1][0]
                    low[outer] = min(low[outer], low[path])
                if low[path] == order[path]:
                    yield from _closed(graph, path, open_)


def _closed(graph: Graph, path: str, open_: dict[str, None]) -> Iterator[list[str]]:
    """Take a finished component off the open documents; yield it if it has a cycle."""
    group = []
    while path in open_:
        group.append(open_.popitem()[0])
    if len(group) > 1 or path in graph.outbound(path):
        yield group
