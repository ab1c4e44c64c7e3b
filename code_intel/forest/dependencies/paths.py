"""Folders and paths as documents are named: POSIX, relative to the config's folder, absolute outside it."""

from collections.abc import Callable, Iterable, Iterator
from posixpath import dirname, normpath


def joined(folder: str, relative: str) -> str:
    """Return a path as documents are named, `..` taken away; above the config's folder it keeps them."""
    path = normpath(f"{folder}/{relative}" if folder else relative)
    return "" if path == "." else path


def nearest(paths: Iterable[str], importer: str) -> tuple[str, ...]:
    """Return the one of the paths that shares most folders with the importer; then the shortest."""
    found = tuple(paths)
    return (min(found, key=distance_from(importer)),) if len(found) > 1 else found


def distance_from(importer: str) -> Callable[[str], tuple[int, int, str]]:
    """Return how far paths are from the importer, as a key to sort them by."""
    here = dirname(importer).split("/")

    def distance(path: str) -> tuple[int, int, str]:
        there = dirname(path).split("/")
        shared = next(
            (n for n, (a, b) in enumerate(zip(here, there, strict=False)) if a != b),
            min(len(here), len(there)),
        )
        return -shared, len(there), path

    return distance


def holds(folder: str, path: str) -> bool:
    """Whether a path is in a folder, at any depth."""
    return not folder or path.startswith(f"{folder}/")


def ancestors(path: str) -> Iterator[str]:
    """Yield the folders a path is in, the nearest first, the config's own last."""
    while path:
        outer = dirname(path)
        if outer == path:
            return
        yield outer
        path = outer
