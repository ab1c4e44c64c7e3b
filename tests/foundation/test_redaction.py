"""What is a secret, what only looks like one, and what a mask leaves of a text."""

import re
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_intel.chunking import decode
from code_intel.foundation.redaction import mask, masked, masked_data
from code_intel.foundation.secret_patterns import RULES
from planted import planted

KINDS = planted()
NO_SECRETS = {
    "a commit": "Fixed in da39a3ee5e6b4b0d3255bfef95601890afd80709.",
    "a digest": "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "a digest by name": "symbol_digest: 0a1b2c3d4e5f6071",
    "a UUID": "550e8400-e29b-41d4-a716-446655440000",
    "a session": "session_20261122_011757_ab12cd34ef56ab12cd34ef56ab12cd34",
    "an image": (
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    ),
    "an integrity": (
        '"integrity": "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DkOsm"'
    ),
    "an environment": 'password = os.environ["DB_PASSWORD_2"]',
    "a call": "password = getpass.getpass()",
    "a chain": 'access_token = response.json()["access_token"]',
    "a field": "password: str = Field(min_length=8, max_length=64)",
    "a template": 'password="${DB_PASS1}" secret: {{ secret_v1 }} token = "%(token_v1)s"',
    "a placeholder": "token = ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx AKIAXXXXXXXXXXXXXXXX",
    "words": 'api_key = "your-api-key-here" OPENAI_API_KEY=sk-your-openai-api-key-goes-here',
    "a fixture": '"password": "Password123", password = "hunter2", passwd="test-user-password-1"',
    "a name": 'secret_name = "my-secret-name-1"; "token_type": "accessTokenV2ForUser"',
    "a path": 'token_url = "https://login.example.com/oauth2/v2.0/token"\npwd=/home/u1/p2/x3/y4/z5',
    "everyday passwords": "postgres://user:password@localhost/db redis://:secret@cache",
    "a variable in a URL": "https://user:${TOKEN}@example.com https://{user}:{password}@host",
    "no user": "http://localhost:8080/path@2x git@github.com:a/b.git mailto:a@b.example",
    "a pattern": r"passwordPattern = /^(?=.*[A-Z])(?=.*\d).{8,}$/",
    "an example block": "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    "a certificate": (
        "-----BEGIN CERTIFICATE-----\nMIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQ"
    ),
    "a rule": "-----BEGIN RSA PRIVATE KEY-----",
    "prose": "The token is validated by the secret service; the password is checked first.",
    "日本語": "パスワードが空のときエラーが出ない。トークンは30分で期限切れになります。",
    "OpenGL": "glTexImage2DMultisample_x1(); gl-matrix-utilities-for-everyone",
    "a stylesheet": ".sk-folding-cube .sk-cube1:before { task_live_1 }",
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "say {} now",
        '"{}"',
        "f('{}')",
        r"a\n{}\n",
        "# {}\n",
        '    call("x", {})\r\n',
        "鍵 {} 。",
    ],
)
def test_every_kind_is_masked_wherever_it_stands(kind: str, around: str) -> None:
    text = around.replace("{}", KINDS[kind].text)
    hidden, found = mask(text)
    assert found
    assert not [secret for secret in KINDS[kind].secrets if secret in hidden]


@pytest.mark.parametrize("kind", KINDS)
def test_the_next_of_the_same_kind_is_masked_too(kind: str) -> None:
    for seed in range(2, 30):
        text, secrets = planted(seed)[kind]
        hidden = masked(f"{text}\n{text}")
        assert not [secret for secret in secrets if secret in hidden], (seed, text)


@pytest.mark.parametrize("text", NO_SECRETS.values(), ids=NO_SECRETS)
def test_what_only_looks_like_one_is_left_alone(text: str) -> None:
    assert mask(text) == (text, 0)


