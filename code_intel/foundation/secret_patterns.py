"""The patterns of secrets, and the checks that tell a secret from a placeholder.

A value in the format of an issued key is always a secret. A value after a name such as `password`
is a secret only if it looks random, or if the format of a configuration file leaves no doubt
(docs/decisions/0020).
"""

import re
from base64 import b64decode
from collections.abc import Callable
from typing import NamedTuple

MIN_DISTINCT_CHARS = 6
"""A value with fewer distinct characters is a placeholder."""
MIN_TOKEN_CHARS = 20
"""Minimum length of an issued token after its prefix, without line breaks."""
MAX_JUDGED_CHARS = 120
"""Only the beginning of a value is checked for randomness."""
MIN_CHANGES = 4
"""A value with so many changes between letters, digits and signs inside words looks random."""

_FILLER = re.compile(r"x{4}|X{4}|\*\*|\.{3}|\$\{|\{\{|%\(|://")
_JOINTS = re.compile(r"[-_./:?&=,+%]+")
_RUNS = re.compile(r"[A-Za-z]+|[0-9]+|[^A-Za-z0-9]+")
# In camel case a capital begins a word of at least four letters.
_ODD_CAPITAL = re.compile(r"[a-z][A-Z](?![a-z]{3})")
_BETWEEN = re.compile(r"[\s\"'`\\+]+")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{24,}")
_DIGIT_OR_SIGN = re.compile("[0-9!@#$^&*~]")
_CHARACTER_CLASSES = tuple(map(re.compile, ("[a-z]", "[A-Z]", "[0-9]", "[!@#$^&*~]")))
_EXAMPLE_PASSWORDS = frozenset({
    "pass", "passwd", "password", "pw", "pwd", "secret", "user", "pass123", "password123", "test",
    "changeme", "example", "foo", "bar", "token", "mypassword",
})  # fmt: skip
MIN_PASSWORD_CHARS = 3
"""A password of fewer distinct characters is a placeholder."""
MIN_PLAIN_LETTERS = 9
"""An unquoted password of letters alone has at least this length; a shorter one is a name."""
# A value with one of these parts is a placeholder, a label or the name of a field.
_PLACEHOLDER = re.compile(
    "passw|passphrase|passcode|pwd|^pass|pass$|change.?me|example|placeholder|dummy|sample"
    "|redacted|your|secret$|-secret-|test"
)
# Words that stand behind a password's name in programs: types, states, field names, algorithms.
_LABELS = frozenset({
    "algorithm", "anonymous", "argon2", "base64", "bcrypt", "boolean", "cancel", "client",
    "confirm", "confirmation", "cookie", "credential", "credentials", "default", "digest",
    "disabled", "empty", "enabled", "encrypted", "expired", "failed", "failure", "forgot", "hashed",
    "header", "hidden", "incorrect", "integer", "invalid", "kennwort", "keyboard", "keyring",
    "login", "logout", "masked", "method", "missing", "nothing", "nullable", "number", "object",
    "option", "optional", "options", "passed", "pbkdf2", "pending", "plaintext", "private",
    "prompt", "public", "random", "remember", "repeat", "required", "reset", "result", "scrypt",
    "server", "sha256", "sha512", "signin", "signup", "skipped", "string", "strong", "success",
    "textbox", "undefined", "unknown", "unset", "update", "username", "validate", "values",
    "verify", "wachtwoord", "warning", "weak",
})  # fmt: skip
_SENTENCE_WORDS = frozenset({
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "did", "do", "enter", "for", "from",
    "has", "have", "if", "in", "is", "it", "must", "no", "not", "of", "on", "or", "please", "that",
    "the", "this", "to", "too", "was", "were", "when", "which", "will", "with", "you", "your",
})  # fmt: skip
_IDENTIFIER = re.compile("[A-Za-z]+(?:_[A-Za-z]+)+|[a-z]+(?:[A-Z][a-z]+)+|[A-Z][A-Za-z]+")
_PHRASE_WORD = re.compile("[A-Za-z]{2,16}[0-9!.]?")
_LOGIN = re.compile("[A-Za-z0-9+/]{8,400}={0,2}")


