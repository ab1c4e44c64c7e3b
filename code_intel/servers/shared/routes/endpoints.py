"""Answer each question of the protocol, for what a principal may read or push."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol

from pydantic import TypeAdapter, ValidationError

from code_intel.errors import CodeIntelError, NotFoundError, UsageError
from code_intel.forest.source_store import SourceStore
from code_intel.shared import pushes
from code_intel.shared.calls import METHODS, STORE_CALLS, StoreCalls
from code_intel.shared.layers import digest_of
from code_intel.shared.milvus import SharedIndex
from code_intel.shared.pushes import wire_generation
from code_intel.shared.records import Generation
from code_intel.shared.wire import (
    FIND_GENERATION,
    FIND_VECTORS,
    MAX_ITEMS,
    FindGeneration,
    FindVectors,
    FoundGeneration,
    FoundHeads,
    FoundVectors,
    WireError,
    WireHead,
    vector_bytes,
    vector_text,
)

MAX_STORES = 64
"""Number of indexes that stay open."""
NO_REPOSITORY = "There is no such repository, or the token may not read it."


class Principal(Protocol):
    """The sender of a request; see `access.principal`."""

    def may(self, scope: Literal["read", "push", "admin"], repository: str) -> bool:
        """Return whether it may do that in a repository."""


class ForbiddenError(CodeIntelError):
    """The token may read the repository, but not do this."""

    code = "forbidden"
    remedy = "Ask the operator of the server for a token with the scope push."


class Endpoint(NamedTuple):
    """One row of the protocol.

    Attributes:
        verb: The HTTP method.
        question: The form of the body; None without a body.
        answer: Returns the answer for a principal and a checked question.
    """

    verb: Literal["GET", "POST"]
    question: TypeAdapter[Any] | None
    answer: Callable[[Principal, Any], object]


def endpoints(index: SharedIndex) -> Mapping[str, Endpoint]:
    """Return the table of the protocol, by path."""
    questions, writes = Questions(index), Pushes(index)
    return {
        "/repositories": Endpoint("GET", None, questions.heads),
        "/generation": Endpoint("POST", FIND_GENERATION, questions.generation),
        "/store": Endpoint("POST", STORE_CALLS, questions.store),
        "/vectors": Endpoint("POST", FIND_VECTORS, questions.vectors),
        "/push/begin": Endpoint("POST", pushes.BEGIN_PUSH, writes.begin),
        "/push/missing": Endpoint("POST", pushes.MISSING_FILES, writes.missing),
        "/push/cards": Endpoint("POST", pushes.UNKNOWN_CARDS, writes.cards),
        "/push/files": Endpoint("POST", pushes.PUSH_FILES, writes.files),
        "/push/finish": Endpoint("POST", pushes.FINISH_PUSH, writes.finish),
    }


class Questions:
    """Answers what developers' machines ask."""

    def __init__(self, index: SharedIndex) -> None:
        self._index = index
        self._stores: OrderedDict[tuple[str, ...], SourceStore] = OrderedDict()
        self._lock = threading.Lock()

    def heads(self, principal: Principal, _question: None) -> FoundHeads:
        """Return the heads of the repositories that the principal may read."""
        heads = self._index.heads(partial(principal.may, "read"))
        return FoundHeads(tuple(WireHead(*head) for head in heads[:MAX_ITEMS]))

    def generation(self, principal: Principal, asked: FindGeneration) -> FoundGeneration:
        """Return the generation of the first commit that has one, else of a branch."""
        require_readable(principal, asked.repository)
        found = find_generation(self._index, asked.repository, asked.commits, asked.branches)
        if found is None and not self._exists(asked.repository):
            raise NotFoundError(NO_REPOSITORY)
        return FoundGeneration(None if found is None else wire_generation(found))

    def store(self, principal: Principal, asked: StoreCalls) -> list[object]:
        """Return the results of some methods of an index."""
        generations = []
        for generation_id in asked.generations:
            generation = self._index.generation(generation_id)
            if generation is None or not principal.may("read", generation.repository):
                raise NotFoundError(NO_REPOSITORY)
            generations.append(generation)
        store = self._opened(generations)
        return [_result(store, name, arguments) for name, arguments in asked.calls]

    def vectors(self, principal: Principal, asked: FindVectors) -> FoundVectors:
        """Return the vectors of cards that the repository has."""
        require_readable(principal, asked.repository)
        found = self._index.vectors(asked.cards, [asked.repository])
        return FoundVectors({card: vector_text(vector) for card, vector in found.items()})

    def _exists(self, repository: str) -> bool:
        return bool(self._index.heads(repository.__eq__))

    def _opened(self, generations: Sequence[Generation]) -> SourceStore:
        """Return the index of some generations, which stays open for the next question."""
        key = tuple(generation.id for generation in generations)
        with self._lock:
            store = self._stores.pop(key, None) or self._index.store(generations)
            self._stores[key] = store
            while len(self._stores) > MAX_STORES:
                self._stores.popitem(last=False)
        return store


