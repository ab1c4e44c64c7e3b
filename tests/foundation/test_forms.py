"""Secrets in configurations, commands and prose: the value is masked, the rest stays."""

import base64
import json
import random
import re
from itertools import product
from string import ascii_letters, digits

import pytest

from code_intel.foundation.redaction import mask, masked, masked_data
from planted import planted

RANDOM = "7q4Tz9Wm2Kx8vB5n"
BASE64 = "QWxhZGRpbjpvcGVuIHNlc2FtZTk5"
WORDS = "hunter2secret"
"""A password of words and a digit; masked only where the form names it."""

NAMED = {
    "an element": "<password>{}</password>",
    "a key of plist": "<dict>\n\t<key>apiToken</key>\n\t<string>{}</string>\n</dict>",
    "a resource of Android": '<string name="api_key">{}</string>',
    "an escaped element": "&lt;clientSecret&gt;{}&lt;/clientSecret&gt;",
    "a setting of .NET": '<add key="ApiKey" value="{}"/>',
    "a property of Spring": '<property name="password" value="{}"/>',
    "a property of Hibernate": '<property name="connection.password">{}</property>',
    "an input": '<input type="password" name="pw" value="{}">',
    "Maven's, encrypted": "<password>{{{}}}</password>",
    "JSON within a string": r'"{{\"password\": \"{}\"}}"',
    "JSON over two lines": '"password":\n  "{}"',
    "two fields of JSON": '{{"name": "DB_PASSWORD", "value": "{}"}}',
    "two fields of Kubernetes": "- name: DB_PASSWORD\n  value: {}\n",
    "a secret of Kubernetes": "kind: Secret\ndata:\n  password: {}\n",
    ("a variable of Terraform"): (
        'variable "db_password" {{\n  type    = string\n  default = "{}"\n}}'
    ),
    "an attribute of Terraform": '  master_password    = "{}"',
    "a block of YAML": "db_password: |\n  {}\n",
    "a folded block of YAML": "password: >-\n  {}\n",
    "a tag of YAML": "password: !!str {}",
    "an anchor of YAML": "password: &pw {}",
    "a list of Compose": "environment:\n  - POSTGRES_PASSWORD={}\n",
    "a quoted list of Compose": '  - "POSTGRES_PASSWORD={}"',
    "three quotes": 'token = """{}"""',
    "an f-string": "token = f'{}'",
    "a verbatim string": 'Password = @"{}"',
    "the next line": 'password = (\n    "{}"\n)',
    "Rust": 'let password: &str = "{}";',
    "a static of Rust": 'const PASSWORD: &\'static str = "{}";',
    "a setter": 'source.setPassword("{}");',
    "a wrapped literal": 'password = SecretStr("{}")',
    "a default": 'os.getenv("SECRET_KEY", "{}")',
    "a definition of PHP": "define('DB_PASSWORD', '{}');",
    "a definition of C": '#define WIFI_PASSWORD "{}"',
    "Gradle": "storePassword '{}'",
    "an option": "docker login --password {} host",
    "an option of two words": "['--api-token', '{}']",
    "a Dockerfile": "ENV DB_PASSWORD {}\n",
    ".netrc": "machine example.com login deploy password {}\n",
    "Redis": "requirepass {}\n",
    "a parameter of JDBC": "jdbc:mysql://db/shop?user=app&password={}&useSSL=true",
    "a property of JDBC": "jdbc:sqlserver://db;user=sa;password={};encrypt=true",
    "ADO": "Server=db;Uid=app;Pwd={};",
    "a row of Markdown": "| password | `{}` |",
    "bold Markdown": "**Password:** {}",
    "a scheme of a header": "Authorization: Token {}",
    "a header without a scheme": '"Authorization": "{}"',
    "a login of Docker": '{{"auth": "{}"}}',
    "curl": "curl -u admin:{} https://example.com",
    "curl, in full": "curl --user admin:{} https://example.com",
    "mysql": "mysql -uroot -p{} shop",
    "sshpass": "sshpass -p '{}' ssh host",
    "SQL": "CREATE USER app IDENTIFIED BY '{}';",
    "a role of SQL": "ALTER ROLE app WITH PASSWORD '{}';",
    "Japanese, full-width": "パスワード：{}",
    "Japanese, equal": "パスワード＝{}",
    "a row in Japanese": "| パスワード | {} |",
    "a key in Japanese": "APIキーは「{}」です",
    "an access key in Japanese": "アクセスキー: {}",
    "a qualified token in Japanese": "認証トークンの値：{}",
    "a URL's, with a colon": "amqp://app:a:{}@host/",
    "a URL's, with a dollar": "amqp://app:a${}@host/",
    "a URL's token": "https://{}7q4Tz9@github.com/a/b.git",
}

