"""Read from a commit's message what the commit is for. Pure.

A message is used if its first line names a feature. Messages about the repository itself (versions,
formatting, typos, tests, documents) name none.
"""

import re

from code_intel.learned.recall.glossary import content_words

MIN_WORDS = 3
MIN_CONTENT_WORDS = 2
MAX_TERM_CHARS = 100
MAX_REQUEST_CHARS = 400

_REFERENCES = re.compile(
    r"\(?(?:\b(?:closes?|fix(?:es)?|resolves?|refs?|see|gh):?\s*)?#\d+\)?|\(?https?://\S+\)?",
    re.IGNORECASE,
)
_TYPE = re.compile(
    r"^[^\w`'\"(-]*(?:fix|feat|feature|perf|refactor|bug)(?:\([^)]*\))?!?:\s*", re.IGNORECASE
)
_TRAILER = re.compile(
    r"^(?:[a-z-]+-by|change-id|bump|merge|release|version|revert)\b", re.IGNORECASE
)
_MERGED = re.compile(
    r"^merge (?:pull request|branch|remote-tracking branch|tag|commit)\b", re.IGNORECASE
)
_PULL_REQUEST = re.compile(r"^merge (?:pull request|branch) .*", re.IGNORECASE)
_BRANCH = re.compile(
    r"^merge pull request #\d+ from [^/\s]+/(\S+)$"
    r"|^merge (?:remote-tracking )?branch '(?:[^'/]+/)?([^']+)'(?: into .*)?$",
    re.IGNORECASE,
)
_TRUNKS = frozenset({"master", "main", "trunk", "devel", "develop", "dev", "next", "stable"})

