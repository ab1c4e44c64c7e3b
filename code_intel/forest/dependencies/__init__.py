"""Follow the imports of documents, as the index stores them (docs/decisions/0022).

graph = graph_of(store, bases(config))
graph.outbound("src/app.py")    # imported documents
graph.inbound("src/app.py")     # documents that import it
graph.packages("src/app.py")    # imported packages
closure(graph, "src/app.py")    # all of it, transitively
"""

from code_intel.forest.dependencies.build import graph_of
from code_intel.forest.dependencies.closure import (
    DEFAULT_DEPTH,
    MAX_CLOSURE_DEPTH,
    MAX_NODES,
    Closure,
    Direction,
    Node,
    closure,
)
from code_intel.forest.dependencies.graph import Graph, Links
from code_intel.forest.dependencies.resolvers import follows

__all__ = [
    "DEFAULT_DEPTH",
    "MAX_CLOSURE_DEPTH",
    "MAX_NODES",
    "Closure",
    "Direction",
    "Graph",
    "Links",
    "Node",
    "closure",
    "follows",
    "graph_of",
]
