"""Make vectors of texts: the `Embedder` protocol, its engines and the vector cache.

Modules here import numpy, the engines and SQLite at first use, because a server answers its
handshake before it needs a vector. Storing and searching vectors belongs to `index`.
"""