def _is_varied(secret: str) -> bool:
    """Return whether a value is not a placeholder such as `ghp_xxxx…`."""
    return len(set(secret)) >= MIN_DISTINCT_CHARS and not _FILLER.search(secret)


def _is_random(secret: str, min_changes: int = MIN_CHANGES) -> bool:
    """Return whether a value looks random: `Tr0ub4dor&3` does, `my-secret-name-1` does not."""
    secret = secret[:MAX_JUDGED_CHARS]
    if not _is_varied(secret):
        return False
    changes = sum(len(_RUNS.findall(word)) - 1 for word in _JOINTS.split(secret) if word)
    return changes + len(_ODD_CAPITAL.findall(secret)) >= min_changes


def _is_random_literal(secret: str) -> bool:
    """Return whether a quoted value looks random, or has all four classes of characters."""
    has_all_classes = all(kind.search(secret) for kind in _CHARACTER_CLASSES)
    return _is_random(secret) or (_is_varied(secret) and has_all_classes)


def _is_random_value(secret: str) -> bool:
    """Return whether an unquoted value looks random; one with a dot may be an expression."""
    return _is_random(secret, MIN_CHANGES + 2 * ("." in secret))


def _is_password(secret: str) -> bool:
    """Return whether a password is not one of the usual examples."""
    return not _FILLER.search(secret) and secret.lower() not in _EXAMPLE_PASSWORDS


def _is_mixed_password(secret: str) -> bool:
    """Return whether a password has letters, and digits or signs."""
    has_letters = any(map(str.isalpha, secret))
    return has_letters and bool(_DIGIT_OR_SIGN.search(secret)) and _is_password(secret)


def _is_word_password(secret: str) -> bool:
    """Return whether a quoted password may be a word or a phrase, and is no label or example."""
    folded = secret.lower()
    if not _is_password(secret) or _PLACEHOLDER.search(folded) or folded in _LABELS:
        return False
    words = folded.split(" ")
    has_letters = any(map(str.isalpha, secret)) and len(set(folded)) >= MIN_PASSWORD_CHARS
    return has_letters and (len(words) == 1 or _is_phrase(words))


def _is_phrase(words: list[str]) -> bool:
    """Return whether words are a pass phrase, and no sentence of a message or a heading."""
    return all(map(_PHRASE_WORD.fullmatch, words)) and _SENTENCE_WORDS.isdisjoint(words)


def _is_plain_password(secret: str) -> bool:
    """Return whether an unquoted value is a password, and no name that a program uses."""
    if not _is_word_password(secret) or _IDENTIFIER.fullmatch(secret):
        return False
    return len(secret) >= MIN_PLAIN_LETTERS or not secret.isalpha()


def _is_certain_password(secret: str) -> bool:
    """Return whether a value is a password in a place that holds nothing else."""
    return _is_mixed_password(secret) or _is_plain_password(secret)


def _is_quoted_password(secret: str) -> bool:
    """Return whether the last text of a login's arguments is a password."""
    return _is_random_literal(secret) or _is_word_password(secret)


def _is_login(secret: str) -> bool:
    """Return whether the credentials of a header look random, and are no example in base 64."""
    return _is_random(secret) and not _is_example_login(secret)


def _is_login_value(secret: str) -> bool:
    """Return the same for credentials that may be an expression."""
    return _is_random_value(secret) and not _is_example_login(secret)


def _is_example_login(secret: str) -> bool:
    """Return whether a value is `user:password` in base 64 with an everyday password."""
    if len(secret) % 4 or not _LOGIN.fullmatch(secret):
        return False
    login = b64decode(secret).decode("latin-1")
    user, colon, password = login.partition(":")
    return bool(colon) and user.isprintable() and password.lower() in _EXAMPLE_PASSWORDS


def _is_token(secret: str) -> bool:
    """Return whether a token looks random once line breaks and quotes are removed."""
    unbroken = _BETWEEN.sub("", secret)
    return len(unbroken) >= MIN_TOKEN_CHARS and _is_random(unbroken)


