"""Who may do what in which repositories."""

import pytest

from code_intel.errors import UsageError
from code_intel.servers.shared.access.principal import Principal, grant_of


def may(grants: str, scope: str, repository: str) -> bool:
    principal = Principal("token:1", tuple(map(grant_of, grants.split())))
    return principal.may(scope, repository)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("grants", "scope", "repository", "allowed"),
    [
        ("read:team/shop", "read", "team/shop", True),
        ("read:team/shop", "push", "team/shop", False),
        ("push:team/shop", "read", "team/shop", True),
        ("admin:team/shop", "push", "team/shop", True),
        ("read:team/*", "read", "team/shop", True),
        ("read:team/*", "read", "team/shop/part", False),
        ("read:team/**", "read", "team/shop/part", True),
        ("read:team/*", "read", "team2/shop", False),
        ("read:*", "read", "shop", True),
        ("read:*", "read", "team/shop", False),
        ("read:**", "read", "team/shop", True),
        ("read:shop", "read", "evil/shop", False),
        ("read:shop", "read", "shop/evil", False),
        ("read:a.b", "read", "axb", False),
        ("read:team/shop", "read", "Team/shop", False),
        ("read:team/shop", "read", "team/shop\n", False),
        ("read:**", "read", "team/shop\nother", False),
        ("push:team/* read:other", "push", "other", False),
        ("", "read", "team/shop", False),
    ],
)
def test_a_grant_allows_its_scope_and_those_below_in_the_repositories_it_names(
    grants: str, scope: str, repository: str, *, allowed: bool
) -> None:
    assert may(grants, scope, repository) is allowed


@pytest.mark.parametrize("text", ["", "read", "read:", "write:x", "read:a b", "read:[a]", "x:y"])
def test_a_grant_that_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as error:
        grant_of(text)
    assert error.value.details == {"field": "grant"}


def test_a_pattern_with_many_wildcards_takes_no_time() -> None:
    assert not may(f"read:{'*a' * 90}", "read", "a" * 190 + "b")
