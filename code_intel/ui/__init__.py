"""Serve the page of a project: a local web site to look at its map, sessions and searches."""
