"""Find the generations that a call asks for, among those that its caller may read."""

from collections.abc import Callable, Sequence
from typing import Annotated, NamedTuple, ParamSpec, TypeVar

from anyio import to_thread
from pydantic import Field

from code_intel.errors import NotFoundError
from code_intel.servers.shared.services import Caller, not_found
from code_intel.servers.shared.tracing import work_span
from code_intel.shared.records import DEFAULT_BRANCHES, Generation, Head

P = ParamSpec("P")
ResultT = TypeVar("ResultT")

MAX_REPOSITORIES = 1000

Repositories = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=300)]],
    Field(
        max_length=MAX_REPOSITORIES,
        description="Names, or `NAME@BRANCH`. Empty for all that the token may read.",
    ),
]


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

    def generations(self, repositories: Sequence[str]) -> list[Generation]:
        """Return the generation of each repository, sorted by its name.

        Raises:
            NotFoundError: A repository or branch does not exist, or the caller may not read it.
        """
        asked = dict(map(_split, repositories))
        self.caller.record.add_repositories(asked)
        principal, index = self.caller.principal, self.caller.services.index

        with work_span("find generations", len(asked)):
            heads = _chosen(index.heads(principal.may_read, [*asked]), asked)
            for name in asked:
                if name not in heads:
                    raise not_found(name)
            found = index.generations([head.generation for head in heads.values()])
        # A generation that was removed a moment ago has a newer one; the next call sees it. After a
        # revert, two commits have the same generation.
        return [
            found[head.generation]._replace(commit=head.commit)
            for head in heads.values()
            if head.generation in found
        ]


def _split(name: str) -> tuple[str, str]:
    """Return the repository and the branch of a name, which is empty if none is named."""
    repository, _, branch = name.partition("@")
    return repository, branch


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
            found = min(own, key=_branch_order)
        if found is not None:
            chosen[repository] = found
    return chosen


def _branch_order(head: Head) -> tuple[int, str]:
    """Return the order of the branches of a repository: the trunk, then by name."""
    is_default = head.branch in DEFAULT_BRANCHES
    order = DEFAULT_BRANCHES.index(head.branch) if is_default else len(DEFAULT_BRANCHES)
    return order, head.branch


def require_any(generations: Sequence[Generation]) -> None:
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
