"""Read and write the index that many machines share."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, Self

from code_intel.shared.milvus.store import SharedStore
from code_intel.shared.records import Generation, Head, SharedFile

VECTOR_SIZE = 384
"""Numbers per vector of the default model."""


class Pruned(NamedTuple):
    """What `prune` or `delete_repository` removed."""

    generations: int
    layers: int


class SharedIndex:
    """The shared index; any thread may use it. Close it, or use it as a context manager.

    Every method raises UpstreamError if the engine does not answer. It changes nothing that a
    reader can see, except `finish` (moves one head), `prune` and `delete_repository`.
    """

    @classmethod
    def open(cls, address: str, token: str = "", *, dimensions: int = VECTOR_SIZE) -> Self:
        """Open the index at an address, and create its collections if there are none.

        Args:
            address: A file path (Milvus Lite, for one process at a time) or the URL of a server.
            token: The token of the server, or `user:password`.
            dimensions: Numbers per vector of a new index.

        Raises:
            ConfigError: pymilvus is not installed; the hint names the command that installs it.
            StorageError: A newer version of code-intel has written the index.
            BusyError: Another process has the file open.
            UpstreamError: The engine does not answer, or refuses the token.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Close the connection; a file may then be opened by another process."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def check(self) -> None:
        """Ask the engine for the version of the index, which shows that it answers."""
        raise NotImplementedError

    # --- what there is

    def heads(self, may_read: Callable[[str], bool]) -> list[Head]:
        """Return the heads of the repositories that the caller may read, sorted."""
        raise NotImplementedError

    def head(self, repository: str, branch: str) -> Head | None:
        """Return the head of a branch, or None."""
        raise NotImplementedError

    def generation(self, generation: str) -> Generation | None:
        """Return the generation with that id, or None if it is not complete or was removed."""
        raise NotImplementedError

    def generation_at(self, repository: str, commits: Sequence[str]) -> Generation | None:
        """Return the generation of the first of some commits that has one."""
        raise NotImplementedError

    def store(
        self,
        generations: Sequence[Generation],
        hidden: Mapping[str, Collection[str]] | None = None,
    ) -> SharedStore:
        """Return the index of one commit, or of several repositories at once.

        Args:
            generations: One generation per repository.
            hidden: Paths that are left out, by repository: those that differ on the caller's disk.

        Raises:
            UsageError: There are no generations, or two of one repository.
        """
        raise NotImplementedError

    # --- a push: `missing`, `write` as often as needed, `finish`

    def vectors(self, cards: Iterable[str], repositories: Sequence[str]) -> dict[str, bytes]:
        """Return the vectors (float32, little endian) by card digest, from some repositories."""
        raise NotImplementedError

    def missing(
        self, repository: str, layer: str, files: Sequence[tuple[str, str]]
    ) -> tuple[str, ...]:
        """Return the paths of (path, digest) that the layer does not have yet, in order."""
        raise NotImplementedError

    def write(
        self,
        repository: str,
        layer: str,
        files: Sequence[SharedFile],
        vectors: Mapping[str, bytes],
    ) -> None:
        """Write files of a layer; writing them again changes nothing.

        Args:
            repository: The name of the repository.
            layer: The id of the layer; see `layers.plan_layers`.
            files: Some of its files. A caller sends a few megabytes at a time.
            vectors: The vectors by card digest; a chunk whose card has none is found by words only.

        Raises:
            UsageError: A name or a text is too long, or a vector has another size.
        """
        raise NotImplementedError

    def finish(self, generation: Generation, branch: str) -> Head:
        """Write a generation whose layers are complete, then let the branch point to it.

        Raises:
            ConflictError: Files of the layers are missing: what the layers hold is not
                `generation.tree`. The head is unchanged. Push again.
        """
        raise NotImplementedError

    def prune(self, grace_s: float) -> Pruned:
        """Remove what no head needs: generations, and layers of pushes that were not finished.

        Args:
            grace_s: Only what was written before that many seconds; readers and pushes may still
                use the rest.
        """
        raise NotImplementedError

    def delete_repository(self, repository: str) -> Pruned:
        """Remove the heads, generations and layers of a repository at once."""
        raise NotImplementedError