CERTAIN = {
    "an element": "<password>{}</password>",
    "an element of a namespace": "<ns:password>{}</ns:password>",
    "an element with attributes": '<Password encrypted="false">{}</Password>',
    "an element of three lines": "<password>\n  {}\n</password>",
    "character data": "<password><![CDATA[{}]]></password>",
    "an attribute": '<user name="a" password="{}"/>',
    "an attribute among others": "<user passwd='{}' name='a'>",
    "a setting of .NET": '<add key="SmtpPassword" value="{}" />',
    "ADO": '"Server=db;User Id=app;Password={};Database=shop"',
    "Japanese": "パスワード: {}",
    "Japanese, quoted": "初期パスワード「{}」",
}  # fmt: skip

PHRASE = "correct horse battery staple"
HEX = "7a3f9c21e8b04d56a1f2c3d4e5b60789"
BOT = "AAH7q4Tz9Wm2Kx8vB5nQeRtYuIoPaSdFgHj"
# Words that only the password's name gives away, and tokens that only their issuer's name does.
OF_WORDS = {
    "a literal": ('password = "{}"', "swordfish"),
    "a literal with a digit": ("password = '{}'", "hunter2"),
    "a pass phrase": ('passphrase = "{}"', PHRASE),
    "a pass phrase without quotes": ("passphrase={}\n", PHRASE),
    "a pass phrase of YAML": ("  passphrase: {}\n", PHRASE),
    "joined words": ("password: {}\n", "correct-horse-battery-staple"),
    "a short name": ('pw="{}"', "swordfish"),
    "a short name of a shell": ("pw={}\n", "Tr0ub4dor&3xy"),
    "a short name in a call": ("connect(host, pw='{}')", "swordfish"),
    "an environment": ("DB_PASSWORD={}", "swordfish"),
    "a file of settings": ("db.password = {}\n", "dragonfly7"),
    "a field of JSON": ('{{"pw": "{}"}}', "swordfish"),
    "an option": ("mysql --password={} shop", "swordfish"),
    "an option of two words": ("gpg --passphrase {} --batch", "swordfish1"),
    "an element": ("<password>{}</password>", "swordfish"),
    "a setter": ('source.setPassword("{}");', "swordfish"),
    "a pair": ('params.put("password", "{}");', "swordfish"),
    "a tuple": ('auth=("app", "{}")', "swordfish"),
    "a login": ('smtp.login("me@example.com", "{}")', "swordfish"),
    "a class": ("HTTPBasicAuth('app', '{}')", "swordfish"),
    "credentials": ('credentials = ("app", "{}")', "Tr0ub4dor&3"),
    "arguments of a connection": ('db.connect("host", "app", "{}")', "Tr0ub4dor&3"),
    "a tuple without a name": ('ACCOUNTS = [("admin", "{}")]', "Tr0ub4dor&3"),
    "Japanese": ("パスワードは「{}」です", "swordfish"),
    "Japanese, a phrase": ("パスフレーズ: {}", PHRASE),
    "Twilio": ('TWILIO = Client("AC' + HEX + '", "{}")', HEX),
    "Twilio, of a shell": ("TWILIO_AUTH={}", HEX),
    "Mailgun": ('MAILGUN = "key-{}"', HEX),
    "Mailgun, new": ("mailgun: {}\n", HEX + "-a1b2c3d4-e5f60718"),
    "Telegram": ('BOT = "123456789:{}"', BOT),
    "Telegram, by name": ('TELEGRAM = "123456789:{}"', "BB" + BOT[2:]),
    "Telegram, in a URL": ("https://api.telegram.org/bot123456789:{}/getMe", BOT),
}

