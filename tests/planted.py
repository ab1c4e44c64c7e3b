"""Secrets of every kind, generated from a seed, so that no file contains one."""

import base64
import json
import random
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple

BASE62 = ascii_letters + digits
BASE64 = BASE62 + "+/"
HEX = "0123456789abcdef"


class Plant(NamedTuple):
    """A line or block of text, and the parts of it that must not be seen again."""

    text: str
    secrets: tuple[str, ...]


def planted(seed: int = 1) -> dict[str, Plant]:
    """Return one plant a kind."""
    rng = random.Random(seed)

    def some(length: int, alphabet: str = BASE62) -> str:
        # As issued ones nearly always do, it has letters and digits.
        return "7q" + "".join(rng.choice(alphabet) for _ in range(length - 4)) + "z2"

    def plant(form: str, *secrets: str) -> Plant:
        return Plant(form.format(*secrets), secrets)

    key_lines = [some(64, BASE64) for _ in range(6)]
    block = "-----BEGIN {0}PRIVATE KEY-----\n{1}\n-----END {0}PRIVATE KEY-----"
    claims = base64.urlsafe_b64encode(json.dumps({"sub": some(12)}).encode()).decode().rstrip("=")
    return {
        "AWS key id": plant("AKIA{}", some(16, ascii_uppercase + "234567").upper()),
        "AWS pair": plant("AKIA{},{}", some(16, ascii_uppercase).upper(), some(40, BASE64)),
        "AWS secret": plant("aws_secret_access_key = {}", some(40, BASE64)),
        "AWS secret of a shell": plant("export AWS_SECRET_ACCESS_KEY={}", some(40, BASE64)),
        "AWS session": plant('aws_session_token: "{}"', some(200, BASE64)),
        "GitHub classic": plant("ghp_{}", some(36)),
        "GitHub OAuth": plant("gho_{}", some(36)),
        "GitHub fine-grained": plant("github_pat_{}", f"{some(22)}_{some(59)}"),
        "GitLab": plant("glpat-{}", some(20)),
        "Slack bot": plant("xoxb-{}", f"{some(12, digits)}-{some(13, digits)}-{some(24)}"),
        "Slack webhook": plant(
            "https://hooks.slack.com/services/{}", f"T0{some(8)}/B0{some(8)}/{some(24)}"
        ),
        "Google": plant("AIza{}", some(35)),
        "Stripe": plant("sk_live_{}", some(24)),
        "Stripe restricted": plant("rk_test_{}", some(24)),
        "OpenAI": plant("sk-{}", some(48)),
        "OpenAI project": plant("sk-proj-{}", some(120)),
        "Anthropic": plant("sk-ant-api03-{}", some(95)),
        "Hugging Face": plant("hf_{}", some(34)),
        "npm": plant("npm_{}", some(36)),
        "PyPI": plant("pypi-AgEIcHlwaS5vcmc{}", some(120)),
        "JSON web token": plant("eyJhbGciOiJIUzI1NiJ9.{}.{}", claims, some(43)),
        "private key": plant(block.format("", "\n".join(key_lines)), *key_lines),
        "RSA key": plant(
            block.format("RSA ", "\n".join(map(str.swapcase, key_lines))),
            *map(str.swapcase, key_lines),
        ),
        "key on one line": plant(
            '"' + block.format("EC ", "{0}").replace("\n", "\\n") + '"', some(160, BASE64)
        ),
        "password": plant('password = "{}"', some(14) + "!"),
        "typed password": plant("db_password: str = '{}'", some(12) + "&3"),
        "key of an object": plant('"apiKey": "{}",', some(32, HEX)),
        "client secret": plant('client_secret="{}"', some(32)),
        "unquoted password": plant("PASSWORD={}", some(18)),
        "password in markup": plant("<password>{}</password>", some(18)),
        "password in Japanese": plant("パスワードは「{}」です", some(16)),
        "database URL": plant("postgres://app:{}@db.internal:5432/shop", some(16)),
        "basic-auth URL": plant("https://deploy:{}@example.com/repo.git", some(9, ascii_lowercase)),
        "bearer": plant("Authorization: Bearer {}", some(40)),
        "basic": plant("Authorization: Basic {}", base64.b64encode(some(18).encode()).decode()),
        "Azure storage": plant(
            "DefaultEndpointsProtocol=https;AccountName=shop;"
            "AccountKey={}==;EndpointSuffix=core.windows.net",
            some(86, BASE64),
        ),
        "Azure bus": plant(
            "Endpoint=sb://shop.servicebus.windows.net/;"
            "SharedAccessKeyName=Root;SharedAccessKey={}=",
            some(43, BASE64),
        ),
        "setting of .NET": plant('<add key="ApiKey" value="{}"/>', some(32, HEX)),
        "field of Kubernetes": plant("- name: DB_PASSWORD\n  value: {}", some(18)),
        "dictionary of plist": plant("<key>apiToken</key>\n<string>{}</string>", some(24)),
        "account of SQL": plant("ALTER ROLE app WITH PASSWORD '{}';", some(18)),
        "Docker": plant("dckr_pat_{}", some(27)),
        "DigitalOcean": plant("dop_v1_{}", some(64, HEX).replace("q", "a").replace("z", "b")),
        "Shopify": plant("shpat_{}", some(32, HEX).replace("q", "a").replace("z", "b")),
        "Vault": plant("hvs.{}", some(90)),
        "Twilio": plant("twilio = {}", some(32, HEX).replace("q", "a").replace("z", "b")),
        "Mailgun": plant("key-{}", some(32, HEX).replace("q", "a").replace("z", "b")),
        "Telegram": plant("bot123456789:{}", "AA" + some(33)),
        "SendGrid": plant("SG.{}", f"{some(22)}.{some(43)}"),
        "Azure client secret": plant("8Q~{}", some(34)),
        "Azure signature": plant("https://shop.blob.core.windows.net/a?sv=2024&sig={}", some(46)),
    }


def pieces(secret: str) -> set[str]:
    """Return what would give a secret away, in lower case: its beginning, its middle, its end."""
    folded, length = secret.lower(), 12
    middle = max(0, (len(folded) - length) // 2)
    return {folded[:length], folded[middle : middle + length], folded[-length:]}
