"""Find the generations that a call asks for, among those that its caller may read."""

from collections.abc import Callable, Sequence
from typing import Annotated, NamedTuple, ParamSpec, TypeVar

from anyio import to_thread
from pydantic import Field

from code_intel.errors import NotFoundError, UsageError
from code_intel.servers.shared.services import Caller, not_found
from code_intel.servers.shared.tracing import work_span
from code_intel.shared.default_branch import branch_order
from code_intel.shared.milvus.view import searchable
from code_intel.shared.records import Generation, Head

P = ParamSpec("P")
ResultT = TypeVar("ResultT")

MAX_REPOSITORIES = 1000
"""Maximum repositories that one question searches."""
BRANCH_MARK = "@"
"""Between a repository and a branch; no name of a repository has it."""

Repositories = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=300)]],
    Field(
        max_length=MAX_REPOSITORIES,
        description="Names, or `NAME@BRANCH`. Empty for all that the token may read.",
    ),
]
RepositoryNames = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=300)]],
    Field(
        max_length=MAX_REPOSITORIES,
        description="Names, without branches. Empty for all that the token may read.",
    ),
]


class AskedSource(NamedTuple):
    """The generations to search, and how many repositories are too many to search with them."""

    generations: Sequence[Generation]
    left_out: int


class SharedContext(NamedTuple):
    """What a tool works with.

    Attributes:
        caller: Who called it.
    """

    caller: Caller

    async def run(self, work: Callable[P, ResultT], *args: P.args, **kwargs: P.kwargs) -> ResultT:
        """Run blocking work on one of the instance's threads."""

        def run() -> ResultT:
            return work(*args, **kwargs)

        threads = self.caller.services.threads
        return await to_thread.run_sync(run, limiter=threads, abandon_on_cancel=True)

    def generations(self, repositories: Sequence[str]) -> AskedSource:
        """Return the generation of each repository, sorted by its name.

        Raises:
            UsageError: Two branches of one repository are named.
            NotFoundError: A repository or branch does not exist, the caller may not read it, or
                there is none.
        """
        asked = _split(repositories)
        self.caller.record.add_repositories(asked)
        principal, index = self.caller.principal, self.caller.services.index

        with work_span("find generations", len(asked)):
            heads = _chosen(index.heads(principal.may_read, [*asked]), asked)
            for name in asked:
                if name not in heads:
                    raise not_found(name)
            some = [*heads.values()][:MAX_REPOSITORIES]
            found = index.generations([head.generation for head in some])
        # A generation that was removed a moment ago has a newer one; the next call sees it. After a
        # revert, two commits have the same generation.
        present = [
            found[head.generation]._replace(commit=head.commit)
            for head in some
            if head.generation in found
        ]
        _require_any(present)
        searched = searchable(present)
        return AskedSource(searched, len(heads) - len(some) + len(present) - len(searched))


def _split(names: Sequence[str]) -> dict[str, str]:
    """Return the branch of each repository that is named, which is empty if none is."""
    branches: dict[str, str] = {}
    for name in names:
        repository, _, branch = name.partition(BRANCH_MARK)
        if branches.setdefault(repository, branch) != branch:
            raise UsageError(
                f"Two branches of {repository[:200]} are named.",
                hint="Name one branch of each repository, and ask again for the other.",
                details={"field": "repositories"},
            )
    return branches


def _chosen(heads: Sequence[Head], asked: dict[str, str]) -> dict[str, Head]:
    """Return one head per repository: that of the branch asked for, or of the default branch."""
    by_repository: dict[str, list[Head]] = {}
    for head in heads:
        by_repository.setdefault(head.repository, []).append(head)
    chosen = {}
    for repository, own in by_repository.items():
        branch = asked.get(repository, "")
        found = next((head for head in own if head.branch == branch), None)
        if found is None and not branch:
            found = min(own, key=branch_order)
        if found is not None:
            chosen[repository] = found
    return chosen


def _require_any(generations: Sequence[Generation]) -> None:
    """Check that there is something to search.

    Raises:
        NotFoundError: There is no repository that the caller may read.
    """
    if not generations:
        raise NotFoundError(
            "The token may read no repository of this server.",
            hint="Push one with `code-intel push`, or use a token with a read grant for it.",
            details={"field": "repositories"},
        )
