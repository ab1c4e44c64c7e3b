"""Answer each question of the protocol, for what a caller may read or push.

A repository that the caller may not read answers as one that does not exist.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import ValidationError

from code_intel.errors import ConflictError
from code_intel.forest.source_store import SourceStore
from code_intel.foundation.redaction import masked
from code_intel.index.rows import index_words
from code_intel.records import Chunk
from code_intel.servers.shared.services import Caller, not_found
from code_intel.shared import routes
from code_intel.shared.agreements.candidates import asked_maps, find_agreements
from code_intel.shared.agreements.wire import (
    AGREEMENTS,
    MAP_PREFIX,
    FindAgreements,
    FoundAgreements,
)
from code_intel.shared.calls import METHODS, Method, SymbolQuestion, WordQuestion
from code_intel.shared.fields import MAX_ITEMS
from code_intel.shared.records import Generation, Head, SharedChunk, SharedFile
from code_intel.shared.routes import AskStore, BeginPush, FindCards, FindGeneration, PushBase, Route
from code_intel.shared.wire import TooLargeError, WireError, vector_bytes, vector_text

if TYPE_CHECKING:
    from code_intel.shared.milvus import SharedIndex

Answer = Callable[[Caller, Any], object]
"""Returns the answer for a caller and a checked question."""


class Endpoint(NamedTuple):
    """One row of the protocol.

    Attributes:
        route: The path and the forms of question and answer.
        answer: Answers a question.
        has_large_body: Whether the body may be as large as that of a push.
        verb: The HTTP method.
    """

    route: Route[Any, Any]
    answer: Answer
    has_large_body: bool = False
    verb: Literal["GET", "POST"] = "POST"


def heads(caller: Caller, _question: None) -> tuple[Head, ...]:
    """Return the heads of the repositories that the caller may read."""
    return tuple(caller.services.index.heads(caller.principal.may_read)[:MAX_ITEMS])


def generation(caller: Caller, asked: FindGeneration) -> Generation | None:
    """Return the generation of the first commit that has one, else of a branch."""
    caller.require("read", asked.repository)
    index = caller.services.index
    found = _find(index, asked.repository, asked.commits, asked.branches)
    if found is None and not index.heads(asked.repository.__eq__, [asked.repository]):
        raise not_found(asked.repository)
    return found


def store(caller: Caller, asked: AskStore) -> list[object]:
    """Return the results of some methods of an index."""
    index = caller.services.index
    found = index.generations(asked.generations)
    readable = tuple(
        found[each]
        for each in asked.generations
        if each in found and caller.principal.may_read(found[each].repository)
    )
    caller.record.add_repositories(each.repository for each in readable)
    if len(readable) < len(asked.generations):
        raise not_found("with this generation")
    calls = [_checked_call(name, arguments) for name, arguments in asked.calls]
    caller.record.tool = ",".join(sorted({name for name, _ in asked.calls}))
    caller.record.question = next(filter(None, (_text(arguments) for _, arguments in calls)), "")
    opened = index.store(readable)
    return [_result(opened, method, arguments) for method, arguments in calls]


def vectors(caller: Caller, asked: FindCards) -> dict[str, str]:
    """Return the vectors of cards that the repository has."""
    caller.require("read", asked.repository)
    found = caller.services.index.vectors(asked.cards, [asked.repository])
    return {card: vector_text(vector) for card, vector in found.items()}


def begin_push(caller: Caller, asked: BeginPush) -> PushBase:
    """Return what a push can build on: the head of its branch, or the index of an ancestor."""
    caller.require("push", asked.repository)
    index = caller.services.index
    same = index.generation(asked.generation)
    exists = same is not None and same.repository == asked.repository
    found = _at_branches(index, asked.repository, asked.branches[:1])
    found = found or _find(index, asked.repository, asked.commits, asked.branches)
    if found is None or found.settings != asked.settings:
        return PushBase(exists, None, ())
    return PushBase(exists, found, _base_files(index, found))


def base_files(caller: Caller, asked: routes.ListBase) -> tuple[tuple[str, str, int], ...]:
    """Return the next files of a generation."""
    caller.require("push", asked.repository)
    index = caller.services.index
    found = index.generation(asked.generation)
    if found is None or found.repository != asked.repository:
        raise ConflictError(
            "The generation to build on was removed.", hint="Push again; what was sent is kept."
        )
    return _base_files(index, found, asked.after)


def _base_files(
    index: "SharedIndex", generation: Generation, after: str = ""
) -> tuple[tuple[str, str, int], ...]:
    known = index.store([generation]).base_files()
    paths = sorted(path for path in known if path > after)[: routes.MAX_PAGE]
    return tuple((path, known[path].digest, known[path].layer) for path in paths)


def missing_files(caller: Caller, asked: routes.ListFiles) -> tuple[str, ...]:
    """Return the files of a layer that are still to be sent."""
    caller.require("push", asked.repository)
    return caller.services.index.missing(asked.repository, asked.layer, asked.files)


def unknown_cards(caller: Caller, asked: FindCards) -> tuple[str, ...]:
    """Return the cards without a vector."""
    caller.require("push", asked.repository)
    known = _vectors(caller, asked.repository, asked.cards)
    return tuple(card for card in asked.cards if card not in known)


def push_files(caller: Caller, asked: routes.SendFiles) -> tuple[str, ...]:
    """Write files of a layer; cards without a vector get the one that the index has.

    If it does not have one any more, nothing is written, and the answer names these cards.
    """
    caller.require("push", asked.repository)
    files = [complete(file) for file in asked.files]
    sent = {card: vector_bytes(text) for card, text in asked.vectors.items()}
    cards = {chunk.card for file in files for chunk in file.chunks if chunk.card}
    wanted = cards - sent.keys() - {*asked.without}
    known = _vectors(caller, asked.repository, wanted)
    if absent := wanted - known.keys():
        return tuple(sorted(absent))
    caller.services.index.write(asked.repository, asked.layer, files, {**known, **sent})
    return ()


def complete(file: SharedFile) -> SharedFile:
    """Return a file that was sent, with its secrets masked again and the tokens of its chunks."""
    return file._replace(chunks=tuple(_complete(file.path, chunk) for chunk in file.chunks))


def _complete(path: str, chunk: SharedChunk) -> SharedChunk:
    text = masked(chunk.text)
    parsed = Chunk(chunk.position, text, chunk.start_line, chunk.end_line, chunk.symbols)
    body, names = index_words(path, parsed)
    return chunk._replace(text=text, body=body, names=names)


def finish_push(caller: Caller, asked: routes.FinishPush) -> None:
    """Write the generation, and let the branch point to it."""
    caller.require("push", asked.generation.repository)
    caller.services.index.finish(asked.generation, asked.branch, is_new=asked.is_new)


def delete_branch(caller: Caller, asked: routes.DeleteBranch) -> str | None:
    """Remove the head of a branch; return the commit that it pointed to."""
    caller.require("push", asked.repository)
    index = caller.services.index
    find = index.head if asked.dry_run else index.delete_head
    found = find(asked.repository, asked.branch)
    return found.commit if found else None


ENDPOINTS = (
    Endpoint(routes.REPOSITORIES, heads, verb="GET"),
    Endpoint(routes.GENERATION, generation),
    Endpoint(routes.STORE, store),
    Endpoint(routes.VECTORS, vectors),
    Endpoint(routes.PUSH_BEGIN, begin_push),
    Endpoint(routes.PUSH_BASE, base_files),
    Endpoint(routes.PUSH_MISSING, missing_files, has_large_body=True),
    Endpoint(routes.PUSH_CARDS, unknown_cards),
    Endpoint(routes.PUSH_FILES, push_files, has_large_body=True),
    Endpoint(routes.PUSH_FINISH, finish_push),
    Endpoint(routes.PUSH_DELETE_BRANCH, delete_branch),
)
"""The protocol."""


def agreements(caller: Caller, asked: FindAgreements) -> FoundAgreements:
    """Return the agreements that may answer a question, of repositories that the caller may read.

    A repository that it names and may not read is left out, as one without agreements is.
    """
    caller.record.add_repositories(asked.repositories)
    caller.record.question = " ".join(asked.terms)
    index = caller.services.index
    found = find_agreements(index, asked_maps(index, caller.principal.may_read, asked), asked)
    caller.record.add_repositories({each.repository for each in found.agreements})
    return found


def _of_agreements(endpoint: Endpoint) -> Endpoint:
    """Return the same endpoint for the index of agreements, which the first push creates."""

    def answer(caller: Caller, asked: Any) -> object:
        is_finish = isinstance(asked, routes.FinishPush)
        caller.require("push", (asked.generation if is_finish else asked).repository)
        services = replace(caller.services, index=caller.services.index.agreements)
        return endpoint.answer(caller._replace(services=services), asked)

    return endpoint._replace(route=endpoint.route.below(MAP_PREFIX), answer=answer)


MAP_ENDPOINTS = (
    Endpoint(AGREEMENTS, agreements),
    *(_of_agreements(each) for each in ENDPOINTS if each.route.path.startswith("/push/")),
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


def _checked_call(name: str, arguments: object) -> tuple[Method, Any]:
    """Return a method and its arguments.

    Raises:
        WireError: There is no such method, or its arguments are wrong.
    """
    method = METHODS.get(name)
    if method is None:
        raise WireError("The index has no such method.")
    try:
        return method, method.arguments.validate_python(arguments)
    except ValidationError:
        raise WireError(f"The arguments of {name} are wrong.") from None


def _text(arguments: object) -> str:
    """Return what the arguments of a method search for, if they are words or a symbol."""
    if isinstance(arguments, WordQuestion):
        return " ".join(arguments.terms)
    return arguments.symbol if isinstance(arguments, SymbolQuestion) else ""


def _result(opened: SourceStore, method: Method, arguments: object) -> object:
    """Return the result of a method.

    Raises:
        TooLargeError: It has more rows than a client accepts.
    """
    found = method.answer(opened, arguments)
    if isinstance(found, list) and len(found) > MAX_ITEMS:
        raise TooLargeError(f"The answer has more than {MAX_ITEMS:,} rows.")
    return found