def _is_prefixed_token(secret: str) -> bool:
    """Return whether a text after a unique prefix is a token; an unbroken one always is."""
    return _is_token(secret) if _BETWEEN.search(secret) else _is_varied(secret)


def _is_key_block(secret: str) -> bool:
    """Return whether lines of base 64 follow; programs also contain the first line alone."""
    return any(map(_is_random, _BASE64.findall(secret)))


class SecretRule(NamedTuple):
    """One kind of secret.

    Attributes:
        name: The kind.
        hints: Every match begins with one of these texts; a text without them is not searched.
        pattern: Matched at a hint; its group `s` is masked. No repetition is nested and all are
            bounded, so that the cost is linear in the text.
        accepts: Decides whether a match is a secret.
        folded: Whether hints match in any case.
        start: Every match also begins with this pattern. Rules with the same one share its cost.
    """

    name: str
    hints: tuple[str, ...]
    pattern: str
    accepts: Callable[[str], bool] = _is_varied
    folded: bool = False
    start: str = ""


# Not within a word, nor within a mask; an escaped line ending is not part of a word.
_NEW = r"(?:(?<![A-Za-z0-9])(?<!\*\*\*)|(?<=\\[nrt]))"
# A token that continues after a line ending or a quote; nothing else may follow it on that line.
_CUT = (
    r"(?:[\"'`]?[ \t]{0,8}\\?\r?\n[ \t]{0,80}[\"'`]?|[\"'`][ \t]?\+?\s{1,80}[\"'`])"
    r"(?=[A-Za-z]{0,40}[0-9])[A-Za-z0-9][\w+/-]{7,250}(?=[\"'`]?[ \t,;)]{0,8}(?:[\r\n]|\Z))"
)
_KEY_KINDS = (
    "api", "access", "private", "account", "signing", "encryption", "auth", "shared", "master",
)  # fmt: skip
# The cheap test of the character before `key` comes first, because most keys do not match.
_KEY_ENDS = "".join(sorted({kind[-1] for kind in _KEY_KINDS}))
_KEY = rf"key(?<=[{_KEY_ENDS}_-]key)(?:" + "|".join(
    f"(?<={kind}key)|(?<={kind}[_-]key)" for kind in _KEY_KINDS
) + ")"  # fmt: skip
_NAME = (
    r"(?i:passw(?:or)?d|passphrase|passcode|(?<![A-Za-z])p(?:ass|w)(?![A-Za-z])|(?<=require)pass|pwd"
    rf"|secret|token|credential|{_KEY})[\w-]{{0,24}}+"
)
SECRET_KEY_PATTERN = rf"[\w.-]{{0,80}}?{_NAME}"
"""Matches the name of a key whose value may be a secret."""
_PASSWORDS = ("pass", "pw")
_CALLED = "(?i:passw(?:or)?d|passphrase|pwd|(?<![a-z])pw)"
# A name that ends with the password's own word, unlike `password_field`.
_EXACT_NAME = (
    r"(?i:passw(?:or)?d|passphrase|passcode|(?<![A-Za-z])p(?:ass|w)(?![A-Za-z])|pwd)[0-9]{0,2}"
)
_NAMES = (*_PASSWORDS, "secret", "token", "credential", "key")
_TYPE = r"(?:[ \t]?:[ \t]?&?['A-Za-z][\w.\[\]| ?<>]{0,24}(?==))?"
_UNQUOTED = r"[!#-&*+./0-9:=?@A-Z^_a-z~-]"  # characters of passwords, seldom of expressions
_IN_QUOTES = r"[!#-&*-Z^_a-z~]"  # the same in quotes, where a comma or semicolon may occur
# A password of words: with spaces in quotes, without them elsewhere.
_PHRASE = r"(?P<q>\\?[\"'`])(?P<s>[A-Za-z0-9_!][^\n\r\t\"'`<>{}\[\]\\]{5,120})(?P=q)"
_PLAIN = r"(?P<s>[A-Za-z0-9_!][^\s\"'`<>{}()\[\]\\/|,;:.$=]{5,80})"
_ARGUMENT = r"[A-Za-z]{0,2}[\"'][^\n\"'\\]{1,120}[\"'],\s{0,40}"
_QUOTED = r"(?P<q>\\?[\"'`]|\"\"\"|''')(?P<s>[!#-&(-Z^_a-z~]{8,400})(?P=q)"