LEFT_ALONE = {
    "everyday": "<password>password123</password> <password>changeme</password>",
    "words": '<password>required</password> <input password="optional" />',
    "a variable": '<password>${db.password}</password> <add key="Password" value="#{Password}#"/>',
    "an expression": ";password=e.target.value2;token=t1",
    "a component": "<Password value={state.pw1} onChange={f} />",
    "a keyword argument": 'connect(user="a", password="changeme", host="b", pw=prompt_user())',
    "a label": '"password": "Password", "passphrase": "Enter the pass phrase", pw = "required"',
    "a type": "password: string\npassphrase = undefined\n  pass: Option<String>,\npw=userInput\n",
    "a field": 'fields = ("username", "password", "remember"); PASSWORD = "userPassword"',
    "a dependency": '"parse-passwd": "^1.0.0", pass `:tabedit`, two-pass formatting',
    "a selector": 'pass = form.selectFirst("input[name=pin]"); passwd = "--no-init"',
    "a call of two texts": 'auth("jwt", "optional") authorize("admin", "editor") login("a", "b")',
    "an account of Twilio": 'twilio = Client("AC7a3f9c21e8b04d56a1f2c3d4e5b60789")',
    "a digest after a key": "cache-key-7a3f9c21e8b04d56a1f2c3d4e5b6078 12345678:AAaa",
    "an everyday login": "Authorization: Basic dXNlcm5hbWU6cGFzc3dvcmQ=",
    "a constant": "#define CKM_MASTER_KEY_DERIVE 0x000003D1UL",
    "a declaration": "SECKEYPrivateKeyInfo *pkcs8KeyBag; PrivateKey rsa2048Key1 = make(k1x2y3);",
    "names": '["MLKEM1024P384PrivateKey",\n "MLKEM768X25519PublicKey"]',
    ("a comparison with a header"): (
        'if "-----BEGIN PRIVATE KEY-----" in text and text.strip().endswith("="): f(1)'
    ),
    ("a certificate in base 64"): (
        "ca: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUV2QUlCQURBTkJna3Foa2lHOXcwQkFRRUZBQVNDQkt"
        "Zd2dnU2lBZ0VBQW9JQkFR"
    ),
    "ports": "docker run -p 127.0.0.1:8080:80 -u 1000:1000; ssh -p2222 -pthread",
    "hosts": "mongodb://a.example:27017,b:c@example/db cvs://:pserver:anoncvs@example.com",
    "a protein": "MKTAYIAKQRAKIAVMKCPMSECTLOHZCTQLDE",
    "a class": ".ask-proj-form { } task-ant-api npm_config_registry_of_the_whole_team_2",
    "headers": "Authorization: Bearer $TOKEN; authorization: AuthorizationHeaderOfV2",
}


def covered(secret: str) -> str:
    return "x" + "*" * (len(secret) - 1)


def token(prefix: str, length: int, seed: int = 3) -> str:
    rng = random.Random(seed)
    return prefix + "7q" + "".join(rng.choices(ascii_letters + digits, k=length - 4)) + "z2"


TOKENS = {
    "GitHub": token("ghp_", 36),
    "Google": token("AIza", 35),
    "Hugging Face": token("hf_", 34),
    "npm": token("npm_", 36),
    "Stripe": token("sk_live_", 24),
    "GitLab": token("glpat-", 20),
    "Anthropic": token("sk-ant-api03-", 95),
    "Docker": token("dckr_pat_", 27),
    "Vault": token("hvs.", 90),
    "PyPI": token("pypi-AgE", 120),
    "AWS": "AKIA7Q4TZ9WM2KX8VB5N",
    "JSON web token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0." + token("", 43),
}  # fmt: skip
PREFIX = re.compile(
    r"ghp_|AIza|hf_|npm_|sk_live_|glpat-|sk-ant-api03-|dckr_pat_|hvs\.|pypi-AgE|AKIA|eyJ"
)


def bodies(text: str) -> list[str]:
    """Return the secret part of tokens in pieces of twelve characters."""
    found = [part for part in PREFIX.split(text) if part]
    return [part[at : at + 12] for part in found for at in range(0, len(part) - 11, 12)]


@pytest.mark.parametrize("form", NAMED)
def test_a_random_value_is_masked_and_the_rest_stays(form: str) -> None:
    secret = BASE64 if form in {"a secret of Kubernetes", "a login of Docker"} else RANDOM
    text = NAMED[form].format(secret)
    hidden, found = mask(text)
    assert found >= 1
    assert secret[:8] not in hidden
    assert secret[-8:] not in hidden
    if "{}&" not in NAMED[form] and "://" not in NAMED[form]:  # more belongs to the password there
        assert hidden == NAMED[form].format(covered(secret))
    assert mask(hidden) == (hidden, 0)


@pytest.mark.parametrize("form", CERTAIN)
def test_a_password_of_words_is_masked_in_unambiguous_forms(form: str) -> None:
    assert masked(CERTAIN[form].format(WORDS)) == CERTAIN[form].format(covered(WORDS))


