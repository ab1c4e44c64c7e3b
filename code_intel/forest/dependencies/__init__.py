"""Which document uses which, from the imports that the index keeps (docs/decisions/0022).

graph = graph_of(store, bases(config))
graph.outbound("src/app.py")    # what it imports: documents of the index
graph.inbound("src/app.py")     # who imports it
graph.packages("src/app.py")    # what it imports from elsewhere
closure(graph, "src/app.py")    # what that imports in turn
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
