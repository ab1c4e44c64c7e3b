"""Answer each question of the protocol, for what a caller may read or push.

A repository that the caller may not read answers as one that does not exist.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import TypeAdapter, ValidationError

from code_intel.errors import UsageError
from code_intel.forest.source_store import SourceStore
from code_intel.servers.shared.services import Caller, not_found
from code_intel.shared import pushes
from code_intel.shared.agreements.candidates import find_agreements
from code_intel.shared.agreements.wire import (
    FIND_AGREEMENTS,
    MAP_PATH,
    MAP_PREFIX,
    FindAgreements,
    FoundAgreements,
)
from code_intel.shared.calls import METHODS, STORE_CALLS, StoreCalls
from code_intel.shared.layers import digest_of
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

if TYPE_CHECKING:
    from code_intel.shared.milvus import SharedIndex

MAX_STORES = 64
"""Number of indexes that stay open."""
Answer = Callable[[Caller, Any], object]
"""Returns the answer for a caller and a checked question."""


class Endpoint(NamedTuple):
    """One row of the protocol.

    Attributes:
        verb: The HTTP method.
        path: The path after the version.
        question: The form of the body; None without a body.
        answer: Answers a question.
        has_large_body: Whether the body may be as large as that of a push.
    """

    verb: Literal["GET", "POST"]
    path: str
    question: TypeAdapter[Any] | None
    answer: Answer
    has_large_body: bool = False


def heads(caller: Caller, _question: None) -> FoundHeads:
    """Return the heads of the repositories that the caller may read."""
    found = caller.services.index.heads(caller.principal.may_read)
    return FoundHeads(tuple(WireHead(*head) for head in found[:MAX_ITEMS]))


def generation(caller: Caller, asked: FindGeneration) -> FoundGeneration:
    """Return the generation of the first commit that has one, else of a branch."""
    caller.require("read", asked.repository)
    index = caller.services.index
    found = _find(index, asked.repository, asked.commits, asked.branches)
    if found is None and not index.heads(asked.repository.__eq__):
        raise not_found(asked.repository)
    return FoundGeneration(None if found is None else wire_generation(found))


def store(caller: Caller, asked: StoreCalls) -> list[object]:
    """Return the results of some methods of an index."""
    index = caller.services.index
    generations = tuple(map(index.generation, asked.generations))
    readable = tuple(
        each for each in generations if each and caller.principal.may_read(each.repository)
    )
    caller.record.add_repositories(each.repository for each in readable)
    if len(readable) < len(generations):
        raise not_found("with this generation")
    opened = _opened(index, readable)
    return [_result(opened, name, arguments) for name, arguments in asked.calls]


def vectors(caller: Caller, asked: FindVectors) -> FoundVectors:
    """Return the vectors of cards that the repository has."""
    caller.require("read", asked.repository)
    found = caller.services.index.vectors(asked.cards, [asked.repository])
    return FoundVectors({card: vector_text(vector) for card, vector in found.items()})


def begin_push(caller: Caller, asked: pushes.BeginPush) -> pushes.PushBase:
    """Return what a push can build on: the head of its branch, or the index of an ancestor."""
    caller.require("push", asked.repository)
    index = caller.services.index
    same = index.generation(asked.generation)
    exists = same is not None and same.repository == asked.repository
    found = _at_branches(index, asked.repository, asked.branches[:1])
    found = found or _find(index, asked.repository, asked.commits, asked.branches)
    if found is None or found.settings != asked.settings:
        return pushes.PushBase(exists, None, ())
    files = tuple((path, *file) for path, file in index.store([found]).base_files().items())
    return pushes.PushBase(exists, wire_generation(found), files)


def missing_files(caller: Caller, asked: pushes.MissingFiles) -> pushes.MissingPaths:
    """Return the files of a layer that are still to be sent."""
    caller.require("push", asked.repository)
    found = caller.services.index.missing(asked.repository, asked.layer, asked.files)
    return pushes.MissingPaths(tuple(found))


def unknown_cards(caller: Caller, asked: pushes.UnknownCards) -> pushes.CardsWithout:
    """Return the cards without a vector."""
    caller.require("push", asked.repository)
    known = _vectors(caller, asked.repository, asked.cards)
    return pushes.CardsWithout(tuple(card for card in asked.cards if card not in known))


def push_files(caller: Caller, asked: pushes.PushFiles) -> pushes.Written:
    """Write files of a layer; cards without a vector get the one that the index has.

    If the index does not have it any more, nothing is written, and the caller sends it.
    """
    caller.require("push", asked.repository)
    files = [file.record() for file in asked.files]
    sent = {card: vector_bytes(text) for card, text in asked.vectors.items()}
    cards = {chunk.card for file in files for chunk in file.chunks if chunk.card}
    wanted = cards - sent.keys() - {*asked.without}
    known = _vectors(caller, asked.repository, wanted)
    if absent := wanted - known.keys():
        return pushes.Written(tuple(sorted(absent)))
    caller.services.index.write(asked.repository, asked.layer, files, {**known, **sent})
    return pushes.Written(())


def finish_push(caller: Caller, asked: pushes.FinishPush) -> pushes.Finished:
    """Write the generation, and let the branch point to it."""
    new = asked.generation.record()
    caller.require("push", new.repository)
    if new.id != digest_of("generation", new.repository, new.settings, new.tree):
        raise UsageError(
            "The id of the generation is not the digest of its repository, settings and tree.",
            details={"field": "generation"},
        )
    return pushes.Finished(
        caller.services.index.finish(new, asked.branch, is_new=asked.is_new).generation
    )


def delete_branch(caller: Caller, asked: pushes.DeleteBranch) -> pushes.DeletedBranch:
    """Remove the head of a branch."""
    caller.require("push", asked.repository)
    index = caller.services.index
    find = index.head if asked.dry_run else index.delete_head
    found = find(asked.repository, asked.branch)
    return pushes.DeletedBranch(found.commit if found else None)


ENDPOINTS = (
    Endpoint("GET", "/repositories", None, heads),
    Endpoint("POST", "/generation", FIND_GENERATION, generation),
    Endpoint("POST", "/store", STORE_CALLS, store, has_large_body=True),
    Endpoint("POST", "/vectors", FIND_VECTORS, vectors),
    Endpoint("POST", "/push/begin", pushes.BEGIN_PUSH, begin_push),
    Endpoint("POST", "/push/missing", pushes.MISSING_FILES, missing_files, has_large_body=True),
    Endpoint("POST", "/push/cards", pushes.UNKNOWN_CARDS, unknown_cards),
    Endpoint("POST", "/push/files", pushes.PUSH_FILES, push_files, has_large_body=True),
    Endpoint("POST", "/push/finish", pushes.FINISH_PUSH, finish_push),
    Endpoint("POST", "/push/delete-branch", pushes.DELETE_BRANCH, delete_branch),
)
"""The protocol."""


def agreements(caller: Caller, asked: FindAgreements) -> FoundAgreements:
    """Return the agreements that may answer a question, of repositories that the caller may read.

    A repository that it names and may not read is left out, as one without agreements is.
    """
    found = find_agreements(caller.services.index.agreements, caller.principal.may_read, asked)
    caller.record.add_repositories({each.repository for each in found.agreements})
    return found


def _of_agreements(endpoint: Endpoint) -> Endpoint:
    """Return the same endpoint for the index of agreements."""

    def answer(caller: Caller, asked: Any) -> object:
        services = replace(caller.services, index=caller.services.index.agreements)
        return endpoint.answer(caller._replace(services=services), asked)

    return endpoint._replace(path=f"{MAP_PREFIX}{endpoint.path}", answer=answer)


MAP_ENDPOINTS = (
    Endpoint("POST", MAP_PATH, FIND_AGREEMENTS, agreements),
    *(_of_agreements(each) for each in ENDPOINTS if each.path.startswith("/push/")),
)
"""The protocol of the map: a question, and the same push as that of the source."""


def _vectors(caller: Caller, repository: str, cards: Iterable[str]) -> dict[str, bytes]:
    """Return vectors of this repository, and of the others that the caller may read."""
    index, wanted = caller.services.index, set(cards)
    found = index.vectors(wanted, [repository]) if wanted else {}
    if rest := wanted - found.keys():
        readable = {head.repository for head in index.heads(caller.principal.may_read)}
        if others := sorted(readable - {repository}):
            found = {**found, **index.vectors(rest, others)}
    return found


def _find(
    index: "SharedIndex", repository: str, commits: Sequence[str], branches: Sequence[str]
) -> Generation | None:
    """Return the generation of the first commit that has one, else of the first branch."""
    found = index.generation_at(repository, commits) if commits else None
    return found or _at_branches(index, repository, branches)


def _at_branches(index: "SharedIndex", repository: str, names: Sequence[str]) -> Generation | None:
    """Return the generation of the first branch that has one."""
    known = (index.head(repository, name) for name in names)
    found = (index.generation(head.generation) for head in known if head)
    return next(filter(None, found), None)


@lru_cache(maxsize=MAX_STORES)
def _opened(index: "SharedIndex", generations: tuple[Generation, ...]) -> SourceStore:
    """Return the index of some generations, which never changes."""
    return index.store(generations)


def _result(opened: SourceStore, name: str, arguments: object) -> object:
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
    return method.answer(opened, checked)
