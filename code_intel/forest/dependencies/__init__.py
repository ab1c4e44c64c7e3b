"""Follow the imports between documents of an index (docs/decisions/0022).

graph = graph_of(store, bases(config))
graph.outbound("src/app.py")    # imported documents
graph.inbound("src/app.py")     # documents that import it
graph.packages("src/app.py")    # imported packages
closure(graph, "src/app.py")    # documents that it imports directly or indirectly

`build` builds the graph of an index, `graph` defines it, and `closure` follows it. `resolvers` maps
each language to the module that resolves its imports.
"""