class Pushes:
    """Answers pushes. What is written is seen by readers only after `finish`."""

    def __init__(self, index: SharedIndex) -> None:
        self._index = index

    def begin(self, principal: Principal, asked: pushes.BeginPush) -> pushes.PushBase:
        """Return what a push can build on."""
        require_writable(principal, asked.repository)
        exists = self._index.generation(asked.generation) is not None
        found = find_generation(
            self._index, asked.repository, asked.commits, asked.branches, by_branch=True
        )
        if found is None or found.settings != asked.settings:
            return pushes.PushBase(exists, None, ())
        digests = self._index.store([found]).digests()
        files = tuple((path, digest) for path, _, digest in digests)
        return pushes.PushBase(exists, wire_generation(found), files)

    def missing(self, principal: Principal, asked: pushes.MissingFiles) -> pushes.MissingPaths:
        """Return the files of a layer that are still to be sent."""
        require_writable(principal, asked.repository)
        return pushes.MissingPaths(
            tuple(self._index.missing(asked.repository, asked.layer, asked.files))
        )

    def cards(self, principal: Principal, asked: pushes.UnknownCards) -> pushes.CardsWithout:
        """Return the cards without a vector."""
        require_writable(principal, asked.repository)
        known = self._vectors(principal, asked.repository, asked.cards)
        return pushes.CardsWithout(tuple(card for card in asked.cards if card not in known))

    def files(self, principal: Principal, asked: pushes.PushFiles) -> pushes.Written:
        """Write files of a layer; cards without a vector get the one that the index has."""
        require_writable(principal, asked.repository)
        files = [file.record() for file in asked.files]
        vectors = {card: vector_bytes(text) for card, text in asked.vectors.items()}
        cards = {chunk.card for file in files for chunk in file.chunks if chunk.card}
        vectors |= self._vectors(principal, asked.repository, cards - vectors.keys())
        self._index.write(asked.repository, asked.layer, files, vectors)
        return pushes.Written(len(files))

    def finish(self, principal: Principal, asked: pushes.FinishPush) -> pushes.Finished:
        """Write the generation, and let the branch point to it."""
        generation = asked.generation.record()
        require_writable(principal, generation.repository)
        expected = digest_of(
            "generation", generation.repository, generation.settings, generation.tree
        )
        if generation.id != expected:
            raise UsageError(
                "The id of the generation is not the digest of its repository, settings and tree.",
                details={"field": "generation"},
            )
        return pushes.Finished(self._index.finish(generation, asked.branch).generation)

    def _vectors(
        self, principal: Principal, repository: str, cards: Iterable[str]
    ) -> dict[str, bytes]:
        """Return vectors of this repository, and of the others that the principal may read."""
        wanted = set(cards)
        found = self._index.vectors(wanted, [repository]) if wanted else {}
        if rest := wanted - found.keys():
            readable = {head.repository for head in self._index.heads(partial(principal.may, "read"))}
            if others := sorted(readable - {repository}):
                found = {**found, **self._index.vectors(rest, others)}
        return found


def find_generation(
    index: SharedIndex,
    repository: str,
    commits: Sequence[str],
    branches: Sequence[str],
    *,
    by_branch: bool = False,
) -> Generation | None:
    """Return the generation of the first commit that has one, else of the first branch.

    With `by_branch`, the first branch comes before the commits.
    """

    def at_branches(names: Sequence[str]) -> Generation | None:
        heads = (index.head(repository, name) for name in names)
        found = (index.generation(head.generation) for head in heads if head)
        return next(filter(None, found), None)

    first = at_branches(branches[:1]) if by_branch else None
    at_commits = first or (index.generation_at(repository, commits) if commits else None)
    return at_commits or at_branches(branches)


def require_readable(principal: Principal, repository: str) -> None:
    """Refuse a repository that the principal may not read, as one that does not exist.

    Raises:
        NotFoundError: It may not.
    """
    if not principal.may("read", repository):
        raise NotFoundError(NO_REPOSITORY)


def require_writable(principal: Principal, repository: str) -> None:
    """Refuse a push to a repository.

    Raises:
        NotFoundError: The principal may not read the repository either.
        ForbiddenError: It may read it.
    """
    if not principal.may("push", repository):
        require_readable(principal, repository)
        raise ForbiddenError("The token may not push to this repository.")


def _result(store: SourceStore, name: str, arguments: object) -> object:
    """Return the result of a method.

    Raises:
        WireError: There is no such method, or its arguments are wrong.
    """
    method = METHODS.get(name)
    if method is None:
        raise WireError("The index has no such method.")
    try:
        checked = method.arguments.validate_python(arguments)
    except ValidationError:
        raise WireError(f"The arguments of {name} are wrong.") from None
    return method.answer(store, checked)