_ASIDE = re.compile(
    r"""^\W*(?:
    docs?|document\w*|chore|style|typos?|format(?:ting|ted)?|bump(?:ed|s|ing)?|releas\w*|versions?
    |revert(?:ed|s)?|merged?|changelog|lint(?:ing)?|ci|tests?|testing|build|wip|tweak\w*
    |clean(?:ed|ing|s)?|minor|tid(?:y|ied)|simplif\w+|refactor\w*|renam\w+|mov(?:e[ds]?|ing)
    |reformat\w*|cosmetic|happy|write|deploy\w*|prepar\w+|v?\d+\.\d+|pyupgrade|black|mypy|address\w*
    |code|typing|types?|javadocs?|comments?|spelling|appl(?:y|ied)|\[|squash\w*|fixup|initial|start
    |nit|more|misc|upgrade[ds]?|downgrade[ds]?|pin(?:ned)?|oops|forgot\w*|sync|install|patch[-_ ]\d+
    |restor\w+|updated?[ ]to
    |updated?[ ](?:\w+[ ])?(?:changelog|changes|readme|copyright|dep\w*|versions?|licen[cs]e|docs?)
    |(?:drop|require|allow|add|test)\w*[ ](?:support[ ]for[ ])?(?:python|node|java|go|rust)[ ]\S*\d
    |(?:add|remove|delete|drop|use)[a-z]*[ ](?:an?[ ]|the[ ]|some[ ]|more[ ]|unused[ ]|missing[ ])*
        (?:types?|typing|docs?|docstrings?|comments?|tests?|notes?|imports?|f-strings?|annotations?)
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Begins messages that say nothing about a feature."""
_ABOUT_TEXT = re.compile(
    r"""\b(?:
    typos?|changelog|readme|lint(?:er|ing)?|flake8|clippy|warnings?|docstrings?|whitespace|copyright
    |javadocs?|unused|versionadded|annotat\w+|code[ ]style|coverage
    |(?:failing|broken)[ ]\w*[ ]?tests?|tests?[ ]fail\w*
    |tests?$|regressions?|refactor\w*|pre-?allocat\w+|(?:inner|abstract|base)[ ]class$
    |(?:keep|mak|be|is|are)\w*[ ](?:\w+[ ]){0,3}(?:static|final|private|protected|public|internal)$
    |(?:use|adopt|switch[ ]to|migrate[ ]to)[ ](?:java|python|go|rust|es|c\+\+)[ ']?s?[ ]?\d+
    |dependabot|pre-commit|dependenc(?:y|ies)|end[ ]of[ ]life|docs|documentation|merge[ ]conflicts?
    |(?:code|pr)[ ]review|python[ ][23]\S*
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_VAGUE = re.compile(
    r"""^(?:
    (?:add|improv|updat|fix|correct|perf|small|more|better|further|use|some|remov|handl)\w*\s+)?
    (?:an?\s|the\s|some\s)?(?:notes?|comments?|perf\w*|tweaks?|tests?|docs?|fix(?:es)?|checks?|issues?
    |bugs?|regressions?|errors?|imports?|examples?|logic|things?|stuff|code|it)\b.{0,15}$""",
    re.IGNORECASE | re.VERBOSE,
)
_SENTENCE_END = re.compile(r"[.;]\s+(?=[A-Z])")
_REMOVAL = re.compile(
    r"(?:^|: )(?:drop|remov|delet|deprecat|disabl|undo|stop|no longer|do(?:n't| not)|avoid|get rid)"
    r"\w*\b"
    r"|->|\bshould(?:n't| not)?\b|\binstead of\b",
    re.IGNORECASE,
)
_DANGLING = re.compile(r"\b(?:for|in|of|to|with|and|or|from|the|an?|on|by|at)$", re.IGNORECASE)
_LEADING_VERB = re.compile(
    r"^(?:fix(?:e[ds])?|fixing|correct(?:s|ed|ly)?|resolved?|solved?|repair(?:ed|s)?)\s+"
    r"(?:(?:an?|the|some|for|up)\s+)*(?:(?:bugs?|issues?|regressions?|problems?)\s+"
    r"(?:(?:in|with|of|where|when|that|on|for)\s+)?(?:the\s+)?)?",
    re.IGNORECASE,
)


def title_of(message: str, *, is_merge: bool = False) -> str:
    """Return the first line of a message, without references; that of a merge names its branch."""
    lines = [line.strip() for line in message.strip().splitlines()]
    first = lines[0] if lines else ""
    if is_merge and _MERGED.match(first):
        body = [line for line in lines[1:] if line]
        first = body[0] if body and _PULL_REQUEST.match(first) else _branch_title(first)
    title = _without_references(first)
    sentence = _SENTENCE_END.split(title, maxsplit=1)[0]
    return sentence if len(sentence.split()) >= MIN_WORDS else title


def names_feature(title: str) -> bool:
    """Return whether a title can be a term: it names what exists, not what was removed."""
    return not _REMOVAL.search(without_type(title))


def has_purpose(title: str, author: str = "") -> bool:
    """Return whether a title says what its commit is for."""
    bare = without_type(title)
    return not (
        "[bot]" in author
        or _MERGED.match(title)
        or len(bare.split()) < MIN_WORDS
        or _ASIDE.match(title)
        or _ASIDE.match(bare)
        or _ABOUT_TEXT.search(bare)
        or _VAGUE.match(bare)
        or _DANGLING.search(bare)
        or len(content_words(bare)) < MIN_CONTENT_WORDS
    )


def without_type(title: str) -> str:
    """Return a title without a leading type: `fix(core): x` gives `x`."""
    return _TYPE.sub("", title).strip() or title


def term_of(title: str) -> str:
    """Return the feature that a title names, as a term.

    >>> term_of("fix(zsh): Fix a bug in the completion of colons;")
    'completion of colons'
    """
    bare = without_type(title).strip(" .;:,*-")
    term = _LEADING_VERB.sub("", bare, count=1).strip() or bare
    if len(content_words(term)) < MIN_CONTENT_WORDS:
        term = bare
    return " ".join(term.split())[:MAX_TERM_CHARS].strip()


def request_of(message: str, title: str) -> str:
    """Return a message as a request: its title and text on one line, without trailers."""
    rest = message.strip().splitlines()[1:]
    lines = [title, *map(_without_references, (line.strip() for line in rest))]
    kept = [line for line in lines if line and not _TRAILER.match(line)]
    return ". ".join(dict.fromkeys(kept))[:MAX_REQUEST_CHARS]


def _branch_title(first: str) -> str:
    """Return the words of the branch that a merge names; empty for a trunk."""
    found = _BRANCH.match(first)
    name = next(filter(None, found.groups()), "") if found else ""
    last = name.rsplit("/", 1)[-1]
    return "" if last in _TRUNKS else " ".join(re.split(r"[-_]+", last))


def _without_references(line: str) -> str:
    return " ".join(_REFERENCES.sub("", line).split()).strip(" .*-;:,")
