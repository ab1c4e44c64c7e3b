"""Test the transitive imports of a document in graphs of any shape."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.forest.dependencies.closure import Closure, Direction, closure
from code_intel.forest.dependencies.graph import Graph, Links

NAMES = [f"{letter}.py" for letter in "abcdefgh"]
EDGES = st.dictionaries(
    st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), unique=True, max_size=5).map(tuple)
)
DIRECTIONS = st.sampled_from(("outbound", "inbound", "both"))


def graph_with(edges: dict[str, tuple[str, ...]]) -> Graph:
    return Graph({path: Links(targets, (), (f"lib-{path}",)) for path, targets in edges.items()})


def chain(*paths: str) -> Graph:
    return graph_with(dict(zip(paths, ((after,) for after in paths[1:]), strict=False)))


def rows(found: Closure) -> list[tuple[str, int, str, str]]:
    return [(node.path, node.depth, node.direction, node.via) for node in found.nodes]


def test_a_chain_is_followed_to_the_given_depth() -> None:
    graph = chain("a", "b", "c", "d")
    assert rows(closure(graph, "a")) == [("b", 1, "outbound", "a"), ("c", 2, "outbound", "b")]
    assert rows(closure(graph, "d", "inbound", 1)) == [("c", 1, "inbound", "d")]
    assert rows(closure(graph, "b", "both", 9)) == [
        ("a", 1, "inbound", "b"),
        ("c", 1, "outbound", "b"),
        ("d", 2, "outbound", "c"),
    ]


def test_packages_are_those_of_imported_documents() -> None:
    graph = graph_with({"a": ("b",), "b": (), "z": ("a",)})
    assert closure(graph, "a").packages == ("lib-a", "lib-b")
    assert closure(graph, "a", depth=1).packages == ("lib-a",)
    assert closure(graph, "a", "both").packages == ("lib-a", "lib-b")
    assert closure(graph, "a", "inbound").packages == ()


def test_a_document_without_imports_has_an_empty_closure() -> None:
    assert closure(graph_with({}), "a") == Closure()


def test_a_cycle_is_reported_once() -> None:
    graph = graph_with({"a": ("b",), "b": ("c", "b"), "c": ("a", "b"), "d": ("d",)})
    found = closure(graph, "a", "both", 10**9)
    assert [node.path for node in found.nodes] == ["b", "c"]
    assert found.cycles == (("a", "b", "c"),)
    assert closure(graph, "d", "outbound", 10**9).cycles == (("d",),)


def test_a_hundred_thousand_edges_are_followed_and_cut() -> None:
    paths = [f"{n:05}" for n in range(10_000)]
    edges = {p: tuple(paths[(n * 7 + k) % 10_000] for k in range(10)) for n, p in enumerate(paths)}
    graph = graph_with(edges)
    few = closure(graph, paths[0], "both", 10**9, cap=200)
    every = closure(graph, paths[0], "outbound", 10**9, cap=10**9)
    assert (len(few.nodes), few.truncated) == (200, True)
    assert (len(every.nodes), every.truncated) == (9_999, False)
    assert len(every.cycles) == 1


def test_a_chain_deeper_than_the_stack_is_searched_for_cycles() -> None:
    paths = [f"{n:05}" for n in range(5_000)]
    graph = graph_with({p: (q,) for p, q in zip(paths, [*paths[1:], paths[0]], strict=True)})
    assert closure(graph, paths[0], depth=10**9, cap=10**9).cycles == (tuple(paths),)


def reachable(edges: dict[str, tuple[str, ...]], path: str, direction: Direction) -> dict[str, int]:
    """Return every distance, by relaxing all edges until nothing changes."""
    pairs = [(a, b) for a, targets in edges.items() for b in targets]
    if direction == "inbound":
        pairs = [(b, a) for a, b in pairs]
    distance = {path: 0}
    for _ in NAMES:
        for a, b in pairs:
            if a in distance:
                distance[b] = min(distance.get(b, 99), distance[a] + 1)
    del distance[path]
    return distance


@given(EDGES, st.sampled_from(NAMES), DIRECTIONS, st.integers(1, 10), st.integers(1, 12))
def test_a_closure_has_the_reachable_documents_by_depth(
    edges: dict[str, tuple[str, ...]], path: str, direction: Direction, depth: int, cap: int
) -> None:
    graph = graph_with(edges)
    found = closure(graph, path, direction, depth, cap)
    sides: tuple[Direction, ...] = ("outbound", "inbound")
    near = [reachable(edges, path, side) for side in sides if direction in {side, "both"}]
    expected = {
        other: min(distances.get(other, 99) for distances in near)
        for distances in near
        for other in distances
        if distances[other] <= depth
    }
    nodes = {node.path: node.depth for node in found.nodes}
    assert len(nodes) == len(found.nodes) <= cap
    assert found.truncated == (len(expected) > cap)
    assert nodes.items() <= expected.items()
    assert found.truncated or nodes == expected
    assert list(nodes.items()) == sorted(nodes.items(), key=lambda node: (node[1], node[0]))
    for node in found.nodes:
        step = graph.outbound if node.direction == "outbound" else graph.inbound
        assert node.path in step(node.via)
        assert node.via == path or nodes[node.via] == node.depth - 1 or direction == "both"


@given(EDGES, st.sampled_from(NAMES))
def test_each_import_cycle_is_found_once(edges: dict[str, tuple[str, ...]], path: str) -> None:
    graph = graph_with(edges)
    found = closure(graph, path, "outbound", 10, 99)
    for cycle in found.cycles:
        assert len({*cycle}) == len(cycle)
        for here, there in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
            assert there in graph.outbound(here)
    reach = {name: reachable(edges, name, "outbound").keys() for name in NAMES}
    inside = {path, *(node.path for node in found.nodes)}
    looping = {
        name
        for name in inside
        if name in graph.outbound(name) or any(name in reach[other] for other in reach[name])
    }
    groups = {frozenset({name, *(o for o in reach[name] if name in reach[o])}) for name in looping}
    assert len(found.cycles) == len(groups)
    assert {cycle[0] for cycle in found.cycles} == {min(group) for group in groups}


@given(EDGES, EDGES)
def test_a_graph_with_replaced_links_equals_a_new_one(
    before: dict[str, tuple[str, ...]], changes: dict[str, tuple[str, ...]]
) -> None:
    changed = graph_with(before).replaced({path: Links(links) for path, links in changes.items()})
    whole = graph_with({**before, **changes})
    for name in NAMES:
        assert changed.outbound(name) == whole.outbound(name)
        assert changed.inbound(name) == whole.inbound(name)


@pytest.mark.parametrize("depth", [0, -1])
def test_a_depth_of_zero_or_less_finds_nothing(depth: int) -> None:
    assert closure(chain("a", "b"), "a", depth=depth).nodes == ()