def test_the_kind_and_what_is_around_can_still_be_read() -> None:
    text = 'TOKEN = "{}"  # for CI'
    ghp = KINDS["GitHub classic"].text
    assert masked(text.format(ghp)) == text.format("ghp_x" + "*" * 35)
    url = KINDS["database URL"]
    assert masked(url.text) == "postgres://app:x" + "*" * 15 + "@db.internal:5432/shop"
    lines = masked(KINDS["private key"].text).split("\n")
    assert lines[0] == "-----BEGIN PRIVATE KEY-----"
    assert lines[1:-1] == ["x" + "*" * 63] * 6
    assert lines[-1] == "-----END PRIVATE KEY-----"


def test_a_key_ends_where_the_next_string_begins() -> None:
    key = "7qssnZO1URHVeiFHYKkjvI0kqKHEAmJ9gMAjORLrez2="
    string = (
        f"Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={key}"
    )
    hidden, found = mask(string + string)
    assert (found, key[4:] in hidden) == (2, False)
    assert mask(hidden) == (hidden, 0)


NEAR = st.sampled_from([plant.text for plant in KINDS.values()] + list(NO_SECRETS.values()))
TEXTS = st.lists(
    st.one_of(
        NEAR, st.text(max_size=20), st.sampled_from(["\n", "\r\n", "  ", '"', "=", "İ", "\0"])
    )
).map("".join)


@given(TEXTS)
@settings(deadline=None, max_examples=300)
def test_a_mask_has_the_length_and_the_lines_of_what_it_covers(text: str) -> None:
    hidden, found = mask(text)
    assert len(hidden) == len(text)
    assert [i for i, c in enumerate(hidden) if c.isspace()] == [
        i for i, c in enumerate(text) if c.isspace()
    ]
    assert all(new == old or new in "x*" for new, old in zip(hidden, text, strict=True))
    assert (hidden == text) == (not found)


@given(TEXTS)
@settings(deadline=None, max_examples=300)
def test_masking_twice_is_masking_once(text: str) -> None:
    once = masked(text)
    assert mask(once) == (once, 0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp932", "euc-jp"])
def test_the_text_of_a_file_holds_none_in_any_encoding(kind: str, encoding: str) -> None:
    text, secrets = KINDS[kind]
    seen = decode(f"# 日本語の説明です\n{text}\n".encode(encoding))
    assert seen is not None
    assert "日本語の説明" in seen
    assert not [secret for secret in secrets if secret in seen]


def test_data_is_masked_at_any_depth() -> None:
    text, (secret,) = KINDS["Stripe"]
    data: dict[str, Any] = {"a": [{"b": (text, 1, None, True, 0.5)}], "c": text}
    hidden = masked_data(data)
    assert secret not in repr(hidden)
    assert hidden["a"][0]["b"][1:] == [1, None, True, 0.5]


HOSTILE = (
    "password" * 20_000,
    "password=" * 20_000,
    "token: " + "a1B2" * 40_000,
    "-----BEGIN PRIVATE KEY-----" * 5_000,
    "-----BEGIN PRIVATE KEY-----\n" + "A1" * 80_000,
    "eyJ" * 50_000,
    "eyJaaaaaaaa." * 15_000,
    "://a:b" * 30_000,
    "://" + ":" * 160_000,
    "sk-" * 50_000,
    "aws_" * 40_000,
    "パスワード" * 30_000,
    "AKIA" * 40_000,
    "Bearer " * 25_000,
    "secret" + " " * 160_000,
    "İ" * 100_000 + "password",
)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_the_cost_grows_with_the_text_alone(text: str) -> None:
    started = time.process_time()
    masked(text)
    assert time.process_time() - started < 4


def test_every_rule_has_a_group_and_bounds_on_what_it_repeats() -> None:
    for rule in RULES:
        assert "s" in re.compile(rule.pattern).groupindex, rule.name
        bare = re.sub(r"\[(?:\\.|[^\]\\])*\]", "C", rule.pattern)
        bare = bare.replace("}+", "}")  # possessive: it gives nothing back
        assert not re.search(r"(?<!\\)(?<!\()[*+]|\{\d*,\}", bare), rule.name
        assert rule.hints, rule.name
