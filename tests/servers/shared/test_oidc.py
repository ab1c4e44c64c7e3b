"""JWTs of an OIDC issuer: what is accepted, what is refused, and when keys are fetched."""

import base64
import hmac
import json
import time
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import jwt
import pytest

from code_intel.servers.shared.access import oidc
from code_intel.servers.shared.access.oidc import TokenIssuer
from code_intel.servers.shared.access.principal import Principal
from code_intel.servers.shared.settings import ClaimGrant, Issuer
from oidc_issuer import AUDIENCE, OidcIssuer, oidc_issuer


@pytest.fixture
def issuer() -> Iterator[OidcIssuer]:
    with oidc_issuer() as running:
        yield running


def accepting(issuer: OidcIssuer, *rows: tuple[str, str, str], **changes: Any) -> TokenIssuer:
    given = rows or (("groups", "payments", "read:payments/*"),)
    return TokenIssuer(
        Issuer(
            issuer=issuer.url,
            audience=AUDIENCE,
            jwks_url=issuer.jwks_url,
            grants=tuple(
                ClaimGrant(claim=claim, value=value, grants=tuple(grants.split()))
                for claim, value, grants in given
            ),
            **changes,
        )
    )


def grants(found: Principal | str) -> list[str]:
    assert isinstance(found, Principal), found
    return [grant.text for grant in found.grants]


def test_a_token_of_the_issuer_says_who_sends_it_and_what_they_may_do(issuer: OidcIssuer) -> None:
    found = accepting(issuer).find(issuer.token())
    assert isinstance(found, Principal)
    assert (found.id, grants(found)) == ("oidc:alice", ["read:payments/*"])


def test_a_token_without_a_matching_claim_may_do_nothing(issuer: OidcIssuer) -> None:
    assert grants(accepting(issuer).find(issuer.token(groups=["other"]))) == []


@pytest.mark.parametrize(
    ("row", "claims", "expected"),
    [
        (("groups", "pay*", "read:p/*"), {"groups": ["a", "payments"]}, ["read:p/*"]),
        (("groups", "payments", "read:p push:q"), {"groups": "payments"}, ["read:p", "push:q"]),
        (("scope", "code", "read:**"), {"scope": "openid code"}, ["read:**"]),
        (("scope", "open", "read:**"), {"scope": "openid code"}, []),
        (("realm_access.roles", "dev", "read:x"), {"realm_access": {"roles": ["dev"]}}, ["read:x"]),
        (("realm_access.roles", "dev", "read:x"), {"realm_access": "dev"}, []),
        (("repository", "octo/*", "push:{value}"), {"repository": "octo/shop"}, ["push:octo/shop"]),
        (("repository", "octo/*", "push:{value}"), {"repository": "octo/*"}, []),
        (("repository", "octo/**", "push:{value}"), {"repository": "octo/a b"}, []),
        (("groups", "payments", "read:x"), {"groups": {"payments": 1}}, []),
        (("groups", "7", "read:x"), {"groups": [7]}, []),
    ],
)
def test_claims_become_grants_by_the_table(
    issuer: OidcIssuer, row: tuple[str, str, str], claims: dict[str, Any], expected: list[str]
) -> None:
    assert grants(accepting(issuer, row).find(issuer.token(**claims))) == expected


@pytest.mark.covers("rule.shared.jwt")
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"iss": "https://other.example.com"}, "InvalidIssuerError"),
        ({"aud": "https://other.example.com/mcp"}, "InvalidAudienceError"),
        ({"aud": None}, "MissingRequiredClaimError"),
        ({"exp": None}, "MissingRequiredClaimError"),
        ({"sub": None}, "MissingRequiredClaimError"),
        ({"iat": None}, "MissingRequiredClaimError"),
        ({"exp": 1_000_000}, "ExpiredSignatureError"),
        ({"nbf": 99_999_999_999}, "ImmatureSignatureError"),
        ({"iat": 99_999_999_999}, "ImmatureSignatureError"),
        ({"sub": 7}, "InvalidSubjectError"),
    ],
)
def test_a_token_with_a_wrong_claim_is_refused(
    issuer: OidcIssuer, changes: dict[str, Any], reason: str
) -> None:
    assert accepting(issuer).find(issuer.token(**changes)) == reason


@pytest.mark.parametrize(("age", "accepted"), [(20, True), (60, False)])
def test_clocks_may_differ_by_the_leeway(issuer: OidcIssuer, age: int, *, accepted: bool) -> None:
    token = issuer.token(exp=int(time.time()) - age)
    assert isinstance(accepting(issuer, leeway_s=30).find(token), Principal) is accepted


