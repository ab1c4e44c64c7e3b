"""Compare texts: fold them, extract content words, and check whether a quote covers a value.

One sentence may mix Japanese and English, so a text is cut into runs of one script, and each script
has its own word rules. Rules and examples are in docs/decisions/0008 and in
tests/session/test_frame.py.
"""

import functools
import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from code_intel.session.patterns import min_word_chars

# Patterns are strings: `re` compiles them at first use, and hooks never use them.
_QUOTES = str.maketrans(dict.fromkeys("‘’‛′`´", "'") | dict.fromkeys("“”„″", '"'))
_DASHES = r"[‐‑‒–—―−]"
_CONTRACTION = r"\b(ca|wo)?n't\b|\bcannot\b|(?<=\w)n't\b"
_CAMEL = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
_KATAKANA = r"\u30a1-\u30fa\u30fc-\u30ff"
_HIRAGANA = r"\u3041-\u309f"
_HAN = r"\u3005\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HANGUL = r"\uac00-\ud7a3"
_RUN = (
    rf"(?P<katakana>[{_KATAKANA}]+)|(?P<han>[{_HAN}]+)|(?P<hiragana>[{_HIRAGANA}]+)"
    rf"|(?P<hangul>[{_HANGUL}]+)|(?P<word>[^\W_{_KATAKANA}{_HAN}{_HIRAGANA}{_HANGUL}]+[+#]*)"
)
_CJK = rf"[{_KATAKANA}{_HAN}{_HIRAGANA}{_HANGUL}]"

_FILLER_WORDS = (
    "a an the of to in on at for from with by and or is are be been was were it its this that "
    "do does did can could will would should when while if i we my our please "
    "feature functionality function process issue problem 機能 処理 問題 場合 際 時 事 件"
)
_FILLERS = frozenset(_FILLER_WORDS.split())
"""Words without a meaning of their own; a value may add them, but must have other words, too."""

_PARTICLES = (
    r"(?:から|まで|より|など|について|における|での|との|への|とき|こと|[をがにはでとものへや])+"
)
_GRAMMAR = (
    r"(?:から|まで|より|など|ので|のに|とき|こと|もの|ため|よう|しまう|しまっ|ほしい|でき|です|でし|"
    r"ます|まし|する|され|られ|ある|あっ|いる|だっ|[をがにはでとものへやかなしてただっるれいくうばら])+"
)
_NEGATION = r"ない|なく|なかっ|なけれ|ません|ずに|ず$|ぬ$|\b(?:not|no|never|without)\b"
_NEGATIVE_PREFIX = "不未非無"
_ROWS = (
    "あいうえおわ",
    "かきくけこ",
    "がぎぐげご",
    "さしすせそ",
    "たちつてと",
    "なにぬねの",
    "ばびぶべぼ",
    "まみむめも",
    "らりるれろ",
)
"""Rows of kana with which the inflections of one verb begin: 直す, 直して; 落ちる, 落ちた."""
_CONTRACTED = "いっん"
"""Kana that may replace those in `_ROWS` before て and た: 書いて, 使って, 読んで."""
_MIN_WORD_CHARS = {"han": (2, 2), "katakana": (3, 3), "hangul": (2, 1)}
"""Minimum number of characters before and after a cut in a compound, by script."""
_MIN_DISTINCTIVE_CHARS = 2
"""A text with fewer word characters occurs in every file."""
_MIN_STATEMENT_WORDS = 2
_MIN_STATEMENT_CJK = 4


class WordRun(NamedTuple):
    """A part of a text in one script; `start` is its offset among all runs joined."""

    script: str
    text: str
    start: int

    @property
    def is_filler(self) -> bool:
        """Whether the run has no meaning of its own."""
        return self.text in _FILLERS or (
            self.script == "hiragana"
            and bool(re.fullmatch(_GRAMMAR, re.sub(_NEGATION, "", self.text) or "て"))
        )


def fold(text: str) -> str:
    """Return `text` with its Unicode form, case, white space, quotes and dashes folded.

    >>> fold("  Ｌｏｇｉｎ  “Form” ")
    'login "form"'
    """
    folded = re.sub(_DASHES, "-", unicodedata.normalize("NFKC", text.translate(_QUOTES)))
    return " ".join(unicodedata.normalize("NFKC", folded.casefold()).split())


