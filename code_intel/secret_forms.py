"""The forms secrets have: one table, and what judges whether a text in such a form is one (docs/decisions/0020).

What has the form of an issued key is a secret whatever it stands for; what merely stands behind a name such
as `password` only when it looks random, or where a form of configuration leaves no doubt.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

FEWEST_KINDS = 6
"""Different characters a secret has at least; a row of one letter is a placeholder."""
SHORTEST_TOKEN = 20
"""Characters of an issued token after its prefix, in one piece or in two."""
MOST_JUDGED = 120
"""Characters after which what did not look random yet is taken for words."""
CHANGES = 4
"""Changes between letters, digits and signs inside words, from which a literal looks random."""

_FILLER = re.compile(r"x{4}|X{4}|\*\*|\.{3}|\$\{|\{\{|%\(|://")
_JOINTS = re.compile(r"[-_./:?&=,+%]+")
_RUNS = re.compile(r"[A-Za-z]+|[0-9]+|[^A-Za-z0-9]+")
# Inside a word people write a capital only where the next word begins.
_ODD_CAPITAL = re.compile(r"[a-z][A-Z](?![a-z]{3})")
_BETWEEN = re.compile(r"[\s\"'`\\+]+")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{24,}")
_UNLIKE_WORDS = re.compile("[0-9!@#$^&*~]")
_POLICY = tuple(map(re.compile, ("[a-z]", "[A-Z]", "[0-9]", "[!@#$^&*~]")))
_EVERYDAY = frozenset({
    "pass", "passwd", "password", "pw", "pwd", "secret", "user", "pass123", "password123", "test",
    "changeme", "example", "foo", "bar", "token", "mypassword",
})  # fmt: skip


def _varied(secret: str) -> bool:
    """Whether it is a value and no filler such as `ghp_xxxx…`."""
    return len(set(secret)) >= FEWEST_KINDS and not _FILLER.search(secret)


def _random(secret: str, changes: int = CHANGES) -> bool:
    """Whether nobody would write this as words: `Tr0ub4dor&3` is, `my-secret-name-1` is not."""
    secret = secret[:MOST_JUDGED]
    if not _varied(secret):
        return False
    found = sum(len(_RUNS.findall(word)) - 1 for word in _JOINTS.split(secret) if word)
    return found + len(_ODD_CAPITAL.findall(secret)) >= changes


def _random_literal(secret: str) -> bool:
    """The same between quotes, where all four classes of characters are what a password policy asks for."""
    return _random(secret) or (_varied(secret) and all(kind.search(secret) for kind in _POLICY))


def _random_value(secret: str) -> bool:
    """The same where no quotes say that it is a literal: with a dot it may be an expression."""
    return _random(secret, CHANGES + 2 * ("." in secret))


def _chosen(secret: str) -> bool:
    """Whether it is a password and none of those that everybody writes into an example."""
    return not _FILLER.search(secret) and secret.lower() not in _EVERYDAY


def _mixed(secret: str) -> bool:
    """The same where a form of configuration says that it is one: letters, and digits or signs among them."""
    letters = any(map(str.isalpha, secret))
    return letters and bool(_UNLIKE_WORDS.search(secret)) and _chosen(secret)


def _issued(secret: str) -> bool:
    """Whether it is random when what cuts it, an end of a line or of a literal, is taken out."""
    whole = _BETWEEN.sub("", secret)
    return len(whole) >= SHORTEST_TOKEN and _random(whole)


def _issued_whole(secret: str) -> bool:
    """The same of a form that nothing else has: in one piece it need not look random."""
    return _issued(secret) if _BETWEEN.search(secret) else _varied(secret)


def _block(secret: str) -> bool:
    """Whether lines of base 64 follow; the first line alone is what programs compare with."""
    return any(map(_random, _BASE64.findall(secret)))


class Rule(NamedTuple):
    """One kind of secret.

    Attributes:
        name: What it is.
        hints: Literal texts, one of which begins every match: a text without them costs nothing.
        pattern: Matched where a hint is; its group `s` is what is masked. It repeats nothing within a
            repetition and every repetition is bounded, so that its cost is linear in the text.
        accepts: Whether what the pattern found is a secret indeed.
        folded: Whether hints are found in any case.
    """

    name: str
    hints: tuple[str, ...]
    pattern: str
    accepts: Callable[[str], bool] = _varied
    folded: bool = False


# Not in the middle of a word, nor of one that is masked already; an escaped line end is none.
_NEW = r"(?:(?<![A-Za-z0-9])(?<!\*\*\*)|(?<=\\[nrt]))"
# Where a token goes on that the end of a line, or of a literal, has cut: alone to the end of its line.
_CUT = (
    r"(?:[\"'`]?[ \t]{0,8}\\?\r?\n[ \t]{0,80}[\"'`]?|[\"'`][ \t]?\+?\s{1,80}[\"'`])"
    r"(?=[A-Za-z]{0,40}[0-9])[A-Za-z0-9][\w+/-]{7,250}(?=[\"'`]?[ \t,;)]{0,8}(?:[\r\n]|\Z))"
)
_KEY = "".join(f"(?<={kind})|(?<={kind}[_-])|" for kind in (
    "api", "access", "private", "account", "signing", "encryption", "auth", "shared", "master"))  # fmt: skip
_NAME = (
    r"(?i:passw(?:or)?d|passphrase|(?<![A-Za-z])pass(?![A-Za-z])|(?<=require)pass|pwd|secret|token|credential"
    rf"|(?:{_KEY[:-1]})key)[\w-]{{0,24}}+"
)
NAMED = rf"[\w.-]{{0,80}}?{_NAME}"
"""What a key is called whose value may be a secret."""
_CALLED = "(?i:passw(?:or)?d|pwd)"
_NAMES = ("pass", "pwd", "secret", "token", "credential", "key")
_TYPE = r"(?:[ \t]?:[ \t]?&?['A-Za-z][\w.\[\]| ?<>]{0,24}(?==))?"
_SAID = r"[!#-&*+./0-9:=?@A-Z^_a-z~-]"  # what passwords are made of and expressions seldom are
_WRITTEN = r"[!#-&*-Z^_a-z~]"  # the same between quotes, where a comma or a semicolon ends nothing
_QUOTED = r"(?P<q>\\?[\"'`]|\"\"\"|''')(?P<s>[!#-&(-Z^_a-z~]{8,400})(?P=q)"


def _rule(
    name: str,
    hints: tuple[str, ...],
    pattern: str,
    accepts: Callable[[str], bool] = _varied,
    *,
    folded: bool = False,
) -> Rule:
    return Rule(name, hints, pattern, accepts, folded)


def _token(
    name: str, hints: tuple[str, ...], prefix: str, body: str, least: int, most: int = 255
) -> Rule:
    """Return the rule of a token that its prefix alone betrays: within a word, glued to the next, or cut."""
    char = rf"(?:(?!{prefix}){body})"
    whole = rf"{char}{{{least},{most}}}(?:{_CUT})?|{char}{{4,{least - 1}}}{_CUT}"
    return Rule(name, hints, f"{prefix}(?P<s>{whole})", _issued_whole)


RULES: tuple[Rule, ...] = (
    # Amazon, "Understanding unique ID prefixes": key ids are a prefix and 16 of base 32. Within a word only
    # where a digit is among them: proteins are written in capitals.
    _rule(
        "AWS access key id", ("akia", "asia"),
        r"(?:(?=....[A-Z]{0,15}[0-9])|" + _NEW + r"(?!.{20}[A-Za-z0-9]))A[KS]IA(?P<s>[A-Z0-9]{16})",
        folded=True,
    ),
    # It has no prefix: 40 of base 64, known by its name or by the key id before it.
    _rule(
        "AWS secret access key", ("aws", "akia", "asia"),
        r"(?:(?i:aws)\w{0,24}[\"']?|A[KS]IA[A-Z0-9]{16})[^\w\n]{1,12}"
        r"(?P<s>[A-Za-z0-9/+]{40}(?![\w/+=])|[A-Za-z0-9/+]{8,36}" + _CUT + ")",
        _issued, folded=True,
    ),
    # GitHub, "Behind GitHub's new authentication token formats": prefix, 36 of base 62.
    _token("GitHub token", ("gh",), "gh[pousr]_", "[A-Za-z0-9]", 30),
    _token("GitHub fine-grained token", ("github_pat_",), "github_pat_", r"\w", 36),
    # GitLab, "Token overview": prefixes.
    _rule(
        "GitLab token", ("gl", "GR1348941"),
        r"(?:" + _NEW + r"|(?=glpat))(?:gl[a-z]{2,6}-|GR1348941)(?P<s>[\w.-]{20,300}(?:" + _CUT + r")?|[\w.-]{4,19}" + _CUT + ")",
        _issued,
    ),
    # Slack, "Token types"; incoming webhooks carry theirs in the path.
    _rule("Slack token", ("xox", "xapp-"), r"x(?:ox[a-z]|app)-(?P<s>[A-Za-z0-9-]{10,250}(?:" + _CUT + ")?)", _issued),
    _rule("Slack webhook", ("hooks.slack.com",), r"hooks\.slack\.com/[a-z]{6,12}/(?P<s>[\w/-]{20,200})"),
    _rule(
        "Google API key", ("AIza",),
        r"(?:" + _NEW + r"|(?=AIza[\w-]{35}(?:AIza|(?![\w-]))))AIza(?P<s>[\w-]{35}|[\w-]{4,34}" + _CUT + ")", _issued,
    ),
    _rule("Google OAuth secret", ("GOCSPX-",), r"GOCSPX-(?P<s>[\w-]{24,40})"),
    # Stripe, "API keys": publishable ones (pk_) are public.
    _token("Stripe key", ("k_live_", "k_test_"), "(?<=[sr])k_(?:live|test)_", "[A-Za-z0-9]", 16),
    _rule("Stripe webhook secret", ("whsec_",), _NEW + r"whsec_(?P<s>[A-Za-z0-9+/=]{20,80})"),
    # Anthropic (sk-ant-…), OpenAI (sk-…, sk-proj-…), and those who took over the form.
    _rule(
        "model provider key", ("sk-",),
        r"(?:" + _NEW + r"|(?=sk-(?:proj|svcacct|ant-api|[A-Za-z0-9]{48}(?![A-Za-z0-9]))))sk-(?:(?:proj|svcacct|admin|ant-[a-z]{1,8}\d{2}|or-v1)-)?"
        r"(?P<s>[\w-]{20,400}(?:" + _CUT + r")?|[\w-]{4,19}" + _CUT + ")",
        _issued,
    ),
    _token("Hugging Face token", ("hf_",), "hf_", "[A-Za-z0-9]", 30, 60),
    _token("npm token", ("npm_",), "npm_", "[A-Za-z0-9]", 36, 36),
    # A macaroon: version and location, in base 64, begin every one alike.
    _token("PyPI token", ("pypi-AgE",), "pypi-AgE", r"[\w-]", 30, 600),
    # Docker Hub, DigitalOcean, Shopify, HashiCorp Vault, SendGrid: as their documentation of tokens has them.
    _token("Docker token", ("dckr_",), "dckr_[po]at_", r"[\w-]", 27, 60),
    _token("DigitalOcean token", ("_v1_",), "(?<=do[por])_v1_", "[a-f0-9]", 64, 64),
    _token("Shopify token", ("shp",), "shp(?:at|ca|pa|ss)_", "[a-fA-F0-9]", 32, 32),
    _token("Vault token", ("hvs.",), r"hvs\.", r"[\w-]", 24, 300),
    _rule("SendGrid key", ("SG.",), _NEW + r"SG\.(?P<s>[\w-]{16,32}\.[\w-]{16,64})", _random),
    # Microsoft Entra ID: what a client secret has at its fourth place.
    _rule("Azure client secret", ("Q~",), r"(?<=[78])Q~(?P<s>[\w.~-]{31,34})(?![\w.~-])", _random),
    # RFC 7519: three parts of base64url, the first two of JSON objects, which begin `{"`; RFC 7516 has five,
    # the third of 96 bits. Within a word where the first begins as nearly all do: alg, typ, kid.
    _rule(
        "JSON web token", ("eyJ",),
        r"(?:" + _NEW + r"|(?=eyJ(?:hbGci|0eXAi|raWQi)[\w-]{4,300}\.))eyJ(?P<s>[\w-]{8,4000}\."
        r"(?:eyJ[\w-]{4,8000}\.|[\w-]{0,2000}\.[\w-]{16}\.[\w-]{4,8000}\.)(?:[\w.-]{0,2000}[\w-](?:" + _CUT + r")?|" + _CUT + r")?)",
    ),
    # What begins `{"auths"`, as Kubernetes keeps a login of Docker.
    _rule("registry login", ("eyJ",), r"eyJhdXRocyI(?P<s>[A-Za-z0-9+/=]{20,8000})"),
    # RFC 7468, and OpenSSH and PGP after it; the end may be missing, the lines quoted, cited or those of a diff.
    _rule(
        "private key block", ("-----BEGIN",),
        r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
        r"(?P<s>(?:[A-Za-z0-9+/=\s\\\"',:;()#*.|<>&%]|-(?!----)){16,20000})",
        _block,
    ),
    # The same once more in base 64: `-----BEGIN `, and of which kind.
    _rule("encoded key block", ("LS0tLS1CRUdJTiB",), r"LS0tLS1CRUdJTiB(?P<s>(?:QUklW|[SFPE])[A-Za-z0-9+/=]{40,20000})"),
    # RFC 3986 §3.2.1: user and password before the host; a token alone may be either.
    _rule(
        "password in a URL", ("://",),
        r"://(?:[^\s/:@\"'`<>{}$]{1,80}|(?=:[^\s/:]{3,200}@)):(?P<s>(?!\$|\d{1,5},)[^\s/\"'`<>{}]{3,200})@(?=[\w.\[-])", _chosen,
    ),
    _rule("token in a URL", ("://",), r"://(?P<s>[\w-]{20,200})@(?=[\w.\[-])", _random),
    # Azure Storage, Service Bus, Cosmos DB: a part of a connection string; signatures of SAS URLs.
    # A key is base 64 and ends with it: what comes behind, such as the next string's URL, is none of it.
    _rule(
        "Azure key", ("key",),
        r"(?i:(?<=Account)Key|(?<=SharedAccess)Key)=(?P<s>[A-Za-z0-9+/%_-]{20,400}={0,2})", folded=True,
    ),
    _rule("shared access signature", ("sig=",), r"(?<=[?&;=])sig=(?P<s>[A-Za-z0-9%+/=]{30,120})"),
    # RFC 6750 and RFC 7617: what follows the scheme of an Authorization header; other schemes, or none, by its name.
    _rule(
        "authorization header", ("earer ", "asic "),
        r"(?<=[Bb])(?:earer|asic) (?P<s>[\w.~+/-]{16,2000}={0,2})", _random,
    ),
    _rule(
        "authorization", ("auth",),
        r"(?<![A-Za-z])(?i:auth(?:orization)?)[\"'`\]]{0,2}[ \t]{0,8}[:=,][ \t]{0,8}[\"'`]?(?:[A-Za-z-]{2,20}[ \t])?"
        r"(?P<s>[\w.~+/-]{16,2000}={0,2})(?![\w(\[{])",
        _random_value, folded=True,
    ),
    # Configurations that leave no doubt what stands there: a password of words and digits is one, too.
    _rule(
        "password of an element", ("pass", "pwd"),
        _CALLED + r"(?:[\"'\s][^<>]{0,80})?>\s{0,40}(?:<!\[CDATA\[)?\{?(?P<s>[^\s<>{}$\]]{6,200})\}?(?:\]\]>)?\s{0,40}</",
        _mixed, folded=True,
    ),
    _rule(
        "password of an attribute", ("pass", "pwd"),
        _CALLED + r"(?:[\"'][^<>\n]{0,80}?[ \t]value)?=(?P<q>[\"'])(?P<s>[^\s<>{}$\"']{6,200})(?P=q)"
        r"(?=\s{0,40}/?>|\s{1,40}[\w:.-]{1,40}=[\"'])",
        _mixed, folded=True,
    ),
    _rule(
        "password of a connection", ("pass", "pwd"),
        "(?<=[;&?])" + _CALLED + r"=(?P<s>[^\s;&<>{}$\"'`()\[\].]{6,200})(?=[;&\"'`])", _mixed, folded=True,
    ),
    # By its name: `password = "…"`, `"apiKey": "…"`, `token: str = "…"`, `setPassword("…")`, `get("TOKEN", "…")`.
    _rule(
        "named literal", _NAMES,
        _NAME + r"[\\\"'\])*`]{0,3}[ \t]{0,8}" + _TYPE
        + r"(?:(?:(?::=|=>|[=:!]=|[=:(|])[*\s]{0,40}|,[ \t]{0,8})(?:\(\s{0,40}|[A-Za-z.]{1,24}\()?|[ \t])[@$A-Za-z]{0,2}" + _QUOTED,
        _random_literal, folded=True,
    ),
    # A name and a value that are the values of two fields: markup, JSON, YAML, HCL.
    _rule(
        "named by a field", _NAMES,
        _NAME + r"(?:[\"'][^<>{}\n]{0,80}?|[\"']?[ \t]{0,8},?(?:\s|\\[nrt]){1,40}[\"']?|[\"']?\s?\{[^{}]{0,200}?)"
        r"(?:(?<![A-Za-z])|(?<=\\[nrt]))(?:[Vv]alue|default)[\"']?[ \t]{0,8}[:=][ \t]{0,8}[\"']?(?P<s>" + _WRITTEN + r"{8,400})(?=[\"'\s\\)]|\Z)",
        _random_literal, folded=True,
    ),
    _rule(
        "named by a tag", _NAMES,
        _NAME + r"[\"']?(?:</key>(?:\s|\\[nrt]){0,40}<string|[ \t][^<>]{0,80})?(?:>|&gt;)\s{0,40}(?:<!\[CDATA\[)?\{?(?P<s>(?:(?!&lt;)[!#-&*-:=?-Z^_a-z~]){8,400})",
        _random_literal, folded=True,
    ),
    # The same without quotes: shell, INI, YAML, tables, prose.
    _rule(
        "named value", _NAMES,
        _NAME + r"(?:[*`]{0,3}[ \t]{0,8}[=:|][*`\"' \t]{0,8}(?:[!&][\w!]{1,24}[ \t]|[|>][+-]?\s{1,40})?|[ \t](?:is|was)[ \t])"
        r"[\"'`“]?(?![./~])(?P<s>" + _SAID + r"{10,400})(?![\w(\[{])",
        _random_value, folded=True,
    ),
    # Behind a space alone, as options, .netrc and Dockerfiles have it; a declaration goes on, a constant is a number.
    _rule(
        "value behind a name", _NAMES,
        _NAME + r"[\"']?,?[ \t][\"'`]?(?![./~]|0x)(?P<s>" + _SAID + r"{10,400})(?=[\"'`]|\s(?![ \t]{0,8}[=({<:])|\Z)",
        _random_value, folded=True,
    ),
    _rule(
        "named in Japanese", ("パスワード", "トークン", "シークレット", "秘密鍵", "APIキー", "アクセスキー"),
        r"[ァ-ー秘密鍵API]{3,7}(?:の値)?[ 　*|]{0,4}[はがを=:＝：]?[ 　*]{0,4}[「『\"'`]?(?P<s>" + _SAID + r"{8,400})", _random,
    ),
    _rule(
        "password in Japanese", ("パスワード",),
        r"パスワード[ 　]?[=:＝：「『][ 　]?(?P<s>" + _SAID + r"{8,400})", _mixed,
    ),
    # On a command line: `-u name:…`, `-p…`.
    _rule("password of a user", (" -",), r" -(?:u|-user)[ =][\"']?[^\s:\"'/]{1,80}:(?P<s>[^\s\"'/:]{8,200})", _random),
    _rule("password of an option", (" -",), r" -p[ \"']{0,2}(?P<s>" + _SAID + r"{8,200})(?=[\"'\s]|\Z)", _random_value),
    # SQL: `IDENTIFIED BY '…'`.
    _rule("password of an account", ("dentified by ",), r"(?i:dentified by )[\"'](?P<s>[^\s\"']{8,200})[\"']", _random_literal, folded=True),
)  # fmt: skip
