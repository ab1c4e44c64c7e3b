"""Follow the imports of documents, as the index stores them (docs/decisions/0022).

graph = graph_of(store, bases(config))
graph.outbound("src/app.py")    # imported documents
graph.inbound("src/app.py")     # documents that import it
graph.packages("src/app.py")    # imported packages
closure(graph, "src/app.py")    # all of it, transitively

`build` builds the graph of an index, `graph` is the graph itself, `closure` follows it. The other
modules resolve the imports of one language or family of languages.
"""
