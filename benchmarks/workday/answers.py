"""Compare what an answer shows with what the files contain."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from benchmarks.workday.tree import Tree

_NUMBERED = re.compile(r"^(\d+)[:-] ?(.*)$")


class Shown(NamedTuple):
    """Lines of a file that an answer shows."""

    file: str
    first: int
    lines: list[str]


def shown(data: Mapping[str, Any]) -> Iterator[Shown]:
    """Yield every place of the source that an answer shows, wherever it is in the answer."""
    if "file" in data and "signature" in data and "line" in data:
        yield Shown(data["file"], data["line"], [data["name"].rpartition(".")[2]])
    name = data.get("document") or data.get("file") or data.get("path")
    if isinstance(name, str) and not data.get("agreement"):
        if "chunk" in data and data.get("start_line"):
            yield Shown(name, data["start_line"], data["chunk"].rstrip("\n").split("\n"))
        elif "start_line" in data and data.get("lines"):
            yield Shown(name, data["start_line"], data["lines"])
        else:
            for line in data.get("lines", ()):
                if found := _NUMBERED.match(line):
                    yield Shown(name, int(found[1]), [found[2]])
    for value in data.values():
        for row in value if isinstance(value, list) else [value]:
            if isinstance(row, dict):
                yield from shown(row)


def compare(
    tree: Tree, tool: str, data: Mapping[str, Any], since: float
) -> Iterator[tuple[str, str]]:
    """Yield a kind and a sentence for each place that is not in its file now.

    The kinds: it was `never` there; it was there `before`; it was, and the answer says that the
    index is not up to date (`outdated`).
    """
    index = data.get("index") or {}
    is_outdated = index.get("state", "fresh") != "fresh"
    for place in shown(data):
        if place.file.startswith(".code-intel/") or place.file not in tree.versions:
            continue
        is_name = tool == "find_definitions"
        when = _names(tree, place, since) if is_name else tree.shows(*place, since)
        if when != "now":
            age = tree.age(place.file, since)
            text = f"{tool}: {place.file}:{place.first} {when}, changed {age:.1f} s earlier"
            yield ("outdated" if is_outdated else when), f"{text}: {place.lines[:2]} {index}"


def _names(tree: Tree, place: Shown, since: float) -> str:
    (name,) = place.lines
    when = "never"
    for version in tree.versions[place.file]:
        lines = version.lines or []
        near = lines[place.first - 1 : place.first + 2]
        if any(name in line for line in near):
            when = "now" if version.ends >= since else ("before" if when == "never" else when)
    return when