def _rule(
    name: str,
    hints: tuple[str, ...],
    pattern: str,
    accepts: Callable[[str], bool] = _is_varied,
    *,
    folded: bool = False,
    start: str = "",
) -> SecretRule:
    return SecretRule(name, hints, pattern, accepts, folded, start)


def _token(
    name: str, hints: tuple[str, ...], prefix: str, body: str, least: int, most: int = 255
) -> SecretRule:
    """Return the rule of a token with a unique prefix; it may stand within a word, or be cut."""
    char = rf"(?:(?!{prefix}){body})"
    value = rf"{char}{{{least},{most}}}(?:{_CUT})?|{char}{{4,{least - 1}}}{_CUT}"
    return SecretRule(name, hints, f"{prefix}(?P<s>{value})", _is_prefixed_token)


RULES: tuple[SecretRule, ...] = (
    # Amazon, "Understanding unique ID prefixes": a prefix and 16 characters of base 32. Within a
    # word only with a digit: protein sequences are written in capitals.
    _rule(
        "AWS access key id", ("akia", "asia"),
        r"(?:(?=....[A-Z]{0,15}[0-9])|" + _NEW + r"(?!.{20}[A-Za-z0-9]))"
        r"A[KS]IA(?P<s>[A-Z0-9]{16})",
        folded=True,
    ),
    # It has no prefix: 40 characters of base 64 after its name or after the key id.
    _rule(
        "AWS secret access key", ("aws", "akia", "asia"),
        r"(?:(?i:aws)\w{0,24}[\"']?|A[KS]IA[A-Z0-9]{16})[^\w\n]{1,12}"
        r"(?P<s>[A-Za-z0-9/+]{40}(?![\w/+=])|[A-Za-z0-9/+]{8,36}" + _CUT + ")",
        _is_token, folded=True,
    ),
    # GitHub, "Behind GitHub's new authentication token formats": a prefix and 36 of base 62.
    _token("GitHub token", ("gh",), "gh[pousr]_", "[A-Za-z0-9]", 30),
    _token("GitHub fine-grained token", ("github_pat_",), "github_pat_", r"\w", 36),
    # GitLab, "Token overview": prefixes.
    _rule(
        "GitLab token", ("gl", "GR1348941"),
        r"(?:" + _NEW + r"|(?=glpat))(?:gl[a-z]{2,6}-|GR1348941)"
        r"(?P<s>[\w.-]{20,300}(?:" + _CUT + r")?|[\w.-]{4,19}" + _CUT + ")",
        _is_token,
    ),
    # Slack, "Token types"; incoming webhooks have theirs in the path.
    _rule(
        "Slack token", ("xox", "xapp-"),
        r"x(?:ox[a-z]|app)-(?P<s>[A-Za-z0-9-]{10,250}(?:" + _CUT + ")?)", _is_token,
    ),
    _rule(
        "Slack webhook", ("hooks.slack.com",),
        r"hooks\.slack\.com/[a-z]{6,12}/(?P<s>[\w/-]{20,200})",
    ),
    _rule(
        "Google API key", ("AIza",),
        r"(?:" + _NEW + r"|(?=AIza[\w-]{35}(?:AIza|(?![\w-]))))"
        r"AIza(?P<s>[\w-]{35}|[\w-]{4,34}" + _CUT + ")",
        _is_token,
    ),
    _rule("Google OAuth secret", ("GOCSPX-",), r"GOCSPX-(?P<s>[\w-]{24,40})"),
    # Stripe, "API keys": publishable ones (pk_) are public.
    _token("Stripe key", ("k_live_", "k_test_"), "(?<=[sr])k_(?:live|test)_", "[A-Za-z0-9]", 16),
    _rule("Stripe webhook secret", ("whsec_",), _NEW + r"whsec_(?P<s>[A-Za-z0-9+/=]{20,80})"),
    # Anthropic (sk-ant-…), OpenAI (sk-…, sk-proj-…) and others with the same format.
    _rule(
        "model provider key", ("sk-",),
        r"(?:" + _NEW + r"|(?=sk-(?:proj|svcacct|ant-api|[A-Za-z0-9]{48}(?![A-Za-z0-9]))))"
        r"sk-(?:(?:proj|svcacct|admin|ant-[a-z]{1,8}\d{2}|or-v1)-)?"
        r"(?P<s>[\w-]{20,400}(?:" + _CUT + r")?|[\w-]{4,19}" + _CUT + ")",
        _is_token,
    ),
    _token("Hugging Face token", ("hf_",), "hf_", "[A-Za-z0-9]", 30, 60),
    _token("npm token", ("npm_",), "npm_", "[A-Za-z0-9]", 36, 36),
    # A macaroon, which begins with version and location in base 64.
    _token("PyPI token", ("pypi-AgE",), "pypi-AgE", r"[\w-]", 30, 600),
    # Docker Hub, DigitalOcean, Shopify, HashiCorp Vault, SendGrid: from their documentation.
    _token("Docker token", ("dckr_",), "dckr_[po]at_", r"[\w-]", 27, 60),
    _token("DigitalOcean token", ("_v1_",), "(?<=do[por])_v1_", "[a-f0-9]", 64, 64),
    _token("Shopify token", ("shp",), "shp(?:at|ca|pa|ss)_", "[a-fA-F0-9]", 32, 32),
    _token("Vault token", ("hvs.",), r"hvs\.", r"[\w-]", 24, 300),
    # Twilio (32 hexadecimal digits, the account's id begins with AC), Mailgun, Telegram (the bot's
    # number and 35 characters): by their documentation. None has a prefix that it alone has.
    _rule(
        "Twilio token", ("twilio",),
        r"(?i:twilio)[^\n]{0,120}?(?<![A-Za-z0-9])(?:SK)?(?P<s>[0-9a-f]{32})(?![A-Za-z0-9])",
        _is_random, folded=True,
    ),
    _rule(
        "Mailgun key", ("key",),
        _NEW + r"key-(?P<s>[0-9a-f]{32})(?![0-9a-zA-Z])", _is_random, folded=True,
    ),
    _rule(
        "Mailgun token", ("mailgun",),
        r"(?i:mailgun)[^\n]{0,120}?(?<![A-Za-z0-9])"
        r"(?P<s>[0-9a-f]{32}(?:-[0-9a-f]{8}-[0-9a-f]{8})?)(?![A-Za-z0-9])",
        _is_random, folded=True,
    ),
    _rule(
        "Telegram token", (":AA",),
        r"(?<=[0-9]{8}):(?P<s>AA[\w-]{33})(?![\w-])", _is_random,
    ),
    _rule(
        "Telegram token behind a name", ("telegram",),
        r"(?i:telegram)[^\n]{0,120}?(?<![0-9])[0-9]{8,10}:(?P<s>[\w-]{35})(?![\w-])",
        _is_random, folded=True,
    ),
    _rule(
        "SendGrid key", ("SG.",),
        _NEW + r"SG\.(?P<s>[\w-]{16,32}\.[\w-]{16,64})", _is_random,
    ),
    # Microsoft Entra ID: a client secret has these characters at its fourth place.
    _rule(
        "Azure client secret", ("Q~",),
        r"(?<=[78])Q~(?P<s>[\w.~-]{31,34})(?![\w.~-])", _is_random,
    ),
    # RFC 7519: three parts of base64url; the first two are JSON objects, which begin with `{"`.
    # RFC 7516 has five parts, the third of 96 bits. Within a word only where the first key is
    # alg, typ or kid.
    _rule(
        "JSON web token", ("eyJ",),
        r"(?:" + _NEW + r"|(?=eyJ(?:hbGci|0eXAi|raWQi)[\w-]{4,300}\.))eyJ(?P<s>[\w-]{8,4000}\."
        r"(?:eyJ[\w-]{4,8000}\.|[\w-]{0,2000}\.[\w-]{16}\.[\w-]{4,8000}\.)"
        r"(?:[\w.-]{0,2000}[\w-](?:" + _CUT + r")?|" + _CUT + r")?)",
    ),
    # Base 64 of `{"auths"`: a login of Docker in Kubernetes.
    _rule("registry login", ("eyJ",), r"eyJhdXRocyI(?P<s>[A-Za-z0-9+/=]{20,8000})"),
    # RFC 7468, OpenSSH and PGP; the end may be missing, and the lines may be quoted, cited or in a
    # diff.
    _rule(
        "private key block", ("-----BEGIN",),
        r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
        r"(?P<s>(?:[A-Za-z0-9+/=\s\\\"',:;()#*.|<>&%]|-(?!----)){16,20000})",
        _is_key_block,
    ),
    # The same in base 64: `-----BEGIN ` and the kind.
    _rule(
        "encoded key block", ("LS0tLS1CRUdJTiB",),
        r"LS0tLS1CRUdJTiB(?P<s>(?:QUklW|[SFPE])[A-Za-z0-9+/=]{40,20000})",
    ),
    # RFC 3986 §3.2.1: user and password before the host; a lone token may be either.
    _rule(
        "password in a URL", ("://",),
        r"://(?:[^\s/:@\"'`<>{}$]{1,80}|(?=:[^\s/:]{3,200}@)):"
        r"(?P<s>(?!\$|\d{1,5},)[^\s/\"'`<>{}]{3,200})@(?=[\w.\[-])",
        _is_password,
    ),
    _rule("token in a URL", ("://",), r"://(?P<s>[\w-]{20,200})@(?=[\w.\[-])", _is_random),
    # Azure Storage, Service Bus, Cosmos DB: a part of a connection string; signatures of SAS URLs.
    # The key is base 64, so a URL that follows it is not part of it.
    _rule(
        "Azure key", ("key",),
        r"(?i:(?<=Account)Key|(?<=SharedAccess)Key)=(?P<s>[A-Za-z0-9+/%_-]{20,400}={0,2})",
        folded=True,
    ),
    _rule("shared access signature", ("sig=",), r"(?<=[?&;=])sig=(?P<s>[A-Za-z0-9%+/=]{30,120})"),
    # RFC 6750 and RFC 7617: the credentials after the scheme of an Authorization header; those of
    # other schemes, or of none, after the header's name.
    _rule(
        "authorization header", ("earer ", "asic "),
        r"(?<=[Bb])(?:earer|asic) (?P<s>[\w.~+/-]{16,2000}={0,2})", _is_login,
    ),
    _rule(
        "authorization", ("auth",),
        r"(?<![A-Za-z])(?i:auth(?:orization)?)[\"'`\]]{0,2}[ \t]{0,8}[:=,][ \t]{0,8}[\"'`]?"
        r"(?:[A-Za-z-]{2,20}[ \t])?(?P<s>[\w.~+/-]{16,2000}={0,2})(?![\w(\[{])",
        _is_login_value, folded=True,
    ),
    # Configuration files, where the place leaves no doubt: words and digits are a password, too.
    _rule(
        "password of an element", _PASSWORDS,
        _CALLED + r"(?:[\"'\s][^<>]{0,80})?>\s{0,40}(?:<!\[CDATA\[)?"
        r"\{?(?P<s>[^\s<>{}$\]]{6,200})\}?(?:\]\]>)?\s{0,40}</",
        _is_certain_password, folded=True,
    ),
    _rule(
        "password of an attribute", _PASSWORDS,
        _CALLED + r"(?:[\"'][^<>\n]{0,80}?[ \t]value)?="
        r"(?P<q>[\"'])(?P<s>[^\s<>{}$\"']{6,200})(?P=q)"
        r"(?=\s{0,40}/?>|\s{1,40}[\w:.-]{1,40}=[\"'])",
        _is_certain_password, folded=True,
    ),
    _rule(
        "password of a connection", _PASSWORDS,
        "(?<=[;&?])" + _CALLED + r"=(?P<s>[^\s;&<>{}$\"'`()\[\].]{6,200})(?=[;&\"'`])",
        _is_certain_password, folded=True,
    ),
    # Words, where the name is a password's and the form leaves little doubt: in quotes, and in a
    # call that sets one; without quotes at the end of a line; a phrase; behind an option.
    _rule(
        "password of words", _PASSWORDS,
        r"(?:(?i:(?<=set)|(?<=set_)|(?<=\.))(?i:passw(?:or)?d)\(|" + _EXACT_NAME
        + r"[\\\"'\])*`]{0,3}[ \t]{0,8}" + _TYPE
        + r"(?:(?::=|=>|[=:!]=|[=:])[*\s]{0,40}(?:\(\s{0,40}|[A-Z][A-Za-z.]{0,24}\()?"
        r"|(?<!(?i:\bpass))[ \t]))"
        r"[@$A-Za-z]{0,2}" + _PHRASE,
        _is_word_password, folded=True, start=_EXACT_NAME,
    ),
    _rule(
        "password of a pair", _PASSWORDS,
        _EXACT_NAME + r"[\"'],[ \t]{0,8}" + _PHRASE + r"(?=\s{0,8}[)\]}])",
        _is_word_password, folded=True, start=_EXACT_NAME,
    ),
    _rule(
        "password of a line", _PASSWORDS,
        _EXACT_NAME + r"[\"'*`]{0,3}[ \t]{0,8}[=:|][*` \t]{0,8}" + _PLAIN
        + r"(?=[ \t]{0,8}(?:[\r\n|]|\\[nrt]|\Z))",
        _is_plain_password, folded=True, start=_EXACT_NAME,
    ),
    _rule(
        "password of a shell", _PASSWORDS,
        r"(?:" + _EXACT_NAME + r"=|(?<=-)(?i:passw(?:or)?d|passphrase)[ \t])" + _PLAIN
        + r"(?=[\s\"'`&]|\Z)",
        _is_plain_password, folded=True, start=_EXACT_NAME,
    ),
    _rule(
        "pass phrase", _PASSWORDS,
        r"(?i:passphrase)[ \t]{0,8}[=:][ \t]{0,8}(?P<s>[A-Za-z][A-Za-z ]{9,120})"
        r"(?=[ \t]{0,8}(?:[\r\n]|\\[nrt]|\Z))",
        _is_word_password, folded=True,
    ),
    # The last of a login's arguments: `auth=("…", "…")`, `login("…", "…")`, `connect(…, "…")`.
    _rule(
        "password of a login", ("auth", "login", "credential"),
        r"(?i:auth(?:enticat(?:e|ion|or)(?:token)?)?|login|credentials?)[\"'\]]{0,2}[ \t]{0,4}"
        r"(?:[=:][ \t]{0,4}[\w.]{0,40})?[(\[]\s{0,40}" + _ARGUMENT + r"[A-Za-z]{0,2}" + _PHRASE
        + r",?\s{0,40}[)\]]",
        _is_quoted_password, folded=True,
    ),
    _rule(
        "password of a connection's arguments", ("connect",),
        r"(?i:connect(?:ion)?)\(\s{0,40}(?:" + _ARGUMENT + ")?(?:" + _ARGUMENT + ")?"
        + _ARGUMENT + r"(?P<q>[\"'])(?P<s>[!#-&(-Z^_a-z~]{8,120})(?P=q)",
        _is_random_literal, folded=True,
    ),
    _rule(
        "password of an administrator", ("admin",),
        r"(?i:admin)\w{0,20}[\"'],\s{0,40}[A-Za-z]{0,2}[\"']"
        r"(?P<s>[!#-&(-Z^_a-z~]{8,120})[\"']",
        _is_random_literal, folded=True,
    ),
    # By name: `password = "…"`, `"apiKey": "…"`, `token: str = "…"`, `setPassword("…")`,
    # `get("TOKEN", "…")`.
    _rule(
        "named literal", _NAMES,
        _NAME + r"[\\\"'\])*`]{0,3}[ \t]{0,8}" + _TYPE
        + r"(?:(?:(?::=|=>|[=:!]=|[=:(|])[*\s]{0,40}|,[ \t]{0,8})"
        r"(?:\(\s{0,40}|[A-Za-z.]{1,24}\()?|[ \t])[@$A-Za-z]{0,2}" + _QUOTED,
        _is_random_literal, folded=True, start=_NAME,
    ),
    # Name and value are the values of two fields: markup, JSON, YAML, HCL.
    _rule(
        "named by a field", _NAMES,
        _NAME + r"(?:[\"'][^<>{}\n]{0,80}?|[\"']?[ \t]{0,8},?(?:\s|\\[nrt]){1,40}[\"']?"
        r"|[\"']?\s?\{[^{}]{0,200}?)"
        r"(?:(?<![A-Za-z])|(?<=\\[nrt]))(?:[Vv]alue|default)[\"']?[ \t]{0,8}[:=][ \t]{0,8}[\"']?"
        r"(?P<s>" + _IN_QUOTES + r"{8,400})(?=[\"'\s\\)]|\Z)",
        _is_random_literal, folded=True, start=_NAME,
    ),
    _rule(
        "named by a tag", _NAMES,
        _NAME + r"[\"']?(?:</key>(?:\s|\\[nrt]){0,40}<string|[ \t][^<>]{0,80})?(?:>|&gt;)\s{0,40}"
        r"(?:<!\[CDATA\[)?\{?(?P<s>(?:(?!&lt;)[!#-&*-:=?-Z^_a-z~]){8,400})",
        _is_random_literal, folded=True, start=_NAME,
    ),
    # The same without quotes: shell, INI, YAML, tables, prose.
    _rule(
        "named value", _NAMES,
        _NAME + r"(?:[*`]{0,3}[ \t]{0,8}[=:|][*`\"' \t]{0,8}"
        r"(?:[!&][\w!]{1,24}[ \t]|[|>][+-]?\s{1,40})?|[ \t](?:is|was)[ \t])"
        r"[\"'`“]?(?![./~])(?P<s>" + _UNQUOTED + r"{10,400})(?![\w(\[{])",
        _is_random_value, folded=True, start=_NAME,
    ),
    # After a space, as in options, .netrc and Dockerfiles; not a declaration, nor a number.
    _rule(
        "value behind a name", _NAMES,
        _NAME + r"[\"']?,?[ \t][\"'`]?(?![./~]|0x)(?P<s>" + _UNQUOTED + r"{10,400})"
        r"(?=[\"'`]|\s(?![ \t]{0,8}[=({<:])|\Z)",
        _is_random_value, folded=True, start=_NAME,
    ),
    _rule(
        "named in Japanese",
        ("パス", "トークン", "シークレット", "秘密鍵", "APIキー", "アクセスキー"),
        r"[ァ-ー秘密鍵API]{3,7}(?:の値)?[ 　*|]{0,4}[はがを=:＝：]?[ 　*]{0,4}[「『\"'`]?"
        r"(?P<s>" + _UNQUOTED + r"{8,400})",
        _is_random,
    ),
    _rule(
        "password in Japanese", ("パス",),
        r"パス(?:ワード|フレーズ)[ 　]?(?:は|[=:＝：])?[ 　]?(?:(?<=[=:＝：])|[「『])[ 　]?"
        r"(?P<s>" + _UNQUOTED + r"{6,400}(?: [a-z]{2,16}){0,11})", _is_certain_password,
    ),
    # On a command line: `-u name:…`, `-p…`.
    _rule(
        "password of a user", (" -",),
        r" -(?:u|-user)[ =][\"']?[^\s:\"'/]{1,80}:(?P<s>[^\s\"'/:]{8,200})", _is_random,
    ),
    _rule(
        "password of an option", (" -",),
        r" -p[ \"']{0,2}(?P<s>" + _UNQUOTED + r"{8,200})(?=[\"'\s]|\Z)", _is_random_value,
    ),
    # SQL: `IDENTIFIED BY '…'`.
    _rule(
        "password of an account", ("dentified by ",),
        r"(?i:dentified by )[\"'](?P<s>[^\s\"']{8,200})[\"']", _is_random_literal, folded=True,
    ),
)  # fmt: skip