def unsigned(header: dict[str, Any], claims: dict[str, Any]) -> str:
    parts = (json.dumps(part).encode() for part in (header, claims))
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


@pytest.mark.parametrize("name", ["none", "None", "NONE", ""])
def test_a_token_without_a_signature_is_refused(issuer: OidcIssuer, name: str) -> None:
    token = unsigned({"alg": name, "typ": "JWT", "kid": "first"}, issuer.claims())
    assert isinstance(accepting(issuer).find(f"{token}."), str)


@pytest.mark.covers("rule.shared.jwt")
@pytest.mark.parametrize("algorithm", ["HS256", "RS256"])
def test_the_public_key_is_not_taken_as_the_secret_of_a_token(
    issuer: OidcIssuer, algorithm: str
) -> None:
    signed = unsigned({"alg": algorithm, "typ": "JWT", "kid": "first"}, issuer.claims())
    mac = hmac.new(issuer.public_pem(), signed.encode(), sha256).digest()
    token = f"{signed}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"
    assert isinstance(accepting(issuer).find(token), str)


def test_an_algorithm_that_is_not_configured_is_refused(issuer: OidcIssuer) -> None:
    issuer.add_key("curve", curve=True)
    token = issuer.token("curve", algorithm="ES256")
    assert isinstance(accepting(issuer, algorithms=("ES256",)).find(token), Principal)
    assert accepting(issuer, algorithms=("RS256",)).find(token) == "InvalidAlgorithmError"


def test_a_token_cannot_bring_its_own_key(issuer: OidcIssuer) -> None:
    with oidc_issuer() as other:
        key = other.keys()["keys"][0]
        headers = {"kid": "first", "jwk": key, "jku": other.jwks_url}
        token = jwt.encode(issuer.claims(), other.private_key(), "RS256", headers=headers)
        assert accepting(issuer).find(token) == "InvalidSignatureError"
        assert other.fetches == 0


@pytest.mark.parametrize("token", ["", "a", "a.b.c", "é.é.é", "." * 500, "x" * 20_000, "ci_x_y"])
def test_what_is_no_token_is_refused_without_fetching_keys(issuer: OidcIssuer, token: str) -> None:
    assert isinstance(accepting(issuer).find(token), str)
    assert issuer.fetches == 0


def test_a_new_key_is_fetched_when_a_token_names_it(
    issuer: OidcIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oidc, "NEW_KEY_PAUSE_S", 0)
    accepted = accepting(issuer)
    accepted.find(issuer.token())
    issuer.add_key("second")
    assert isinstance(accepted.find(issuer.token("second")), Principal)
    assert issuer.fetches == 2


def test_unknown_keys_cannot_make_the_server_fetch_again_and_again(issuer: OidcIssuer) -> None:
    accepted = accepting(issuer)
    accepted.find(issuer.token())
    for number in range(20):
        token = jwt.encode(
            issuer.claims(), issuer.private_key(), "RS256", headers={"kid": f"unknown{number}"}
        )
        assert accepted.find(token) == "PyJWKClientError"
    assert issuer.fetches == 1


def test_a_withdrawn_key_is_refused_when_its_lifespan_is_over(
    issuer: OidcIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert oidc.KEYS_LIFESPAN_S + oidc.NEW_KEY_PAUSE_S < 60
    monkeypatch.setattr(oidc, "KEYS_LIFESPAN_S", 1e-9)
    monkeypatch.setattr(oidc, "NEW_KEY_PAUSE_S", 0)
    accepted, token = accepting(issuer), issuer.token()
    assert isinstance(accepted.find(token), Principal)
    issuer.add_key("second")
    issuer.withdraw_key("first")
    assert accepted.find(token) == "PyJWKClientError"


def test_while_the_issuer_does_not_answer_tokens_are_refused_and_one_request_is_sent(
    issuer: OidcIssuer,
) -> None:
    accepted = accepting(issuer)
    issuer.is_broken = True
    for _ in range(5):
        assert accepted.find(issuer.token()) == "PyJWKClientConnectionError"
    assert issuer.fetches == 1


@pytest.mark.parametrize("algorithm", ["HS256", "none", "RS1"])
def test_an_algorithm_with_a_shared_secret_cannot_be_configured(
    issuer: OidcIssuer, algorithm: str
) -> None:
    with pytest.raises(ValueError, match="algorithms"):
        accepting(issuer, algorithms=(algorithm,))


@pytest.mark.parametrize("url", ["http://id.example.com", "file:///etc/passwd", "ftp://x", "id"])
def test_keys_come_from_https_or_this_machine(url: str) -> None:
    with pytest.raises(ValueError, match="https"):
        Issuer(issuer="https://id.example.com", audience="x", jwks_url=url, grants=())