def fold_symbol(name: str) -> str:
    """Return a symbol's name without surrounding white space and without arguments; keep its case.

    >>> fold_symbol(" AuthService.login(user) ")
    'AuthService.login'
    """
    return unicodedata.normalize("NFKC", name).strip().split("(", 1)[0].strip()


def symbol_parts(name: str) -> list[str]:
    """Return the scopes of a symbol and its name.

    >>> symbol_parts("Auth::login()")
    ['Auth', 'login']
    """
    return re.split(r"[.:#]+", fold_symbol(name))


def says_something(text: str, *, pattern: bool = False) -> bool:
    """Return whether `text` has at least two word characters.

    With `pattern` each match of the regular expression must have them.
    """
    count = min_word_chars(text) if pattern else len(re.findall(r"[^\W_]", text))
    return count >= _MIN_DISTINCTIVE_CHARS


def is_statement(text: str) -> bool:
    """Return whether `text` has two different words, or four Han, kana or Hangul characters.

    >>> is_statement("amounts are Decimal"), is_statement("aaa"), is_statement("aa aa")
    (True, False, False)
    """
    words = set(re.findall(r"[^\W_]+", fold(text)))
    return len(words) >= _MIN_STATEMENT_WORDS or len(re.findall(_CJK, text)) >= _MIN_STATEMENT_CJK


def occurs(quote: str, text: str) -> bool:
    """Return whether `quote` is a substring of `text`, both folded and without spaces."""
    return fold(quote).replace(" ", "") in fold(text).replace(" ", "")


def is_cjk(text: str) -> bool:
    """Return whether `text` has Han, kana or Hangul characters."""
    return bool(re.search(_CJK, text))


@functools.lru_cache(1024)  # each call of a session is compared with each slot repeatedly
def content_words(text: str) -> frozenset[str]:
    """Return the meaningful words of `text`, folded; two texts are related if they share one.

    Latin words are stemmed, katakana and Hangul runs are kept whole, and Han runs become character
    pairs.

    >>> sorted(content_words("the loginForm fixes ログイン処理"))
    ['fix', 'form', 'login', 'ログイン']
    """
    words: set[str] = set()
    for run in _runs(text):
        if run.is_filler or run.script == "hiragana":
            continue
        if run.script == "han" and len(run.text) > 1:
            words.update(map("".join, pairwise(run.text)))
        else:
            words.add(_stem(run.text) if run.script == "word" else run.text)
    return frozenset(words)


def as_written(words: Iterable[str], text: str) -> tuple[str, ...]:
    """Return content words as a text spells them; others stay as they are.

    >>> as_written(["ignor", "size"], "The size is ignored")
    ('ignored', 'size')
    """
    spelled = {_stem(run.text): run.text for run in _runs(text) if run.script == "word"}
    return tuple(spelled.get(word, word) for word in words)


def has_content(text: str) -> bool:
    """Return whether `text` has a word besides grammar and fillers."""
    return any(not run.is_filler for run in _runs(text))


def says_the_same(one: str, other: str) -> bool:
    """Return whether two texts have the same content words or differ only in spelling."""
    words = content_words(one)
    is_same = fold(one).replace(" ", "") == fold(other).replace(" ", "")
    return is_same or (bool(words) and words == content_words(other))


def covers(quote: str, value: str) -> bool | None:
    """Return how `quote` covers `value`.

    Returns:
        True if the value is a sequence of whole words of the quote, False if it rephrases the quote
        with the same content words, None if it says something else or more.

    >>> covers("ログインボタンが効かない", "ログイン")
    True
    >>> covers("password reset", "reset password")
    False
    >>> covers("ログイン", "ログアウト") is None
    True
    """
    if fold(quote).replace(" ", "") == fold(value).replace(" ", ""):
        return True
    quote_runs, value_runs = list(_runs(quote)), list(_runs(value))
    content = [run for run in value_runs if not run.is_filler]
    if not content:
        return None
    if _occurs_in_words(quote_runs, value_runs):
        return True
    covered = (
        _is_covered(quote_runs, run) or _is_inflection(quote_runs, before, run)
        for before, run in zip([None, *value_runs], value_runs, strict=False)
    )
    if not all(covered):
        return None
    return False if _keeps_polarity(quote, value, content, value_runs) else None


