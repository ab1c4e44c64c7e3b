"""Read and write heads and generations, and remember which pushes began."""

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from code_intel.shared.milvus.contents import Content, Contents, key_of
from code_intel.shared.milvus.weights import estimated_average
from code_intel.shared.milvus.writing import Place
from code_intel.shared.records import Generation, Head, Layer, SharedChunk

TOUCH_S = 300.0
MAX_TOUCHED = 10_000


class Stored(NamedTuple):
    """A generation, and since when no head has pointed to it, in seconds; 0 if one does."""

    generation: Generation
    unused_since: float


class Records:
    """Heads, generations, commits and pushes."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._touched: dict[str, tuple[float, float]] = {}

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
        return None if value is None else _stored(value).generation

    def generations_of(self, ids: Sequence[str]) -> dict[str, Generation]:
        """Return the generations with these ids that exist."""
        found = self._contents.get(key_of("generation", each) for each in ids)
        stored = (_stored(value).generation for value in found.values())
        return {each.id: each for each in stored}

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

    def generations(self) -> list[Stored]:
        """Return all generations."""
        return [_stored(value) for value in self._contents.of_kind("generation").values()]

    def put_generation(self, generation: Generation, unused_since: float = 0.0) -> None:
        """Write a generation, by its id and by its commit."""
        name, commit = generation.repository, generation.commit
        layers = [[*layer] for layer in generation.layers]
        value = [{**generation._asdict(), "layers": layers}, unused_since]
        key = key_of("generation", generation.id)
        self._contents.put(
            [Content(key, name, "", "generation", generation.id, value, digest=generation.id)]
        )
        key = key_of("commit", name, commit)
        value = [commit, generation.id]
        self._contents.put([Content(key, name, "", "commit", commit, value, digest=generation.id)])

    def is_older(self, head: Head, seconds: float) -> bool:
        """Return whether the generation of a head was finished before that many seconds."""
        known = self.generation(head.generation)
        if known is None:
            return False
        age = datetime.now(UTC) - datetime.fromisoformat(known.created_at)
        return age.total_seconds() >= seconds

    def put_head(self, head: Head) -> None:
        """Let a branch point to a generation."""
        key = key_of("head", head.repository, head.branch)
        self._contents.put([Content(key, head.repository, "", "head", head.branch, [*head])])

    def note_write(self, place: Place, chunks: Sequence[SharedChunk] = ()) -> float:
        """Note that a layer is being written, so that it can be removed if it is not finished.

        Returns:
            The number of tokens of an average chunk, with which all words of the layer are weighed:
            that of the repository, or else an estimate from the first chunks that are written.
        """
        repository, layer = place
        now = time.time()
        touched, average = self._touched.get(layer, (0.0, 0.0))
        if now - touched > TOUCH_S:
            keys = key_of("push", layer), key_of("average", repository)
            known = self._contents.get(keys)
            if keys[0] in known:
                average = known[keys[0]][3]
            else:
                average = known.get(keys[1]) or estimated_average(chunks)
            value = [repository, layer, now, average]
            self._contents.put([Content(keys[0], repository, layer, "push", layer, value)])
            if len(self._touched) > MAX_TOUCHED:
                self._touched = {}
            self._touched[layer] = now, average
        return average

    def put_average(self, repository: str, average: float) -> None:
        """Keep the number of tokens of an average chunk for the next pushes."""
        key = key_of("average", repository)
        self._contents.put([Content(key, repository, "", "average", "", average)])

    def pushes(self) -> list[tuple[str, str, float]]:
        """Return (repository, layer, time of the last write) of all layers."""
        return [tuple(value[:3]) for value in self._contents.of_kind("push").values()]


def _stored(value: Sequence[Any]) -> Stored:
    fields: Mapping[str, Any] = value[0]
    layers: Iterable[Sequence[Any]] = fields["layers"]
    known = tuple(Layer(name, tuple(hides)) for name, hides in layers)
    return Stored(Generation(**{**fields, "layers": known}), float(value[1]))
