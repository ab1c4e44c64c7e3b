"""Choose the branch that stands for a repository if a question names none."""

from collections.abc import Iterable

from code_intel.shared.records import Head

DEFAULT_BRANCHES = ("main", "master", "trunk", "develop")
"""The names of such a branch; without one, the first branch by name is meant."""


def default_heads(heads: Iterable[Head]) -> dict[str, Head]:
    """Return one head of each repository, by the name of the repository."""
    found: dict[str, Head] = {}
    for head in sorted(heads, key=branch_order):
        found.setdefault(head.repository, head)
    return found


def branch_order(head: Head) -> tuple[int, str]:
    """Return a key by which the head of the default branch comes first."""
    is_default = head.branch in DEFAULT_BRANCHES
    order = DEFAULT_BRANCHES.index(head.branch) if is_default else len(DEFAULT_BRANCHES)
    return order, head.branch