def _runs(text: str) -> Iterator[WordRun]:
    """Cut `text` into runs; camelCase words are split."""
    separated = re.sub(_CAMEL, " ", unicodedata.normalize("NFKC", text))
    start = 0
    for match in re.finditer(_RUN, _expand(separated)):
        script = match.lastgroup or ""
        # A trailing long vowel does not matter: サーバ and サーバー are the same word.
        word = match.group().rstrip("ー") if script == "katakana" else match.group()
        if word:
            yield WordRun(script, word, start)
            start += len(word)


def _cuts(run: WordRun) -> frozenset[int]:
    """Return the offsets within a run at which a word may begin or end."""
    inner_cuts = range(0)
    if run.script in _MIN_WORD_CHARS:
        before, after = _MIN_WORD_CHARS[run.script]
        inner_cuts = range(before, len(run.text) - after + 1)
    return frozenset({0, len(run.text), *inner_cuts})


def _occurs_in_words(quote_runs: list[WordRun], value_runs: list[WordRun]) -> bool:
    """Return whether the value occurs in the quote, between word boundaries."""
    text = "".join(run.text for run in quote_runs)
    value = "".join(run.text for run in value_runs)
    edges = {run.start + cut for run in quote_runs for cut in _cuts(run)}
    return any(start in edges and start + len(value) in edges for start in _offsets(text, value))


def _offsets(text: str, part: str) -> Iterator[int]:
    """Yield the offsets of `part` in `text`, except after a negative prefix."""
    start = text.find(part)
    while start >= 0:
        if start == 0 or text[start - 1] not in _NEGATIVE_PREFIX:
            yield start
        start = text.find(part, start + 1)


def _is_covered(quote_runs: list[WordRun], run: WordRun) -> bool:
    """Return whether a run consists of fillers and words that the quote has in the same script."""
    if run.is_filler:
        return True
    others = [other for other in quote_runs if other.script == run.script]
    if run.script == "word" and _stem(run.text) in {_stem(other.text) for other in others}:
        return True
    reached = {0}
    for end in range(1, len(run.text) + 1):
        if any(_is_filler_or_word(others, run.text[start:end]) for start in reached):
            reached.add(end)
    return len(run.text) in reached


def _is_inflection(quote_runs: list[WordRun], before: WordRun | None, run: WordRun) -> bool:
    """Return whether a kana run after the kanji of `before` inflects a word of the quote."""
    if before is None or (before.script, run.script) != ("han", "hiragana"):
        return False
    rest = run._replace(text=run.text[1:])
    return (not rest.text or rest.is_filler) and any(
        (kanji.script, kana.script) == ("han", "hiragana")
        and kanji.text[-1] == before.text[-1]
        and _is_same_row(kana.text[0], run.text[0])
        for kanji, kana in pairwise(quote_runs)
    )


def _is_same_row(one: str, other: str) -> bool:
    kana = {one, other}
    return one == other or bool(kana & set(_CONTRACTED)) or any(kana <= set(row) for row in _ROWS)


def _is_filler_or_word(runs: list[WordRun], text: str) -> bool:
    return text in _FILLERS or any(
        start in cuts and start + len(text) in cuts
        for run in runs
        for cuts in (_cuts(run),)
        for start in _offsets(run.text, text)
    )


def _keeps_polarity(
    quote: str, value: str, content: list[WordRun], value_runs: list[WordRun]
) -> bool:
    """Return whether a rephrasing keeps the quote's negation, which a single noun need not do."""
    quote_denies, value_denies = (
        bool(re.search(_NEGATION, _expand(text))) for text in (quote, value)
    )
    if quote_denies == value_denies:
        return True
    is_noun = len(content) == 1 and all(
        re.fullmatch(_PARTICLES, run.text) for run in value_runs if run.script == "hiragana"
    )
    return quote_denies and is_noun


def _expand(text: str) -> str:
    """Return `text` folded, with contractions such as "can't" expanded."""
    return re.sub(_CONTRACTION, " not", fold(text))


def _stem(word: str) -> str:
    """Return a Latin word without its inflection: fix for fix, fixes, fixed and fixing."""
    stem = re.sub(r"(?:ing|ed|es|s|e)$", "", word)
    if len(stem) < 3:  # noqa: PLR2004 - the ending belongs to so short a word
        return word
    return stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] else stem  # noqa: PLR2004 - as above
