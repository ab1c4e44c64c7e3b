"""Read and write heads and generations, and remember which pushes began."""

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from code_intel.shared.milvus.contents import Content, Contents, key_of
from code_intel.shared.milvus.engine import batches
from code_intel.shared.milvus.literals import any_of, digest, quoted
from code_intel.shared.milvus.weights import estimated_average
from code_intel.shared.milvus.writing import Place
from code_intel.shared.records import Generation, Head, Layer, SharedChunk

_OF_GENERATIONS = ("unused", "commit", "generation")
"""The kinds of rows about a generation, in the order in which they are removed."""


class Records:
    """Heads, generations, commits and pushes."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents

    def head(self, repository: str, branch: str) -> Head | None:
        """Return the head of a branch, or None."""
        value = self._contents.get_one(key_of("head", repository, branch))
        return None if value is None else Head(*value)

    def heads(self, repositories: Sequence[str] = ()) -> list[Head]:
        """Return all heads, or those of some repositories, sorted."""
        return sorted(Head(*value) for value in self._contents.of_short_kind("head", repositories))

    def generation(self, generation: str) -> Generation | None:
        """Return a generation, or None."""
        value = self._contents.get_one(key_of("generation", generation))
        return None if value is None else _generation(value)

    def generations_of(self, ids: Sequence[str]) -> dict[str, Generation]:
        """Return the generations with these ids that exist."""
        found = self._contents.get(key_of("generation", each) for each in ids)
        return {each.id: each for each in map(_generation, found.values())}

    def generation_at(self, repository: str, commits: Sequence[str]) -> Generation | None:
        """Return the generation of the first of some commits that has one."""
        keys = [key_of("commit", repository, commit) for commit in commits]
        found = self._contents.get(keys)
        for key in keys:
            if key in found:
                commit, generation = found[key]
                if (known := self.generation(generation)) is not None:
                    return known._replace(commit=commit)
        return None

    def repositories(self) -> list[str]:
        """Return the repositories of which there is anything, sorted."""
        rows = self._contents.listed('kind in ["generation", "push"]', ("repository",))
        return sorted({str(row["repository"]) for row in rows})

    def with_heads(self) -> set[str]:
        """Return the repositories that have a head."""
        rows = self._contents.listed('kind == "head"', ("repository",))
        return {str(row["repository"]) for row in rows}

    def generations(self, repositories: Sequence[str]) -> list[Generation]:
        """Return all generations of repositories."""
        return [*map(_generation, self._contents.of_kind("generation", repositories).values())]

    def put_generation(self, generation: Generation) -> None:
        """Write a generation, by its id and by its commit; it is no longer marked as unused."""
        name, commit = generation.repository, generation.commit
        self.mark_used([generation.id])
        layers = [[*layer] for layer in generation.layers]
        value = {**generation._asdict(), "layers": layers}
        key = key_of("generation", generation.id)
        self._contents.put(
            [Content(key, name, "", "generation", generation.id, value, digest=generation.id)]
        )
        key = key_of("commit", name, commit)
        found = [commit, generation.id]
        self._contents.put([Content(key, name, "", "commit", commit, found, digest=generation.id)])

    def remove_generations(self, ids: Iterable[str]) -> None:
        """Remove generations; their layers stay."""
        for some in batches(ids, 100):
            for kind in _OF_GENERATIONS:
                self._contents.delete(f"kind == {quoted(kind)} and {any_of('digest', some)}")

    def unused(self, repositories: Sequence[str]) -> dict[str, float]:
        """Return since when generations are marked as unused, in seconds."""
        marks = self._contents.of_short_kind("unused", repositories)
        return {generation: float(since) for generation, since in marks}

    def mark_unused(self, repository: str, ids: Iterable[str], since: float) -> None:
        """Note that no head points to generations."""
        self._contents.put(
            Content(key_of("unused", each), repository, "", "unused", each, [each, since], each)
            for each in ids
        )

    def mark_used(self, ids: Iterable[str]) -> None:
        """Remove the mark of generations to which a head points."""
        self._contents.remove(key_of("unused", each) for each in ids)

    def put_head(self, head: Head) -> None:
        """Let a branch point to a generation."""
        key = key_of("head", head.repository, head.branch)
        self._contents.put(
            [Content(key, head.repository, "", "head", head.branch, [*head], head.generation)]
        )

    def delete_head(self, head: Head) -> None:
        """Remove the head of a branch, unless it points to another generation by now."""
        key = key_of("head", head.repository, head.branch)
        condition = f"{any_of('id', [key])} and digest == {digest(head.generation)}"
        self._contents.delete(condition)

    def note_write(self, place: Place, chunks: Sequence[SharedChunk] = ()) -> float:
        """Note that a layer is being written, so that it can be removed if it is not finished.

        Returns:
            The number of tokens of an average chunk, with which all words of the layer are weighed:
            that of the repository, or else an estimate from the first chunks that are written.
        """
        repository, layer = place
        keys = key_of("push", layer), key_of("average", repository)
        known = self._contents.get(keys)
        if keys[0] in known:
            average = float(known[keys[0]][3])
        else:
            average = known.get(keys[1]) or estimated_average(chunks)
        value = [repository, layer, time.time(), average]
        self._contents.put([Content(keys[0], repository, layer, "push", layer, value)])
        return average

    def put_average(self, repository: str, average: float) -> None:
        """Keep the number of tokens of an average chunk for the next pushes."""
        key = key_of("average", repository)
        self._contents.put([Content(key, repository, "", "average", "", average)])

    def pushes(self, repositories: Sequence[str]) -> list[tuple[str, str, float]]:
        """Return (repository, layer, time of the last write) of all layers of repositories."""
        rows = self._contents.of_short_kind("push", repositories)
        return [(repository, layer, float(at)) for repository, layer, at, _ in rows]


def age_of(generation: Generation) -> float:
    """Return the seconds since a generation was last pushed."""
    return (datetime.now(UTC) - datetime.fromisoformat(generation.created_at)).total_seconds()


def _generation(fields: Mapping[str, Any]) -> Generation:
    layers: Iterable[Sequence[Any]] = fields["layers"]
    known = tuple(Layer(name, tuple(hides)) for name, hides in layers)
    return Generation(**{**fields, "layers": known})
