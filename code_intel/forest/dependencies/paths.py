"""Join and compare document names: POSIX paths, absolute or relative to the config's folder."""

from collections.abc import Callable, Iterable, Iterator
from posixpath import dirname, normpath


def join_path(folder: str, relative: str) -> str:
    """Join and normalise a path; `..` above the config's folder remains."""
    path = normpath(f"{folder}/{relative}" if folder else relative)
    return "" if path == "." else path


def nearest(paths: Iterable[str], importer: str) -> tuple[str, ...]:
    """Return the path that shares the most folders with the importer; in a tie, the shallowest."""
    found = tuple(paths)
    return (min(found, key=distance_from(importer)),) if len(found) > 1 else found


def distance_from(importer: str) -> Callable[[str], tuple[int, int, str]]:
    """Return a sort key for the distance of paths from the importer."""
    importer_parts = dirname(importer).split("/")

    def distance(path: str) -> tuple[int, int, str]:
        parts = dirname(path).split("/")
        shared = next(
            (n for n, (a, b) in enumerate(zip(importer_parts, parts, strict=False)) if a != b),
            min(len(importer_parts), len(parts)),
        )
        return -shared, len(parts), path

    return distance


def folder_contains(folder: str, path: str) -> bool:
    """Return whether a path is in a folder, at any depth."""
    return not folder or path.startswith(f"{folder}/")


def ancestors(path: str) -> Iterator[str]:
    """Yield the folders of a path, the innermost first, the config's folder last."""
    while path:
        outer = dirname(path)
        if outer == path:
            return
        yield outer
        path = outer