@pytest.mark.parametrize("form", OF_WORDS)
def test_words_are_masked_behind_a_password_and_tokens_behind_their_issuer(form: str) -> None:
    text, secret = OF_WORDS[form]
    hidden, found = mask(text.format(secret))
    assert found == 1
    assert hidden == text.format(" ".join(map(covered, secret.split(" "))))
    assert mask(hidden) == (hidden, 0)


@pytest.mark.parametrize("text", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_text_that_resembles_a_form_is_kept(text: str) -> None:
    assert mask(text) == (text, 0)


JOINED = ("{0}{0}", "{0}{0}{0}", "my{0}", "KEY_{0}", "key{0} and", "{0}{1}", "{1}{0}")


@pytest.mark.parametrize("kind", TOKENS)
def test_a_token_is_masked_next_to_another_and_within_a_word(kind: str) -> None:
    for form, other in product(JOINED, TOKENS.values()):
        hidden = masked(form.format(TOKENS[kind], other))
        assert not [part for part in bodies(TOKENS[kind]) if part in hidden], (form, other)


CUTS = ("\n", "\r\n", "\\\n", '"\n    "', "' +\n  '", '" + "', "\\\n        ")


@pytest.mark.parametrize("kind", sorted(TOKENS.keys() - {"AWS", "Docker"}))
@pytest.mark.parametrize("cut", CUTS)
def test_a_token_that_a_line_end_cuts_is_masked_on_both_lines(kind: str, cut: str) -> None:
    whole = TOKENS[kind]
    for place in (len(whole) - 10, len(whole) // 2 + 3):
        quote = re.sub(r"[^\"']", "", cut)[:1]
        text = f"{quote}{whole[:place]}{cut}{whole[place:]}{quote}\nnext_line = 1\n"
        hidden = masked(text)
        assert whole[place:] not in hidden, text
        assert whole[place - 8 : place] not in hidden, text
        assert hidden.endswith(f"{quote}\nnext_line = 1\n"), text


def test_the_word_after_a_token_is_no_part_of_it() -> None:
    ghp = TOKENS["GitHub"]
    for after in (
        "\nnext_word2\n",
        "\nidentifier\n",
        "\n2026-11-23 created\n",
        "\n",
        " + other2name",
    ):
        assert masked(ghp + after) == f"ghp_{covered(ghp[4:])}{after}"


@pytest.mark.parametrize(
    "prefix",
    ["", "    ", "# ", "// ", " * ", "| ", "> ", "+"],
    ids=["bare", "indent", "hash", "slash", "star", "bar", "cited", "diff"],
)
@pytest.mark.parametrize("end", ["\n", "\\n", "\\\\n", "", "<br>", "&#10;", "%0A"])
def test_a_key_block_is_masked_however_its_lines_are_joined(prefix: str, end: str) -> None:
    block = planted(5)["RSA key"]
    text = end.join(prefix + line for line in block.text.split("\n")) + "\nnext = 1\n"
    hidden = masked(text)
    assert not [line for line in block.secrets if line in hidden or line[:12] in hidden]
    assert "next = 1" in hidden
    if end == "\n" and prefix.strip() != "+":
        assert all(line.startswith(prefix) for line in hidden.split("\n")[:8])


def test_two_adjacent_key_blocks_are_both_masked() -> None:
    first, second = planted(5)["private key"], planted(6)["RSA key"]
    hidden = masked(first.text + second.text)
    assert not [line for line in (*first.secrets, *second.secrets) if line in hidden]


def test_a_key_in_base_64_is_masked() -> None:
    coded = base64.b64encode(planted(5)["RSA key"].text.encode()).decode()
    assert coded[40:60] not in masked(f"tls.key: {coded}")


def test_a_value_is_masked_by_the_name_of_its_key() -> None:
    said = {"options": {"password": RANDOM, "db.api_key": "a1b2c3d4e5f6", "note": RANDOM}}
    hidden = masked_data(said)["options"]
    assert hidden == {
        "password": covered(RANDOM),
        "db.api_key": covered("a1b2c3d4e5f6"),
        "note": RANDOM,
    }
    assert json.dumps(masked_data({TOKENS["GitHub"]: 1})) == json.dumps(
        {f"ghp_{covered(TOKENS['GitHub'][4:])}": 1}
    )
    kept = {"tokens": 12, "token": "my-token", "next_token": None, "secret": ["a", {"b": "c"}]}
    assert masked_data(kept) == kept
