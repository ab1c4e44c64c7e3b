"""Secrets are masked, similar text is not, and the rest of a text stays."""

import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.chunking import decode
from code_intel.foundation.redaction import mask, mask_file, masked, masked_data
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
    "a fixture": '"password": "Password123", password = "secret", passwd="test-user-password-1"',
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


CONTEXTS = (
    "{}",
    "say {} now",
    '"{}"',
    "f('{}')",
    r"a\n{}\n",
    "# {}\n",
    '    call("x", {})\r\n',
    "鍵 {} 。",
)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_secret_is_masked_in_every_context(kind: str) -> None:
    for context in CONTEXTS:
        hidden, found = mask(context.replace("{}", KINDS[kind].text))
        assert found, context
        assert not [secret for secret in KINDS[kind].secrets if secret in hidden], context


@pytest.mark.parametrize("kind", KINDS)
def test_secrets_of_other_seeds_are_masked(kind: str) -> None:
    for seed in range(2, 12):
        text, secrets = planted(seed)[kind]
        hidden = masked(f"{text}\n{text}")
        assert not [secret for secret in secrets if secret in hidden], (seed, text)


@pytest.mark.parametrize("text", NO_SECRETS.values(), ids=NO_SECRETS)
def test_text_that_resembles_a_secret_is_kept(text: str) -> None:
    assert mask(text) == (text, 0)


def test_prefixes_and_surrounding_text_stay_readable() -> None:
    text = 'TOKEN = "{}"  # for CI'
    ghp = KINDS["GitHub classic"].text
    assert masked(text.format(ghp)) == text.format("ghp_x" + "*" * 35)
    url = KINDS["database URL"]
    assert masked(url.text) == "postgres://app:x" + "*" * 15 + "@db.internal:5432/shop"
    lines = masked(KINDS["private key"].text).split("\n")
    assert lines[0] == "-----BEGIN PRIVATE KEY-----"
    assert lines[1:-1] == ["x" + "*" * 63] * 6
    assert lines[-1] == "-----END PRIVATE KEY-----"


def test_two_adjacent_keys_are_both_masked() -> None:
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
def test_a_mask_keeps_the_length_and_the_lines(text: str) -> None:
    hidden, found = mask(text)
    assert mask_file(text) == mask_file(text) == (hidden, found)
    assert len(hidden) == len(text)
    assert [i for i, c in enumerate(hidden) if c.isspace()] == [
        i for i, c in enumerate(text) if c.isspace()
    ]
    assert all(new == old or new in "x*" for new, old in zip(hidden, text, strict=True))
    assert (hidden == text) == (not found)


@given(TEXTS)
def test_masking_is_idempotent(text: str) -> None:
    once = masked(text)
    assert mask(once) == (once, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_decoded_files_contain_no_secret_in_any_encoding(kind: str) -> None:
    text, secrets = KINDS[kind]
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "cp932", "euc-jp"):
        decoded = decode(f"# 日本語の説明です\n{text}\n".encode(encoding))
        assert decoded is not None
        assert "日本語の説明" in decoded
        assert not [secret for secret in secrets if secret in decoded], encoding


VALUES = st.one_of(
    st.sampled_from([plant.text for plant in KINDS.values()]),
    st.sampled_from(["", "送料計算", "src/token/password.py:3", "İstanbul API_KEY", "パスワード"]),
    st.text(max_size=20),
)
ANSWERS = st.recursive(
    st.one_of(VALUES, st.integers(), st.none(), st.tuples(VALUES, st.floats(allow_nan=False))),
    lambda inner: st.one_of(
        st.lists(inner, max_size=6), st.dictionaries(st.sampled_from(["a", "b", "c"]), inner)
    ),
    max_leaves=20,
)


def masked_separately(value: Any) -> Any:
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, dict):
        return {key: masked_separately(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [masked_separately(item) for item in value]
    return value


@given(ANSWERS)
def test_an_answer_is_masked_as_each_of_its_texts(answer: Any) -> None:
    assert masked_data(answer) == masked_separately(answer)


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
    "password = 'a" * 15_000,
    "passphrase: " + "correct horse " * 12_000,
    "auth(" * 40_000,
    "login('a', " * 20_000,
    "connect('a', 'b', 'c', " * 10_000,
    "twilio" * 30_000,
    "mailgun " + "key-" * 40_000,
    "telegram 12345678:" * 10_000,
    "12345678:AA" * 15_000,
    "pw" * 80_000,
)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_masked_in_linear_time(text: str) -> None:
    started = time.process_time()
    masked(text)
    assert time.process_time() - started < 4


def test_every_rule_has_a_group_and_bounded_repeats() -> None:
    for rule in RULES:
        assert "s" in re.compile(rule.pattern).groupindex, rule.name
        bare = re.sub(r"\[(?:\\.|[^\]\\])*\]", "C", rule.pattern)
        bare = bare.replace("}+", "}")  # possessive: it gives nothing back
        assert not re.search(r"(?<!\\)(?<!\()[*+]|\{\d*,\}", bare), rule.name
        assert rule.hints, rule.name
