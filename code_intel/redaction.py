"""Secret values never surface: they are masked before a text is kept or answered (docs/decisions/0020).

A mask has the length and the line ends of what it covers, so that spans, lines and columns stay those
of the file. What has the form of an issued key is masked whatever it stands for; what merely stands
behind a name such as `password` only when it looks random. Masking twice is masking once.

    password = "Tr0ub4dor&3"     becomes     password = "x**********"
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

FEWEST_KINDS = 6
"""Different characters a secret has at least; a row of one letter is a placeholder."""
CHANGES = 4
"""Changes between letters, digits and signs inside words, from which a literal looks random."""

_FILLER = re.compile(r"x{4}|X{4}|\*\*|\.{3}|\$\{|\{\{|%\(|://")
_JOINTS = re.compile(r"[-_./:?&=,+%]+")
_RUNS = re.compile(r"[A-Za-z]+|[0-9]+|[^A-Za-z0-9]+")
# Inside a word people write a capital only where the next word begins.
_ODD_CAPITAL = re.compile(r"[a-z][A-Z](?![a-z]{3})")
# A key may be written over several quoted lines.
_COVERED = re.compile(r"[^\s\"'\\]+")
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


# Not in the middle of a word; an escaped line end is none.
_NEW = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
_KEY = "".join(f"(?<={kind})|(?<={kind}[_-])|" for kind in (
    "api", "access", "private", "account", "signing", "encryption", "auth", "shared", "master"))  # fmt: skip
_NAME = rf"(?i:passw(?:or)?d|passphrase|(?<=_)pass|pwd|secret|token|credential|(?:{_KEY[:-1]})key)[\w-]{{0,24}}"
_NAMES = ("pass", "pwd", "secret", "token", "credential", "key")
_TYPE = r"(?:[ \t]?:[ \t]?[A-Za-z][\w.\[\]| ]{0,24}(?==))?"
_SAID = r"[!#-&*+./0-9:=?@A-Z^_a-z~-]"  # what passwords are made of and expressions seldom are


def _rule(
    name: str,
    hints: tuple[str, ...],
    pattern: str,
    accepts: Callable[[str], bool] = _varied,
    *,
    folded: bool = False,
) -> Rule:
    return Rule(name, hints, pattern, accepts, folded)


RULES: tuple[Rule, ...] = (
    # Amazon, "Understanding unique ID prefixes": key ids are a prefix and 16 of base 32.
    _rule("AWS access key id", ("AKIA", "ASIA"), _NEW + r"A[KS]IA(?P<s>[A-Z0-9]{16})(?![A-Za-z0-9])"),
    # It has no prefix: 40 of base 64, known by its name or by the key id before it.
    _rule(
        "AWS secret access key", ("aws", "akia", "asia"),
        r"(?:(?i:aws)\w{0,24}[\"']?|A[KS]IA[A-Z0-9]{16})[^\w\n]{1,12}(?P<s>[A-Za-z0-9/+]{40})(?![\w/+=])",
        _random, folded=True,
    ),
    # GitHub, "Behind GitHub's new authentication token formats": prefix, 36 of base 62.
    _rule("GitHub token", ("gh",), _NEW + r"gh[pousr]_(?P<s>[A-Za-z0-9]{30,255})"),
    _rule("GitHub fine-grained token", ("github_pat_",), _NEW + r"github_pat_(?P<s>\w{36,255})"),
    # GitLab, "Token overview": prefixes.
    _rule("GitLab token", ("gl", "GR1348941"), _NEW + r"(?:gl[a-z]{2,6}-|GR1348941)(?P<s>[\w.-]{20,300})", _random),
    # Slack, "Token types"; incoming webhooks carry theirs in the path.
    _rule("Slack token", ("xox", "xapp-"), _NEW + r"x(?:ox[a-z]|app)-(?P<s>[A-Za-z0-9-]{10,250})", _random),
    _rule("Slack webhook", ("hooks.slack.com",), r"hooks\.slack\.com/[a-z]{6,12}/(?P<s>[\w/-]{20,200})"),
    _rule("Google API key", ("AIza",), _NEW + r"AIza(?P<s>[\w-]{35})(?![\w-])"),
    _rule("Google OAuth secret", ("GOCSPX-",), r"GOCSPX-(?P<s>[\w-]{24,40})"),
    # Stripe, "API keys": publishable ones (pk_) are public.
    _rule("Stripe key", ("k_live_", "k_test_"), r"(?<=[sr])k_(?:live|test)_(?P<s>[A-Za-z0-9]{16,250})"),
    _rule("Stripe webhook secret", ("whsec_",), _NEW + r"whsec_(?P<s>[A-Za-z0-9+/=]{20,80})"),
    # Anthropic (sk-ant-…), OpenAI (sk-…, sk-proj-…), and those who took over the form.
    _rule(
        "model provider key", ("sk-",),
        _NEW + r"sk-(?:(?:proj|svcacct|admin|ant-[a-z]{1,8}\d{2}|or-v1)-)?(?P<s>[\w-]{20,250})", _random,
    ),
    _rule("Hugging Face token", ("hf_",), _NEW + r"hf_(?P<s>[A-Za-z0-9]{30,60})"),
    _rule("npm token", ("npm_",), _NEW + r"npm_(?P<s>[A-Za-z0-9]{36})(?![A-Za-z0-9])"),
    # A macaroon: version and location, in base 64, begin every one alike.
    _rule("PyPI token", ("pypi-AgE",), r"pypi-AgE(?P<s>[\w-]{30,600})"),
    # RFC 7519: three parts of base64url, the first two of JSON objects, which begin `{"`.
    _rule("JSON web token", ("eyJ",), _NEW + r"eyJ(?P<s>[\w-]{8,4000}\.eyJ[\w-]{4,8000}\.[\w-]{0,2000})"),
    # RFC 7468, and OpenSSH and PGP after it; the end may be missing, the lines quoted.
    _rule(
        "private key block", ("-----BEGIN",),
        r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
        r"(?P<s>(?:[A-Za-z0-9+/=\s\\\"',:;()#*.]|-(?!----)){16,20000})",
    ),
    # RFC 3986 §3.2.1: user and password before the host.
    _rule(
        "password in a URL", ("://",),
        r"://[^\s/:@\"'`<>{}$]{0,80}:(?P<s>[^\s/:@\"'`<>{}$]{3,200})@(?=[\w.\[-])", _chosen,
    ),
    # Azure Storage, Service Bus, Cosmos DB: a part of a connection string; signatures of SAS URLs.
    # A key is base 64 and ends with it: what comes behind, such as the next string's URL, is none of it.
    _rule(
        "Azure key", ("AccountKey=", "SharedAccessKey="),
        r"(?:AccountKey|SharedAccessKey)=(?P<s>[A-Za-z0-9+/%_-]{20,400}={0,2})",
    ),
    _rule(
        "Azure signature", ("SharedAccessSignature=",),
        r"SharedAccessSignature=(?P<s>[A-Za-z0-9+/%&=_.-]{20,400})",
    ),
    _rule("shared access signature", ("sig=",), r"(?<=[?&;])sig=(?P<s>[A-Za-z0-9%+/=]{30,120})"),
    # RFC 6750 and RFC 7617: what follows the scheme of an Authorization header.
    _rule(
        "authorization header", ("earer ", "asic "),
        r"(?<=[Bb])(?:earer|asic) (?P<s>[\w.~+/-]{16,2000}={0,2})", _random,
    ),
    # By its name: `password = "…"`, `"apiKey": "…"`, `token: str = "…"`, `password="…"` in markup.
    _rule(
        "named literal", _NAMES,
        _NAME + r"[\"'\]]{0,2}[ \t]{0,8}" + _TYPE
        + r"(?::=|=>|[=:!]=|[=:])[ \t]{0,8}[bru]?(?P<q>[\"'`])(?P<s>[!#-&*-Z^_a-z~]{8,400})(?P=q)",
        _random_literal, folded=True,
    ),
    # The same without quotes: shell, INI, YAML, markup, prose.
    _rule(
        "named value", _NAMES,
        _NAME + r"(?:[ \t]{0,8}[=:][ \t]{0,8}|[ \t](?:is|was)[ \t]|>)(?![./~])(?P<s>" + _SAID
        + r"{10,400})(?![\w(\[{])",
        _random_value, folded=True,
    ),
    _rule(
        "named in Japanese", ("パスワード", "トークン", "シークレット", "秘密鍵"),
        r"[ァ-ー秘密鍵]{3,6}[ 　]?[はがを=:：]?[ 　]?[「『\"'`]?(?P<s>" + _SAID + r"{8,400})", _random,
    ),
)  # fmt: skip


def mask(text: str) -> tuple[str, int]:
    """Return the text with every secret value masked, and how many there were."""
    folded = _lowered(text)
    finds = [find for rule in RULES for find in _finds(rule, text, folded)]
    # Of `token = "ghp_…"` the prefix stays: it says what was there.
    known = {(find.start(), find.end("s")) for find in finds}
    spans = sorted(find.span("s") for find in finds if find.span("s") not in known)
    parts: list[str] = []
    end = found = 0
    for start, stop in spans:
        if stop <= end:
            continue
        parts += (text[end : max(start, end)], _COVERED.sub(_cover, text[max(start, end) : stop]))
        found += start >= end
        end = stop
    return ("".join((*parts, text[end:])), found) if found else (text, 0)


def masked(text: str) -> str:
    """Return the text with every secret value masked."""
    return mask(text)[0]


def masked_data(value: Any) -> Any:
    """Return a JSON value with every secret value in its texts masked; keys stay as they are."""
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, Mapping):
        return {key: masked_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [masked_data(item) for item in value]
    return value


def _finds(rule: Rule, text: str, folded: str) -> Iterator[re.Match[str]]:
    for hint in rule.hints:
        where = folded if rule.folded else text
        place = where.find(hint)
        while place >= 0:
            found = _compiled(rule.pattern).match(text, place)
            if found is not None and rule.accepts(found["s"]):
                yield found
            place = where.find(hint, found.end() if found else place + 1)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile at the first use: all of them take as long as a hundredth of a handshake."""
    return re.compile(pattern)


def _lowered(text: str) -> str:
    """Return the text in lower case, every character where it was: some grow when lowered."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


def _cover(run: re.Match[str]) -> str:
    """Return `x***` of the same length; a leading `*` would mean something in YAML and Markdown."""
    return "x" + "*" * (len(run[0]) - 1)
