"""Here is a text, give me its vector: the `Embedder` protocol, its engines, the vector cache.

Importing anything here costs nothing: numpy, the engines and SQLite are imported at first use,
because a server must answer its handshake before it knows whether a vector will be needed.
"""
