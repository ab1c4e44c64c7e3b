"""Compute vectors of texts: the `Embedder` protocol, its engines and the vector cache.

These modules import numpy, the engines and SQLite on first use, because a server answers its
handshake before it needs a vector. `index` stores and searches vectors.
"""
