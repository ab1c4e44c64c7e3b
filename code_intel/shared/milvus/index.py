"""Read and write the index that many machines share."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from typing import Self

from code_intel.errors import ConflictError
from code_intel.shared.milvus import schema, writing
from code_intel.shared.milvus.card_vectors import vectors_of
from code_intel.shared.milvus.contents import Contents, key_of
from code_intel.shared.milvus.engine import Engine
from code_intel.shared.milvus.finishing import check_generation, finish_layers
from code_intel.shared.milvus.heads import Records
from code_intel.shared.milvus.pruning import Pruned, Pruning
from code_intel.shared.milvus.reading import Reading
from code_intel.shared.milvus.store import SharedStore
from code_intel.shared.records import Generation, Head, SharedFile

VECTOR_SIZE = 384
"""Numbers per vector of the default model."""
MAX_STORES = 64
HEADS_S = 3.0
"""How long the list of all heads may be old, except for pushes through this process."""


class SharedIndex:
    """The shared index; any thread may use it. Close it, or use it as a context manager.

    Every method raises UpstreamError if the engine does not answer. It changes nothing that a
    reader can see, except `finish` (moves one head) and those that remove something.
    """

    def __init__(self, engine: Engine, opened: schema.Opened) -> None:
        self._engine = engine
        self._opened = opened
        self._reading = Reading(engine, opened)
        self._records = Records(Contents(engine, opened.names["records"]))
        self._stores = lru_cache(maxsize=MAX_STORES)(self._store)
        self._all_heads: tuple[float, Sequence[Head]] = (0.0, ())
        self._changes = 0

    @classmethod
    def open(
        cls, address: str, token: str = "", *, dimensions: int = VECTOR_SIZE, partitions: int = 0
    ) -> Self:
        """Open the index at an address, and create its collections if there are none.

        Args:
            address: A file path (Milvus Lite, for one process at a time) or the URL of a server.
            token: The token of the server, or `user:password`.
            dimensions: Numbers per vector of a new index.
            partitions: Over how many partitions a server spreads the repositories of a new index;
                0 for its default.

        Raises:
            ConfigError: pymilvus is not installed; the hint names the command that installs it.
            StorageError: A newer version of code-intel has written the index, or the file cannot
                be opened.
            BusyError: Another process has the file open.
            UpstreamError: The engine does not answer, or refuses the token.
        """
        engine = Engine.open(address, token)
        try:
            return cls(engine, schema.opened(engine, dimensions, partitions))
        except BaseException:
            engine.close()
            raise

    def close(self) -> None:
        """Close the connection; a file may then be opened by another process."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    @cached_property
    def agreements(self) -> "SharedIndex":
        """The index of the repositories' agreements: other collections, closed with these."""
        names = schema.opened(self._engine, self.dimensions, of=schema.AGREEMENTS)
        return SharedIndex(self._engine, names)

    def has_agreements(self) -> bool:
        """Return whether a repository has pushed agreements, without creating collections."""
        return "agreements" in self.__dict__ or schema.exists(self._engine, schema.AGREEMENTS)

    @property
    def dimensions(self) -> int:
        """Numbers per vector."""
        return self._opened.dimensions

    def check(self) -> None:
        """Ask the engine whether the collections are there, which shows that it answers.

        Raises:
            StorageError: A newer version of code-intel has replaced the index.
        """
        schema.check(self._engine)

    # --- what there is

    def heads(
        self, may_read: Callable[[str], bool], repositories: Sequence[str] = ()
    ) -> list[Head]:
        """Return the heads of the repositories that the caller may read, sorted.

        Args:
            may_read: Says whether the caller may read a repository.
            repositories: Only these repositories; empty for all, which may be `HEADS_S` old.
        """
        if not repositories:
            return [head for head in self._every_head() if may_read(head.repository)]
        names = [name for name in repositories if may_read(name)]
        return self._records.heads(names) if names else []

    def head(self, repository: str, branch: str) -> Head | None:
        """Return the head of a branch, or None."""
        return self._records.head(repository, branch)

    def generation(self, generation: str) -> Generation | None:
        """Return the generation with that id, or None if it is not complete or was removed."""
        return self._records.generation(generation)

    def generations(self, ids: Sequence[str]) -> dict[str, Generation]:
        """Return by id the generations that are complete and were not removed, in one call."""
        return self._records.generations_of(ids)

    def generation_at(self, repository: str, commits: Sequence[str]) -> Generation | None:
        """Return the generation of the first of some commits that has one."""
        return self._records.generation_at(repository, commits)

    def store(self, generations: Sequence[Generation]) -> SharedStore:
        """Return the index of one commit, or of several repositories at once.

        Args:
            generations: One generation per repository.

        Raises:
            UsageError: There are no generations, or two of one repository.
        """
        return self._stores(tuple(generations))

    # --- a push: `missing`, `write` as often as needed, `finish`

    def vectors(self, cards: Iterable[str], repositories: Sequence[str]) -> dict[str, bytes]:
        """Return the vectors (float32, little endian) by card digest, from some repositories.

        They may be of pushes that were not finished, so that these go on where they stopped.
        """
        older = [names["vectors"] for names in self._opened.older.values() if "vectors" in names]
        collections = (self._opened.names["vectors"], *older)
        return vectors_of(self._engine, collections, cards, repositories)

    def missing(
        self, repository: str, layer: str, files: Sequence[tuple[str, str]]
    ) -> tuple[str, ...]:
        """Return the paths of (path, digest) that the layer does not have yet, in order."""
        place = writing.place_of(repository, layer)
        paths = {key_of("file", place.layer, path): path for path, _ in files}
        known = self._reading.contents.digests(paths)
        present = {paths[key]: value for key, value in known.items()}
        return tuple(path for path, content in files if present.get(path) != content)

    def write(
        self,
        repository: str,
        layer: str,
        files: Sequence[SharedFile],
        vectors: Mapping[str, bytes],
    ) -> None:
        """Write files of a layer; writing them again changes nothing.

        A finished layer is not written: generations have it, and it never changes.

        Args:
            repository: The name of the repository.
            layer: The id of the layer; see `layers.plan_layers`.
            files: Some of its files. A caller sends a few megabytes at a time.
            vectors: The vectors by card digest; a chunk whose card has none is found by words only.

        Raises:
            UsageError: A name or a text is too long, or a vector has another size.
        """
        place = writing.place_of(repository, layer)
        writing.check(files, vectors, self.dimensions)
        if self._reading.tables.has(place.layer):
            return
        average = self._records.note_write(
            place, [chunk for file in files for chunk in file.chunks]
        )
        engine, names, contents = self._engine, self._opened.names, self._reading.contents
        engine.upsert(
            names["words"],
            (row for file in files for row in writing.word_rows(place, file, average)),
        )
        engine.upsert(
            names["vectors"],
            (row for file in files for row in writing.vector_rows(place, file, vectors)),
        )
        contents.put(row for file in files for row in writing.chunk_contents(place, file))
        contents.put(row for file in files for row in writing.file_contents(place, file))

    def finish(self, generation: Generation, branch: str, *, is_new: bool = False) -> Head:
        """Write a generation whose layers are complete, then let the branch point to it.

        Its numbers of files and chunks, and its time, are set to what the index has. If it exists,
        as after a revert, it keeps its layers, and only the head moves.

        Args:
            generation: The generation.
            branch: The branch.
            is_new: Whether a generation that exists gets the layers of this one instead.

        Raises:
            ConflictError: Files of the layers are missing: what the layers hold is not
                `generation.tree`, so the head is unchanged; or layers were removed meanwhile. Push
                again.
            UsageError: The generation has no layers or too many, or a name is not valid.
        """
        check_generation(generation, branch)
        known = self._records.generation(generation.id)
        if known is not None and not is_new:
            generation = known._replace(commit=generation.commit)
        repository, average = generation.repository, 0.0
        layers = (*known.layers, *generation.layers) if known else generation.layers
        for layer in dict.fromkeys(each.id for each in layers):
            average = self._records.note_write(writing.place_of(repository, layer))
        reading = self._reading
        done = finish_layers(generation, average, reading.contents, reading.symbols, reading.tables)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._records.put_generation(
            generation._replace(files=done.files, chunks=done.chunks, created_at=now)
        )
        if done.chunks:
            self._records.put_average(repository, done.tokens / done.chunks)
        for short in ("words", "vectors") if known is None or is_new else ():
            self._engine.flush(self._opened.names[short])
        head = Head(repository, branch, generation.commit, generation.id)
        self._records.put_head(head)
        self._forget_heads()
        self._check_after(generation)
        return head

    def _check_after(self, generation: Generation) -> None:
        """Check that nothing of a generation was removed while its head was moved; see `pruning`.

        Raises:
            ConflictError: Something was.
        """
        places = (writing.place_of(generation.repository, each.id) for each in generation.layers)
        is_there = self._records.generation(generation.id) is not None
        if not (is_there and self._reading.tables.has(*(place.layer for place in places))):
            raise ConflictError(
                f"The index of {generation.commit[:12]} was removed while it was pushed.",
                hint="Push again: until then, the branch has no index.",
            )

    # --- removing

    def delete_head(self, repository: str, branch: str) -> Head | None:
        """Remove the head of a branch; return it, or None if there was none.

        Its generation stays until `prune` removes it. A push at the same time wins.
        """
        head = self._records.head(repository, branch)
        if head is not None:
            self._records.delete_head(head)
            self._forget_heads()
        return head

    def prune(self, grace_s: float, *, is_dry: bool = False) -> Pruned:
        """Remove what no head needs: generations, and layers of pushes that were not finished.

        Args:
            grace_s: Only what no head has needed, and no push has written, for that many seconds;
                readers and pushes may still use the rest.
            is_dry: Whether to find out only what would be removed.
        """
        removed = self._pruning(is_dry=is_dry).prune(grace_s)
        for other in self._with_agreements():
            removed = removed.plus(other.prune(grace_s, is_dry=is_dry))
        return removed

    def prune_heads(self, age_s: float, *, is_dry: bool = False) -> list[Head]:
        """Remove the heads of branches that were not pushed for so long; see `pruning`."""
        removed = self._pruning(is_dry=is_dry).prune_heads(age_s)
        self._forget_heads()
        return removed

    def delete_repository(self, repository: str) -> Pruned:
        """Remove the heads, generations and layers of a repository at once; its agreements, too."""
        removed = self._pruning().delete(repository)
        self._forget_heads()
        for other in self._with_agreements():
            removed = removed.plus(other.delete_repository(repository))
        return removed

    def has_repository(self, repository: str) -> bool:
        """Return whether there is anything of a repository, also without a branch."""
        return self._pruning().has(repository)

    def _pruning(self, *, is_dry: bool = False) -> Pruning:
        return Pruning(self._engine, self._opened, self._records, is_dry=is_dry)

    def _with_agreements(self) -> "list[SharedIndex]":
        """Return the index of agreements, if there is one and this is not it."""
        is_source = self._opened.of == schema.SOURCE
        return [self.agreements] if is_source and self.has_agreements() else []

    def _every_head(self) -> Sequence[Head]:
        read_at, heads = self._all_heads
        if time.monotonic() - read_at > HEADS_S or not read_at:
            changes, read_at = self._changes, time.monotonic()
            heads = self._records.heads()
            if changes == self._changes:
                self._all_heads = read_at, heads
        return heads

    def _forget_heads(self) -> None:
        """Read all heads again at the next question."""
        self._changes += 1
        self._all_heads = (0.0, ())

    def _store(self, generations: tuple[Generation, ...]) -> SharedStore:
        return SharedStore(self._reading, generations)
